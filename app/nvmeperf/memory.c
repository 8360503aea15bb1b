/* memory.c - one mapping for the commands of a host, their data and the responses */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmeperf/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "nvmf/nvme.h"

static void *cut(struct host *host, size_t bytes)
{
	void *at = host->free;

	host->free += bytes;
	return at;
}

static uint32_t depth_of(const struct host *host, uint32_t index)
{
	return index ? host->config.depth : NVME_ADMIN_DEPTH;
}

static uint32_t room_of(const struct host *host, uint32_t index)
{
	return index && host->config.data_bytes > NVME_PAGE_BYTES ? host->config.data_bytes : NVME_PAGE_BYTES;
}

int host_memory_make(struct host *host)
{
	for (uint32_t i = 0; i < host->link_count; i++)
		host->memory_bytes +=
			(size_t)depth_of(host, i) * (room_of(host, i) + host->capsule_bytes + NVME_CQE_BYTES);
	host->memory = mmap(NULL, host->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (host->memory == MAP_FAILED)
		host->memory = NULL;
	host->links = calloc(host->link_count, sizeof(*host->links));
	if (host->memory == NULL || host->links == NULL)
		return -ENOMEM;
	host->free = host->memory;
	for (uint32_t i = 0; i < host->link_count; i++) {
		struct link *link = &host->links[i];

		link->host = host;
		link->qid = (uint16_t)i;
		link->depth = depth_of(host, i);
		link->commands = calloc(link->depth, sizeof(*link->commands));
		if (link->commands == NULL)
			return -ENOMEM;
		for (uint32_t k = 0; k < link->depth; k++)
			link->commands[k].data = cut(host, room_of(host, i));
	}
	for (uint32_t i = 0; i < host->link_count; i++) {
		for (uint32_t k = 0; k < host->links[i].depth; k++)
			host->links[i].commands[k].sqe = cut(host, host->capsule_bytes);
		host->links[i].responses = cut(host, host->links[i].depth * NVME_CQE_BYTES);
	}
	return 0;
}
