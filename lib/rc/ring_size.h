/* ring_size.h - the size of a ring: a power of two */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_RING_SIZE_H
#define RC_RING_SIZE_H

#include <stdint.h>

/* The smallest power of two that is at least n; 1 for 0. */
static inline uint32_t ring_size_at_least(uint32_t n)
{
	uint32_t power = 1;

	while (power < n)
		power *= 2;
	return power;
}

#endif
