/* poll.h - the work of an end besides polling its lcore: completions, posts, and the clock of the case */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_POLL_H
#define APP_PERF_POLL_H

#include "perf/end.h"

/* Starts a connected case. An end that only responds is done at once. */
void perf_end_begin(struct perf_end *end);

/*
 * Polls the lcore once, then does the end's work. Call it until the end is done; for an end that only responds, call it
 * as long as the peer needs that.
 */
void perf_end_poll(struct perf_end *end);

/* Sums up what the end has done, after the run. */
void perf_end_sum_up(struct perf_end *end);

#endif
