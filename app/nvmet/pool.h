/* pool.h - buffers for data on its way between hosts and stores: a buddy allocator over one region */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_POOL_H
#define NVMET_POOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "share/share.h"

#define POOL_LEAST_BYTES 4096u
#define POOL_MOST_BYTES (1u << 20)
#define POOL_ORDERS 9u /* block sizes from POOL_LEAST_BYTES to POOL_MOST_BYTES */

/* A place where a block may begin. */
struct pool_block {
	LIST_ENTRY(pool_block) next; /* of free blocks */
	uint8_t state;               /* see pool.c */
};

struct pool {
	uint8_t *base;
	uint64_t bytes;
	struct pool_block *blocks; /* those of the smallest size */
	LIST_HEAD(, pool_block) free_lists[POOL_ORDERS];
	struct share units; /* of POOL_LEAST_BYTES each; other lanes read units.used */
};

/* bytes: a multiple of POOL_MOST_BYTES. Returns 0 or -ENOMEM. */
int pool_open(struct pool *pool, uint64_t bytes);
void pool_close(struct pool *pool);
/*
 * Takes a buffer of at least so many bytes, up to POOL_MOST_BYTES, aligned to POOL_LEAST_BYTES. NULL: none is free now.
 */
void *pool_take(struct pool *pool, uint32_t bytes);
/* The units that pool_take() takes for so many bytes. */
uint32_t pool_units(uint32_t bytes);
/* Would pool_take() find a buffer? */
bool pool_has(const struct pool *pool, uint32_t bytes);
/* bytes as for pool_take(). */
void pool_return(struct pool *pool, void *buffer, uint32_t bytes);

#endif
