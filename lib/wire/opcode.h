/* opcode.h - a row of facts about each BTH opcode */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WIRE_OPCODE_H
#define WIRE_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

enum wire_opcode {
#define OPCODE(NAME, number, ...) OP_##NAME = (number),
#include "wire/opcodes.def"
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
	WIRE_KIND_CNP,
	WIRE_KIND_SACK,
	WIRE_KIND_PROBE
};

/* Class: bits 7:5 of the opcode. */
enum wire_class { WIRE_CLASS_RC = 0, WIRE_CLASS_UD = 3, WIRE_CLASS_CNP = 4, WIRE_CLASS_CONTROL = 6 };

#define OPCODES_OF_RC 32 /* the first 32 opcodes */

struct wire_opcode_row {
	const char *name;         /* "SEND_FIRST"; "RESERVED" for a reserved opcode */
	uint8_t kind;             /* enum wire_kind */
	uint8_t extension_bytes;  /* all extension headers together */
	bool first, middle, last; /* ONLY is both first and last */
	bool response;            /* travels from responder to requester */
	bool payload;             /* may carry payload */
				  /* has these extension headers */
#define HEADER(flag, BYTES, bytes) bool flag;
#define HEADER_END
#include "wire/opcodes.def"
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
