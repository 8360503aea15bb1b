/* shared_pool.h - the property that each pool of share.h must have, tried by taking and giving */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHARED_POOL_H
#define SHARED_POOL_H

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdint.h>

/* A pool under test. Its peers are numbered from 0 on. */
struct shared_pool {
	void *context;
	/* The peer takes one more unit: a place, a connection, a buffer ... Returns false if it may not. */
	bool (*take)(void *context, uint32_t peer);
	/* The peer gives back the unit that it took last. */
	void (*give)(void *context, uint32_t peer);
	uint32_t least; /* units that an honest peer must get, however much one other peer takes */
};

/*
 * One peer takes all it can, and another one still gets its least. What is given back can be taken again, as often as
 * before.
 */
static inline void shared_pool_check(const struct shared_pool *pool)
{
	uint32_t greedy[2], honest[2];

	for (int round = 0; round < 2; round++) {
		greedy[round] = honest[round] = 0;
		while (pool->take(pool->context, 0))
			cr_assert_lt(++greedy[round], 1u << 24, "the pool has no bound");
		while (pool->take(pool->context, 1))
			honest[round]++;
		cr_assert_geq(honest[round], pool->least, "one peer took %u, another one got %u of its %u",
			      greedy[round], honest[round], pool->least);
		for (uint32_t i = 0; i < greedy[round]; i++)
			pool->give(pool->context, 0);
		for (uint32_t i = 0; i < honest[round]; i++)
			pool->give(pool->context, 1);
	}
	cr_assert_gt(greedy[0], 0);
	cr_assert_eq(greedy[0], greedy[1], "%u units were taken, and %u once these were back", greedy[0], greedy[1]);
	cr_assert_eq(honest[0], honest[1], "%u units were taken, and %u once these were back", honest[0], honest[1]);
}

#endif
