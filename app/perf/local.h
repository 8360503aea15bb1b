/* local.h - runs a case with both ends in this process */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_LOCAL_H
#define APP_PERF_LOCAL_H

#include "perf/end.h"
#include "perf/failover.h"

struct perf_beside;

/* What the cases run on. */
struct perf_local {
	struct perf_end *ends; /* two */
	uint32_t core_count;   /* 2: ends[1] runs on the first EAL worker */
	struct perf_failover *failover;
	const struct perf_beside *beside; /* what developers measure beside cases (beside.h); NULL: nothing */
};

/* Returns 0, or a negative errno if the case could not be set up. Failures of the run are in result->tally. */
int perf_local_run(const struct perf_local *local, const struct perf_case *test, struct perf_result *result);

#endif
