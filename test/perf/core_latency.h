/* core_latency.h - measures how far apart two lcores are */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_PERF_CORE_LATENCY_H
#define TEST_PERF_CORE_LATENCY_H

/*
 * Nanoseconds until an idle EAL worker sees a cache line that this thread has written: half of a round trip, a median.
 * A host may move virtual CPUs at any time, so results of several lcores can be compared only if this latency is the
 * same. 0: the lcores share a core, or the worker is busy.
 */
double perf_core_latency_ns(unsigned worker);

#endif
