/* series.h - records how many messages had completed at which time, in a bounded number of points */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_SERIES_H
#define APP_PERF_SERIES_H

#include <stdint.h>

#define SERIES_POINTS 128

/* A zeroed struct is an empty series. The point at time 0 is not stored. */
struct perf_series {
	uint32_t count, skipped;
	uint32_t spacing; /* of so many new points one is stored; 0: each point is stored */
	struct {
		uint64_t cycles, messages; /* since the clock was started */
	} points[SERIES_POINTS];
};

/*
 * Adds a point; points come at equal steps of time. When the series is full, it drops every other stored point, and
 * from then on stores only every other new point.
 */
void perf_series_add(struct perf_series *series, uint64_t cycles, uint64_t messages);

#endif
