/* packet.c - parses and builds BTH and extension headers */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/packet.h"

#include <string.h>

#include "wire/bytes.h"

/* The headers come in the order in which they stand on the wire. */
void wire_packet_parse_extensions(const struct wire_opcode_row *row, const uint8_t *p, struct wire_packet *packet)
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
		packet_parse_reth(p, packet);
		p += 16;
	}
	if (row->aeth) {
		packet_parse_aeth(p, packet);
		p += WIRE_AETH_BYTES;
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
	return packet_parse(bth, bytes, packet);
}

static void build_bth(const struct wire_packet *packet, uint8_t *bth)
{
	uint64_t begin = packet_bth_begin(packet);
	uint32_t end = packet_bth_end(packet);

	memcpy(bth, &begin, sizeof(begin));
	memcpy(bth + sizeof(begin), &end, sizeof(end));
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
