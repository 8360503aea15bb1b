/* random.h - streams of numbers that follow from a seed, the same with every compiler */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream belongs to one thing (a packet on its way, a request, an application) and starts from the seed and that
 * thing's own number. So what is decided for one does not depend on how many others there were before, and a history
 * with fewer faults stays like the one it was cut from. Integers only. Never two draws in one expression: C does not
 * say which comes first.
 */
#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#define MILLION 1000000u

struct sim_random {
	uint64_t state;
};

/* SplitMix64. */
static inline uint64_t random_next(struct sim_random *random)
{
	uint64_t z = random->state += 0x9E3779B97F4A7C15ull;

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
	return z ^ (z >> 31);
}

/* The stream of thing number b of kind a. */
static inline struct sim_random random_stream(uint64_t seed, uint64_t a, uint64_t b)
{
	struct sim_random random = { .state = seed ^ (a + 1) * 0xD6E8FEB86659FD93ull };

	random.state = random_next(&random) ^ (b + 1) * 0xA0761D6478BD642Full;
	random_next(&random);
	return random;
}

/* 0 ... count - 1; count is not 0. */
static inline uint64_t random_below(struct sim_random *random, uint64_t count)
{
	return random_next(random) % count;
}

/* Both ends included. */
static inline uint64_t random_between(struct sim_random *random, uint64_t from, uint64_t to)
{
	return from + random_below(random, to - from + 1);
}

static inline bool random_chance(struct sim_random *random, uint32_t per_million)
{
	return random_below(random, MILLION) < per_million;
}

#endif
