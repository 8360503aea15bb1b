/* window.h - windows of the stack, in turn with windows of something that it is compared with */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A machine's speed drifts from second to second, so two measurements are compared in pairs: a window of the stack, and
 * a window of what the stack is compared with, WINDOW_PAIRS times. Each pair gives a ratio, and the median of the
 * ratios counts.
 */
#ifndef TEST_PERF_WINDOW_H
#define TEST_PERF_WINDOW_H

#include "perf/end.h"

#define WINDOW_PAIRS 31u

/* What a window measures, over all windows: the median, the 10th and the 90th percentile. */
struct perf_spread {
	double median, p10, p90;
};

/* Starts both ends of a connected case. */
void perf_window_begin(struct perf_end *ends);

/* How many TSC cycles a window has, if all windows of a kind take `seconds` together. */
uint64_t perf_window_cycles(double seconds);

/*
 * Runs the stack between two ends on this lcore, starting idle, and adds to the tally of ends[0]. When it returns all
 * is done and acknowledged. In lat mode ends[0].latency is that of this window only. Returns messages a second.
 */
double perf_window_run(struct perf_end *ends, uint64_t cycles);

/* perf_window_run() with a function between the polls, which returns how many cycles it took: these are not counted. */
typedef uint64_t perf_window_between(void *argument);

double perf_window_run_beside(struct perf_end *ends, uint64_t cycles, perf_window_between *between, void *argument);

/* Polls both ends once, without the clock of poll.h. */
void perf_window_poll(struct perf_end *ends);

/* Has a window failed? Then another one makes no sense. */
static inline bool window_failed(const struct perf_end *ends)
{
	return ends[0].tally.errors + ends[1].tally.errors > 0;
}

/* Does another pair follow? Not after a failure, nor after an interruption, which has cut the last pair short. */
bool perf_window_goes_on(const struct perf_end *ends);

/* Sorts the values, of which there is one or more. */
struct perf_spread perf_window_spread(double *values, uint32_t count);

#endif
