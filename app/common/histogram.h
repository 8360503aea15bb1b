/* histogram.h - counts values in buckets whose width grows with the value: percentiles to better than 1 % */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values below 256 have a bucket each; above that each power of two is divided into 128 buckets. Recording is O(1) and
 * allocates nothing. Minimum, maximum, mean and deviation are exact. A zeroed struct is an empty histogram. One thread
 * records; other threads may meanwhile add the histogram to a sum, which may lack the newest values.
 */
#ifndef APP_COMMON_HISTOGRAM_H
#define APP_COMMON_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_SUB_BITS 7
#define HISTOGRAM_BUCKETS ((64 - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS)

struct app_histogram {
	uint64_t count, min, max;
	double sum, sum_of_squares;
	uint64_t buckets[HISTOGRAM_BUCKETS];
};

void app_histogram_record(struct app_histogram *histogram, uint64_t value);

/* Adds the values of another histogram. */
void app_histogram_add(struct app_histogram *sum, const struct app_histogram *one);

/* The value that a fraction (0 ... 1) of all values does not exceed; never outside min ... max. 0 when empty. */
uint64_t app_histogram_percentile(const struct app_histogram *histogram, double fraction);

/* The highest value that a bucket counts. */
uint64_t app_histogram_end_of(uint32_t bucket);

double app_histogram_mean(const struct app_histogram *histogram);
double app_histogram_deviation(const struct app_histogram *histogram);

#endif
