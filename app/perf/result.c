/* result.c - sums and rates of a case, from the tallies of its ends */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/result.h"

#include <math.h>
#include <string.h>

#include <rte_cycles.h>

void perf_result_begin(struct perf_result *result, const struct perf_case *test, uint32_t lcores)
{
	memset(result, 0, sizeof(*result));
	result->test = *test;
	result->lcores = lcores;
}

void perf_result_add(struct perf_result *result, const struct perf_tally *tally)
{
	double bits = 8.0 * result->test.size_bytes / 1e9;

	perf_case_add(&result->tally, tally);
	if (tally->seconds <= 0)
		return;
	result->messages_per_s += (double)tally->messages / tally->seconds;
	result->gbit_per_s += bits * (double)tally->messages / tally->seconds;
	/*
	 * The last window ends before the case does, and messages after that window may have been faster than any
	 * window.
	 */
	if (tally->peak_per_s > 0)
		result->peak_gbit_per_s += bits * fmax(tally->peak_per_s, (double)tally->messages / tally->seconds);
}

void perf_result_close(struct perf_result *result, const struct perf_end *clock, bool both_here)
{
	double frames = (double)result->tally.frames;

	/*
	 * If only one end has a clock, only that end's frames were counted. The other end has as many, because it
	 * receives each frame that this end sends, and sends each frame that this end receives.
	 */
	if (both_here && !result->test.both_ways)
		frames *= 2;
	if (frames > 0 && result->test.mode == PERF_BW)
		result->cycles_per_packet = (double)result->tally.cycles * result->lcores / frames;
	result->cycle_s = 1.0 / (double)rte_get_tsc_hz();
	if (result->test.mode == PERF_BW)
		result->series = &clock->series;
	if (result->test.mode == PERF_LAT) {
		result->latency = clock->latency;
		result->latency_scale_us = 1e6 * result->cycle_s;
		if (!op_is_round_trip(&perf_ops[result->test.op]))
			result->latency_scale_us /= 2;
	}
}
