/* change.h - subsystems, addresses and namespaces come, change and go, and hosts are told */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMF_CHANGE_H
#define NVMF_CHANGE_H

#include "nvmf/target.h"

/* The target keeps the pointer. 0; -EINVAL: no NQN; -EEXIST; -ENOSPC. */
int nvmf_target_add_subsystem(struct nvmf_target *target, struct nvmf_subsystem *subsystem);
int nvmf_target_add_address(struct nvmf_target *target, const struct nvmf_address *address);

/*
 * Hosts are told of each of these. The subsystem keeps the pointer until nvmf_subsystem_remove(); the namespace may go
 * when none of its commands is under way, and each thread has left what it was in when it was removed. nsid 0: the
 * first that is free. 0; -EINVAL: a value; -EEXIST; -ENOSPC; -EBUSY: a host knows another one by this number, and has
 * not yet read that it is gone.
 */
int nvmf_subsystem_add(struct nvmf_target *target, struct nvmf_subsystem *subsystem, struct nvmf_namespace *namespace);
int nvmf_subsystem_remove(struct nvmf_target *target, struct nvmf_subsystem *subsystem, uint32_t nsid);
/* Its size has changed. */
void nvmf_subsystem_changed(struct nvmf_target *target, const struct nvmf_subsystem *subsystem, uint32_t nsid);
/* No flush of this namespace succeeds any more: hosts are told that their disk is not reliable. */
void nvmf_subsystem_degrade(struct nvmf_target *target, const struct nvmf_subsystem *subsystem, uint32_t nsid);

#endif
