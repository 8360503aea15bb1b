/* memory.h - cuts the manager's block of memory into pieces, each of which begins with a cache line */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CM_MEMORY_H
#define CM_MEMORY_H

#include <stdint.h>
#include <string.h>

static inline uint64_t memory_lines(uint64_t bytes)
{
	return (bytes + 63) & ~63ull;
}

/* Returns the next piece, and moves *memory behind it. */
static inline void *memory_cut(uint8_t **memory, uint64_t bytes)
{
	void *piece = *memory;

	*memory += memory_lines(bytes);
	return piece;
}

/* How many heads of chains: a power of two, at least one for each thing. */
static inline uint32_t memory_heads(uint32_t things)
{
	return things <= 1 ? 1 : 1u << (32 - __builtin_clz(things - 1));
}

static inline uint64_t memory_heads_bytes(uint32_t things)
{
	return memory_lines(sizeof(uint32_t) * memory_heads(things));
}

/* Returns heads of empty chains: all are CM_NONE. */
static inline uint32_t *memory_cut_heads(uint8_t **memory, uint32_t things)
{
	uint64_t bytes = memory_heads_bytes(things);
	uint32_t *heads = memory_cut(memory, bytes);

	memset(heads, 0xFF, bytes);
	return heads;
}

#endif
