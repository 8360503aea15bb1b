/* numa_alloc.h - memory on the NUMA node that uses it */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_NUMA_ALLOC_H
#define ENGINE_NUMA_ALLOC_H

#include <stdint.h>

/*
 * Zeroed memory, page-aligned, on a NUMA node (-1: wherever). NULL when there is none. Not from the EAL heap: that
 * one is small and fixed without hugepages, and QPs come and go. Large areas ask for huge pages.
 */
void *engine_numa_alloc(uint64_t bytes, int node);
/* Has memory that nobody has touched yet come from a node. A preference: a machine without NUMA still works. */
void engine_place_prefer(void *memory, uint64_t bytes, int node);

void engine_numa_free(void *memory, uint64_t bytes);

/* The node that a port hangs on, or -1. */
int engine_place_of_port(uint16_t port_id);

#endif
