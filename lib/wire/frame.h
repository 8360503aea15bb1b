/* frame.h - whole frames, the usual ones fast: parsed in one go, and built from the template of a path */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Out:
 *   1. wire_frame_prepare() once a path, from everything that its frames have in common
 *   2. wire_frame_build() for each packet
 */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/encap.h"
#include "wire/packet.h"

/* Where the packet of a frame came from, as far as whoever judges it has to know. */
struct wire_frame_origin {
	uint8_t source[16], dest[16]; /* IP addresses, IPv4 as ::ffff:a.b.c.d */
	const uint8_t *ip;
	uint32_t ip_bytes; /* from there to the end of the pad; the ICRC follows */
};

/*
 * The short way in for what nearly always comes: an untagged IPv4 frame of RoCE without options and UDP checksum. It
 * only accepts: false says nothing about the frame, which wire_encap_parse() and wire_packet_parse() are to judge;
 * true, that both accept it and give the same values. check_checksums as in wire_encap_parse().
 */
bool wire_frame_parse(const uint8_t *frame, uint32_t bytes, bool check_checksums, struct wire_frame_origin *origin,
		      struct wire_packet *packet);

/*
 * What bursts are made of: a frame that repeats one before it, of the same length and accepted by wire_frame_parse(),
 * from the Ethertype to the QPN. All that was found out about that one is true of this one. Both have BTHs in full.
 */
static inline bool frame_repeats(const uint8_t *frame, const uint8_t *before)
{
	uint64_t a[5], b[5];

	memcpy(a, frame + 12, 32);
	memcpy(b, before + 12, 32);
	memcpy(&a[4], frame + 42, 8); /* the BTH's first 8 bytes, two of them once more */
	memcpy(&b[4], before + 42, 8);
	return !((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]) | (a[4] ^ b[4]));
}

/* The rest: *packet, which is that of `before`, becomes that of frame. */
static inline void frame_parse_next(const uint8_t *frame, const uint8_t *before, struct wire_packet *packet)
{
	const uint8_t *bth = frame + 42;
	uint32_t end;

	memcpy(&end, bth + 8, sizeof(end));
	packet_parse_bth_end(end, packet);
	packet->payload = (const uint8_t *)packet->payload + (frame - before);
	packet_parse_extensions(wire_opcode(packet->opcode), bth + WIRE_BTH_BYTES, packet);
}

#define FRAME_IMAGE_BYTES 64u
#define FRAME_EXTENSION_MAX_BYTES 16u /* that an image has room for */

/* Written by wire_frame_prepare() only. */
struct wire_frame_template {
	uint8_t bytes[WIRE_ENCAP_MAX_BYTES + 6]; /* what is in front of the BTH, as it is stored; lengths are 0 */
	uint8_t ip_offset, bth_offset;
	bool ipv6;
	bool has_image;
	uint16_t ip_sum; /* IPv4: sum of the header with a length of 0 */
	/*
	 * IPv4: how the ICRC sees it (kernel.c: images), with zeros for lengths, BTH and extension headers: from byte n
	 * on the image of a frame with n bytes of extension headers.
	 */
	uint8_t image[FRAME_IMAGE_BYTES + FRAME_EXTENSION_MAX_BYTES];
};

/* encap is what the frames have in common; bth_bytes and offsets are not looked at. No VLAN tag: images know none. */
void wire_frame_prepare(struct wire_frame_template *frame, const struct wire_encap *encap);

/*
 * Writes the whole frame of packet to out: headers, payload from where it lies, pad, ICRC. Returns its bytes; out has
 * room for them, and for at least 128. Each byte of payload is read once.
 */
uint32_t wire_frame_build(const struct wire_frame_template *frame, const struct wire_packet *packet, uint8_t *out);

/* How many bytes that will be. */
static inline uint32_t frame_bytes(const struct wire_frame_template *frame, const struct wire_packet *packet)
{
	return frame->bth_offset + packet_bytes(packet);
}

#endif
