/* median.h - the middle one of several measures */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_MEDIAN_H
#define SIM_MEDIAN_H

#include <stdint.h>
#include <stdlib.h>

static inline int sim_compare_measures(const void *a, const void *b)
{
	double difference = *(const double *)a - *(const double *)b;

	return (difference > 0) - (difference < 0);
}

/* Sorts them; of an even number it is the upper one of the two. */
static inline double sim_median(double *values, uint32_t count)
{
	qsort(values, count, sizeof(*values), sim_compare_measures);
	return values[count / 2];
}

#endif
