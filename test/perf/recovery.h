/* recovery.h - measures what one lost packet costs */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages go back and forth as in any lat case, but every sixteenth message loses one frame: frame number `lose` of
 * those with payload, or the last one if it has fewer. A SEND or WRITE loses it on the way to the peer, a READ on the
 * way back. The cost is the median time of these messages minus that of the other messages in the same window, so what
 * both have in common cancels out.
 */
#ifndef TEST_PERF_RECOVERY_H
#define TEST_PERF_RECOVERY_H

#include "perf/end.h"

/* Runs one window between two idle ends of a lat case on this lcore. Returns TSC cycles. */
double perf_recovery_run(struct perf_end *ends, uint32_t lose, uint64_t cycles);

#endif
