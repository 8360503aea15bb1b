/* lcores.h - compares several lcores, each with its own ports and QPs, with each of them alone */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. perf_lcores_open() once: opens a pair of loop ports and two ends for each lcore but the first
 *   2. perf_lcores_run() for each case, when the ends of the first lcore are connected
 *   3. perf_lcores_close()
 * An lcore is both ends of its own QPs, and shares with the others only the engine and its tables. Windows of each
 * lcore alone, while the other lcores sleep, alternate with windows of all lcores together. The goodput of all lcores
 * together, divided by the sum of their goodputs alone, is the share of the ideal. The result also has the latency
 * between the lcores (core_latency.h).
 */
#ifndef TEST_PERF_LCORES_H
#define TEST_PERF_LCORES_H

#include "perf/pair.h"
#include "window.h"

#define PERF_LCORES_MAX 8u

struct perf_lcores {
	uint32_t count; /* without the first one */
	struct perf_lcore {
		struct perf_pair pair;
		struct perf_end ends[2];
	} others[PERF_LCORES_MAX - 1];
};

/* All lcores at once compared with each alone. */
struct perf_scaling_result {
	bool measured;
	struct perf_spread ratio;
	struct perf_spread hand_over_ns; /* the largest latency to a worker, for each round */
};

/* count: all lcores, with the first. Returns APP_EXIT_OK, or the exit code after a complaint. Call close then, too. */
int perf_lcores_open(struct perf_lcores *lcores, uint32_t count, const struct perf_options *options,
		     struct uroce_engine *engine);
void perf_lcores_close(struct perf_lcores *lcores);

/*
 * Runs a connected bw case between the two ends of the first lcore, which this thread polls, and as many QPs on each
 * other lcore. Fills in the tally of ends[0] for all windows and *scaling, and adds the tallies of the others to
 * *result. Returns 0 or a negative errno.
 */
int perf_lcores_run(struct perf_lcores *lcores, struct perf_end *ends, struct perf_result *result,
		    struct perf_scaling_result *scaling);

#endif
