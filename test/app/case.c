/* case.c - the list of cases, and memory in which no two messages that matter overlap */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "perf/case.h"

static struct perf_options default_options(void)
{
	struct perf_options options = {
		.test = { .mtu_bytes = 4096, .qps = 1, .depth = 128, .outs = 16, .seconds = 0.6 }
	};

	options.test.inline_bytes = UINT32_MAX;
	for (unsigned i = 0; i < PERF_OPS; i++)
		options.ops[i] = true;
	options.modes[PERF_BW] = options.modes[PERF_LAT] = true;
	return options;
}

Test(perf_case, every_operation_in_both_modes_by_default)
{
	struct perf_options options = default_options();
	unsigned seen[PERF_OPS][PERF_MODES] = { 0 };
	struct perf_case test;
	uint32_t count = 0;

	for (; perf_case_at(&options, count, &test); count++) {
		seen[test.op][test.mode]++;
		cr_expect_eq(test.size_bytes, perf_ops[test.op].bytes ? 8 : test.mode == PERF_BW ? 65536 : 64);
	}
	cr_expect_eq(count, 20);
	for (unsigned op = 0; op < PERF_OPS; op++)
		cr_expect(seen[op][PERF_BW] == 1 && seen[op][PERF_LAT] == 1, "%s", perf_op_names[op]);
}

/* perftest's units: Gbit/s, MiB/s, messages a second. */
Test(perf_case, rate_is_converted_to_messages_for_each_unit)
{
	static const struct {
		char units;
		double limit, messages;
		uint32_t burst, wanted;
	} rows[] = { { 'g', 8, 250000, 0, 2500 },
		     { 'M', 1, 262.144, 0, 2 },
		     { 'p', 7, 7, 0, 1 },
		     { 'p', 1e9, 1e9, 0, 1u << 20 },
		     { 'g', 8, 250000, 17, 17 } };
	struct perf_options options = default_options();
	struct perf_case test;

	cr_assert(perf_case_at(&options, 0, &test));
	cr_expect(test.rate == 0 && test.burst == 0);
	options.size_count = 1;
	options.sizes[0] = 4000;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		options.rate_limit = rows[i].limit;
		options.rate_units = rows[i].units;
		options.test.burst = rows[i].burst;
		cr_assert(perf_case_at(&options, 0, &test));
		cr_expect(test.rate > 0.999999 * rows[i].messages && test.rate < 1.000001 * rows[i].messages, "row %u",
			  i);
		cr_expect_eq(test.burst, rows[i].wanted, "row %u: %u", i, test.burst);
	}
}

Test(perf_case, sizes_multiply_all_operations_except_8_byte_ones)
{
	struct perf_options options = default_options();
	struct perf_case test;
	uint32_t count = 0;

	options.size_count = 3;
	options.sizes[0] = 1;
	options.sizes[1] = 100;
	options.sizes[2] = 1000;
	options.modes[PERF_LAT] = false;
	while (perf_case_at(&options, count, &test))
		count++;
	cr_expect_eq(count, 7 * 3 + 3);
}

/* All sensible and some extreme combinations. */
static bool next_case(struct perf_case *test, uint32_t *index)
{
	static const uint32_t sizes[] = { 1, 8, 64, 4095, 65536, 1 << 30 }, depths[] = { 1, 2, 7, 128, 1000 };
	static const uint32_t qps[] = { 1, 3, 1000 }, cq_mods[] = { 0, 1 };
	uint32_t i = (*index)++;
	struct perf_case made = { .mtu_bytes = 1024, .outs = 16 };

	made.size_bytes = sizes[i % 6];
	i /= 6;
	made.depth = depths[i % 5];
	i /= 5;
	made.qps = qps[i % 3];
	i /= 3;
	made.cq_mod = cq_mods[i % 2];
	i /= 2;
	made.verify = i % 2;
	i /= 2;
	made.mode = i % 2 ? PERF_LAT : PERF_BW;
	i /= 2;
	made.rate = i % 2 ? 1e6 : 0;
	made.burst = i % 2 ? 5 : 0;
	i /= 2;
	made.op = (enum perf_op)(i % PERF_OPS);
	i /= PERF_OPS;
	made.use_srq = op_shares_receives(&perf_ops[made.op]) && i % 2;
	made.both_ways = made.mode == PERF_BW && i % 2;
	if (perf_ops[made.op].bytes)
		made.size_bytes = perf_ops[made.op].bytes;
	*test = made;
	return i < 2;
}

/* A paced end posts whole intervals: one that is longer than a burst would never be. */
static bool made_in_bursts(const struct perf_case *test, const struct perf_layout *layout)
{
	return test->rate == 0 || layout->interval <= test->burst;
}

Test(perf_case, areas_lie_behind_each_other_and_hold_all_slots)
{
	struct perf_layout layout;
	struct perf_case test;
	uint32_t index = 0;

	while (next_case(&test, &index)) {
		uint64_t flows;

		perf_case_lay_out(&test, &layout);
		flows = layout.source_stride ? test.qps : 1;
		cr_assert_geq(layout.depth, 1, "case %u", index);
		cr_assert_eq(layout.depth % layout.interval, 0, "case %u", index);
		cr_assert_geq(layout.rx_depth, 1, "case %u", index);
		cr_assert_leq(layout.rx_depth, 32768, "case %u", index);
		cr_assert(made_in_bursts(&test, &layout), "case %u", index);
		cr_assert_geq(layout.slot_bytes, test.size_bytes, "case %u", index);
		cr_assert_geq(layout.target_at, flows * layout.source_slots * layout.slot_bytes, "case %u", index);
		cr_assert_eq(layout.target_at % 64, 0, "case %u", index);
		cr_assert_geq(layout.inbox_at - layout.target_at, flows * layout.target_slots * layout.slot_bytes,
			      "case %u", index);
		flows = test.use_srq ? 1 : flows;
		cr_assert_eq(layout.total_bytes - layout.inbox_at, flows * layout.inbox_slots * layout.slot_bytes,
			     "case %u", index);
	}
	cr_expect_gt(index, 1000);
}

Test(perf_case, a_message_that_is_checked_has_bytes_of_its_own)
{
	struct perf_layout layout;
	struct perf_case test;
	uint32_t index = 0;

	while (next_case(&test, &index)) {
		if (!test.verify || perf_ops[test.op].atomic)
			continue;
		perf_case_lay_out(&test, &layout);
		cr_assert_eq(layout.interval, 1);
		cr_assert_geq(layout.source_slots, layout.depth, "case %u", index);
		if (perf_ops[test.op].opcode == UROCE_WR_RDMA_WRITE_WITH_IMM)
			cr_assert_geq(layout.target_slots, layout.rx_depth + 2, "case %u", index);
		else if (perf_ops[test.op].receives)
			cr_assert_geq(layout.inbox_slots, layout.rx_depth, "case %u", index);
		else
			cr_assert_geq(layout.target_slots, layout.depth, "case %u", index);
		if (test.qps > 1)
			cr_assert_geq(layout.source_stride, (uint64_t)layout.source_slots * layout.slot_bytes);
	}
}

/*
 * Each receive has a window, of which there are so many; the send queue of an end has room for its requests, the WRITEs
 * before them, and binds; and of two ends that wait for each other's binds one always has a receive left.
 */
Test(perf_case, windows_and_pairs_of_requests_fit)
{
	struct perf_layout layout;
	struct perf_case test;
	uint32_t index = 0;

	while (next_case(&test, &index)) {
		const struct perf_op_info *op = &perf_ops[test.op];

		test.depth = test.depth == 1000 ? 32768 : test.depth;
		perf_case_lay_out(&test, &layout);
		cr_assert_eq(perf_case_windows(&test), op->invalidates ? layout.rx_depth * test.qps : 0);
		cr_assert_leq(perf_case_windows(&test), PERF_WINDOWS_MAX);
		cr_assert_leq((op->flushes ? 2 : 1) * layout.depth + (op->invalidates ? layout.rx_depth : 0),
			      op->invalidates && !test.both_ways ? 32768 + layout.rx_depth : 32768, "case %u", index);
		if (op->invalidates && test.both_ways)
			cr_assert_leq(2 * layout.depth, layout.rx_depth, "case %u", index);
	}
}
