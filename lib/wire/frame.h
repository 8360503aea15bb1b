/* frame.h - whole frames, the usual ones fast: parsed in one go, and written with the template of a path */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Out:
 *   1. wire_frame_prepare() once a path, from everything that its frames have in common
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

/* Offsets in an untagged IPv4 frame, and the port as it is loaded. */
enum {
	FRAME_IP_AT = 14,
	FRAME_UDP_AT = FRAME_IP_AT + WIRE_IPV4_BYTES,
	FRAME_BTH_AT = FRAME_UDP_AT + WIRE_UDP_BYTES,
	FRAME_SHORTEST_BYTES = FRAME_BTH_AT + WIRE_BTH_BYTES + WIRE_ICRC_BYTES,
	FRAME_ACK_BYTES = FRAME_SHORTEST_BYTES + WIRE_AETH_BYTES,
	FRAME_PORT = (WIRE_UDP_PORT & 0xFF) << 8 | WIRE_UDP_PORT >> 8
};

/*
 * What a usual frame has in three places of 8 bytes, the first byte lowest: from byte 12 on its Ethertype, and a header
 * without options; from 20 on no fragment, whatever DF says, and UDP; from 34 on the port, and no checksum.
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

/* The sum of an IPv4 header with its checksum is all ones. */
static inline bool frame_ipv4_sum_is_right(const uint8_t *ip)
{
	uint64_t a = frame_load(ip), b = frame_load(ip + 8);
	uint64_t sum = (a & 0xFFFFFFFF) + (a >> 32) + (b & 0xFFFFFFFF) + (b >> 32) + load_le32(ip + 16);

	sum = (sum & 0xFFFF) + (sum >> 16 & 0xFFFF) + (sum >> 32);
	return (sum & 0xFFFF) + (sum >> 16) == 0xFFFF;
}

/* Where the packet of a frame came from, as far as its judge has to know. */
struct wire_frame_origin {
	const uint8_t *ip;
	uint32_t ip_bytes; /* from there to the end of the pad; the ICRC follows */
	uint64_t ipv4;     /* source and destination as they stand in the header; not 0 */
};

/*
 * What nearly always comes: an untagged IPv4 frame of RoCE without options and UDP checksum, accepted by masks. false
 * says nothing about the frame, which wire_encap_parse() and wire_packet_parse() are to judge;
 * true, that both accept it and give the same values. check_checksums as in wire_encap_parse(). First the headers
 * before the BTH:
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
	/* The source is neither 127.x nor multicast or broadcast, which are from 224 up. */
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

/* Parses the packet of a frame that frame_parse_headers() accepted; ip_bytes as it told. */
static inline bool frame_parse_packet(const uint8_t *frame, uint32_t ip_bytes, struct wire_packet *packet)
{
	uint32_t bytes = ip_bytes + WIRE_ICRC_BYTES - WIRE_IPV4_BYTES - WIRE_UDP_BYTES;

	return packet_parse(frame + FRAME_BTH_AT, bytes, packet) == WIRE_PACKET_OK;
}

/*
 * Does a frame repeat the headers of one before it, from the Ethertype to the BTH and whatever its source port? That
 * one has the same length and was accepted by frame_parse_headers(), and all that was found out about it is true of
 * this one. Most frames of a burst do. Both have their BTHs in full.
 */
static inline bool frame_repeats_headers(const uint8_t *frame, const uint8_t *before)
{
	uint64_t ports = frame_load(frame + FRAME_UDP_AT) ^ frame_load(before + FRAME_UDP_AT);
	uint64_t type = frame_load(frame + 12) ^ frame_load(before + 12);
	uint64_t middle = frame_load(frame + 20) ^ frame_load(before + 20);
	uint64_t addresses = frame_load(frame + 26) ^ frame_load(before + 26);

	return !(type | middle | addresses | ports >> 16);
}

/* Does it repeat the BTH as well, up to the QPN? */
static inline bool frame_repeats_bth(const uint8_t *frame, const uint8_t *before)
{
	return frame_load(frame + FRAME_BTH_AT) == frame_load(before + FRAME_BTH_AT);
}

/* Parses a frame that repeats headers and BTH of the one before it: *packet is the packet of that one until now. */
static inline void frame_parse_next(const uint8_t *frame, const uint8_t *before, struct wire_packet *packet)
{
	const uint8_t *bth = frame + FRAME_BTH_AT;
	uint32_t end;

	memcpy(&end, bth + 8, sizeof(end));
	packet_parse_bth_end(end, packet);
	packet->payload = (const uint8_t *)packet->payload + (frame - before);
	packet_parse_extensions(wire_opcode(packet->opcode), bth + WIRE_BTH_BYTES, packet);
}

/* Parses an ACK of such a frame as two words: see packet_parse_ack(). */
static inline bool frame_parse_ack(const uint8_t *frame, uint32_t ip_bytes, struct wire_ack *ack)
{
	return ip_bytes == FRAME_ACK_BYTES - FRAME_IP_AT - WIRE_ICRC_BYTES &&
	       packet_parse_ack(frame + FRAME_BTH_AT, WIRE_ACK_BYTES, ack);
}

/*
 * Is the ICRC of an ACK right that repeats headers and BTH of one before it, whose ICRC is right? It follows from what
 * differs. false: it is to be computed.
 */
bool wire_frame_ack_follows(const uint8_t *frame, const uint8_t *before);

#define FRAME_FRONT_BYTES 68u /* IPv6 with a tag has 66 */
#define FRAME_PSEUDO_BYTES 64u
#define FRAME_EXTENSION_MAX_BYTES 16u /* of extension headers, that a pseudo header has room for */
#define FRAME_ACK_ROOM_BYTES 64u

/* Written by wire_frame_prepare() only, but for `ack`. */
struct wire_frame_template {
	/* IPv4: the last ACK that was not like the one before it, as it would be with a PSN and an AETH of 0 */
	uint8_t ack[FRAME_ACK_ROOM_BYTES];
	uint8_t bytes[FRAME_FRONT_BYTES]; /* what is in front of the BTH, as it is stored; lengths are 0 */
	uint8_t ip_offset, bth_offset;
	bool ipv6;
	bool has_pseudo;
	uint16_t ip_sum; /* IPv4: sum of the header with a length of 0 */
	/*
	 * IPv4: how the ICRC sees it (icrc_copy.c), with zeros for lengths, BTH and extension headers: from byte n
	 * on the pseudo header of a frame with n bytes of extension headers.
	 */
	uint8_t pseudo[FRAME_PSEUDO_BYTES + FRAME_EXTENSION_MAX_BYTES];
};

/*
 * encap is what the frames have in common; bth_bytes and offsets are not looked at. With a VLAN tag there is no pseudo
 * header: such frames are written piece by piece.
 */
void wire_frame_prepare(struct wire_frame_template *frame, const struct wire_encap *encap);

/*
 * The headers of a packet as they stand in its frame, from packet_bth_of(), packet_bth_end_of() and packet_reth_end():
 * all but the pad in the BTH, and those with more than a RETH and an extension header of 4 bytes.
 */
struct wire_headers {
	uint64_t begin;          /* BTH bytes 0 to 7 */
	uint64_t rest;           /* 8 to 11, and above them an AETH, ImmDt or IETH, or 0 */
	uint64_t va;             /* RETH bytes 0 to 7 */
	uint64_t key_and_length; /* 8 to 15 */
	uint32_t extensions;     /* enum frame_extensions: which there are */
};

enum frame_extensions { FRAME_BRIEF = 1, FRAME_RETH = 2, FRAME_EXTENSIONS = 4 };

/* A piece of memory. */
struct wire_span {
	const uint8_t *base;
	uint64_t bytes;
};

/* For frame_write() alone: how each ICRC implementation writes frames with each set of extension headers. */
typedef uint32_t wire_frame_writer(const struct wire_frame_template *frame, uint64_t begin, uint64_t rest,
				   const uint8_t *payload, uint32_t bytes, uint8_t *out, uint64_t va,
				   uint64_t key_and_length);
extern wire_frame_writer *const wire_frame_writers[WIRE_ICRC_IMPLS][FRAME_EXTENSIONS];

/*
 * Writes a whole frame to out: headers, payload from where it lies, pad, ICRC. Returns its bytes; out has room for
 * them, and for at least 128. Each byte of payload is read once.
 */
static inline uint32_t frame_write(const struct wire_frame_template *frame, const struct wire_headers *headers,
				   const uint8_t *payload, uint32_t bytes, uint8_t *out)
{
	return wire_frame_writers[wire_icrc_chosen()][headers->extensions](
		frame, headers->begin, headers->rest, payload, bytes, out, headers->va, headers->key_and_length);
}

/* Writes a whole frame whose payload lies in `count` pieces, at least one. */
uint32_t wire_frame_write_pieces(const struct wire_frame_template *frame, const struct wire_headers *headers,
				 const struct wire_span *pieces, uint32_t count, uint8_t *out);

/* The frame of a packet value, which says itself how much pad it has. */
uint32_t wire_frame_build(const struct wire_frame_template *frame, const struct wire_packet *packet, uint8_t *out);

/* An ACK or NAK, quickly when it differs from the last one by nothing but its PSN and AETH. */
uint32_t wire_frame_build_ack(struct wire_frame_template *frame, const struct wire_ack *ack, uint8_t *out);

/* How many bytes wire_frame_build() writes. */
static inline uint32_t frame_bytes(const struct wire_frame_template *frame, const struct wire_packet *packet)
{
	return frame->bth_offset + packet_bytes(packet);
}

#endif
