/* latency.h - latency: one message at a time, back and forth */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SEND and WRITE: the other end answers with the same operation; half of the round trip counts. The arrival of a
 * WRITE is seen by its last byte, which tells the message. READ and atomics: the whole time to completion counts.
 */
#ifndef APP_PERF_LATENCY_H
#define APP_PERF_LATENCY_H

#include "perf/end.h"

/* Messages before the clock starts when it is not time that ends a case. */
#define LATENCY_WARM_UP 100u

void perf_latency_poll(struct perf_end *end);

#endif
