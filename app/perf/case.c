/* case.c - lists the cases that the options ask for, and lays out the memory of a case */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "perf/case.h"

#define CACHE_LINE 64u
#define BW_BYTES 65536u
#define LAT_BYTES 64u
#define LAT_INLINE_BYTES 220u
#define LAT_DEPTH 32u
#define CQ_MOD 16u
#define RX_DEPTH_MAX 512u
#define SRQ_DEPTH_MAX 32768u
#define SEND_DEPTH_MAX 32768u
#define BURST_S 0.01
#define BURST_MAX (1u << 20)
#define HOT_BYTES 65536u           /* the slots of small messages fit into this */
#define VERIFY_BYTES (64ull << 20) /* bytes for all slots of an area, if each message has its own slot */

static uint32_t at_most(uint32_t value, uint32_t limit)
{
	return value < limit ? value : limit;
}

static uint32_t at_least(uint32_t value, uint32_t limit)
{
	return value > limit ? value : limit;
}

/* With how many sizes a mode is measured. */
static uint32_t size_count(const struct perf_options *options, enum perf_op op)
{
	return perf_ops[op].bytes || options->size_count == 0 ? 1 : options->size_count;
}

static uint32_t size_at(const struct perf_options *options, enum perf_op op, enum perf_mode mode, uint32_t index)
{
	if (perf_ops[op].bytes)
		return perf_ops[op].bytes;
	if (options->size_count)
		return options->sizes[index];
	return mode == PERF_BW ? BW_BYTES : LAT_BYTES;
}

/* Converts a rate in perftest's units to messages. */
static double message_rate(const struct perf_options *options, uint32_t size_bytes)
{
	switch (options->rate_units) {
	case 'g':
		return options->rate_limit * 1e9 / 8 / size_bytes;
	case 'M':
		return options->rate_limit * 1048576 / size_bytes;
	}
	return options->rate_limit;
}

/* Short bursts keep the rate over short times; longer ones make up for moments in which the core was lost. */
static uint32_t burst_of(double rate)
{
	double messages = rate * BURST_S;

	return messages < 1 ? 1 : messages < BURST_MAX ? (uint32_t)messages : BURST_MAX;
}

static void set_rate(const struct perf_options *options, struct perf_case *test)
{
	if (options->rate_limit == 0)
		return;
	test->rate = message_rate(options, test->size_bytes);
	test->burst = test->burst ? test->burst : burst_of(test->rate);
}

static void fill_case(const struct perf_options *options, enum perf_op op, enum perf_mode mode, uint32_t size_index,
		      struct perf_case *test)
{
	*test = options->test;
	test->op = op;
	test->mode = mode;
	test->size_bytes = size_at(options, op, mode, size_index);
	test->use_srq &= op_shares_receives(&perf_ops[op]);
	if (test->inline_bytes == UINT32_MAX)
		test->inline_bytes = mode == PERF_LAT ? LAT_INLINE_BYTES : 0;
	if (perf_ops[op].fetches || test->size_bytes > test->inline_bytes)
		test->inline_bytes = 0;
	if (mode == PERF_LAT) {
		test->qps = 1;
		test->depth = at_most(test->depth, LAT_DEPTH);
		test->both_ways = false;
	}
	set_rate(options, test);
}

bool perf_case_at(const struct perf_options *options, uint32_t index, struct perf_case *test)
{
	for (unsigned op = 0; op < PERF_OPS; op++) {
		for (unsigned mode = 0; mode < PERF_MODES && options->ops[op]; mode++) {
			uint32_t count = options->modes[mode] ? size_count(options, op) : 0;

			if (index < count) {
				fill_case(options, op, mode, index, test);
				return true;
			}
			index -= count;
		}
	}
	return false;
}

/* Each message in flight has bytes of its own if bytes are checked; the depth is reduced to fit the memory. */
static void lay_out_verified(const struct perf_case *test, struct perf_layout *layout)
{
	uint64_t fitting = VERIFY_BYTES / ((uint64_t)layout->slot_bytes * test->qps);

	layout->interval = 1;
	layout->depth = at_most(layout->depth, (uint32_t)(fitting < 2 ? 2 : fitting));
	layout->rx_depth = at_most(layout->rx_depth, 2 * layout->depth);
	layout->source_slots = layout->depth;
	/*
	 * A WRITE with immediate waits for a receive, but its first packets are placed before that. So up to rx_depth
	 * messages may wait to be checked while packets of one more message are placed.
	 */
	layout->target_slots = test->op == PERF_WRITE_IMM ? layout->rx_depth + 2 : layout->depth;
	layout->inbox_slots = layout->rx_depth;
}

static void lay_out_shared(const struct perf_case *test, struct perf_layout *layout)
{
	uint32_t slots = at_least(HOT_BYTES / layout->slot_bytes, 1);

	layout->source_slots = at_most(slots, layout->depth);
	layout->target_slots = layout->source_slots;
	layout->inbox_slots = at_most(slots, layout->rx_depth);
	if (test->mode == PERF_LAT)
		layout->target_slots = at_most(slots, LAT_DEPTH);
}

/* Each request has a result of its own, and each QP one counter, alone in its cache line. */
static void lay_out_atomics(struct perf_layout *layout)
{
	layout->interval = 1;
	layout->slot_bytes = PERF_ATOMIC_BYTES;
	layout->source_slots = layout->depth;
	layout->target_slots = CACHE_LINE / PERF_ATOMIC_BYTES;
	layout->inbox_slots = 0;
}

/* Each receive has a window of its own, and each FLUSH has a WRITE before it in the send queue. */
static void lay_out_pairs(const struct perf_case *test, struct perf_layout *layout)
{
	if (perf_ops[test->op].invalidates)
		layout->rx_depth = at_most(layout->rx_depth, at_least(PERF_WINDOWS_MAX / test->qps, 1));
	/*
	 * A bind waits for the SENDs before it in its queue; these SENDs wait for receives, which the peer posts again
	 * only after binds of its own. With twice as many receives as SENDs, one of the ends always has receives left.
	 */
	if (perf_ops[test->op].invalidates && test->both_ways) {
		layout->rx_depth = at_least(layout->rx_depth, 2);
		layout->depth = at_most(layout->depth, layout->rx_depth / 2);
	}
	if (perf_ops[test->op].flushes)
		layout->depth = at_most(layout->depth, SEND_DEPTH_MAX / 2);
	layout->interval = at_most(layout->interval, layout->depth);
	layout->depth = layout->depth / layout->interval * layout->interval;
}

/*
 * Returns the number of receives of a flow, or of a shared queue, which by default has as many as all flows would have
 * by themselves.
 */
static uint32_t rx_depth_of(const struct perf_case *test)
{
	uint32_t own = at_most(2 * test->depth, RX_DEPTH_MAX);

	if (test->rx_depth)
		return test->rx_depth;
	return test->use_srq && test->qps > SRQ_DEPTH_MAX / own ? SRQ_DEPTH_MAX : test->use_srq ? own * test->qps : own;
}

void perf_case_lay_out(const struct perf_case *test, struct perf_layout *layout)
{
	const struct perf_op_info *op = &perf_ops[test->op];
	bool own_memory = test->verify || op->atomic;

	memset(layout, 0, sizeof(*layout));
	layout->interval = test->cq_mod ? test->cq_mod : at_least(at_most(CQ_MOD, test->depth / 4), 1);
	if (test->rate > 0) /* requests are posted in whole intervals */
		layout->interval = at_most(layout->interval, test->burst);
	layout->depth = test->depth / layout->interval * layout->interval;
	layout->rx_depth = rx_depth_of(test);
	lay_out_pairs(test, layout);
	layout->slot_bytes = (test->size_bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
	if (op->atomic)
		lay_out_atomics(layout);
	else if (test->verify)
		lay_out_verified(test, layout);
	else
		lay_out_shared(test, layout);
	if (!op->receives || op->opcode == UROCE_WR_RDMA_WRITE_WITH_IMM)
		layout->inbox_slots = 0;
	if (own_memory) {
		layout->source_stride = (uint64_t)layout->source_slots * layout->slot_bytes;
		layout->target_stride = (uint64_t)layout->target_slots * layout->slot_bytes;
		layout->inbox_stride = test->use_srq ? 0 : (uint64_t)layout->inbox_slots * layout->slot_bytes;
	}
	layout->target_at = (uint64_t)layout->source_slots * layout->slot_bytes * (own_memory ? test->qps : 1);
	layout->target_at = (layout->target_at + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
	layout->inbox_at =
		layout->target_at + (uint64_t)layout->target_slots * layout->slot_bytes * (own_memory ? test->qps : 1);
	layout->total_bytes = layout->inbox_at + (uint64_t)layout->inbox_slots * layout->slot_bytes *
							 (layout->inbox_stride ? test->qps : 1);
}

uint32_t perf_case_windows(const struct perf_case *test)
{
	struct perf_layout layout;

	if (!perf_ops[test->op].invalidates)
		return 0;
	perf_case_lay_out(test, &layout);
	return layout.rx_depth * test->qps;
}

const struct perf_tally_row perf_tally_rows[PERF_TALLY_ROWS] = {
	{ "messages", offsetof(struct perf_tally, messages), NULL },
	{ "all_messages", offsetof(struct perf_tally, all_messages), NULL },
	{ "received", offsetof(struct perf_tally, received), NULL },
	{ "checked", offsetof(struct perf_tally, checked), NULL },
	{ "errors", offsetof(struct perf_tally, errors), NULL },
	{ "bad_bytes", offsetof(struct perf_tally, bad_bytes), NULL },
	{ "retransmits", offsetof(struct perf_tally, retransmits), "retransmitted_packets" },
	{ "rnr_resent", offsetof(struct perf_tally, rnr_resent), "rnr_resent_packets" },
	{ "probes", offsetof(struct perf_tally, probes), "early_probes" },
	{ "rnr_naks", offsetof(struct perf_tally, rnr_naks), "rnr_nak_retry_err" },
	{ "cnps", offsetof(struct perf_tally, cnps), "rp_cnp_handled" },
};

void perf_case_add(struct perf_tally *sum, const struct perf_tally *one)
{
	for (const struct perf_tally_row *row = perf_tally_rows; row < perf_tally_rows + PERF_TALLY_ROWS; row++)
		*tally_count(sum, row) += *tally_count(one, row);
	sum->frames += one->frames;
	sum->cycles = one->cycles > sum->cycles ? one->cycles : sum->cycles;
	sum->seconds = one->seconds > sum->seconds ? one->seconds : sum->seconds;
	sum->peak_per_s += one->peak_per_s;
}
