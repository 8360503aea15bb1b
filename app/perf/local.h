/* local.h - runs a case with both ends in this process */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_LOCAL_H
#define APP_PERF_LOCAL_H

#include "perf/end.h"
#include "perf/failover.h"
#include "perf/lcores.h"

/* What the cases run on. */
struct perf_local {
	struct perf_end *ends; /* two */
	uint32_t core_count;   /* 2: ends[1] runs on the first EAL worker */
	struct perf_failover *failover;
	struct perf_lcores *lcores; /* with QPs of their own */
};

/* Returns 0, or a negative errno: the case could not be set up. What fails in the run is in result->tally. */
int perf_local_run(const struct perf_local *local, const struct perf_case *test, struct perf_result *result);

/* The part that creates and connects what a case needs, for other pairs of ends. Returns 0 or a negative errno. */
int perf_local_connect(struct perf_end *ends, const struct perf_case *test);

/* Starts a connected case that is measured in windows (window.h). */
void perf_local_begin_windows(struct perf_end *ends);

/* For local and remote runs: sums and rates from the tallies of one or two ends. */
void perf_result_begin(struct perf_result *result, const struct perf_case *test, uint32_t lcores);
void perf_result_add(struct perf_result *result, const struct perf_tally *tally);
void perf_result_close(struct perf_result *result, const struct perf_end *clock, bool both_here);

#endif
