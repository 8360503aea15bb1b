/* ring.c - rings outside the EAL heap */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/ring.h"

#include <sys/types.h>

#include <rte_ring_elem.h>

#include "engine/numa_alloc.h"

struct rte_ring *engine_ring_create(uint32_t count, uint32_t pieces, uint32_t piece_bytes, unsigned flags, int node)
{
	uint32_t places = count < 2 ? 2 : rte_align32pow2(count + 1);
	ssize_t bytes = rte_ring_get_memsize_elem(piece_bytes, places * pieces);
	struct rte_ring *ring = bytes > 0 ? engine_numa_alloc((uint64_t)bytes, node) : NULL;

	/* The exact size, so that there is always room for whole elements. */
	if (ring && rte_ring_init(ring, "uroce", (places - 1) * pieces, flags | RING_F_EXACT_SZ) != 0) {
		engine_numa_free(ring, (uint64_t)bytes);
		return NULL;
	}
	return ring;
}

void engine_ring_free(struct rte_ring *ring, uint32_t piece_bytes)
{
	if (ring)
		engine_numa_free(ring, (uint64_t)rte_ring_get_memsize_elem(piece_bytes, ring->size));
}
