/* target.c - subsystems, their namespaces, the hosts that may see them, and where they are reached */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmf/target.h"

#include <errno.h>
#include <string.h>

#include "nvmf/controller.h"

#define DEPTH_DEFAULT 128u
#define DEPTH_MAX 1024u
#define IN_CAPSULE_MAX 16384u
#define DATA_MAX (1u << 20)

/* What tells hosts of a change is a change itself: who has the lock may take it again. */
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
	memset(target, 0, sizeof(*target));
}

bool nvmf_nqn_is_valid(const char *nqn)
{
	size_t length = strnlen(nqn, NVME_NQN_BYTES);

	/* "nqn.", year and month, a domain turned round */
	if (length > NVME_NQN_MAX || length < sizeof("nqn.2014-08.a") - 1 || strncmp(nqn, "nqn.", 4) != 0)
		return false;
	for (size_t i = 4; i < 11; i++) {
		if (i == 8 ? nqn[i] != '-' : nqn[i] < '0' || nqn[i] > '9')
			return false;
	}
	for (size_t i = 11; i < length; i++) {
		if ((unsigned char)nqn[i] <= ' ' || nqn[i] == 0x7F)
			return false;
	}
	return nqn[11] == '.';
}

static void tell_discovery(struct nvmf_target *target)
{
	target->discovery_generation++;
	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++) {
		if (target->controllers[i] && target->controllers[i]->subsystem == NULL)
			nvmf_controller_raise(target->controllers[i], NVME_EVENT_DISCOVERY);
	}
}

int nvmf_target_add_subsystem(struct nvmf_target *target, struct nvmf_subsystem *subsystem)
{
	if (!nvmf_nqn_is_valid(subsystem->nqn) || strcmp(subsystem->nqn, NVME_DISCOVERY_NQN) == 0)
		return -EINVAL;
	if (nvmf_target_find(target, subsystem->nqn))
		return -EEXIST;
	if (target->subsystem_count == NVMF_SUBSYSTEMS_MAX)
		return -ENOSPC;
	target->subsystems[target->subsystem_count++] = subsystem;
	tell_discovery(target);
	return 0;
}

int nvmf_target_add_address(struct nvmf_target *target, const struct nvmf_address *address)
{
	if (target->address_count == NVMF_ADDRESSES_MAX)
		return -ENOSPC;
	target->addresses[target->address_count++] = *address;
	tell_discovery(target);
	return 0;
}

struct nvmf_subsystem *nvmf_target_find(const struct nvmf_target *target, const char *nqn)
{
	for (uint32_t i = 0; i < target->subsystem_count; i++) {
		if (strcmp(target->subsystems[i]->nqn, nqn) == 0)
			return target->subsystems[i];
	}
	return NULL;
}

void nvmf_subsystem_changed(struct nvmf_target *target, const struct nvmf_subsystem *subsystem, uint32_t nsid)
{
	if (nsid < 1 || nsid > NVMF_NAMESPACES_MAX)
		return;
	nvmf_target_lock(target);
	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++) {
		struct nvmf_controller *controller = target->controllers[i];

		if (controller == NULL || controller->subsystem != subsystem)
			continue;
		nvmf_controller_change(controller, nsid);
	}
	nvmf_target_unlock(target);
}

/* Does a host still know by this number what has gone? */
static bool is_known(const struct nvmf_target *target, const struct nvmf_subsystem *subsystem, uint32_t nsid)
{
	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++) {
		const struct nvmf_controller *controller = target->controllers[i];

		if (controller && controller->subsystem == subsystem && nvmf_set_has(controller->gone, nsid))
			return true;
	}
	return false;
}

static uint32_t free_nsid(const struct nvmf_target *target, const struct nvmf_subsystem *subsystem)
{
	for (uint32_t nsid = 1; nsid <= NVMF_NAMESPACES_MAX; nsid++) {
		if (subsystem->namespaces[nsid - 1] == NULL && !is_known(target, subsystem, nsid))
			return nsid;
	}
	return 0;
}

static int add(struct nvmf_target *target, struct nvmf_subsystem *subsystem, struct nvmf_namespace *namespace)
{
	uint32_t nsid = namespace->nsid ? namespace->nsid : free_nsid(target, subsystem);

	if (nsid == 0)
		return -ENOSPC;
	if (nsid > NVMF_NAMESPACES_MAX || (namespace->block_bytes != 512 && namespace->block_bytes != 4096))
		return -EINVAL;
	if (namespace->blocks == 0 || namespace->blocks > UINT64_MAX / namespace->block_bytes)
		return -EINVAL;
	if (subsystem->namespaces[nsid - 1])
		return -EEXIST;
	if (is_known(target, subsystem, nsid))
		return -EBUSY;
	namespace->nsid = nsid;
	subsystem->namespaces[nsid - 1] = namespace;
	nvmf_subsystem_changed(target, subsystem, nsid);
	return 0;
}

int nvmf_subsystem_add(struct nvmf_target *target, struct nvmf_subsystem *subsystem, struct nvmf_namespace *namespace)
{
	int code;

	nvmf_target_lock(target);
	code = add(target, subsystem, namespace);
	nvmf_target_unlock(target);
	return code;
}

/* Those of a thread that is counting meanwhile, too. */
void nvmf_counts_add(struct nvmf_counts *sum, const struct nvmf_counts *counts)
{
	const uint64_t *from = (const uint64_t *)counts;
	uint64_t *to = (uint64_t *)sum;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

struct nvmf_counts nvmf_namespace_counts(const struct nvmf_namespace *namespace)
{
	struct nvmf_counts sum = { 0 };

	for (uint32_t i = 0; i < NVMF_THREADS_MAX; i++)
		nvmf_counts_add(&sum, &namespace->shares[i].counts);
	return sum;
}

uint32_t nvmf_namespace_under_way(const struct nvmf_namespace *namespace)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < NVMF_THREADS_MAX; i++)
		sum += namespace->shares[i].under_way;
	return sum;
}

void nvmf_subsystem_degrade(struct nvmf_target *target, const struct nvmf_subsystem *subsystem, uint32_t nsid)
{
	struct nvmf_namespace *namespace = nvmf_subsystem_find(subsystem, nsid);

	if (namespace == NULL || namespace->degraded)
		return;
	nvmf_target_lock(target);
	namespace->degraded = true;
	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++) {
		if (target->controllers[i] && target->controllers[i]->subsystem == subsystem)
			nvmf_controller_raise(target->controllers[i], NVME_EVENT_UNRELIABLE);
	}
	nvmf_target_unlock(target);
}

int nvmf_subsystem_remove(struct nvmf_target *target, struct nvmf_subsystem *subsystem, uint32_t nsid)
{
	struct nvmf_counts counts;

	if (nvmf_subsystem_find(subsystem, nsid) == NULL)
		return -ENOENT;
	nvmf_target_lock(target);
	counts = nvmf_namespace_counts(subsystem->namespaces[nsid - 1]);
	nvmf_counts_add(&subsystem->past, &counts);
	subsystem->namespaces[nsid - 1] = NULL;
	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++) {
		if (target->controllers[i] && target->controllers[i]->subsystem == subsystem)
			nvmf_controller_lose(target->controllers[i], nsid);
	}
	nvmf_subsystem_changed(target, subsystem, nsid);
	nvmf_target_unlock(target);
	return 0;
}

struct nvmf_namespace *nvmf_subsystem_find(const struct nvmf_subsystem *subsystem, uint32_t nsid)
{
	return nsid >= 1 && nsid <= NVMF_NAMESPACES_MAX ? subsystem->namespaces[nsid - 1] : NULL;
}

bool nvmf_subsystem_admits(const struct nvmf_subsystem *subsystem, const char *host_nqn)
{
	for (uint32_t i = 0; i < subsystem->host_count; i++) {
		if (strcmp(subsystem->hosts[i], host_nqn) == 0)
			return true;
	}
	return subsystem->host_count == 0;
}

struct nvmf_controller *nvmf_target_expired(struct nvmf_target *target, uint32_t thread, uint64_t now_ns)
{
	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++) {
		struct nvmf_controller *controller = target->controllers[i];

		if (controller && controller->deadline_ns <= now_ns && controller->queues[0] &&
		    controller->queues[0]->thread == thread) {
			controller->deadline_ns = NVMF_FOREVER;
			return controller;
		}
	}
	return NULL;
}
