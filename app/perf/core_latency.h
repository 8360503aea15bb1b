/* core_latency.h - how far apart two lcores are */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_CORE_LATENCY_H
#define APP_PERF_CORE_LATENCY_H

/*
 * Nanoseconds until a cache line that this thread has written is seen by an idle EAL worker, half of the way there and
 * back; a median. A host may move virtual CPUs at any time: figures of several lcores compare only
 * where this is the same. 0: lcores share a core, or the worker is busy.
 */
double perf_core_latency_ns(unsigned worker);

#endif
