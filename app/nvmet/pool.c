/* pool.c - buffers for data on its way between hosts and stores: a buddy allocator over one region */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define USED 0x80u /* bit of a state: the block that begins here is in use; the other bits are its order */
#define INSIDE 0xFFu

static uint32_t order_of(uint32_t bytes)
{
	uint32_t order = 0;

	while (bytes > POOL_LEAST_BYTES << order)
		order++;
	return order;
}

/* Other lanes may be reading it. */
static void set_used(struct pool *pool, uint32_t units)
{
	__atomic_store_n(&pool->units.used, units, __ATOMIC_RELAXED);
}

static void push(struct pool *pool, uint32_t block, uint32_t order)
{
	pool->blocks[block].state = (uint8_t)order;
	LIST_INSERT_HEAD(&pool->free_lists[order], &pool->blocks[block], next);
}

int pool_open(struct pool *pool, uint64_t bytes)
{
	uint32_t blocks = (uint32_t)(bytes / POOL_LEAST_BYTES);

	memset(pool, 0, sizeof(*pool));
	pool->bytes = bytes;
	pool->units.size = blocks;
	pool->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pool->base == MAP_FAILED)
		pool->base = NULL;
	pool->blocks = calloc(blocks, sizeof(*pool->blocks));
	if (pool->base == NULL || pool->blocks == NULL) {
		pool_close(pool);
		return -ENOMEM;
	}
	madvise(pool->base, bytes, MADV_HUGEPAGE);
	for (uint32_t i = 0; i < blocks; i++)
		pool->blocks[i].state = INSIDE;
	for (uint32_t i = blocks; i > 0; i -= POOL_MOST_BYTES / POOL_LEAST_BYTES)
		push(pool, i - POOL_MOST_BYTES / POOL_LEAST_BYTES, POOL_ORDERS - 1);
	return 0;
}

void pool_close(struct pool *pool)
{
	if (pool->base)
		munmap(pool->base, pool->bytes);
	free(pool->blocks);
	memset(pool, 0, sizeof(*pool));
}

uint32_t pool_units(uint32_t bytes)
{
	return 1u << order_of(bytes);
}

bool pool_has(const struct pool *pool, uint32_t bytes)
{
	for (uint32_t order = order_of(bytes); order < POOL_ORDERS; order++) {
		if (!LIST_EMPTY(&pool->free_lists[order]))
			return true;
	}
	return false;
}

void *pool_take(struct pool *pool, uint32_t bytes)
{
	uint32_t wanted = order_of(bytes), order = wanted, number;
	struct pool_block *block;

	while (order < POOL_ORDERS && LIST_EMPTY(&pool->free_lists[order]))
		order++;
	if (order >= POOL_ORDERS)
		return NULL;
	block = LIST_FIRST(&pool->free_lists[order]);
	LIST_REMOVE(block, next);
	number = (uint32_t)(block - pool->blocks);
	while (order > wanted) {
		order--;
		push(pool, number + (1u << order), order);
	}
	block->state = (uint8_t)(order | USED);
	set_used(pool, pool->units.used + (1u << order));
	return pool->base + (uint64_t)number * POOL_LEAST_BYTES;
}

/* Two free halves become the whole block again. */
void pool_return(struct pool *pool, void *buffer, uint32_t bytes)
{
	uint32_t order = order_of(bytes);
	uint32_t block = (uint32_t)(((uint8_t *)buffer - pool->base) / POOL_LEAST_BYTES);

	set_used(pool, pool->units.used - (1u << order));
	while (order < POOL_ORDERS - 1) {
		uint32_t other = block ^ (1u << order);

		if (pool->blocks[other].state != order)
			break;
		LIST_REMOVE(&pool->blocks[other], next);
		pool->blocks[block > other ? block : other].state = INSIDE;
		block &= ~(1u << order);
		order++;
	}
	push(pool, block, order);
}
