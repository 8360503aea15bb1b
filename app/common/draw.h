/* draw.h - random numbers that are the same in each run (xorshift) */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_DRAW_H
#define APP_COMMON_DRAW_H

#include <stdint.h>

#define DRAW_SEED 88172645463325252ull

static inline uint64_t draw_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

#endif
