/* op.h - a row for each operation that uroce-perf can measure, and the modes in which it measures them */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_OP_H
#define APP_PERF_OP_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/wr.h>

#define PERF_ATOMIC_BYTES 8u
#define PERF_WINDOWS_MAX 16384u /* memory windows of an end */

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

enum perf_mode { PERF_BW, PERF_LAT, PERF_MODES };

/* A row for each operation. */
struct perf_op_info {
	const char *title;
	enum uroce_wr_opcode opcode;
	bool receives; /* needs a receive entry at the peer, and completes there */
	bool imm;
	bool invalidates; /* names a memory window of the peer (keys.h) */
	bool silent;      /* the peer gets no completion: it sees only its memory change */
	bool flushes;     /* follows a WRITE, whose bytes it flushes */
	bool fetches;     /* brings data back: READ and atomics */
	bool atomic;
	uint32_t bytes; /* size of each message; 0: as asked for */
};

extern const struct perf_op_info perf_ops[PERF_OPS];
extern const char *const perf_op_names[PERF_OPS];
extern const char *const perf_mode_names[PERF_MODES];

/*
 * Does a response of the peer complete a request (READ, atomic, FLUSH)? Then the latency in lat mode is that of a whole
 * round trip, and no message of the peer is awaited.
 */
static inline bool op_is_round_trip(const struct perf_op_info *op)
{
	return op->fetches || op->flushes;
}

/*
 * Does the operation work with shared receives? Not if it names windows: a window belongs to one queue pair, and so do
 * its receives.
 */
static inline bool op_shares_receives(const struct perf_op_info *op)
{
	return op->receives && !op->invalidates;
}

#endif
