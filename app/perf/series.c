/* series.c - records how many messages had completed at which time */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/series.h"

void perf_series_add(struct perf_series *series, uint64_t cycles, uint64_t messages)
{
	if (++series->skipped < series->spacing)
		return;
	series->skipped = 0;
	if (series->count == SERIES_POINTS) {
		series->count /= 2;
		for (uint32_t i = 0; i < series->count; i++)
			series->points[i] = series->points[2 * i + 1];
		series->spacing = series->spacing ? 2 * series->spacing : 2;
		/* Half of the new spacing has passed since the last point that was kept. */
		series->skipped = series->spacing / 2;
		return;
	}
	series->points[series->count].cycles = cycles;
	series->points[series->count++].messages = messages;
}
