/* ring.h - rings outside the EAL heap */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_RING_H
#define ENGINE_RING_H

#include <rte_ring.h>

/*
 * For at least count elements of so many pieces (a power of two), which are what rte_ring counts; NULL: no memory.
 */
struct rte_ring *engine_ring_create(uint32_t count, uint32_t pieces, uint32_t piece_bytes, unsigned flags, int node);
void engine_ring_free(struct rte_ring *ring, uint32_t piece_bytes);

#endif
