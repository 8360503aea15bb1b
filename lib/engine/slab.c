/* slab.c - cuts blocks out of chunks, and keeps free blocks by size */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/numa_alloc.h"
#include "engine/slab.h"

#define CHUNK_BYTES (2ull << 20)
/* a block of at least this size gets memory of its own, whose last page wastes little */
#define LARGE_BYTES (CHUNK_BYTES / 8)
#define LINE_BYTES 64u

/* The first cache line of a chunk. */
struct engine_slab_chunk {
	struct engine_slab_chunk *next;
};

/* The first bytes of a free block. */
struct free_block {
	struct free_block *next;
};

struct engine_slab_class {
	struct engine_slab_class *next;
	uint64_t bytes;
	struct free_block *free;
};

void engine_slab_init(struct engine_slab *slab, int node)
{
	memset(slab, 0, sizeof(*slab));
	slab->node = node;
	pthread_mutex_init(&slab->lock, NULL);
}

void engine_slab_free(struct engine_slab *slab)
{
	struct engine_slab_chunk *chunk;
	struct engine_slab_class *class;

	while ((chunk = slab->chunks) != NULL) {
		slab->chunks = chunk->next;
		free(chunk);
	}
	while ((class = slab->classes) != NULL) {
		slab->classes = class->next;
		free(class);
	}
	pthread_mutex_destroy(&slab->lock);
}

/* Finds the class of a size; if there is none and `make` is true, makes it. Returns NULL if there is none. */
static struct engine_slab_class *find_class(struct engine_slab *slab, uint64_t bytes, bool make)
{
	struct engine_slab_class *class;

	for (class = slab->classes; class; class = class->next) {
		if (class->bytes == bytes)
			return class;
	}
	class = make ? calloc(1, sizeof(*class)) : NULL;
	if (class) {
		class->bytes = bytes;
		class->next = slab->classes;
		slab->classes = class;
	}
	return class;
}

static bool add_chunk(struct engine_slab *slab)
{
	struct engine_slab_chunk *chunk = aligned_alloc(CHUNK_BYTES, CHUNK_BYTES);

	if (chunk == NULL)
		return false;
	madvise(chunk, CHUNK_BYTES, MADV_HUGEPAGE);
	engine_numa_prefer(chunk, CHUNK_BYTES, slab->node);
	chunk->next = slab->chunks;
	slab->chunks = chunk;
	slab->next = (uint8_t *)chunk + LINE_BYTES;
	slab->left = CHUNK_BYTES - LINE_BYTES;
	return true;
}

/*
 * Cuts a block out of the newest chunk. If the rest of the chunk is too short, less than an eighth of the chunk is lost
 * until the slab is freed.
 */
static void *take_block(struct engine_slab *slab, uint64_t bytes)
{
	/* The class of this size is made now, so that returning the block needs no memory. */
	struct engine_slab_class *class = find_class(slab, bytes, true);
	void *block;

	if (class == NULL)
		return NULL;
	if (class->free) {
		block = class->free;
		class->free = class->free->next;
		return block;
	}
	if (slab->left < bytes && !add_chunk(slab))
		return NULL;
	block = slab->next;
	slab->next += bytes;
	slab->left -= bytes;
	return block;
}

/*
 * Rounds up to an odd number of cache lines. Often the same line of many blocks is in use; with an odd distance between
 * blocks these lines may lie in every set of a cache, not only in every second or fourth.
 */
static uint64_t round_up(uint64_t bytes)
{
	return ((bytes + LINE_BYTES - 1) & ~(uint64_t)(LINE_BYTES - 1)) | LINE_BYTES;
}

void *engine_slab_alloc(struct engine_slab *slab, uint64_t bytes)
{
	void *block;

	bytes = round_up(bytes);
	if (bytes >= LARGE_BYTES)
		return engine_numa_alloc(bytes, slab->node);
	pthread_mutex_lock(&slab->lock);
	block = take_block(slab, bytes);
	pthread_mutex_unlock(&slab->lock);
	return block ? memset(block, 0, bytes) : NULL;
}

void engine_slab_return(struct engine_slab *slab, void *block, uint64_t bytes)
{
	struct free_block *free_block = block;
	struct engine_slab_class *class;

	bytes = round_up(bytes);
	if (bytes >= LARGE_BYTES) {
		engine_numa_free(block, bytes);
		return;
	}
	pthread_mutex_lock(&slab->lock);
	class = find_class(slab, bytes, false);
	free_block->next = class->free;
	class->free = free_block;
	pthread_mutex_unlock(&slab->lock);
}
