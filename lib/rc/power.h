/* power.h - ring sizes */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_POWER_H
#define RC_POWER_H

#include <stdint.h>

/* The smallest power of two that is at least n; 1 for 0. */
static inline uint32_t power_of_two(uint32_t n)
{
	uint32_t power = 1;

	while (power < n)
		power *= 2;
	return power;
}

#endif
