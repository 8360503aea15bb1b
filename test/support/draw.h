/* draw.h - numbers that follow from a seed, for tests that draw what they do */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xorshift64: the state is the number drawn last and never 0. A seed that failed once does the same for ever, so what
 * is drawn from a state stays as it is.
 */
#ifndef TEST_DRAW_H
#define TEST_DRAW_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t draw_start(uint64_t seed)
{
	return seed * 0x9E3779B97F4A7C15ull | 1;
}

static inline uint64_t draw_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* 0 ... below - 1. */
static inline uint32_t draw_below(uint64_t *state, uint32_t below)
{
	return (uint32_t)(draw_next(state) >> 20) % below;
}

static inline bool draw_chance(uint64_t *state, uint32_t per_thousand)
{
	return draw_next(state) % 1000 < per_thousand;
}

#endif
