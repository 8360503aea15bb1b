/* latency.h - measures latency: one message at a time, back and forth */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SEND and WRITE: the other end answers with the same operation, and half of the round trip is the latency. The last
 * byte of a WRITE shows that the WRITE has arrived, and which message it is. READ and atomics: the time to completion
 * is the latency.
 */
#ifndef APP_PERF_LATENCY_H
#define APP_PERF_LATENCY_H

#include "perf/end.h"

/* Messages before the clock starts, if the number of messages ends a case. */
#define LATENCY_WARM_UP 100u

void perf_latency_poll(struct perf_end *end);

#endif
