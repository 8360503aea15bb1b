/* opcode.h - a row of facts about each BTH opcode */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WIRE_OPCODE_H
#define WIRE_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

enum wire_opcode {
	OP_SEND_FIRST = 0x00,
	OP_SEND_MIDDLE = 0x01,
	OP_SEND_LAST = 0x02,
	OP_SEND_LAST_IMM = 0x03,
	OP_SEND_ONLY = 0x04,
	OP_SEND_ONLY_IMM = 0x05,
	OP_WRITE_FIRST = 0x06,
	OP_WRITE_MIDDLE = 0x07,
	OP_WRITE_LAST = 0x08,
	OP_WRITE_LAST_IMM = 0x09,
	OP_WRITE_ONLY = 0x0A,
	OP_WRITE_ONLY_IMM = 0x0B,
	OP_READ_REQUEST = 0x0C,
	OP_READ_RESPONSE_FIRST = 0x0D,
	OP_READ_RESPONSE_MIDDLE = 0x0E,
	OP_READ_RESPONSE_LAST = 0x0F,
	OP_READ_RESPONSE_ONLY = 0x10,
	OP_ACKNOWLEDGE = 0x11,
	OP_ATOMIC_ACKNOWLEDGE = 0x12,
	OP_COMPARE_SWAP = 0x13,
	OP_FETCH_ADD = 0x14,
	OP_SEND_LAST_INV = 0x16,
	OP_SEND_ONLY_INV = 0x17,
	OP_FLUSH = 0x1C,
	OP_ATOMIC_WRITE = 0x1D,
	OP_UD_SEND_ONLY = 0x64,
	OP_UD_SEND_ONLY_IMM = 0x65,
	OP_CNP = 0x81
};

/* The operation that an opcode belongs to. */
enum wire_kind {
	WIRE_KIND_RESERVED, /* a reserved opcode: the rest of the row is zero */
	WIRE_KIND_SEND,
	WIRE_KIND_WRITE,
	WIRE_KIND_READ_REQUEST,
	WIRE_KIND_READ_RESPONSE,
	WIRE_KIND_ACKNOWLEDGE,
	WIRE_KIND_ATOMIC_ACKNOWLEDGE,
	WIRE_KIND_ATOMIC,
	WIRE_KIND_FLUSH,
	WIRE_KIND_ATOMIC_WRITE,
	WIRE_KIND_UD_SEND,
	WIRE_KIND_CNP
};

/* Class: bits 7:5 of the opcode. */
enum wire_class { WIRE_CLASS_RC = 0, WIRE_CLASS_UD = 3, WIRE_CLASS_CNP = 4 };

#define OPCODES_OF_RC 32 /* the first 32 opcodes */

struct wire_opcode_row {
	const char *name;         /* "SEND_FIRST"; "RESERVED" for a reserved opcode */
	uint8_t kind;             /* enum wire_kind */
	uint8_t extension_bytes;  /* all extension headers together */
	bool first, middle, last; /* ONLY is both first and last */
	bool response;            /* travels from responder to requester */
	bool payload;             /* may carry payload */
	bool reth, aeth, atomic, atomic_ack, immdt, ieth, deth, feth;
};

/* One row for each of the 256 opcodes. */
extern const struct wire_opcode_row wire_opcodes[256];

static inline const struct wire_opcode_row *wire_opcode(uint8_t opcode)
{
	return &wire_opcodes[opcode];
}

static inline bool opcode_is_rc(uint8_t opcode)
{
	return opcode >> 5 == WIRE_CLASS_RC;
}

#endif
