/* opcode.c - the table of BTH opcodes */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/opcode.h"

/* clang-format off */
/* How many bytes each extension header has. */
enum {
#define HEADER(flag, BYTES, bytes) BYTES = (bytes),
#define HEADER_END
#include "wire/opcodes.def"
};

const struct wire_opcode_row wire_opcodes[256] = {
#define OPCODE(NAME, number, ...) [number] = { .name = #NAME, __VA_ARGS__ },
#define RESERVED(first, last) [first ... last] = { .name = "RESERVED" },
#include "wire/opcodes.def"
};
/* clang-format on */
