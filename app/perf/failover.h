/* failover.h - cuts the first of two links between ends in this process in the middle of a case */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. perf_failover_open(): opens the second link, whose ports become the ends' alternate ports
 *   2. for each case: perf_failover_begin(), perf_failover_poll() besides polling the ends, perf_failover_result()
 *   3. perf_failover_close() when the ends are closed
 */
#ifndef APP_PERF_FAILOVER_H
#define APP_PERF_FAILOVER_H

#include "drivers/fault/fault.h"
#include "perf/end.h"

struct perf_failover {
	bool open;
	struct app_port ports[2];
	struct drivers_fault *faults[2]; /* faults on the first link; owned by the caller */
	struct perf_end *ends;
	double after_s;
	uint64_t cut_at, first_migration_at, resumed_at; /* TSC; 0: has not happened */
	uint64_t migrated_at[2], migrations[2];
	uint64_t completed; /* requests of ends[0] that had completed when an end first migrated */
};

/* Returns APP_EXIT_OK, or the exit code after a complaint. */
int perf_failover_open(struct perf_failover *failover, const struct perf_options *options, struct uroce_engine *engine,
		       struct drivers_fault *const *faults, struct perf_end *ends);
void perf_failover_close(struct perf_failover *failover);

void perf_failover_begin(struct perf_failover *failover);
void perf_failover_poll(struct perf_failover *failover);

/* Fails ends[0] if a QP has not migrated although its link was cut. */
void perf_failover_result(struct perf_failover *failover, struct perf_failover_result *result);

#endif
