/* local.h - a case with both ends in this process */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_LOCAL_H
#define APP_PERF_LOCAL_H

#include "perf/end.h"
#include "perf/failover.h"

/*
 * Runs one case between ends[0] and ends[1] and fills *result. With two cores ends[1] runs on the first EAL worker.
 * 0, or negative errno when the case could not be set up; what fails in the run stands in result->tally.
 */
int perf_local_run(struct perf_end *ends, const struct perf_case *test, uint32_t core_count,
		   struct perf_failover *failover, struct perf_result *result);

/* What both kinds of run share: sums and rates from the tallies of one or two ends. */
void perf_result_begin(struct perf_result *result, const struct perf_case *test, uint32_t lcores);
void perf_result_add(struct perf_result *result, const struct perf_tally *tally);
void perf_result_close(struct perf_result *result, const struct perf_end *clock, bool both_here);

#endif
