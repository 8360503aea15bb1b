/* op.c - the table of operations, and the names of modes */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/op.h"

const char *const perf_op_names[PERF_OPS] = {
	[PERF_SEND] = "send",   [PERF_SEND_IMM] = "send_imm",   [PERF_SEND_INV] = "send_inv",
	[PERF_WRITE] = "write", [PERF_WRITE_IMM] = "write_imm", [PERF_AWRITE] = "awrite",
	[PERF_FLUSH] = "flush", [PERF_READ] = "read",           [PERF_FADD] = "fadd",
	[PERF_CSWAP] = "cswap",
};

const char *const perf_mode_names[PERF_MODES] = { [PERF_BW] = "bw", [PERF_LAT] = "lat" };

const struct perf_op_info perf_ops[PERF_OPS] = {
	[PERF_SEND] = { .title = "Send", .opcode = UROCE_WR_SEND, .receives = true },
	[PERF_SEND_IMM] = { .title = "Send with immediate",
			    .opcode = UROCE_WR_SEND_WITH_IMM,
			    .receives = true,
			    .imm = true },
	[PERF_SEND_INV] = { .title = "Send with invalidate",
			    .opcode = UROCE_WR_SEND_WITH_INV,
			    .receives = true,
			    .invalidates = true },
	[PERF_WRITE] = { .title = "RDMA_Write", .opcode = UROCE_WR_RDMA_WRITE, .silent = true },
	[PERF_WRITE_IMM] = { .title = "RDMA_Write with immediate",
			     .opcode = UROCE_WR_RDMA_WRITE_WITH_IMM,
			     .receives = true,
			     .imm = true },
	[PERF_AWRITE] = { .title = "Atomic write",
			  .opcode = UROCE_WR_ATOMIC_WRITE,
			  .silent = true,
			  .bytes = PERF_ATOMIC_BYTES },
	[PERF_FLUSH] = { .title = "RDMA_Write and its flush",
			 .opcode = UROCE_WR_FLUSH,
			 .silent = true,
			 .flushes = true },
	[PERF_READ] = { .title = "RDMA_Read", .opcode = UROCE_WR_RDMA_READ, .fetches = true },
	[PERF_FADD] = { .title = "Atomic fetch-and-add",
			.opcode = UROCE_WR_ATOMIC_FETCH_AND_ADD,
			.fetches = true,
			.atomic = true,
			.bytes = PERF_ATOMIC_BYTES },
	[PERF_CSWAP] = { .title = "Atomic compare-and-swap",
			 .opcode = UROCE_WR_ATOMIC_CMP_AND_SWP,
			 .fetches = true,
			 .atomic = true,
			 .bytes = PERF_ATOMIC_BYTES },
};
