/* packet.c - parses and builds BTH and extension headers */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/packet.h"

#include <string.h>

#include "wire/bytes.h"

void wire_packet_parse_extensions(const struct wire_opcode_row *row, const uint8_t *p, struct wire_packet *packet)
{
	const uint8_t *end = p + row->extension_bytes;

	/* clang-format off */
#define HEADER(flag, BYTES, bytes) if (row->flag) {
#define FIELD(bits, member, ...) packet->member = load_be##bits(p), p += (bits) / 8;
#define GAP(bits) p += (bits) / 8;
#define HEADER_END if (p == end) return; }
#include "wire/opcodes.def"
	/* clang-format on */
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
	const uint8_t *end = p + row->extension_bytes;

	/* clang-format off */
#define HEADER(flag, BYTES, bytes) if (row->flag) {
#define FIELD(bits, member, ...) store_be##bits(p, packet->member), p += (bits) / 8;
#define GAP(bits) store_be##bits(p, 0), p += (bits) / 8;
#define HEADER_END if (p == end) return p; }
#include "wire/opcodes.def"
	/* clang-format on */
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
