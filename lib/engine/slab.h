/* slab.h - memory for queue pairs: many blocks in one huge page */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A QP with its rings is one block. Blocks lie side by side in chunks of 2 MiB, each of which asks for a huge page,
 * because a hundred thousand QPs on pages of 4 KiB would miss the TLB with every packet. A block that was returned
 * serves the next request for the same size. Chunks are freed with the slab.
 */
#ifndef ENGINE_SLAB_H
#define ENGINE_SLAB_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct engine_slab_chunk;
struct engine_slab_class;

struct engine_slab {
	pthread_mutex_t lock; /* for control calls of any thread */
	int node;             /* NUMA node; -1: any */
	struct engine_slab_chunk *chunks;
	struct engine_slab_class *classes; /* for each size of a block that was ever taken, the list of free ones */
	uint8_t *next;                     /* the free part of the newest chunk */
	uint64_t left;
};

void engine_slab_init(struct engine_slab *slab, int node);

/* Frees the chunks. All blocks have been returned. */
void engine_slab_free(struct engine_slab *slab);

/* Takes a zeroed block, aligned to 64. NULL: no memory. */
void *engine_slab_alloc(struct engine_slab *slab, uint64_t bytes);

/* Returns a block, with the same bytes as when it was taken. */
void engine_slab_return(struct engine_slab *slab, void *block, uint64_t bytes);

#endif
