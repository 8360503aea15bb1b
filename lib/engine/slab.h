/* slab.h - blocks of memory for queue pairs, many to a huge page */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A QP with its rings is one block. Blocks lie side by side in chunks of 2 MiB that ask for a huge page each: a hundred
 * thousand QPs on pages of 4 KiB would miss the TLB with every packet. A block that comes back is given out again for
 * the same size; chunks go back with the slab.
 */
#ifndef ENGINE_SLAB_H
#define ENGINE_SLAB_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct engine_slab_chunk;
struct engine_slab_class;

struct engine_slab {
	pthread_mutex_t lock; /* control calls of any thread */
	int node;             /* NUMA, -1: wherever */
	struct engine_slab_chunk *chunks;
	struct engine_slab_class *classes; /* a list of free blocks for each size that was ever given back */
	uint8_t *next;                     /* in the newest chunk */
	uint64_t left;
};

void engine_slab_init(struct engine_slab *slab, int node);

/* All blocks have come back. */
void engine_slab_free(struct engine_slab *slab);

/* Zeroed, aligned to 64. NULL: no memory. */
void *engine_slab_take(struct engine_slab *slab, uint64_t bytes);

/* The same bytes as when it was taken. */
void engine_slab_give_back(struct engine_slab *slab, void *block, uint64_t bytes);

#endif
