/* packet.h - a transport packet as one plain value: parse it, build it */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A packet is everything from the BTH to the end of the payload. Parsing makes such a value of bytes; the protocol
 * makes one when it has a packet to send. Building a parsed packet gives the same bytes, except for fields that are not
 * kept but built as zeros, as every sender must write them: TVer, bits 4:0 of BTH byte 8, the reserved bytes of DETH,
 * CNP, SACK and PROBE, pad bytes.
 *   1. wire_encap_parse() finds the BTH and how many bytes follow it
 *   2. wire_packet_parse() fills the value; payload points into the frame
 *   3. wire_packet_build() writes BTH and extension headers; the caller writes payload, pad and ICRC
 */
#ifndef WIRE_PACKET_H
#define WIRE_PACKET_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wire/bytes.h"
#include "wire/opcode.h"

#define WIRE_BTH_BYTES 12u
#define WIRE_ICRC_BYTES 4u
#define WIRE_RETH_BYTES 16u
#define WIRE_AETH_BYTES 4u
#define WIRE_HEADERS_MAX_BYTES 48u /* BTH and the longest extension headers, rounded up */
#define WIRE_UDP_PORT 4791u

/* Flags: BTH byte 1 in bits 7:0, byte 4 in bits 15:8, byte 8 in bits 23:16, each bit where the byte has it. */
enum wire_packet_flags {
	WIRE_SOLICITED = 0x80,
	WIRE_MIGREQ = 0x40,
	WIRE_FECN = 0x80 << 8,
	WIRE_BECN = 0x40 << 8,
	WIRE_ACKREQ = 0x80 << 16,
	WIRE_RESERVED = 0x3F << 8 | 0x60 << 16, /* ignored when received, but kept */
	WIRE_FLAGS = WIRE_SOLICITED | WIRE_MIGREQ | WIRE_FECN | WIRE_BECN | WIRE_ACKREQ | WIRE_RESERVED
};

/* Bits of control_kind. In a SACK the upper four bits are its type, 0; in a PROBE the lower four bits are 1. */
enum wire_control_kind {
	WIRE_SACK_OF_MARKED = 1 << 5, /* the packet at ack_psn_offset came with a mark of congestion */
	WIRE_SACK_OF_PROBE = 1 << 1,  /* the SACK answers a PROBE, whose id is in the place of ack_psn_offset */
	WIRE_SACK_FORM = 0xFF80,      /* type and next header: 0 */
	WIRE_PROBE_KIND = 1
};

#define PKEY_DEFAULT 0xFFFFu /* full member of the default partition */

/* One cache line, all in host byte order. The opcode's row tells which members of the union are valid. */
struct wire_packet {
	uint32_t opcode : 8, flags : 24; /* enum wire_packet_flags, and no other bits */
	uint32_t psn;                    /* 24 bits */
	uint32_t dest_qpn;               /* 24 bits */
	uint16_t pkey;
	uint8_t pad_bytes; /* bytes of pad, 0 ... 3, as in the BTH; building writes this number unchecked */
	uint8_t cwnd_pen;  /* SACK */
	union {
		struct { /* RETH, AtomicETH, FETH */
			uint64_t va;
			uint32_t rkey;
			uint32_t dma_length; /* RETH */
			uint64_t swap_add;   /* AtomicETH */
			union {
				uint64_t compare; /* AtomicETH */
				uint32_t feth;    /* FETH, as it is on the wire */
			};
		};
		struct { /* AETH, AtomicAckETH */
			uint8_t syndrome;
			uint32_t msn;      /* 24 bits */
			uint64_t original; /* AtomicAckETH */
		};
		struct { /* DETH */
			uint32_t qkey;
			uint32_t source_qpn; /* 24 bits */
		};
		struct {                       /* SACK, PROBE */
			uint64_t sack_bitmap;  /* bit i is for the PSN sack_offset + i behind cack_psn */
			uint32_t cack_psn;     /* 24 bits: all packets up to this PSN have come in order */
			uint32_t rcvd_bytes;   /* 24 bits */
			uint16_t control_kind; /* enum wire_control_kind */
			union {
				uint16_t ack_psn_offset; /* SACK: signed, from cack_psn */
				uint16_t probe_id;       /* PROBE */
			};
			uint16_t sack_offset; /* signed */
			uint16_t ooo_count, timestamp, source_id, dest_id;
			uint8_t cc_type, mpr;
		};
	};
	union {
		uint32_t imm;            /* ImmDt */
		uint32_t invalidate_key; /* IETH */
		uint32_t entropy;        /* SACK */
	};
	uint32_t payload_bytes; /* without pad */
	const void *payload;
};

static_assert(sizeof(struct wire_packet) == 64,
	      "struct wire_packet must fill one cache line, because the outbox and the parser copy whole lines");

/* An ACK or NAK as in a frame: `begin` has BTH bytes 0 to 7, `bth_end` has BTH bytes 8 to 11 and the AETH. */
struct wire_ack {
	uint64_t begin, bth_end;
};

#define WIRE_ACK_BYTES (WIRE_BTH_BYTES + WIRE_AETH_BYTES + WIRE_ICRC_BYTES)

/* Why bytes are not a packet, in the order of judgement (W-5). */
enum wire_packet_fault {
	WIRE_PACKET_OK,
	WIRE_PACKET_TRUNCATED,  /* headers, pad or ICRC do not fit the bytes given */
	WIRE_PACKET_BAD_VERSION /* TVer is not 0 */
};

/*
 * Parses a packet that begins at bth; `bytes` counts from there to the end of the ICRC. Reserved opcodes of the RC
 * class, other classes and wrong payload lengths are accepted, because the QP judges them later; with a reserved opcode
 * everything after the BTH counts as payload. Reads nothing beyond `bytes`, and does not check the ICRC. After a fault
 * *packet is undefined, except after BAD_VERSION: then it is complete. Members that the opcode does not have are left
 * as they were, because setting them would cost each packet a cache line of stores.
 */
enum wire_packet_fault wire_packet_parse(const uint8_t *bth, uint32_t bytes, struct wire_packet *packet);

/*
 * Writes BTH and extension headers to out, which has room for WIRE_HEADERS_MAX_BYTES. Returns the bytes written: 12 and
 * the row's extension_bytes. The payload is not read.
 */
uint32_t wire_packet_build(const struct wire_packet *packet, uint8_t *out);

#define BTH1_VERSION 0x0F
#define BTH_PAD_AT 12 /* bit position in bytes 0 to 7 */

/* Opcode and flags, from BTH bytes 0, 1, 4 and 8. */
static inline uint32_t packet_opcode_and_flags(const struct wire_packet *packet)
{
	return packet->opcode | (uint32_t)packet->flags << 8;
}

static inline void packet_set_opcode_and_flags(struct wire_packet *packet, uint32_t opcode_and_flags)
{
	packet->opcode = opcode_and_flags & 0xFF;
	packet->flags = opcode_and_flags >> 8;
}

/* BTH bytes 0 to 7, and 8 to 11, as a little-endian machine loads them; QPN and PSN have 24 bits. */
static inline uint64_t packet_bth_begin(const struct wire_packet *packet)
{
	uint32_t bits = packet_opcode_and_flags(packet);

	return (bits & 0xFFFF) | (packet->pad_bytes & 3u) << BTH_PAD_AT |
	       (uint64_t)__builtin_bswap16(packet->pkey) << 16 |
	       (uint64_t)((bits >> 16 & 0xFF) | __builtin_bswap32(packet->dest_qpn)) << 32;
}

/* packet_bth_begin() of a packet without pad, made of its fields. flags: WIRE_MIGREQ and WIRE_SOLICITED. */
static inline uint64_t packet_bth_of(uint8_t opcode, uint32_t flags, uint16_t pkey, uint32_t dest_qpn)
{
	return opcode | (uint64_t)flags << 8 | (uint64_t)__builtin_bswap16(pkey) << 16 |
	       (uint64_t)__builtin_bswap32(dest_qpn) << 32;
}

static inline uint32_t packet_bth_end_of(uint32_t psn, bool ackreq)
{
	return __builtin_bswap32(psn) | (ackreq ? WIRE_ACKREQ >> 16 : 0);
}

/* RETH bytes 8 to 15. */
static inline uint64_t packet_reth_end(uint32_t rkey, uint32_t dma_length)
{
	return __builtin_bswap64((uint64_t)rkey << 32 | dma_length);
}

static inline uint32_t packet_bth_end(const struct wire_packet *packet)
{
	return packet_opcode_and_flags(packet) >> 24 | __builtin_bswap32(packet->psn);
}

/* Parses the extension headers that the row names, from p on. */
void wire_packet_parse_extensions(const struct wire_opcode_row *row, const uint8_t *p, struct wire_packet *packet);

/* Takes BTH bytes 8 to 11, as loaded. */
static inline void packet_parse_bth_end(uint32_t end, struct wire_packet *packet)
{
	const uint32_t of_byte_8 = (uint32_t)WIRE_FLAGS << 8 & 0xFF000000;

	packet_set_opcode_and_flags(packet, (packet_opcode_and_flags(packet) & ~of_byte_8) | (end << 24 & of_byte_8));
	packet->psn = __builtin_bswap32(end) & 0xFFFFFF;
}

static inline void packet_parse_bth(const uint8_t *bth, struct wire_packet *packet)
{
	const uint32_t of_byte_1 = (WIRE_SOLICITED | WIRE_MIGREQ) << 8;
	uint64_t begin;
	uint32_t end;

	memcpy(&begin, bth, sizeof(begin));
	memcpy(&end, bth + sizeof(begin), sizeof(end));
	packet_set_opcode_and_flags(packet, (uint32_t)((begin & (0xFF | of_byte_1)) | (begin >> 16 & 0xFF0000)));
	packet->pad_bytes = begin >> BTH_PAD_AT & 3;
	packet->dest_qpn = __builtin_bswap32((uint32_t)(begin >> 32)) & 0xFFFFFF;
	packet->pkey = __builtin_bswap16((uint16_t)(begin >> 16));
	packet_parse_bth_end(end, packet);
}

static inline void packet_parse_reth(const uint8_t *p, struct wire_packet *packet)
{
	uint64_t key_and_length = load_be64(p + 8);

	packet->va = load_be64(p);
	packet->rkey = (uint32_t)(key_and_length >> 32);
	packet->dma_length = (uint32_t)key_and_length;
}

static inline void packet_parse_aeth(const uint8_t *p, struct wire_packet *packet)
{
	uint32_t aeth = load_be32(p);

	packet->syndrome = (uint8_t)(aeth >> 24);
	packet->msn = aeth & 0xFFFFFF;
}

static inline void packet_parse_extensions(const struct wire_opcode_row *row, const uint8_t *p,
					   struct wire_packet *packet)
{
	/* nearly all packets with extension headers have only a RETH */
	if (row->extension_bytes == WIRE_RETH_BYTES && row->reth)
		packet_parse_reth(p, packet);
	else if (row->extension_bytes == WIRE_AETH_BYTES && row->aeth)
		packet_parse_aeth(p, packet);
	else if (row->extension_bytes > 0)
		wire_packet_parse_extensions(row, p, packet);
}

/* wire_packet_parse() to be inlined; only one other file does so, where that pays. */
static inline enum wire_packet_fault packet_parse(const uint8_t *bth, uint32_t bytes, struct wire_packet *packet)
{
	const struct wire_opcode_row *row;
	uint32_t taken;

	if (bytes < WIRE_BTH_BYTES + WIRE_ICRC_BYTES)
		return WIRE_PACKET_TRUNCATED;
	row = wire_opcode(bth[0]);
	packet_parse_bth(bth, packet);
	taken = WIRE_BTH_BYTES + row->extension_bytes + packet->pad_bytes + WIRE_ICRC_BYTES;
	if (bytes < taken)
		return WIRE_PACKET_TRUNCATED;
	packet->payload = bth + WIRE_BTH_BYTES + row->extension_bytes;
	packet->payload_bytes = bytes - taken;
	packet_parse_extensions(row, bth + WIRE_BTH_BYTES, packet);
	return (bth[1] & BTH1_VERSION) == 0 ? WIRE_PACKET_OK : WIRE_PACKET_BAD_VERSION;
}

/* Bits of wire_ack.begin that are the same in all plain ACKs: all but MigReq, P_Key and QPN. */
#define ACK_BEGIN_MASK (0xFFull | (0xFFull & ~WIRE_MIGREQ) << 8 | 0xFFull << 32)

static inline uint16_t ack_pkey(const struct wire_ack *ack)
{
	return __builtin_bswap16((uint16_t)(ack->begin >> 16));
}

static inline uint32_t ack_dest_qpn(const struct wire_ack *ack)
{
	return __builtin_bswap32((uint32_t)(ack->begin >> 32));
}

static inline uint32_t ack_psn(const struct wire_ack *ack)
{
	return __builtin_bswap32((uint32_t)ack->bth_end) & 0xFFFFFF;
}

/* Syndrome and MSN of an ACK. */
static inline uint32_t ack_aeth(const struct wire_ack *ack)
{
	return __builtin_bswap32((uint32_t)(ack->bth_end >> 32));
}

/*
 * Parses an ACK or NAK of the usual form: no pad, payload or version, and no flags but MigReq. Returns true if
 * wire_packet_parse() would accept the packet, with the same values. Returns false if wire_packet_parse() has to judge
 * it.
 */
static inline bool packet_parse_ack(const uint8_t *bth, uint32_t bytes, struct wire_ack *ack)
{
	if (bytes != WIRE_ACK_BYTES)
		return false;
	memcpy(ack, bth, sizeof(*ack));
	return (ack->begin & ACK_BEGIN_MASK) == OP_ACKNOWLEDGE;
}

/* How much pad a payload needs (W-6). */
static inline uint8_t packet_pad_bytes(uint32_t payload_bytes)
{
	return (uint8_t)(-payload_bytes & 3);
}

/* How many bytes this packet has from the BTH to the end of the ICRC. */
static inline uint32_t packet_bytes(const struct wire_packet *packet)
{
	return WIRE_BTH_BYTES + wire_opcode(packet->opcode)->extension_bytes + packet->payload_bytes +
	       packet->pad_bytes + WIRE_ICRC_BYTES;
}

#endif
