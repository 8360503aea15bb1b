/* packet.c - BTH and extension headers: bytes to value and back */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/packet.h"

#include <string.h>

#include "wire/bytes.h"

/* Bits of BTH bytes 1, 4 and 8. */
enum {
	BTH1_SOLICITED = 0x80,
	BTH1_MIGREQ = 0x40,
	BTH1_PAD_SHIFT = 4,
	BTH1_VERSION = 0x0F,
	BTH4_FECN = 0x80,
	BTH4_BECN = 0x40,
	BTH4_RESERVED = 0x3F,
	BTH8_ACKREQ = 0x80,
	BTH8_RESERVED = 0x60
};

static_assert(BTH1_SOLICITED >> 7 == WIRE_SOLICITED && BTH1_MIGREQ >> 5 == WIRE_MIGREQ &&
		      BTH8_ACKREQ >> 5 == WIRE_ACKREQ && BTH4_FECN >> 4 == WIRE_FECN && BTH4_BECN >> 2 == WIRE_BECN,
	      "flags are moved by shifts below");

static void parse_bth(const uint8_t *bth, struct wire_packet *packet)
{
	*packet = (struct wire_packet){
		.opcode = bth[0],
		.flags = (uint8_t)((bth[1] & BTH1_SOLICITED) >> 7 | (bth[1] & BTH1_MIGREQ) >> 5 |
				   (bth[8] & BTH8_ACKREQ) >> 5 | (bth[4] & BTH4_FECN) >> 4 | (bth[4] & BTH4_BECN) >> 2),
		.pad_bytes = bth[1] >> BTH1_PAD_SHIFT & 3,
		.reserved = (uint8_t)((bth[4] & BTH4_RESERVED) << 2 | (bth[8] & BTH8_RESERVED) >> 5),
		.psn = load_be24(bth + 9),
		.dest_qpn = load_be24(bth + 5),
		.pkey = load_be16(bth + 2),
		.span_count = 1,
	};
}

/* The headers are in the order in which they stand on the wire. */
static void parse_extensions(const struct wire_opcode_row *row, const uint8_t *p, struct wire_packet *packet)
{
	if (row->deth) {
		packet->qkey = load_be32(p);
		packet->source_qpn = load_be24(p + 5);
		p += 8;
	}
	if (row->feth) {
		packet->feth = load_be32(p);
		p += 4;
	}
	if (row->reth) {
		packet->va = load_be64(p);
		packet->rkey = load_be32(p + 8);
		packet->dma_length = load_be32(p + 12);
		p += 16;
	}
	if (row->aeth) {
		packet->syndrome = p[0];
		packet->msn = load_be24(p + 1);
		p += 4;
	}
	if (row->atomic) {
		packet->va = load_be64(p);
		packet->rkey = load_be32(p + 8);
		packet->swap_add = load_be64(p + 12);
		packet->compare = load_be64(p + 20);
	} else if (row->atomic_ack) {
		packet->original = load_be64(p);
	} else if (row->immdt) {
		packet->imm = load_be32(p);
	} else if (row->ieth) {
		packet->invalidate_key = load_be32(p);
	}
}

enum wire_packet_fault wire_packet_parse(const uint8_t *bth, uint32_t bytes, struct wire_packet *packet)
{
	const struct wire_opcode_row *row;
	uint32_t taken;

	if (bytes < WIRE_BTH_BYTES + WIRE_ICRC_BYTES)
		return WIRE_PACKET_TRUNCATED;
	row = wire_opcode(bth[0]);
	parse_bth(bth, packet);
	taken = WIRE_BTH_BYTES + row->extension_bytes + packet->pad_bytes + WIRE_ICRC_BYTES;
	if (bytes < taken)
		return WIRE_PACKET_TRUNCATED;
	packet->payload = bth + WIRE_BTH_BYTES + row->extension_bytes;
	packet->payload_bytes = bytes - taken;
	if (row->extension_bytes > 0)
		parse_extensions(row, bth + WIRE_BTH_BYTES, packet);
	return (bth[1] & BTH1_VERSION) == 0 ? WIRE_PACKET_OK : WIRE_PACKET_BAD_VERSION;
}

static void build_bth(const struct wire_packet *packet, uint8_t *bth)
{
	unsigned int flags = packet->flags;

	bth[0] = packet->opcode;
	bth[1] = (uint8_t)((flags & WIRE_SOLICITED) << 7 | (flags & WIRE_MIGREQ) << 5 |
			   (packet->pad_bytes & 3u) << BTH1_PAD_SHIFT);
	store_be16(bth + 2, packet->pkey);
	bth[4] = (uint8_t)((flags & WIRE_FECN) << 4 | (flags & WIRE_BECN) << 2 | packet->reserved >> 2);
	store_be24(bth + 5, packet->dest_qpn);
	bth[8] = (uint8_t)((flags & WIRE_ACKREQ) << 5 | (packet->reserved & 3u) << 5);
	store_be24(bth + 9, packet->psn);
}

static uint8_t *build_extensions(const struct wire_opcode_row *row, const struct wire_packet *packet, uint8_t *p)
{
	if (row->deth) {
		store_be32(p, packet->qkey);
		store_be32(p + 4, packet->source_qpn & 0xFFFFFF);
		p += 8;
	}
	if (row->feth) {
		store_be32(p, packet->feth);
		p += 4;
	}
	if (row->reth) {
		store_be64(p, packet->va);
		store_be32(p + 8, packet->rkey);
		store_be32(p + 12, packet->dma_length);
		p += 16;
	}
	if (row->aeth) {
		p[0] = packet->syndrome;
		store_be24(p + 1, packet->msn);
		p += 4;
	}
	if (row->atomic) {
		store_be64(p, packet->va);
		store_be32(p + 8, packet->rkey);
		store_be64(p + 12, packet->swap_add);
		store_be64(p + 20, packet->compare);
		p += 28;
	} else if (row->atomic_ack) {
		store_be64(p, packet->original);
		p += 8;
	} else if (row->immdt) {
		store_be32(p, packet->imm);
		p += 4;
	} else if (row->ieth) {
		store_be32(p, packet->invalidate_key);
		p += 4;
	} else if (row->kind == WIRE_KIND_CNP) {
		memset(p, 0, row->extension_bytes);
		p += row->extension_bytes;
	}
	return p;
}

uint32_t wire_packet_build(const struct wire_packet *packet, uint8_t *out)
{
	const struct wire_opcode_row *row = wire_opcode(packet->opcode);

	build_bth(packet, out);
	if (row->extension_bytes == 0)
		return WIRE_BTH_BYTES;
	return (uint32_t)(build_extensions(row, packet, out + WIRE_BTH_BYTES) - out);
}
