/* numa_alloc.h - allocates memory, and rings, on the NUMA node that uses them */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_NUMA_ALLOC_H
#define ENGINE_NUMA_ALLOC_H

#include <stdint.h>

struct rte_ring;

/*
 * Returns zeroed, page-aligned memory on a NUMA node (-1: any), or NULL. The memory is not from the EAL heap: without
 * hugepages that heap is small and fixed, but QPs come and go. Large areas ask for huge pages.
 */
void *engine_numa_alloc(uint64_t bytes, int node);
void engine_numa_free(void *memory, uint64_t bytes);

/*
 * Pages of this memory that were never touched are taken from the node, if it has free pages. Works on machines without
 * NUMA, too.
 */
void engine_numa_prefer(void *memory, uint64_t bytes, int node);

/*
 * Makes a ring with many writers and one reader, for at least `count` elements of `pieces` pieces each (a power of
 * two). rte_ring counts pieces. NULL: no memory.
 */
struct rte_ring *engine_numa_create_ring(uint32_t count, uint32_t pieces, uint32_t piece_bytes, int node);
void engine_numa_free_ring(struct rte_ring *ring, uint32_t piece_bytes);

#endif
