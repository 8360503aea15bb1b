/* slab.c - blocks of memory: zeroed, apart from each other, given out again */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "engine/numa_alloc.h"
#include "engine/slab.h"

#define BLOCKS 1000u

/* The parts of numa_alloc.c that need DPDK and libnuma, as far as the slab sees them. */
static int placed;

void *engine_numa_alloc(uint64_t bytes, int node)
{
	(void)node;
	placed++;
	return calloc(1, bytes);
}

void engine_numa_free(void *memory, uint64_t bytes)
{
	(void)bytes;
	placed -= memory != NULL;
	free(memory);
}

void engine_numa_prefer(void *memory, uint64_t bytes, int node)
{
	(void)memory;
	(void)bytes;
	(void)node;
}

static bool is_zero(const uint8_t *block, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i++) {
		if (block[i])
			return false;
	}
	return true;
}

Test(slab, blocks_are_zeroed_aligned_and_apart)
{
	static uint8_t *blocks[BLOCKS];
	struct engine_slab slab;

	engine_slab_init(&slab, -1);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		uint64_t bytes = 4000 + i % 3 * 100;

		blocks[i] = engine_slab_alloc(&slab, bytes);
		cr_assert_not_null(blocks[i]);
		cr_assert_eq((uintptr_t)blocks[i] % 64, 0);
		cr_assert(is_zero(blocks[i], bytes));
		memset(blocks[i], (int)(i + 1), bytes);
	}
	for (uint32_t i = 0; i < BLOCKS; i++) {
		cr_assert_eq(blocks[i][0], (uint8_t)(i + 1), "another block was written to this one");
		cr_assert_eq(blocks[i][3999 + i % 3 * 100], (uint8_t)(i + 1));
		engine_slab_return(&slab, blocks[i], 4000 + i % 3 * 100);
	}
	engine_slab_free(&slab);
}

/* Of an L1 cache of 64 sets, say: with the same distance between all of them, that is an odd number of lines. */
Test(slab, equal_lines_of_many_blocks_spread_over_all_cache_sets)
{
	static const uint64_t sizes[] = { 64, 4000, 4096, 4352, 8192, 65 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		bool seen[64] = { false };
		struct engine_slab slab;
		void *blocks[64];

		engine_slab_init(&slab, -1);
		for (int n = 0; n < 64; n++) {
			blocks[n] = engine_slab_alloc(&slab, sizes[i]);
			cr_assert_not(seen[(uintptr_t)blocks[n] / 64 % 64], "%lu bytes, block %d", sizes[i], n);
			seen[(uintptr_t)blocks[n] / 64 % 64] = true;
		}
		for (int n = 0; n < 64; n++)
			engine_slab_return(&slab, blocks[n], sizes[i]);
		engine_slab_free(&slab);
	}
}

Test(slab, returned_block_is_reused_for_its_size_and_zeroed)
{
	struct engine_slab slab;
	uint8_t *first, *second, *other;

	engine_slab_init(&slab, -1);
	first = engine_slab_alloc(&slab, 1000);
	second = engine_slab_alloc(&slab, 1000);
	memset(first, 0xFF, 1000);
	memset(second, 0xFF, 1000);
	engine_slab_return(&slab, first, 1000);
	engine_slab_return(&slab, second, 1000);
	other = engine_slab_alloc(&slab, 2000);
	cr_assert(other != first && other != second, "of another size");
	cr_assert_eq(engine_slab_alloc(&slab, 1000), second);
	cr_assert_eq(engine_slab_alloc(&slab, 1000), first);
	cr_assert(is_zero(first, 1000));
	cr_assert(is_zero(second, 1000));
	engine_slab_free(&slab);
}

Test(slab, a_hundred_thousand_rounds_need_one_chunk)
{
	struct engine_slab slab;
	struct engine_slab_chunk *only;

	engine_slab_init(&slab, -1);
	engine_slab_return(&slab, engine_slab_alloc(&slab, 4096), 4096);
	only = slab.chunks;
	for (int i = 0; i < 100000; i++)
		engine_slab_return(&slab, engine_slab_alloc(&slab, 4096), 4096);
	cr_assert_eq(slab.chunks, only, "no new chunk was added in front of it");
	engine_slab_free(&slab);
}

Test(slab, large_block_has_its_own_memory)
{
	struct engine_slab slab;
	uint8_t *block;

	engine_slab_init(&slab, -1);
	block = engine_slab_alloc(&slab, 1 << 20);
	cr_assert_eq(placed, 1);
	cr_assert(is_zero(block, 1 << 20));
	engine_slab_return(&slab, block, 1 << 20);
	cr_assert_eq(placed, 0);
	cr_assert_null(slab.chunks);
	engine_slab_free(&slab);
}
