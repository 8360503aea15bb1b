/* setup.h - creates the memory, regions, queues and queue pairs of a case, and connects them */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_SETUP_H
#define APP_PERF_SETUP_H

#include "perf/end.h"

/* Creates what a case needs, and describes it in *own, whose arrays belong to the caller: qps entries each. */
int perf_setup_prepare(struct perf_end *end, const struct perf_case *test, struct perf_peer *own);

/* Connects to the peer and posts receives. peer's arrays are used during the call only. */
int perf_setup_connect(struct perf_end *end, const struct perf_peer *peer);

/* Prepares and connects two ends that are both in this process. Returns 0 or a negative errno. */
int perf_setup_connect_both(struct perf_end *ends, const struct perf_case *test);

/* Frees what the case needed. */
void perf_setup_finish(struct perf_end *end);

#endif
