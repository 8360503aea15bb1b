/* pool.h - buffers for what is on its way between hosts and stores: powers of two, halves of one region */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_POOL_H
#define NVMET_POOL_H

#include <stdbool.h>
#include <stdint.h>

#define POOL_LEAST_BYTES 4096u
#define POOL_MOST_BYTES (1u << 20)
#define POOL_ORDERS 9u /* from the least to the most */

struct pool {
	uint8_t *base;
	uint64_t bytes;
	uint8_t *states;         /* of each least block: see pool.c */
	uint32_t *next, *before; /* of free ones */
	uint32_t free_lists[POOL_ORDERS];
	uint64_t used_bytes, refusals;
};

/* bytes: a multiple of POOL_MOST_BYTES. 0; -ENOMEM. */
int pool_open(struct pool *pool, uint64_t bytes);
void pool_close(struct pool *pool);
/* At least so many bytes, up to POOL_MOST_BYTES, aligned to POOL_LEAST_BYTES. NULL: none is free now. */
void *pool_take(struct pool *pool, uint32_t bytes);
/* Would it find one? */
bool pool_has(const struct pool *pool, uint32_t bytes);
/* bytes as for pool_take(). */
void pool_return(struct pool *pool, void *buffer, uint32_t bytes);

#endif
