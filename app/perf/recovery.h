/* recovery.h - measures what one lost packet costs */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages go back and forth as in any lat case, but of every sixteenth the frame number test.lose with payload is
 * lost: that of a SEND or WRITE on its way there, that of a READ on its way back. The cost is the median time of these
 * messages minus that of the others in the same window, so what both have in common cancels out.
 */
#ifndef APP_PERF_RECOVERY_H
#define APP_PERF_RECOVERY_H

#include "perf/end.h"

/* Runs one window between two idle ends of a lat case on this lcore. Returns TSC cycles. */
double perf_recovery_run(struct perf_end *ends, uint64_t cycles);

#endif
