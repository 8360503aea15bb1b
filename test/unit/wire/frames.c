/* frames.c - whole frames for the wire tests */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "frames.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "wire/bytes.h"
#include "wire/icrc.h"

struct wire_encap test_encap(bool ipv6, bool vlan)
{
	struct wire_encap encap = {
		.dest_mac = { 0x52, 0x54, 0, 0, 0, 2 },
		.source_mac = { 0x52, 0x54, 0, 0, 0, 1 },
		.vlan = vlan,
		.vlan_tci = vlan ? 0x6005 : 0,
		.ipv6 = ipv6,
		.source = { [10] = 0xFF, 0xFF, 10, 9, 0, 2 },
		.dest = { [10] = 0xFF, 0xFF, 10, 9, 0, 3 },
		.traffic_class = 0x6A,
		.hop_limit = 64,
		.ip_id = ipv6 ? 0 : 0x1234,
		.flow_label = ipv6 ? 0xABCDE : 0,
		.source_port = 0xC123,
		.dest_port = WIRE_UDP_PORT,
	};

	if (ipv6) {
		memcpy(encap.source, (uint8_t[16]){ 0xFE, 0x80, [8] = 0x50, [15] = 2 }, 16);
		memcpy(encap.dest, (uint8_t[16]){ 0xFE, 0x80, [8] = 0x50, [15] = 3 }, 16);
	}
	return encap;
}

struct wire_packet test_packet(uint8_t opcode, uint32_t payload_bytes)
{
	const struct wire_opcode_row *row = wire_opcode(opcode);
	struct wire_packet packet = {
		.opcode = opcode,
		.flags = WIRE_ACKREQ,
		.pad_bytes = packet_pad_bytes(payload_bytes),
		.psn = 0xFEDCBA,
		.dest_qpn = 0x123456,
		.pkey = 0xFFFF,
		.payload_bytes = payload_bytes,
	};

	if (row->reth || row->atomic) {
		packet.va = 0x1122334455667788;
		packet.rkey = 0x99AABBCC;
	}
	if (row->reth)
		packet.dma_length = 0xDDEEFF01;
	if (row->atomic) {
		packet.swap_add = 0x0203040506070809;
		packet.compare = 0x1213141516171819;
	}
	if (row->feth)
		packet.feth = 0x00000023;
	if (row->aeth) {
		packet.syndrome = 0x1F;
		packet.msn = 0xA1A2A3;
	}
	if (row->atomic_ack)
		packet.original = 0xB1B2B3B4B5B6B7B8;
	if (row->sack || row->probe) {
		packet.source_id = 0x5152;
		packet.dest_id = 0x5354;
		packet.timestamp = 0x6162;
		packet.control_kind = row->sack ? 0x0021 : WIRE_PROBE_KIND;
	}
	if (row->probe)
		packet.probe_id = 0xB1B2;
	if (row->sack) {
		packet.ack_psn_offset = (uint16_t)-9;
		packet.entropy = 0xC123;
		packet.cack_psn = 0xFEDCB9;
		packet.cc_type = 2;
		packet.mpr = 16;
		packet.sack_offset = 65;
		packet.sack_bitmap = 0x8182838485868788;
		packet.ooo_count = 0x7172;
		packet.cwnd_pen = 0x85;
		packet.rcvd_bytes = 0x919293;
	}
	if (row->deth) {
		packet.qkey = 0x80010000;
		packet.source_qpn = 0xC1C2C3;
	}
	if (row->immdt)
		packet.imm = 0xD1D2D3D4;
	if (row->ieth)
		packet.invalidate_key = 0xE1E2E3E4;
	return packet;
}

struct test_frame test_frame_build(const struct wire_encap *encap, const struct wire_packet *packet)
{
	uint8_t headers[WIRE_ENCAP_MAX_BYTES + WIRE_HEADERS_MAX_BYTES];
	struct wire_encap built = *encap;
	struct test_frame frame;
	uint32_t head, ip;

	head = wire_encap_build(&built, packet_bytes(packet), headers);
	head += wire_packet_build(packet, headers + head);
	frame.bytes = built.bth_offset + packet_bytes(packet);
	frame.data = calloc(1, frame.bytes);
	if (!frame.data)
		abort();
	memcpy(frame.data, headers, head);
	if (packet->payload && packet->payload_bytes > 0)
		memcpy(frame.data + head, packet->payload, packet->payload_bytes);
	ip = built.ip_offset;
	store_le32(frame.data + frame.bytes - 4, wire_icrc_frame(frame.data + ip, frame.bytes - 4 - ip));
	return frame;
}

struct test_frame test_frame_roce(bool ipv6, bool vlan)
{
	struct wire_encap encap = test_encap(ipv6, vlan);
	struct wire_packet packet = test_packet(OP_SEND_ONLY, 5);

	return test_frame_build(&encap, &packet);
}

struct test_frame test_frame_copy(const uint8_t *data, uint32_t bytes)
{
	struct test_frame frame = { malloc(bytes > 0 ? bytes : 1), bytes };

	if (!frame.data)
		abort();
	if (bytes > 0)
		memcpy(frame.data, data, bytes);
	return frame;
}

void test_frame_free(struct test_frame *frame)
{
	free(frame->data);
	frame->data = NULL;
}

enum wire_frame test_frame_kind(const struct test_frame *frame)
{
	struct wire_encap encap;

	return wire_encap_parse(frame->data, frame->bytes, true, &encap);
}

void test_expect_kind(const struct test_frame *frame, enum wire_frame expected, const char *what)
{
	enum wire_frame kind = test_frame_kind(frame);

	cr_expect_eq(kind, expected, "%s: %d, not %d", what, kind, expected);
}

void test_expect_changed(bool ipv6, uint32_t at, uint8_t value, enum wire_frame expected, const char *what)
{
	struct test_frame frame = test_frame_roce(ipv6, false);

	frame.data[at] = value;
	if (!ipv6)
		test_fix_ipv4_checksum(frame.data + TEST_IP);
	test_expect_kind(&frame, expected, what);
	test_frame_free(&frame);
}

void test_fix_ipv4_checksum(uint8_t *ip)
{
	store_be16(ip + 10, 0);
	store_be16(ip + 10, (uint16_t)~wire_encap_sum(0, ip, (ip[0] & 15u) * 4));
}

uint32_t test_crc_bitwise(uint32_t crc, const uint8_t *data, uint64_t bytes)
{
	int bit;

	for (; bytes > 0; bytes--) {
		crc ^= *data++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
	}
	return crc;
}
