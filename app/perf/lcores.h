/* lcores.h - compares several lcores, each with its own ports and QPs, with each of them alone */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. perf_lcores_open() once: opens a pair of loop ports and two ends for each lcore but the first
 *   2. perf_lcores_run() for each case, when the ends of the first lcore are connected
 *   3. perf_lcores_close()
 * An lcore is both ends of its own QPs, and shares with the others only the engine and its tables. Windows of each
 * lcore alone, while the other lcores sleep, alternate with windows of all lcores together. The goodput of all lcores
 * together, divided by the sum of their goodputs alone, is the share of the ideal. The result also tells how far apart
 * the lcores are (core_latency.h).
 */
#ifndef APP_PERF_LCORES_H
#define APP_PERF_LCORES_H

#include "perf/end.h"
#include "perf/pair.h"

struct perf_lcores {
	uint32_t count; /* without the first one */
	struct perf_lcore {
		struct perf_pair pair;
		struct perf_end ends[2];
	} others[PERF_LCORES_MAX - 1];
};

/* Returns APP_EXIT_OK, or the exit code after a complaint. Call perf_lcores_close() in either case. */
int perf_lcores_open(struct perf_lcores *lcores, const struct perf_options *options, struct uroce_engine *engine);
void perf_lcores_close(struct perf_lcores *lcores);

/*
 * Runs a connected bw case between the two ends of the first lcore, which this thread polls, and as many QPs on each
 * other lcore. Fills in the tally of ends[0] for all windows, and adds those of the others and the ratio to *result.
 * Returns 0 or a negative errno.
 */
int perf_lcores_run(struct perf_lcores *lcores, struct perf_end *ends, struct perf_result *result);

#endif
