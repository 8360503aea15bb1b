/* op.c - the table of operations, and the options that go with each */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/op.h"

#include <string.h>

#include "common/eal.h"
#include "perf/options.h"

const struct perf_op_info perf_ops[PERF_OPS] = {
	[PERF_SEND] = { .name = "send", .title = "Send", .opcode = UROCE_WR_SEND, .receives = true },
	[PERF_SEND_IMM] = { .name = "send_imm",
			    .title = "Send with immediate",
			    .opcode = UROCE_WR_SEND_WITH_IMM,
			    .receives = true,
			    .imm = true },
	[PERF_SEND_INV] = { .name = "send_inv",
			    .title = "Send with invalidate",
			    .opcode = UROCE_WR_SEND_WITH_INV,
			    .receives = true,
			    .invalidates = true },
	[PERF_WRITE] = { .name = "write", .title = "RDMA_Write", .opcode = UROCE_WR_RDMA_WRITE, .silent = true },
	[PERF_WRITE_IMM] = { .name = "write_imm",
			     .title = "RDMA_Write with immediate",
			     .opcode = UROCE_WR_RDMA_WRITE_WITH_IMM,
			     .receives = true,
			     .imm = true },
	[PERF_AWRITE] = { .name = "awrite",
			  .title = "Atomic write",
			  .opcode = UROCE_WR_ATOMIC_WRITE,
			  .silent = true,
			  .bytes = PERF_ATOMIC_BYTES },
	[PERF_FLUSH] = { .name = "flush",
			 .title = "RDMA_Write and its flush",
			 .opcode = UROCE_WR_FLUSH,
			 .silent = true,
			 .flushes = true },
	[PERF_READ] = { .name = "read", .title = "RDMA_Read", .opcode = UROCE_WR_RDMA_READ, .fetches = true },
	[PERF_FADD] = { .name = "fadd",
			.title = "Atomic fetch-and-add",
			.opcode = UROCE_WR_ATOMIC_FETCH_AND_ADD,
			.fetches = true,
			.atomic = true,
			.bytes = PERF_ATOMIC_BYTES },
	[PERF_CSWAP] = { .name = "cswap",
			 .title = "Atomic compare-and-swap",
			 .opcode = UROCE_WR_ATOMIC_CMP_AND_SWP,
			 .fetches = true,
			 .atomic = true,
			 .bytes = PERF_ATOMIC_BYTES },
};

/* The first operation that is named, if all of them lack the property; NULL: one has it, or none is named. */
static const struct perf_op_info *all_lack(const struct perf_options *options,
					   bool (*has)(const struct perf_op_info *op))
{
	const struct perf_op_info *first = NULL;

	for (unsigned i = PERF_OPS; i-- > 0;) {
		if (options->ops[i] && has(&perf_ops[i]))
			return NULL;
		if (options->ops[i])
			first = &perf_ops[i];
	}
	return first;
}

static bool has_size(const struct perf_op_info *op)
{
	return op->bytes == 0;
}

static int check_sizes(const struct perf_options *options)
{
	const struct perf_op_info *op = all_lack(options, has_size);

	for (uint32_t i = 0; i < options->size_count && op; i++) {
		if (options->sizes[i] != op->bytes)
			return app_complain(APP_EXIT_USAGE, "-s %u: --op %s always has %u bytes: leave out -s and -a",
					    options->sizes[i], op->name, op->bytes);
	}
	return APP_EXIT_OK;
}

/* Does each queue pair that takes SENDs with invalidate have at least one window? */
static bool has_windows(const struct perf_options *options)
{
	return options->qps <= PERF_WINDOWS_MAX;
}

int perf_op_check(struct perf_options *options)
{
	const struct perf_op_info *op = all_lack(options, op_takes_turns);
	bool any = false;
	int code = check_sizes(options);

	if (code)
		return code;
	if (options_take_turns(options) && op)
		return app_complain(APP_EXIT_USAGE,
				    "%s: nothing is measured beside --op %s: use send, send_imm, send_inv, write, "
				    "write_imm or read",
				    options->limit ? "--limit" :
				    options->junk  ? "--junk" :
						     "--lcores",
				    op->name);
	op = all_lack(options, op_shares_receives);
	if (options->use_srq && op)
		return app_complain(APP_EXIT_USAGE,
				    op->receives ?
					    "--use-srq: a window is of one queue pair, and so is the receive of a %s: "
					    "use --op send, send_imm or write_imm" :
					    "--use-srq: is about receives, and --op %s has none: use --op send, "
					    "send_imm or write_imm",
				    op->name);
	if (options->ops[PERF_SEND_INV] && !has_windows(options))
		return app_complain(APP_EXIT_USAGE,
				    "-q %u: each queue pair of --op send_inv has a memory window: use at most %u",
				    options->qps, PERF_WINDOWS_MAX);
	for (unsigned i = 0; i < PERF_OPS; i++)
		any |= options->ops[i];
	for (unsigned i = 0; i < PERF_OPS && !any; i++)
		options->ops[i] = !perf_ops[i].invalidates || has_windows(options);
	return APP_EXIT_OK;
}
