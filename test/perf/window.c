/* window.c - runs the stack for a window of time, from idle to idle */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "common/exit.h"
#include "perf/latency.h"
#include "perf/poll.h"
#include "perf/receive.h"
#include "perf/stream.h"
#include "window.h"

#define WINDOW_MAX_S 0.3
#define WARM_UP_S 0.002
#define POLLS_A_LOOK 16u
#define SETTLE_POLLS 64u

uint64_t perf_window_cycles(double seconds)
{
	double window = seconds / WINDOW_PAIRS;

	return (uint64_t)((window > WINDOW_MAX_S ? WINDOW_MAX_S : window) * (double)rte_get_tsc_hz());
}

void perf_window_begin(struct perf_end *ends)
{
	perf_end_begin(&ends[1]);
	perf_end_begin(&ends[0]);
	ends[0].phase = PHASE_DRAIN;
	ends[1].phase = PHASE_DONE;
}

bool perf_window_goes_on(const struct perf_end *ends)
{
	return !window_failed(ends) && !app_is_interrupted();
}

void perf_window_poll(struct perf_end *ends)
{
	for (unsigned i = 0; i < 2; i++) {
		uroce_lcore_poll(ends[i].lcore);
		if (perf_ops[ends[i].test.op].receives && ends[i].responds)
			perf_receive_poll(&ends[i]);
		if (ends[i].test.mode == PERF_LAT)
			perf_latency_poll(&ends[i]);
		else if (ends[i].requests)
			perf_stream_poll(&ends[i]);
	}
}

/* Returns how many cycles the polls took, without the cycles of what ran between them. */
static uint64_t poll_for(struct perf_end *ends, uint64_t cycles, perf_window_between *between, void *argument)
{
	uint64_t began = rte_rdtsc(), foreign = 0, now;

	do {
		for (uint32_t i = 0; i < POLLS_A_LOOK; i++) {
			perf_window_poll(ends);
			if (between)
				foreign += between(argument);
		}
		now = rte_rdtsc();
	} while (now - began < cycles && perf_window_goes_on(ends));
	return now - began - foreign;
}

double perf_window_run_beside(struct perf_end *ends, uint64_t cycles, perf_window_between *between, void *argument)
{
	struct perf_end *end = &ends[0];
	uint64_t before, frames, taken, drain_began;
	double rate;

	end->phase = PHASE_WARM;
	for (uint32_t i = 0; i < end->test.qps && end->test.mode == PERF_BW; i++)
		perf_stream_post(end, i);
	poll_for(ends, (uint64_t)(WARM_UP_S * (double)rte_get_tsc_hz()), between, argument);
	if (end->latency)
		memset(end->latency, 0, sizeof(*end->latency));
	end->phase = PHASE_MEASURE;
	before = end->completed;
	frames = perf_end_frames(end);
	taken = poll_for(ends, cycles, between, argument);
	rate = (double)(end->completed - before) * (double)rte_get_tsc_hz() / (double)taken;
	end->tally.messages += end->completed - before;
	end->tally.frames += perf_end_frames(end) - frames;
	end->tally.cycles += taken;
	end->tally.seconds = (double)end->tally.cycles / (double)rte_get_tsc_hz();
	if (rate > end->tally.peak_per_s)
		end->tally.peak_per_s = rate;
	end->phase = PHASE_DRAIN;
	drain_began = rte_rdtsc();
	while (end->completed != end->posted && !window_failed(ends) && !perf_end_gives_up(end, drain_began))
		perf_window_poll(ends);
	for (uint32_t i = 0; i < SETTLE_POLLS; i++)
		perf_window_poll(ends);
	return rate;
}

double perf_window_run(struct perf_end *ends, uint64_t cycles)
{
	return perf_window_run_beside(ends, cycles, NULL, NULL);
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

struct perf_spread perf_window_spread(double *values, uint32_t count)
{
	double last = (double)(count - 1);

	qsort(values, count, sizeof(*values), compare);
	return (struct perf_spread){
		.median = values[(uint32_t)(0.5 * last + 0.5)],
		.p10 = values[(uint32_t)(0.1 * last + 0.5)],
		.p90 = values[(uint32_t)(0.9 * last + 0.5)],
	};
}
