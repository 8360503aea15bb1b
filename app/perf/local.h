/* local.h - a case with both ends in this process */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_LOCAL_H
#define APP_PERF_LOCAL_H

#include "perf/end.h"
#include "perf/failover.h"
#include "perf/lcores.h"

/* What cases run on. */
struct perf_local {
	struct perf_end *ends; /* two */
	uint32_t core_count;   /* 2: ends[1] runs on the first EAL worker */
	struct perf_failover *failover;
	struct perf_lcores *lcores; /* with QPs of their own */
};

/* 0, or negative errno when the case could not be set up; what fails in the run stands in result->tally. */
int perf_local_run(const struct perf_local *local, const struct perf_case *test, struct perf_result *result);

/* Parts of it, for other pairs of ends: makes what a case needs and connects them; 0 or negative errno. */
int perf_local_connect(struct perf_end *ends, const struct perf_case *test);

/* Starts a connected case that window.h is going to run. */
void perf_local_begin_windows(struct perf_end *ends);

/* What both kinds of run share: sums and rates from the tallies of one or two ends. */
void perf_result_begin(struct perf_result *result, const struct perf_case *test, uint32_t lcores);
void perf_result_add(struct perf_result *result, const struct perf_tally *tally);
void perf_result_close(struct perf_result *result, const struct perf_end *clock, bool both_here);

#endif
