/* change.c - tells each change to the controllers of the hosts that can see it */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmf/change.h"

#include <errno.h>
#include <string.h>

#include "nvmf/controller.h"

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

/* Does a host still take this number for a namespace that has been removed? */
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

/* What the hosts take the number for, now that the number is this namespace's, or free: NULL. */
static void judge_number(const struct nvmf_target *target, const struct nvmf_subsystem *subsystem, uint32_t nsid,
			 const struct nvmf_namespace *namespace)
{
	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++) {
		if (target->controllers[i] && target->controllers[i]->subsystem == subsystem)
			nvmf_controller_judge(target->controllers[i], nsid, namespace);
	}
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
	judge_number(target, subsystem, nsid, namespace);
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
	judge_number(target, subsystem, nsid, NULL);
	nvmf_subsystem_changed(target, subsystem, nsid);
	nvmf_target_unlock(target);
	return 0;
}
