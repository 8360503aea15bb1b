/* opcode.c - the table of BTH opcodes */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/opcode.h"

/* How many bytes each extension header has. */
enum { RETH = 16, AETH = 4, ATOMIC = 28, ATOMIC_ACK = 8, IMMDT = 4, IETH = 4, DETH = 8, FETH = 4, CNP = 16 };

/* Each row is read across. */
/* clang-format off */
#define RESERVED_ROW { .name = "RESERVED" }

const struct wire_opcode_row wire_opcodes[256] = {
	[OP_SEND_FIRST] = { .name = "SEND_FIRST", .kind = WIRE_KIND_SEND, .first = true, .payload = true },
	[OP_SEND_MIDDLE] = { .name = "SEND_MIDDLE", .kind = WIRE_KIND_SEND, .middle = true, .payload = true },
	[OP_SEND_LAST] = { .name = "SEND_LAST", .kind = WIRE_KIND_SEND, .last = true, .payload = true },
	[OP_SEND_LAST_IMM] = { .name = "SEND_LAST_IMM", .kind = WIRE_KIND_SEND, .last = true, .payload = true,
		.immdt = true, .extension_bytes = IMMDT },
	[OP_SEND_ONLY] = { .name = "SEND_ONLY", .kind = WIRE_KIND_SEND, .first = true, .last = true,
		.payload = true },
	[OP_SEND_ONLY_IMM] = { .name = "SEND_ONLY_IMM", .kind = WIRE_KIND_SEND, .first = true, .last = true,
		.payload = true, .immdt = true, .extension_bytes = IMMDT },
	[OP_WRITE_FIRST] = { .name = "WRITE_FIRST", .kind = WIRE_KIND_WRITE, .first = true, .payload = true,
		.reth = true, .extension_bytes = RETH },
	[OP_WRITE_MIDDLE] = { .name = "WRITE_MIDDLE", .kind = WIRE_KIND_WRITE, .middle = true,
		.payload = true },
	[OP_WRITE_LAST] = { .name = "WRITE_LAST", .kind = WIRE_KIND_WRITE, .last = true, .payload = true },
	[OP_WRITE_LAST_IMM] = { .name = "WRITE_LAST_IMM", .kind = WIRE_KIND_WRITE, .last = true,
		.payload = true, .immdt = true, .extension_bytes = IMMDT },
	[OP_WRITE_ONLY] = { .name = "WRITE_ONLY", .kind = WIRE_KIND_WRITE, .first = true, .last = true,
		.payload = true, .reth = true, .extension_bytes = RETH },
	[OP_WRITE_ONLY_IMM] = { .name = "WRITE_ONLY_IMM", .kind = WIRE_KIND_WRITE, .first = true,
		.last = true, .payload = true, .reth = true, .immdt = true, .extension_bytes = RETH + IMMDT },
	[OP_READ_REQUEST] = { .name = "READ_REQUEST", .kind = WIRE_KIND_READ_REQUEST, .first = true,
		.last = true, .reth = true, .extension_bytes = RETH },
	[OP_READ_RESPONSE_FIRST] = { .name = "READ_RESPONSE_FIRST", .kind = WIRE_KIND_READ_RESPONSE,
		.first = true, .response = true, .payload = true, .aeth = true, .extension_bytes = AETH },
	[OP_READ_RESPONSE_MIDDLE] = { .name = "READ_RESPONSE_MIDDLE", .kind = WIRE_KIND_READ_RESPONSE,
		.middle = true, .response = true, .payload = true },
	[OP_READ_RESPONSE_LAST] = { .name = "READ_RESPONSE_LAST", .kind = WIRE_KIND_READ_RESPONSE,
		.last = true, .response = true, .payload = true, .aeth = true, .extension_bytes = AETH },
	[OP_READ_RESPONSE_ONLY] = { .name = "READ_RESPONSE_ONLY", .kind = WIRE_KIND_READ_RESPONSE,
		.first = true, .last = true, .response = true, .payload = true, .aeth = true,
		.extension_bytes = AETH },
	[OP_ACKNOWLEDGE] = { .name = "ACKNOWLEDGE", .kind = WIRE_KIND_ACKNOWLEDGE, .first = true,
		.last = true, .response = true, .aeth = true, .extension_bytes = AETH },
	[OP_ATOMIC_ACKNOWLEDGE] = { .name = "ATOMIC_ACKNOWLEDGE", .kind = WIRE_KIND_ATOMIC_ACKNOWLEDGE,
		.first = true, .last = true, .response = true, .aeth = true, .atomic_ack = true,
		.extension_bytes = AETH + ATOMIC_ACK },
	[OP_COMPARE_SWAP] = { .name = "COMPARE_SWAP", .kind = WIRE_KIND_ATOMIC, .first = true, .last = true,
		.atomic = true, .extension_bytes = ATOMIC },
	[OP_FETCH_ADD] = { .name = "FETCH_ADD", .kind = WIRE_KIND_ATOMIC, .first = true, .last = true,
		.atomic = true, .extension_bytes = ATOMIC },
	[0x15] = RESERVED_ROW,
	[OP_SEND_LAST_INV] = { .name = "SEND_LAST_INV", .kind = WIRE_KIND_SEND, .last = true, .payload = true,
		.ieth = true, .extension_bytes = IETH },
	[OP_SEND_ONLY_INV] = { .name = "SEND_ONLY_INV", .kind = WIRE_KIND_SEND, .first = true, .last = true,
		.payload = true, .ieth = true, .extension_bytes = IETH },
	[0x18 ... 0x1B] = RESERVED_ROW,
	[OP_FLUSH] = { .name = "FLUSH", .kind = WIRE_KIND_FLUSH, .first = true, .last = true, .feth = true,
		.reth = true, .extension_bytes = FETH + RETH },
	[OP_ATOMIC_WRITE] = { .name = "ATOMIC_WRITE", .kind = WIRE_KIND_ATOMIC_WRITE, .first = true,
		.last = true, .payload = true, .reth = true, .extension_bytes = RETH },
	[0x1E ... 0x63] = RESERVED_ROW,
	[OP_UD_SEND_ONLY] = { .name = "UD_SEND_ONLY", .kind = WIRE_KIND_UD_SEND, .first = true, .last = true,
		.payload = true, .deth = true, .extension_bytes = DETH },
	[OP_UD_SEND_ONLY_IMM] = { .name = "UD_SEND_ONLY_IMM", .kind = WIRE_KIND_UD_SEND, .first = true,
		.last = true, .payload = true, .deth = true, .immdt = true, .extension_bytes = DETH + IMMDT },
	[0x66 ... 0x80] = RESERVED_ROW,
	[OP_CNP] = { .name = "CNP", .kind = WIRE_KIND_CNP, .first = true, .last = true,
		.extension_bytes = CNP },
	[0x82 ... 0xFF] = RESERVED_ROW,
};
/* clang-format on */
