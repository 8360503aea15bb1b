/* recovery.h - what one lost packet costs */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages go back and forth as in any lat case, but of every sixteenth the frame number test.lose with payload does
 * not arrive: of a SEND or WRITE on its way there, of a READ on the way back. What the loss costs is the median time
 * of these messages less the median of the others of the same window, so what both have in common cancels out.
 */
#ifndef APP_PERF_RECOVERY_H
#define APP_PERF_RECOVERY_H

#include "perf/end.h"

/* One window between two idle ends of a lat case on this lcore; TSC cycles. */
double perf_recovery_run(struct perf_end *ends, uint64_t cycles);

#endif
