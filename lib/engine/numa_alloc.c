/* numa_alloc.c - NUMA placement with libnuma */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <numa.h>
#include <sys/mman.h>

#include <rte_ethdev.h>

#include "engine/numa_alloc.h"

#define HUGE_BYTES (2ull << 20)

void engine_place_prefer(void *memory, uint64_t bytes, int node)
{
	/* Not a demand: a full node works, too. */
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
	engine_place_prefer(memory, bytes, node);
	return memory;
}

void engine_numa_free(void *memory, uint64_t bytes)
{
	if (memory)
		munmap(memory, bytes);
}

int engine_place_of_port(uint16_t port_id)
{
	return rte_eth_dev_socket_id(port_id);
}
