/* series.c - points of a case: few or many, they are at equal distances and reach to its end */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "perf/series.h"

Test(series, series_keeps_all_points_while_it_has_room)
{
	struct perf_series series = { 0 };

	for (uint64_t i = 1; i <= SERIES_POINTS; i++)
		perf_series_add(&series, 10 * i, i);
	cr_assert_eq(series.count, SERIES_POINTS);
	for (uint32_t i = 0; i < SERIES_POINTS; i++) {
		cr_assert_eq(series.points[i].cycles, 10 * (i + 1));
		cr_assert_eq(series.points[i].messages, i + 1);
	}
}

Test(series, points_are_equidistant_for_any_number_offered)
{
	for (uint64_t offered = 1; offered <= 40 * SERIES_POINTS; offered++) {
		struct perf_series series = { 0 };
		uint64_t step;

		for (uint64_t i = 1; i <= offered; i++)
			perf_series_add(&series, i, 3 * i);
		step = series.points[0].cycles;
		cr_assert_leq(series.count, SERIES_POINTS);
		cr_assert(offered < SERIES_POINTS || series.count >= SERIES_POINTS / 2, "%lu of %lu",
			  (unsigned long)series.count, (unsigned long)offered);
		for (uint32_t i = 0; i < series.count; i++) {
			cr_assert_eq(series.points[i].cycles, step * (i + 1), "point %u of %lu", i,
				     (unsigned long)offered);
			cr_assert_eq(series.points[i].messages, 3 * step * (i + 1));
		}
		cr_assert_lt(offered - series.points[series.count - 1].cycles, step);
	}
}
