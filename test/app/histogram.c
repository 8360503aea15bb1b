/* histogram.c - percentiles of known values, and what stays exact */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "common/histogram.h"

static struct app_histogram histogram;

static void expect_near(uint64_t value, double expected)
{
	cr_expect(fabs((double)value - expected) <= expected * 0.01, "%lu instead of about %.0f", (unsigned long)value,
		  expected);
}

Test(histogram, empty_histogram_is_all_zeros)
{
	cr_expect_eq(app_histogram_percentile(&histogram, 0.5), 0);
	cr_expect_eq(app_histogram_mean(&histogram), 0);
	cr_expect_eq(app_histogram_deviation(&histogram), 0);
}

Test(histogram, small_values_are_exact)
{
	for (uint64_t value = 0; value < 256; value++)
		app_histogram_record(&histogram, value);
	for (unsigned rank = 1; rank <= 256; rank++)
		cr_expect_eq(app_histogram_percentile(&histogram, rank / 256.0), rank - 1);
	cr_expect_eq(app_histogram_percentile(&histogram, 0), 0);
}

Test(histogram, percentiles_are_within_one_percent_over_the_whole_range)
{
	uint64_t scale;

	for (scale = 1; scale <= 1ull << 40; scale *= 32) {
		histogram = (struct app_histogram){ 0 };
		for (uint64_t i = 1; i <= 10000; i++)
			app_histogram_record(&histogram, i * scale);
		expect_near(app_histogram_percentile(&histogram, 0.5), 5000.0 * (double)scale);
		expect_near(app_histogram_percentile(&histogram, 0.99), 9900.0 * (double)scale);
		expect_near(app_histogram_percentile(&histogram, 0.9999), 9999.0 * (double)scale);
		cr_expect_eq(app_histogram_percentile(&histogram, 1), 10000 * scale);
	}
}

Test(histogram, sum_equals_one_histogram_of_all_values)
{
	static struct app_histogram parts[3], sum; /* the last one stays empty */

	for (uint64_t value = 1; value <= 5000; value++) {
		app_histogram_record(&parts[value % 2], value);
		app_histogram_record(&histogram, value);
	}
	for (unsigned i = 0; i < 3; i++)
		app_histogram_add(&sum, &parts[i]);
	cr_expect_arr_eq(&sum, &histogram, sizeof(sum));
}

Test(histogram, minimum_maximum_mean_and_deviation_are_exact)
{
	static const uint64_t values[] = { 1000003, 1000005, 1000007, 999985 };

	for (unsigned i = 0; i < 4; i++)
		app_histogram_record(&histogram, values[i]);
	cr_expect_eq(histogram.count, 4);
	cr_expect_eq(histogram.min, 999985);
	cr_expect_eq(histogram.max, 1000007);
	cr_expect_float_eq(app_histogram_mean(&histogram), 1000000.0, 1e-6);
	cr_expect_float_eq(app_histogram_deviation(&histogram), sqrt((9 + 25 + 49 + 225) / 4.0), 0.01);
}

Test(histogram, largest_value_has_a_bucket)
{
	app_histogram_record(&histogram, UINT64_MAX);
	app_histogram_record(&histogram, 1ull << 63);
	cr_expect_eq(app_histogram_percentile(&histogram, 1), UINT64_MAX);
	cr_expect_geq(app_histogram_percentile(&histogram, 0.5), 1ull << 63);
}

Test(histogram, one_outlier_in_a_thousand_shows_at_99_9_and_not_before)
{
	for (unsigned i = 0; i < 999; i++)
		app_histogram_record(&histogram, 100);
	app_histogram_record(&histogram, 1000000);
	cr_expect_eq(app_histogram_percentile(&histogram, 0.999), 100);
	cr_expect_eq(app_histogram_percentile(&histogram, 0.9999), 1000000);
}
