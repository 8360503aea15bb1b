/* numa_alloc.c - allocates on a NUMA node with libnuma, and rings outside the EAL heap */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/numa_alloc.h"

#include <numa.h>
#include <sys/mman.h>
#include <sys/types.h>

#include <rte_ring_elem.h>

#define HUGE_BYTES (2ull << 20)

void engine_numa_prefer(void *memory, uint64_t bytes, int node)
{
	if (node >= 0 && numa_available() == 0 && node <= numa_max_node())
		numa_tonode_memory(memory, bytes, node);
}

void *engine_numa_alloc(uint64_t bytes, int node)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	if (bytes >= HUGE_BYTES)
		madvise(memory, bytes, MADV_HUGEPAGE);
	engine_numa_prefer(memory, bytes, node);
	return memory;
}

void engine_numa_free(void *memory, uint64_t bytes)
{
	if (memory)
		munmap(memory, bytes);
}

struct rte_ring *engine_numa_create_ring(uint32_t count, uint32_t pieces, uint32_t piece_bytes, int node)
{
	uint32_t places = count < 2 ? 2 : rte_align32pow2(count + 1);
	ssize_t bytes = rte_ring_get_memsize_elem(piece_bytes, places * pieces);
	struct rte_ring *ring = bytes > 0 ? engine_numa_alloc((uint64_t)bytes, node) : NULL;

	/* The exact size makes sure that there is always room for whole elements. */
	if (ring && rte_ring_init(ring, "uroce", (places - 1) * pieces, RING_F_SC_DEQ | RING_F_EXACT_SZ) != 0) {
		engine_numa_free(ring, (uint64_t)bytes);
		return NULL;
	}
	return ring;
}

void engine_numa_free_ring(struct rte_ring *ring, uint32_t piece_bytes)
{
	if (ring)
		engine_numa_free(ring, (uint64_t)rte_ring_get_memsize_elem(piece_bytes, ring->size));
}
