/* change.h - adds, changes and removes subsystems, addresses and namespaces, and lets hosts know */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMF_CHANGE_H
#define NVMF_CHANGE_H

#include "nvmf/target.h"

/* Adds a subsystem, to which the target keeps the pointer. Returns 0; -EINVAL: no NQN; -EEXIST; -ENOSPC. */
int nvmf_target_add_subsystem(struct nvmf_target *target, struct nvmf_subsystem *subsystem);
int nvmf_target_add_address(struct nvmf_target *target, const struct nvmf_address *address);

/*
 * Adds a namespace, and tells hosts. The subsystem keeps the pointer until nvmf_subsystem_remove(). After that call the
 * namespace may be freed as soon as no command uses it, and each thread has returned from the call that it was in when
 * the namespace was removed. nsid 0: the first free one. Returns 0; -EINVAL: a wrong value; -EEXIST; -ENOSPC; -EBUSY: a
 * host takes this number for another namespace, and has not yet read that the other namespace is gone.
 */
int nvmf_subsystem_add(struct nvmf_target *target, struct nvmf_subsystem *subsystem, struct nvmf_namespace *namespace);
int nvmf_subsystem_remove(struct nvmf_target *target, struct nvmf_subsystem *subsystem, uint32_t nsid);
/* The size of the namespace has changed. */
void nvmf_subsystem_changed(struct nvmf_target *target, const struct nvmf_subsystem *subsystem, uint32_t nsid);
/* Flushes of this namespace fail from now on: hosts are told that the namespace is not reliable. */
void nvmf_subsystem_degrade(struct nvmf_target *target, const struct nvmf_subsystem *subsystem, uint32_t nsid);

#endif
