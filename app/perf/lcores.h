/* lcores.h - several lcores, each with ports and QPs of its own, against each of them alone */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. perf_lcores_open() once: a pair of loop ports and two ends for each lcore but the first
 *   2. perf_lcores_run() for each case, when the ends of the first lcore are connected
 *   3. perf_lcores_close()
 * An lcore is both ends of its own QPs, and shares the engine and its tables with the others, nothing else. Windows of
 * each lcore alone, the others asleep, alternate with a window of all at once; the goodput of that one over the sum of
 * the others is what is left of the ideal. Beside it stands how far the lcores are apart (placement.h).
 */
#ifndef APP_PERF_LCORES_H
#define APP_PERF_LCORES_H

#include "perf/end.h"
#include "perf/pair.h"

struct perf_lcores {
	uint32_t count; /* besides the first */
	struct perf_lcore {
		struct perf_pair pair;
		struct perf_end ends[2];
	} others[PERF_LCORES_MAX - 1];
};

/* APP_EXIT_OK, or what to exit with; the reason has been printed. What was opened is to be closed in any case. */
int perf_lcores_open(struct perf_lcores *lcores, const struct perf_options *options, struct uroce_engine *engine);
void perf_lcores_close(struct perf_lcores *lcores);

/*
 * Runs a connected bw case of the two ends of the first lcore, which this thread polls, and as many QPs on each other
 * one: fills the tally of ends[0], of the windows of all, and adds those of the others and the ratio to *result. 0 or
 * negative errno.
 */
int perf_lcores_run(struct perf_lcores *lcores, struct perf_end *ends, struct perf_result *result);

#endif
