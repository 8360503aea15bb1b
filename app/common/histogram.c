/* histogram.c - counts values in buckets whose width grows with the value */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "common/histogram.h"

#define SUB_COUNT (1u << HISTOGRAM_SUB_BITS)

/* The highest bit of a value that is set chooses the row, the next HISTOGRAM_SUB_BITS bits the bucket in it. */
static uint32_t bucket_of(uint64_t value)
{
	uint32_t shift;

	if (value < 2 * SUB_COUNT)
		return (uint32_t)value;
	shift = 63 - (uint32_t)__builtin_clzll(value) - HISTOGRAM_SUB_BITS;
	return (shift << HISTOGRAM_SUB_BITS) + (uint32_t)(value >> shift);
}

uint64_t app_histogram_end_of(uint32_t bucket)
{
	uint32_t shift;

	if (bucket < 2 * SUB_COUNT)
		return bucket;
	shift = (bucket >> HISTOGRAM_SUB_BITS) - 1;
	return (((uint64_t)(bucket & (SUB_COUNT - 1)) + SUB_COUNT + 1) << shift) - 1;
}

/* For the only thread that writes. */
static inline void set(uint64_t *at, uint64_t value)
{
	__atomic_store_n(at, value, __ATOMIC_RELAXED);
}

static inline void set_real(double *at, double value)
{
	__atomic_store(at, &value, __ATOMIC_RELAXED);
}

/* For any thread. */
static inline uint64_t get(const uint64_t *at)
{
	return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static inline double get_real(const double *at)
{
	double value;

	__atomic_load(at, &value, __ATOMIC_RELAXED);
	return value;
}

void app_histogram_record(struct app_histogram *histogram, uint64_t value)
{
	uint64_t *bucket = &histogram->buckets[bucket_of(value)];

	set(&histogram->min, histogram->count && histogram->min < value ? histogram->min : value);
	set(&histogram->max, histogram->max > value ? histogram->max : value);
	set(&histogram->count, histogram->count + 1);
	set_real(&histogram->sum, histogram->sum + (double)value);
	set_real(&histogram->sum_of_squares, histogram->sum_of_squares + (double)value * (double)value);
	set(bucket, *bucket + 1);
}

void app_histogram_add(struct app_histogram *sum, const struct app_histogram *one)
{
	uint64_t min = get(&one->min), max = get(&one->max), count = get(&one->count);

	if (count == 0)
		return;
	sum->min = sum->count && sum->min < min ? sum->min : min;
	sum->max = sum->max > max ? sum->max : max;
	sum->count += count;
	sum->sum += get_real(&one->sum);
	sum->sum_of_squares += get_real(&one->sum_of_squares);
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		sum->buckets[i] += get(&one->buckets[i]);
}

uint64_t app_histogram_percentile(const struct app_histogram *histogram, double fraction)
{
	uint64_t wanted = (uint64_t)ceil(fraction * (double)histogram->count), seen = 0;

	if (histogram->count == 0)
		return 0;
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += histogram->buckets[i];
		if (seen >= wanted && seen > 0) {
			uint64_t value = app_histogram_end_of(i);

			if (value < histogram->min)
				return histogram->min;
			return value > histogram->max ? histogram->max : value;
		}
	}
	return histogram->max;
}

double app_histogram_mean(const struct app_histogram *histogram)
{
	return histogram->count ? histogram->sum / (double)histogram->count : 0;
}

double app_histogram_deviation(const struct app_histogram *histogram)
{
	double mean = app_histogram_mean(histogram), variance;

	if (histogram->count < 2)
		return 0;
	variance = histogram->sum_of_squares / (double)histogram->count - mean * mean;
	return variance > 0 ? sqrt(variance) : 0;
}
