/* print.c - packets as lines */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/print.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "rule.h"

static void expect_line(const struct wire_packet *packet, const char *expected)
{
	char line[WIRE_PRINT_MAX_BYTES];

	cr_expect_str_eq(wire_print_packet(packet, line, sizeof(line)), expected, "got \"%s\"", line);
}

Test(print, a_write_shows_address_key_and_both_lengths)
{
	struct wire_packet packet = {
		.opcode = OP_WRITE_FIRST,
		.dest_qpn = 0x12,
		.psn = 5,
		.flags = WIRE_ACKREQ,
		.va = 0x1000,
		.rkey = 0x102,
		.dma_length = 3000,
		.payload_bytes = 1024,
	};

	expect_line(&packet, "WRITE_FIRST qp=0x000012 psn=5 ackreq va=0x1000 rkey=0x00000102 len=3000 bytes=1024");
}

Test(print, ack_is_named_by_its_syndrome)
{
	static const struct {
		uint8_t syndrome;
		const char *line;
	} rows[] = {
		{ 0x1F, "ACK qp=0x000011 psn=5 credit=31 msn=2" },
		{ 0x00, "ACK qp=0x000011 psn=5 credit=0 msn=2" },
		{ 0x2C, "RNR_NAK qp=0x000011 psn=5 timer=12 msn=2" },
		{ 0x60, "NAK_SEQUENCE qp=0x000011 psn=5 msn=2" },
		{ 0x61, "NAK_INVALID_REQUEST qp=0x000011 psn=5 msn=2" },
		{ 0x62, "NAK_REMOTE_ACCESS qp=0x000011 psn=5 msn=2" },
		{ 0x63, "NAK_REMOTE_OPERATIONAL qp=0x000011 psn=5 msn=2" },
		{ 0x64, "NAK_INVALID_RD qp=0x000011 psn=5 msn=2" },
		{ 0x65, "NAK_RESERVED qp=0x000011 psn=5 syndrome=0x65 msn=2" },
		{ 0x7F, "NAK_RESERVED qp=0x000011 psn=5 syndrome=0x7f msn=2" },
		{ 0x40, "SYNDROME_RESERVED qp=0x000011 psn=5 syndrome=0x40 msn=2" },
		{ 0x9F, "SYNDROME_RESERVED qp=0x000011 psn=5 syndrome=0x9f msn=2" },
	};
	struct wire_packet packet = { .opcode = OP_ACKNOWLEDGE, .dest_qpn = 0x11, .psn = 5, .msn = 2 };
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		packet.syndrome = rows[i].syndrome;
		expect_line(&packet, rows[i].line);
	}
}

#define VA_AND_KEY " va=0x1122334455667788 rkey=0x99aabbcc"

Test(print, every_extension_header_shows_its_fields)
{
	static const struct {
		uint8_t opcode;
		const char *extensions;
	} rows[] = {
		{ OP_SEND_MIDDLE, "" },
		{ OP_SEND_ONLY_IMM, " imm=0xd1d2d3d4" },
		{ OP_SEND_ONLY_INV, " invalidate=0xe1e2e3e4" },
		{ OP_READ_REQUEST, VA_AND_KEY " len=3723427585" },
		{ OP_READ_RESPONSE_LAST, " credit=31 msn=10592931" },
		{ OP_ATOMIC_ACKNOWLEDGE, " credit=31 msn=10592931 original=0xb1b2b3b4b5b6b7b8" },
		{ OP_COMPARE_SWAP, VA_AND_KEY " compare=0x1213141516171819 swap=0x203040506070809" },
		{ OP_FETCH_ADD, VA_AND_KEY " add=0x203040506070809" },
		{ OP_FLUSH, " flush=0x00000023" VA_AND_KEY " len=3723427585" },
		{ OP_UD_SEND_ONLY, " qkey=0x80010000 source_qp=0xc1c2c3" },
		{ OP_CNP, "" },
		{ OP_SACK, " ack=-9 entropy=0xc123 cack=16702649 mpr=16 map=+65:0x8182838485868788 kept=29042" },
		{ OP_PROBE, " id=45490 kind=0x0001" },
		{ 0x15, " opcode=0x15" },
	};
	char line[WIRE_PRINT_MAX_BYTES];
	struct wire_packet packet;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		packet = test_packet(rows[i].opcode, 8);
		snprintf(line, sizeof(line), "%s qp=0x123456 psn=16702650 ackreq%s bytes=8",
			 wire_opcode(rows[i].opcode)->name, rows[i].extensions);
		expect_line(&packet, line);
	}
}

Test(print, sack_that_answers_a_probe_shows_its_id)
{
	struct wire_packet packet = test_packet(OP_SACK, 0);

	packet.control_kind = WIRE_SACK_OF_PROBE;
	packet.flags = 0;
	expect_line(&packet, "SACK qp=0x123456 psn=16702650 probe=65527 entropy=0xc123 cack=16702649 mpr=16 "
			     "map=+65:0x8182838485868788 kept=29042");
}

Test(print, set_flags_and_a_wrong_pad_are_shown)
{
	struct wire_packet packet = {
		.opcode = OP_SEND_ONLY,
		.flags = WIRE_FLAGS,
		.pad_bytes = 2,
		.payload_bytes = 1,
	};

	expect_line(&packet, "SEND_ONLY qp=0x000000 psn=0 solicited migreq ackreq fecn becn bytes=1 pad=2");
}

Test(print, response_with_data_and_an_unknown_syndrome_shows_it)
{
	struct wire_packet packet = test_packet(OP_READ_RESPONSE_ONLY, 0);

	packet.syndrome = 0x60;
	packet.flags = 0;
	expect_line(&packet, "READ_RESPONSE_ONLY qp=0x123456 psn=16702650 syndrome=0x60 msn=10592931 bytes=0");
}

Test(print, short_buffer_truncates_and_terminates_the_line)
{
	struct wire_packet packet = test_packet(OP_COMPARE_SWAP, 0);
	struct wire_encap encap = test_encap(true, true);
	char whole[WIRE_PRINT_MAX_BYTES], *cut;
	size_t bytes;

	wire_print_packet(&packet, whole, sizeof(whole));
	for (bytes = 1; bytes < 200; bytes++) {
		cut = malloc(bytes);
		cr_assert_not_null(cut);
		cr_expect_eq(wire_print_packet(&packet, cut, bytes), cut);
		cr_expect_lt(strlen(cut), bytes);
		cr_expect_eq(strncmp(cut, whole, bytes - 1), 0);
		wire_print_encap(&encap, cut, bytes);
		cr_expect_lt(strlen(cut), bytes);
		free(cut);
	}
}

Test(print, no_opcode_exceeds_the_line)
{
	char line[1024];
	struct wire_packet packet;
	unsigned int opcode;

	for (opcode = 0; opcode < 256; opcode++) {
		packet = test_packet((uint8_t)opcode, 0);
		packet.flags = WIRE_FLAGS;
		packet.pad_bytes = 3;
		packet.payload_bytes = 0xFFFFFFFF;
		wire_print_packet(&packet, line, sizeof(line));
		cr_expect_lt(strlen(line), WIRE_PRINT_MAX_BYTES, "%s", line);
	}
}

Test(print, addresses_are_shown_in_usual_notation)
{
	struct wire_encap encap = test_encap(false, false);
	char line[WIRE_PRINT_MAX_BYTES];

	RULE("W-1");
	cr_expect_str_eq(wire_print_encap(&encap, line, sizeof(line)), "10.9.0.2 > 10.9.0.3");
	encap = test_encap(false, true);
	cr_expect_str_eq(wire_print_encap(&encap, line, sizeof(line)), "10.9.0.2 > 10.9.0.3 vlan=5");
	encap = test_encap(true, false);
	cr_expect_str_eq(wire_print_encap(&encap, line, sizeof(line)), "fe80::5000:0:0:2 > fe80::5000:0:0:3");
}

Test(print, every_frame_kind_has_its_own_name)
{
	enum wire_frame a, b;

	for (a = WIRE_FRAME_ROCE; a <= WIRE_FRAME_TRUNCATED; a++) {
		cr_expect_str_neq(wire_print_frame(a), "unknown");
		for (b = WIRE_FRAME_ROCE; b < a; b++)
			cr_expect_str_neq(wire_print_frame(a), wire_print_frame(b));
	}
}
