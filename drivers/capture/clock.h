/* clock.h - converts cycles of the processor to time of day */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_CAPTURE_CLOCK_H
#define DRIVERS_CAPTURE_CLOCK_H

#include <time.h>

#include <rte_cycles.h>

/* The same moment on both clocks. */
struct capture_clock {
	uint64_t cycles, time_ns, hz;
};

static inline struct capture_clock capture_clock_read(void)
{
	struct capture_clock clock = { .cycles = rte_get_tsc_cycles(), .hz = rte_get_tsc_hz() };
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	clock.time_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	return clock;
}

/* Nanoseconds between two moments; negative if the second one is earlier. */
static inline int64_t capture_clock_between(const struct capture_clock *clock, uint64_t from, uint64_t to)
{
	return (int64_t)((__int128)(int64_t)(to - from) * 1000000000 / (int64_t)clock->hz);
}

static inline uint64_t capture_clock_time(const struct capture_clock *clock, uint64_t cycles)
{
	return clock->time_ns + (uint64_t)capture_clock_between(clock, clock->cycles, cycles);
}

#endif
