/* window.h - windows of the stack, which alternate with windows of something it is compared with */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A machine drifts from second to second, so two figures are compared pair by pair: a window of the stack, a window of
 * the other, WINDOW_PAIRS times; each pair gives a ratio, and their median counts.
 */
#ifndef APP_PERF_WINDOW_H
#define APP_PERF_WINDOW_H

#include "perf/end.h"

#define WINDOW_PAIRS 31u

/* TSC cycles of one when those of a kind add up to seconds. */
uint64_t perf_window_cycles(double seconds);

/*
 * Runs the stack between two ends on this lcore, from an idle start, and adds to the tally of ends[0]; all is done and
 * acknowledged when it returns. In lat mode ends[0].latency is of this window only. Returns messages a second.
 */
double perf_window_run(struct perf_end *ends, uint64_t cycles);

/* The same with something between the polls, which tells how many cycles it took: these are not counted. */
typedef uint64_t perf_window_between(void *argument);

double perf_window_run_beside(struct perf_end *ends, uint64_t cycles, perf_window_between *between, void *argument);

/* One poll of both ends, without the clock of poll.h. */
void perf_window_poll(struct perf_end *ends);

/* Something failed in a window: no use in another. */
static inline bool window_failed(const struct perf_end *ends)
{
	return ends[0].tally.errors + ends[1].tally.errors > 0;
}

/* Sorts values and gives the ones that a half, a tenth and nine tenths of them do not exceed. */
struct perf_spread {
	double median, p10, p90;
};

struct perf_spread perf_window_spread(double *values, uint32_t count);

#endif
