/* op.h - a row for each operation that uroce-perf can measure */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_OP_H
#define APP_PERF_OP_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/wr.h>

#define PERF_ATOMIC_BYTES 8u
#define PERF_WINDOWS_MAX 16384u /* memory windows of an end */

struct perf_options;

enum perf_op {
	PERF_SEND,
	PERF_SEND_IMM,
	PERF_SEND_INV,
	PERF_WRITE,
	PERF_WRITE_IMM,
	PERF_AWRITE,
	PERF_FLUSH,
	PERF_READ,
	PERF_FADD,
	PERF_CSWAP,
	PERF_OPS
};

/* A row for each operation. */
struct perf_op_info {
	const char *name, *title;
	enum uroce_wr_opcode opcode;
	bool receives; /* takes a receive entry of the peer, and completes there */
	bool imm;
	bool invalidates; /* names a memory window of the peer (keys.h) */
	bool silent;      /* the peer is not told: its memory changes, and nothing else */
	bool flushes;     /* a WRITE goes before it, of the bytes that it flushes */
	bool fetches;     /* data comes back: READ and atomics */
	bool atomic;
	uint32_t bytes; /* of each message; 0: those that are asked for */
};

extern const struct perf_op_info perf_ops[PERF_OPS];

/* In lat mode the answer is awaited, and not a message of the peer. */
static inline bool op_is_round_trip(const struct perf_op_info *op)
{
	return op->fetches || op->flushes;
}

/* A window is of one queue pair, and so is the receive of a SEND that names it. */
static inline bool op_shares_receives(const struct perf_op_info *op)
{
	return op->receives && !op->invalidates;
}

/* Can it be measured in windows, beside bare frames, junk, or other lcores? */
static inline bool op_takes_turns(const struct perf_op_info *op)
{
	return op->bytes == 0 && !op->flushes;
}

/* Do the operations and the other options fit? When none is named it names all that do. */
int perf_op_check(struct perf_options *options);

#endif
