/* opcode.c - the opcode table agrees with itself and with the list of headers */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/opcode.h"

#include <criterion/criterion.h>
#include <string.h>

#include "rule.h"

/* Written from the list of opcodes a second time, as a reader would: the headers by letters. */
static const struct expected {
	uint8_t opcode;
	const char *name;
	uint8_t kind;
	const char *place;   /* F first, M middle, L last */
	const char *headers; /* R reth, A aeth, O atomic, K atomic ack, I immdt, V ieth, D deth, F feth */
	bool payload;
} expecteds[] = {
	{ 0x00, "SEND_FIRST", WIRE_KIND_SEND, "F", "", true },
	{ 0x01, "SEND_MIDDLE", WIRE_KIND_SEND, "M", "", true },
	{ 0x02, "SEND_LAST", WIRE_KIND_SEND, "L", "", true },
	{ 0x03, "SEND_LAST_IMM", WIRE_KIND_SEND, "L", "I", true },
	{ 0x04, "SEND_ONLY", WIRE_KIND_SEND, "FL", "", true },
	{ 0x05, "SEND_ONLY_IMM", WIRE_KIND_SEND, "FL", "I", true },
	{ 0x06, "WRITE_FIRST", WIRE_KIND_WRITE, "F", "R", true },
	{ 0x07, "WRITE_MIDDLE", WIRE_KIND_WRITE, "M", "", true },
	{ 0x08, "WRITE_LAST", WIRE_KIND_WRITE, "L", "", true },
	{ 0x09, "WRITE_LAST_IMM", WIRE_KIND_WRITE, "L", "I", true },
	{ 0x0A, "WRITE_ONLY", WIRE_KIND_WRITE, "FL", "R", true },
	{ 0x0B, "WRITE_ONLY_IMM", WIRE_KIND_WRITE, "FL", "RI", true },
	{ 0x0C, "READ_REQUEST", WIRE_KIND_READ_REQUEST, "FL", "R", false },
	{ 0x0D, "READ_RESPONSE_FIRST", WIRE_KIND_READ_RESPONSE, "F", "A", true },
	{ 0x0E, "READ_RESPONSE_MIDDLE", WIRE_KIND_READ_RESPONSE, "M", "", true },
	{ 0x0F, "READ_RESPONSE_LAST", WIRE_KIND_READ_RESPONSE, "L", "A", true },
	{ 0x10, "READ_RESPONSE_ONLY", WIRE_KIND_READ_RESPONSE, "FL", "A", true },
	{ 0x11, "ACKNOWLEDGE", WIRE_KIND_ACKNOWLEDGE, "FL", "A", false },
	{ 0x12, "ATOMIC_ACKNOWLEDGE", WIRE_KIND_ATOMIC_ACKNOWLEDGE, "FL", "AK", false },
	{ 0x13, "COMPARE_SWAP", WIRE_KIND_ATOMIC, "FL", "O", false },
	{ 0x14, "FETCH_ADD", WIRE_KIND_ATOMIC, "FL", "O", false },
	{ 0x16, "SEND_LAST_INV", WIRE_KIND_SEND, "L", "V", true },
	{ 0x17, "SEND_ONLY_INV", WIRE_KIND_SEND, "FL", "V", true },
	{ 0x1C, "FLUSH", WIRE_KIND_FLUSH, "FL", "FR", false },
	{ 0x1D, "ATOMIC_WRITE", WIRE_KIND_ATOMIC_WRITE, "FL", "R", true },
	{ 0x64, "UD_SEND_ONLY", WIRE_KIND_UD_SEND, "FL", "D", true },
	{ 0x65, "UD_SEND_ONLY_IMM", WIRE_KIND_UD_SEND, "FL", "DI", true },
	{ 0x81, "CNP", WIRE_KIND_CNP, "FL", "", false },
	{ 0xDC, "SACK", WIRE_KIND_SACK, "FL", "S", false },
	{ 0xDE, "PROBE", WIRE_KIND_PROBE, "FL", "P", false },
};

static const struct expected *find(unsigned int opcode)
{
	size_t i;

	for (i = 0; i < sizeof(expecteds) / sizeof(expecteds[0]); i++) {
		if (expecteds[i].opcode == opcode)
			return &expecteds[i];
	}
	return NULL;
}

static bool has(const char *letters, char letter)
{
	return strchr(letters, letter) != NULL;
}

Test(opcode, every_row_matches_the_headers_and_offsets_of_the_list)
{
	const struct wire_opcode_row *row;
	const struct expected *e;
	size_t i;

	RULE("W-1");
	for (i = 0; i < sizeof(expecteds) / sizeof(expecteds[0]); i++) {
		e = &expecteds[i];
		row = wire_opcode(e->opcode);
		cr_expect_str_eq(row->name, e->name);
		cr_expect_eq(row->kind, e->kind, "%s", e->name);
		cr_expect_eq(row->first, has(e->place, 'F'), "%s", e->name);
		cr_expect_eq(row->middle, has(e->place, 'M'), "%s", e->name);
		cr_expect_eq(row->last, has(e->place, 'L'), "%s", e->name);
		cr_expect_eq(row->payload, e->payload, "%s", e->name);
		cr_expect_eq(row->reth, has(e->headers, 'R'), "%s", e->name);
		cr_expect_eq(row->aeth, has(e->headers, 'A'), "%s", e->name);
		cr_expect_eq(row->atomic, has(e->headers, 'O'), "%s", e->name);
		cr_expect_eq(row->atomic_ack, has(e->headers, 'K'), "%s", e->name);
		cr_expect_eq(row->immdt, has(e->headers, 'I'), "%s", e->name);
		cr_expect_eq(row->ieth, has(e->headers, 'V'), "%s", e->name);
		cr_expect_eq(row->deth, has(e->headers, 'D'), "%s", e->name);
		cr_expect_eq(row->feth, has(e->headers, 'F'), "%s", e->name);
		cr_expect_eq(row->sack, has(e->headers, 'S'), "%s", e->name);
		cr_expect_eq(row->probe, has(e->headers, 'P'), "%s", e->name);
	}
}

Test(opcode, extension_bytes_are_the_sum_of_the_headers)
{
	const struct wire_opcode_row *row;
	unsigned int i, sum;

	RULE("W-1");
	for (i = 0; i < 256; i++) {
		row = wire_opcode((uint8_t)i);
		sum = row->reth * 16 + row->aeth * 4 + row->atomic * 28 + row->atomic_ack * 8 + row->immdt * 4 +
		      row->ieth * 4 + row->deth * 8 + row->feth * 4 + row->sack * 36 + row->probe * 16;
		if (row->kind == WIRE_KIND_CNP)
			sum = 16;
		cr_expect_eq(row->extension_bytes, sum, "opcode %02x: %u, not %u", i, row->extension_bytes, sum);
	}
}

Test(opcode, all_other_rows_are_reserved_and_otherwise_zero)
{
	static const struct wire_opcode_row zero;
	struct wire_opcode_row row;
	unsigned int i;

	RULE("W-1");
	for (i = 0; i < 256; i++) {
		row = *wire_opcode((uint8_t)i);
		cr_assert_not_null(row.name, "opcode %02x", i);
		if (find(i)) {
			cr_expect_neq(row.kind, WIRE_KIND_RESERVED, "opcode %02x", i);
			continue;
		}
		cr_expect_str_eq(row.name, "RESERVED", "opcode %02x", i);
		row.name = NULL;
		cr_expect_eq(memcmp(&row, &zero, sizeof(row)), 0, "opcode %02x", i);
	}
}

Test(opcode, responses_are_exactly_read_responses_acknowledges_and_sacks)
{
	unsigned int i;

	RULE("W-1");
	for (i = 0; i < 256; i++)
		cr_expect_eq(wire_opcode((uint8_t)i)->response, (i >= 0x0D && i <= 0x12) || i == OP_SACK, "opcode %02x",
			     i);
}

Test(opcode, the_class_is_the_upper_three_bits)
{
	unsigned int i;

	RULE("W-5");
	for (i = 0; i < 256; i++)
		cr_expect_eq(opcode_is_rc((uint8_t)i), i < 0x20, "opcode %02x", i);
	cr_expect_eq(OP_UD_SEND_ONLY >> 5, WIRE_CLASS_UD);
	cr_expect_eq(OP_CNP >> 5, WIRE_CLASS_CNP);
	cr_expect_eq(OP_SACK >> 5, WIRE_CLASS_CONTROL);
	cr_expect_eq(OP_PROBE >> 5, WIRE_CLASS_CONTROL);
}
