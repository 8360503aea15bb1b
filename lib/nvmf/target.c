/* target.c - the lock of a target, and what its hosts share */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmf/target.h"

#include <errno.h>
#include <string.h>

#define DEPTH_DEFAULT 128u
#define DEPTH_MAX 1024u
#define IN_CAPSULE_MAX 16384u
#define DATA_MAX (1u << 20)

/* Makes a recursive lock: a change takes it, and telling hosts of the change takes it again. */
static void make_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
}

void nvmf_target_lock(struct nvmf_target *target)
{
	pthread_mutex_lock(&target->lock);
}

void nvmf_target_unlock(struct nvmf_target *target)
{
	pthread_mutex_unlock(&target->lock);
}

int nvmf_target_init(struct nvmf_target *target, const struct nvmf_config *config)
{
	struct nvmf_config *own = &target->config;

	memset(target, 0, sizeof(*target));
	make_lock(&target->lock);
	*own = *config;
	own->queue_depth = own->queue_depth ? own->queue_depth : DEPTH_DEFAULT;
	own->io_queues = own->io_queues ? own->io_queues : NVMF_QUEUES_MAX - 1;
	own->max_data_bytes = own->max_data_bytes ? own->max_data_bytes : DATA_MAX;
	own->first_cntlid = own->first_cntlid ? own->first_cntlid : 1;
	target->discovery_generation = 1;
	target->last_cntlid = own->first_cntlid - 1;
	if (own->queue_depth < 2 || own->queue_depth > DEPTH_MAX || own->io_queues > NVMF_QUEUES_MAX - 1 ||
	    own->in_capsule_bytes % 16 || own->in_capsule_bytes > IN_CAPSULE_MAX ||
	    own->max_data_bytes < NVME_PAGE_BYTES || own->max_data_bytes > DATA_MAX ||
	    (own->max_data_bytes & (own->max_data_bytes - 1)) || own->first_cntlid > NVME_CNTLID_MAX)
		return -EINVAL;
	return 0;
}

void nvmf_target_free(struct nvmf_target *target)
{
	pthread_mutex_destroy(&target->lock);
	nvmf_paths_free(&target->paths);
	memset(target, 0, sizeof(*target));
}

struct nvmf_subsystem *nvmf_target_find(const struct nvmf_target *target, const char *nqn)
{
	for (uint32_t i = 0; i < target->subsystem_count; i++) {
		if (strcmp(target->subsystems[i]->nqn, nqn) == 0)
			return target->subsystems[i];
	}
	return NULL;
}
