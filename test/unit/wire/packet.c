/* packet.c - parsing and building a transport packet */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/packet.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "ack_packet.h"
#include "frames.h"
#include "rule.h"

/* The packet's bytes, BTH through ICRC (zeros), in memory of exactly that size. */
static struct test_frame build(const struct wire_packet *packet)
{
	uint8_t headers[WIRE_HEADERS_MAX_BYTES];
	struct test_frame frame;
	uint32_t head = wire_packet_build(packet, headers);

	frame.bytes = packet_bytes(packet);
	frame.data = calloc(1, frame.bytes);
	cr_assert_not_null(frame.data);
	memcpy(frame.data, headers, head);
	return frame;
}

/* The bytes that they build tell all that is in the headers. */
static void expect_same(const struct wire_packet *a, const struct wire_packet *b)
{
	uint8_t x[WIRE_HEADERS_MAX_BYTES], y[WIRE_HEADERS_MAX_BYTES];
	uint32_t bytes = wire_packet_build(a, x);

	cr_expect_eq(wire_packet_build(b, y), bytes, "opcode %02x", a->opcode);
	cr_expect_eq(memcmp(x, y, bytes), 0, "opcode %02x", a->opcode);
	cr_expect_eq(a->payload_bytes, b->payload_bytes, "opcode %02x", a->opcode);
}

static uint32_t head_bytes(uint8_t opcode)
{
	return WIRE_BTH_BYTES + wire_opcode(opcode)->extension_bytes;
}

Test(packet, built_packet_parses_to_the_same_value_for_every_opcode)
{
	struct wire_packet packet, parsed;
	struct test_frame frame;
	unsigned int opcode;
	uint32_t bytes;

	RULE("W-1");
	for (opcode = 0; opcode < 256; opcode++) {
		for (bytes = 0; bytes < 9; bytes++) {
			packet = test_packet((uint8_t)opcode, bytes);
			frame = build(&packet);
			cr_assert_eq(wire_packet_parse(frame.data, frame.bytes, &parsed), WIRE_PACKET_OK);
			expect_same(&packet, &parsed);
			cr_expect_eq(parsed.payload, frame.data + head_bytes((uint8_t)opcode));
			test_frame_free(&frame);
		}
	}
}

/* Written byte by byte: what a builder and a parser that are wrong in the same way cannot agree on. */
static const struct {
	uint8_t opcode;
	const char *bytes;
} layouts[] = {
	{ OP_WRITE_ONLY_IMM, "\x0B\x00\xFF\xFF\x00\x12\x34\x56\x80\xFE\xDC\xBA"
			     "\x11\x22\x33\x44\x55\x66\x77\x88\x99\xAA\xBB\xCC\xDD\xEE\xFF\x01\xD1\xD2\xD3\xD4" },
	{ OP_COMPARE_SWAP, "\x13\x00\xFF\xFF\x00\x12\x34\x56\x80\xFE\xDC\xBA"
			   "\x11\x22\x33\x44\x55\x66\x77\x88\x99\xAA\xBB\xCC"
			   "\x02\x03\x04\x05\x06\x07\x08\x09\x12\x13\x14\x15\x16\x17\x18\x19" },
	{ OP_ATOMIC_ACKNOWLEDGE, "\x12\x00\xFF\xFF\x00\x12\x34\x56\x80\xFE\xDC\xBA"
				 "\x1F\xA1\xA2\xA3\xB1\xB2\xB3\xB4\xB5\xB6\xB7\xB8" },
	{ OP_FLUSH, "\x1C\x00\xFF\xFF\x00\x12\x34\x56\x80\xFE\xDC\xBA\x00\x00\x00\x23"
		    "\x11\x22\x33\x44\x55\x66\x77\x88\x99\xAA\xBB\xCC\xDD\xEE\xFF\x01" },
	{ OP_SEND_ONLY_INV, "\x17\x00\xFF\xFF\x00\x12\x34\x56\x80\xFE\xDC\xBA\xE1\xE2\xE3\xE4" },
	{ OP_UD_SEND_ONLY_IMM, "\x65\x00\xFF\xFF\x00\x12\x34\x56\x80\xFE\xDC\xBA"
			       "\x80\x01\x00\x00\x00\xC1\xC2\xC3\xD1\xD2\xD3\xD4" },
	{ OP_CNP, "\x81\x00\xFF\xFF\x00\x12\x34\x56\x80\xFE\xDC\xBA\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" },
	{ OP_SACK, "\xDC\x00\xFF\xFF\x00\x12\x34\x56\x80\xFE\xDC\xBA"
		   "\x00\x21\xFF\xF7\x00\x00\xC1\x23\x51\x52\x53\x54\x00\xFE\xDC\xB9\x02\x10\x00\x41"
		   "\x81\x82\x83\x84\x85\x86\x87\x88\x61\x62\x71\x72\x85\x91\x92\x93" },
	{ OP_PROBE, "\xDE\x00\xFF\xFF\x00\x12\x34\x56\x80\xFE\xDC\xBA"
		    "\x00\x00\x00\x00\xB1\xB2\x00\x00\x51\x52\x53\x54\x61\x62\x00\x01" },
};

Test(packet, headers_are_at_their_offsets)
{
	uint8_t out[WIRE_HEADERS_MAX_BYTES];
	struct wire_packet packet;
	uint32_t bytes;
	size_t i;

	RULE("W-7");
	RULE("W-9");
	for (i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		packet = test_packet(layouts[i].opcode, 0);
		memset(out, 0xEE, sizeof(out));
		bytes = wire_packet_build(&packet, out);
		cr_expect_eq(bytes, head_bytes(packet.opcode), "%s", wire_opcode(packet.opcode)->name);
		cr_expect_eq(memcmp(out, layouts[i].bytes, bytes), 0, "%s", wire_opcode(packet.opcode)->name);
	}
}

Test(packet, every_bit_of_the_bth_has_its_offset)
{
	static const uint8_t bth[12] = {
		0x04, 0xF0, 0x7F, 0xFE, 0xFF, 0xAB, 0xCD, 0xEF, 0xE0, 0x89, 0xAB, 0xCD,
	};
	uint8_t bytes[20] = { 0 }, out[WIRE_HEADERS_MAX_BYTES];
	struct wire_packet packet;
	int bit;

	RULE("W-7");
	memcpy(bytes, bth, 12);
	cr_assert_eq(wire_packet_parse(bytes, 20, &packet), WIRE_PACKET_OK);
	cr_expect_eq(packet.flags, WIRE_FLAGS);
	cr_expect_eq(packet.pad_bytes, 3);
	cr_expect_eq(packet.payload_bytes, 1);
	cr_expect_eq(packet.pkey, 0x7FFE);
	cr_expect_eq(packet.dest_qpn, 0xABCDEF);
	cr_expect_eq(packet.psn, 0x89ABCD);
	/* One bit at a time, so that no two are mixed up; TVer and byte 8 bits 4:0 are not kept. */
	for (bit = 0; bit < 96; bit++) {
		memset(bytes, 0, sizeof(bytes));
		bytes[0] = OP_SEND_ONLY;
		bytes[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
		if (bit < 8 || (bit >= 12 && bit < 16) || (bit >= 64 + 3 && bit < 72))
			continue;
		cr_assert_eq(wire_packet_parse(bytes, sizeof(bytes), &packet), WIRE_PACKET_OK);
		wire_packet_build(&packet, out);
		cr_expect_eq(memcmp(out, bytes, 12), 0, "bit %d", bit);
	}
}

/* TC-A-3 */
Test(packet, nonzero_version_is_refused_with_a_complete_value)
{
	struct wire_packet packet, parsed;
	struct test_frame frame;
	int version;

	RULE("W-5");
	packet = test_packet(OP_WRITE_ONLY, 5);
	for (version = 1; version < 16; version++) {
		frame = build(&packet);
		frame.data[1] = (uint8_t)(frame.data[1] | version);
		cr_expect_eq(wire_packet_parse(frame.data, frame.bytes, &parsed), WIRE_PACKET_BAD_VERSION);
		expect_same(&packet, &parsed);
		test_frame_free(&frame);
	}
}

/* TC-A-1 */
Test(packet, every_length_of_every_opcode_is_checked_without_overread)
{
	uint8_t headers[WIRE_HEADERS_MAX_BYTES];
	struct wire_packet packet, parsed;
	enum wire_packet_fault fault;
	struct test_frame cut;
	unsigned int opcode;
	uint32_t bytes, need;

	RULE("W-5");
	for (opcode = 0; opcode < 256; opcode++) {
		packet = test_packet((uint8_t)opcode, 0);
		need = wire_packet_build(&packet, headers) + WIRE_ICRC_BYTES;
		for (bytes = 0; bytes <= need + 8; bytes++) {
			cut.bytes = bytes;
			cut.data = calloc(1, bytes > 0 ? bytes : 1);
			cr_assert_not_null(cut.data);
			memcpy(cut.data, headers, bytes < need - 4 ? bytes : need - 4);
			fault = wire_packet_parse(cut.data, cut.bytes, &parsed);
			cr_assert_eq(fault, bytes < need ? WIRE_PACKET_TRUNCATED : WIRE_PACKET_OK,
				     "opcode %02x with %u bytes: %d", opcode, bytes, fault);
			if (fault == WIRE_PACKET_OK)
				cr_assert_eq(parsed.payload_bytes, bytes - need);
			test_frame_free(&cut);
		}
	}
}

/* TC-A-5 */
Test(packet, pad_out_of_bounds_is_truncation)
{
	struct wire_packet packet, parsed;
	enum wire_packet_fault fault;
	struct test_frame frame;
	uint32_t bytes;
	uint8_t pad;

	RULE("W-6");
	for (pad = 0; pad < 4; pad++) {
		for (bytes = 0; bytes < 5; bytes++) {
			packet = test_packet(OP_SEND_ONLY, bytes);
			packet.pad_bytes = 0;
			frame = build(&packet);
			frame.data[1] = (uint8_t)(pad << 4);
			fault = wire_packet_parse(frame.data, frame.bytes, &parsed);
			cr_expect_eq(fault, bytes < pad ? WIRE_PACKET_TRUNCATED : WIRE_PACKET_OK, "pad %u of %u", pad,
				     bytes);
			if (fault == WIRE_PACKET_OK)
				cr_expect_eq(parsed.payload_bytes, bytes - pad);
			test_frame_free(&frame);
		}
	}
}

/* TC-A-1 */
Test(packet, truncation_is_judged_before_the_version)
{
	uint8_t bytes[16] = { OP_WRITE_ONLY, 0x01 };
	struct wire_packet packet;

	RULE("W-5");
	cr_expect_eq(wire_packet_parse(bytes, sizeof(bytes), &packet), WIRE_PACKET_TRUNCATED);
}

Test(packet, unexpected_payload_still_parses)
{
	struct wire_packet packet, parsed;
	struct test_frame frame;

	RULE("W-6");
	packet = test_packet(OP_READ_REQUEST, 12);
	frame = build(&packet);
	cr_expect_eq(wire_packet_parse(frame.data, frame.bytes, &parsed), WIRE_PACKET_OK);
	cr_expect_eq(parsed.payload_bytes, 12);
	test_frame_free(&frame);
}

Test(packet, the_pad_fills_up_to_four_bytes)
{
	RULE("W-6");
	cr_expect_eq(packet_pad_bytes(0), 0);
	cr_expect_eq(packet_pad_bytes(1), 3);
	cr_expect_eq(packet_pad_bytes(2), 2);
	cr_expect_eq(packet_pad_bytes(3), 1);
	cr_expect_eq(packet_pad_bytes(4096), 0);
}

/* The short form matches plain ACKs, with or without MigReq, and differs for any other bit. */
Test(packet, short_ack_form_matches_only_plain_acks)
{
	RULE("W-4");
	RULE("W-6");
	for (uint32_t bytes = WIRE_ACK_BYTES - 4; bytes <= WIRE_ACK_BYTES + 8; bytes++) {
		for (uint32_t bit = 0; bit < 16 * 8; bit++) {
			uint8_t data[WIRE_ACK_BYTES + 8] = { OP_ACKNOWLEDGE };
			bool usual = bit / 8 >= 8 || bit / 8 == 2 || bit / 8 == 3 || (bit / 8 > 4 && bit / 8 < 8) ||
				     (bit / 8 == 1 && bit % 8 == 6);
			struct wire_packet packet, again;
			struct wire_ack ack;

			data[bit / 8] ^= (uint8_t)(1u << bit % 8);
			cr_assert_eq(packet_parse_ack(data, bytes, &ack), usual && bytes == WIRE_ACK_BYTES,
				     "bit %u of %u bytes", bit, bytes);
			if (!usual || bytes != WIRE_ACK_BYTES)
				continue;
			cr_assert_eq(wire_packet_parse(data, bytes, &packet), WIRE_PACKET_OK);
			packet_of_ack(&ack, &again);
			expect_same(&packet, &again);
			cr_assert_null(again.payload);
			cr_assert_eq(ack_pkey(&ack), packet.pkey);
			cr_assert_eq(ack_dest_qpn(&ack), packet.dest_qpn);
			cr_assert_eq(ack_psn(&ack), packet.psn);
			cr_assert_eq(ack_aeth(&ack), (uint32_t)packet.syndrome << 24 | packet.msn);
		}
	}
}
