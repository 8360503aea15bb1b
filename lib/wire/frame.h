/* frame.h - whole frames: parses the usual ones quickly, and writes frames with the template of a path */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * To write frames:
 *   1. wire_frame_prepare() once for a path, with what all its frames have in common
 *   2. frame_write() for each packet
 */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "wire/bytes.h"
#include "wire/encap.h"
#include "wire/icrc_copy.h"
#include "wire/packet.h"

/* Offsets in an untagged IPv4 frame; and UDP port 4791 as the machine loads it. */
enum {
	FRAME_IP_AT = 14,
	FRAME_UDP_AT = FRAME_IP_AT + WIRE_IPV4_BYTES,
	FRAME_BTH_AT = FRAME_UDP_AT + WIRE_UDP_BYTES,
	FRAME_SHORTEST_BYTES = FRAME_BTH_AT + WIRE_BTH_BYTES + WIRE_ICRC_BYTES,
	FRAME_ACK_BYTES = FRAME_SHORTEST_BYTES + WIRE_AETH_BYTES,
	FRAME_PORT = (WIRE_UDP_PORT & 0xFF) << 8 | WIRE_UDP_PORT >> 8
};

/*
 * A usual frame has fixed bits in three words of 8 bytes, loaded with the first byte lowest. From byte 12: the
 * EtherType, and a header without options. From byte 20: no fragment, whatever DF says, and UDP. From byte 34: the
 * port, and no checksum.
 */
#define FRAME_TYPE_MASK 0x0000000000FFFFFFull
#define FRAME_TYPE_IPV4 0x0000000000450008ull
#define FRAME_PROTO_MASK 0x00000000FF00FFBFull
#define FRAME_PROTO_UDP 0x0000000011000000ull
#define FRAME_PORT_MASK 0xFFFF0000FFFF0000ull

static inline uint64_t frame_load(const uint8_t *p)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

/* With its checksum the sum of an IPv4 header is all ones. */
static inline bool frame_ipv4_sum_is_right(const uint8_t *ip)
{
	uint64_t a = frame_load(ip), b = frame_load(ip + 8);
	uint64_t sum = (a & 0xFFFFFFFF) + (a >> 32) + (b & 0xFFFFFFFF) + (b >> 32) + load_le32(ip + 16);

	sum = (sum & 0xFFFF) + (sum >> 16 & 0xFFFF) + (sum >> 32);
	return (sum & 0xFFFF) + (sum >> 16) == 0xFFFF;
}

/* Where the packet of a frame came from, as far as its judgement needs to know. */
struct wire_frame_origin {
	const uint8_t *ip;
	uint32_t ip_bytes; /* bytes from the IP header to the end of the pad; the ICRC follows */
	uint64_t ipv4;     /* source and destination address as in the header; not 0 */
};

/*
 * Parses a usual frame: untagged IPv4 RoCE, without options and UDP checksum. Returns true if wire_encap_parse() and
 * wire_packet_parse() would accept the frame, too, and give the same values. Returns false if those two functions have
 * to judge the frame. check_checksums is as in wire_encap_parse(). This function looks only at the headers before the
 * BTH.
 */
static inline bool frame_parse_headers(const uint8_t *frame, uint32_t bytes, bool check_checksums,
				       struct wire_frame_origin *origin)
{
	const uint8_t *ip = frame + FRAME_IP_AT, *udp = frame + FRAME_UDP_AT;
	uint32_t ip_bytes;

	if (bytes < FRAME_SHORTEST_BYTES ||
	    (frame_load(frame + FRAME_IP_AT - 2) & FRAME_TYPE_MASK) != FRAME_TYPE_IPV4 ||
	    (frame_load(ip + 6) & FRAME_PROTO_MASK) != FRAME_PROTO_UDP || ip[8] == 0 ||
	    (frame_load(udp) & FRAME_PORT_MASK) != (uint64_t)FRAME_PORT << 16)
		return false;
	/* The source is not 127.x, and below 224, where multicast and broadcast begin. */
	origin->ipv4 = frame_load(ip + 12);
	if (origin->ipv4 == 0 || ip[12] >= 0xE0 || ip[12] == 127)
		return false;
	ip_bytes = load_be16(ip + 2);
	if (ip_bytes > bytes - FRAME_IP_AT || ip_bytes < FRAME_SHORTEST_BYTES - FRAME_IP_AT ||
	    load_be16(udp + 4) != ip_bytes - WIRE_IPV4_BYTES)
		return false;
	if (check_checksums && !frame_ipv4_sum_is_right(ip))
		return false;
	origin->ip = ip;
	origin->ip_bytes = ip_bytes - WIRE_ICRC_BYTES;
	return true;
}

/* Parses the packet of a frame that frame_parse_headers() has accepted; ip_bytes is origin->ip_bytes. */
static inline bool frame_parse_packet(const uint8_t *frame, uint32_t ip_bytes, struct wire_packet *packet)
{
	uint32_t bytes = ip_bytes + WIRE_ICRC_BYTES - WIRE_IPV4_BYTES - WIRE_UDP_BYTES;

	return packet_parse(frame + FRAME_BTH_AT, bytes, packet) == WIRE_PACKET_OK;
}

/*
 * Does a frame have the same headers as the one before, from the EtherType to the BTH, whatever the source port? The
 * frame before has the same length and was accepted by frame_parse_headers(), so what was found out about its headers
 * is true of this frame, too. In a burst most frames repeat the headers. Both frames contain their BTHs.
 */
static inline bool frame_repeats_headers(const uint8_t *frame, const uint8_t *before)
{
	uint64_t ports = frame_load(frame + FRAME_UDP_AT) ^ frame_load(before + FRAME_UDP_AT);
	uint64_t type = frame_load(frame + 12) ^ frame_load(before + 12);
	uint64_t middle = frame_load(frame + 20) ^ frame_load(before + 20);
	uint64_t addresses = frame_load(frame + 26) ^ frame_load(before + 26);

	return !(type | middle | addresses | ports >> 16);
}

/* Does a frame have the same source port as the one before? */
static inline bool frame_repeats_port(const uint8_t *frame, const uint8_t *before)
{
	uint16_t ports[2];

	memcpy(&ports[0], frame + FRAME_UDP_AT, sizeof(ports[0]));
	memcpy(&ports[1], before + FRAME_UDP_AT, sizeof(ports[1]));
	return ports[0] == ports[1];
}

/* Does a frame have the same BTH as the one before, up to the QPN? */
static inline bool frame_repeats_bth(const uint8_t *frame, const uint8_t *before)
{
	return frame_load(frame + FRAME_BTH_AT) == frame_load(before + FRAME_BTH_AT);
}

/*
 * Parses a frame with the headers and the BTH of the frame before; *packet still holds the packet of the frame before.
 */
static inline void frame_parse_next(const uint8_t *frame, const uint8_t *before, struct wire_packet *packet)
{
	const uint8_t *bth = frame + FRAME_BTH_AT;
	uint32_t end;

	memcpy(&end, bth + 8, sizeof(end));
	packet_parse_bth_end(end, packet);
	packet->payload = (const uint8_t *)packet->payload + (frame - before);
	packet_parse_extensions(wire_opcode(packet->opcode), bth + WIRE_BTH_BYTES, packet);
}

/* Parses an ACK of a usual frame as two words: see packet_parse_ack(). */
static inline bool frame_parse_ack(const uint8_t *frame, uint32_t ip_bytes, struct wire_ack *ack)
{
	return ip_bytes == FRAME_ACK_BYTES - FRAME_IP_AT - WIRE_ICRC_BYTES &&
	       packet_parse_ack(frame + FRAME_BTH_AT, WIRE_ACK_BYTES, ack);
}

/*
 * Is the ICRC of an ACK right? The frame before has the same headers and BTH and a right ICRC, so this ICRC follows
 * from the bytes that differ. Returns false if the ICRC has to be computed.
 */
bool wire_frame_ack_follows(const uint8_t *frame, const uint8_t *before);

#define FRAME_FRONT_BYTES 68u /* the longest front, IPv6 with a tag, has 66 */
#define FRAME_PSEUDO_BYTES 64u
#define FRAME_PSEUDO_IP_AT 24u /* where the IP header begins in the pseudo header, behind four bytes of ones */
#define FRAME_PSEUDO_PORT_AT (FRAME_PSEUDO_IP_AT + WIRE_IPV4_BYTES)
#define FRAME_EXTENSION_MAX_BYTES 16u /* most bytes of extension headers that fit into a pseudo header */
#define FRAME_ACK_ROOM_BYTES 64u

/* Only wire_frame_prepare() writes this struct, except `ack` and the source port. */
struct wire_frame_template {
	/* IPv4: the last ACK whose BTH bytes 0 to 7 were new, as it would be with PSN and AETH 0 */
	uint8_t ack[FRAME_ACK_ROOM_BYTES];
	uint8_t bytes[FRAME_FRONT_BYTES]; /* the bytes in front of the BTH, with 0 for the lengths */
	uint8_t ip_offset, bth_offset;
	bool ipv6;
	bool has_pseudo;
	uint16_t ip_sum; /* IPv4: sum of the header with length 0 */
	/*
	 * IPv4: the headers as the ICRC sees them (icrc_copy.c), with zeros for lengths, BTH and extension headers.
	 * From byte n on lies the pseudo header of a frame with n bytes of extension headers.
	 */
	uint8_t pseudo[FRAME_PSEUDO_BYTES + FRAME_EXTENSION_MAX_BYTES];
};

/*
 * From now on frames have this UDP source port. ACKs that are made from the last ACK keep its port until
 * frame_renew_ack(). The template was prepared.
 */
static inline void frame_set_source_port(struct wire_frame_template *frame, uint16_t port)
{
	store_be16(frame->bytes + frame->bth_offset - WIRE_UDP_BYTES, port);
	store_be16(frame->pseudo + FRAME_PSEUDO_PORT_AT, port);
}

/* The next ACK is made from the path's template again, and so has the source port that was set last. */
static inline void frame_renew_ack(struct wire_frame_template *frame)
{
	memset(frame->ack + FRAME_BTH_AT, 0, sizeof(uint64_t));
}

/*
 * encap has the values that all frames of the path share; its bth_bytes and offsets are ignored. With a VLAN tag there
 * is no pseudo header, and such frames are written piece by piece.
 */
void wire_frame_prepare(struct wire_frame_template *frame, const struct wire_encap *encap);

/*
 * The headers of a packet as they stand in its frame, made by packet_bth_of(), packet_bth_end_of() and
 * packet_reth_end(). The pad in the BTH is added later. Packets with more than a RETH and a 4-byte extension header do
 * not fit.
 */
struct wire_headers {
	uint64_t begin;          /* BTH bytes 0 to 7 */
	uint64_t bth_end;        /* BTH bytes 8 to 11; in the upper half AETH, ImmDt, IETH or 0 */
	uint64_t va;             /* RETH bytes 0 to 7 */
	uint64_t key_and_length; /* RETH bytes 8 to 15 */
	uint32_t extensions;     /* enum frame_extensions */
};

enum frame_extensions { FRAME_4_BYTES = 1, FRAME_RETH = 2, FRAME_EXTENSIONS = 4 };

/* A piece of memory. */
struct wire_span {
	const uint8_t *base;
	uint64_t bytes;
};

/* For frame_write() only: the writers, one for each ICRC implementation and each set of extension headers. */
typedef uint32_t wire_frame_writer(const struct wire_frame_template *frame, uint64_t begin, uint64_t bth_end,
				   const uint8_t *payload, uint32_t bytes, uint8_t *out, uint64_t va,
				   uint64_t key_and_length);
extern wire_frame_writer *const wire_frame_writers[WIRE_ICRC_IMPLS][FRAME_EXTENSIONS];

/*
 * Writes a whole frame to out: headers, payload, pad, ICRC. Returns its bytes. out has room for them, and at least for
 * 128. The payload is read only once.
 */
static inline uint32_t frame_write(const struct wire_frame_template *frame, const struct wire_headers *headers,
				   const uint8_t *payload, uint32_t bytes, uint8_t *out)
{
	return wire_frame_writers[wire_icrc_chosen()][headers->extensions](
		frame, headers->begin, headers->bth_end, payload, bytes, out, headers->va, headers->key_and_length);
}

/* Writes a whole frame whose payload lies in `count` pieces, at least one. */
uint32_t wire_frame_write_pieces(const struct wire_frame_template *frame, const struct wire_headers *headers,
				 const struct wire_span *pieces, uint32_t count, uint8_t *out);

/* Writes the frame of a struct wire_packet, whose pad_bytes says how much pad there is. */
uint32_t wire_frame_build(const struct wire_frame_template *frame, const struct wire_packet *packet, uint8_t *out);

/* Writes an ACK or NAK; quickly, if only PSN and AETH differ from those of the last one. */
uint32_t wire_frame_build_ack(struct wire_frame_template *frame, const struct wire_ack *ack, uint8_t *out);

/* How many bytes wire_frame_build() writes. */
static inline uint32_t frame_bytes(const struct wire_frame_template *frame, const struct wire_packet *packet)
{
	return frame->bth_offset + packet_bytes(packet);
}

#endif
