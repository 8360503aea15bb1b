/* subsystem.h - a subsystem: namespaces under one name, and the hosts that may see them */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMF_SUBSYSTEM_H
#define NVMF_SUBSYSTEM_H

#include "nvmf/namespace.h"
#include "nvmf/nvme.h"

#define NVMF_NAMESPACES_MAX 128u /* a subsystem has nsids 1 ... 128 */
#define NVMF_HOSTS_MAX 32u

struct nvmf_subsystem {
	char nqn[NVME_NQN_BYTES];
	char serial[21], model[41];
	/* nsid 1 first; NULL: there is none with this number. */
	struct nvmf_namespace *_Atomic namespaces[NVMF_NAMESPACES_MAX];
	char hosts[NVMF_HOSTS_MAX][NVME_NQN_BYTES];
	uint32_t host_count; /* 0: any host may connect */
	struct nvmf_counts past;
};

/* NULL: there is none with this number. */
struct nvmf_namespace *nvmf_subsystem_find(const struct nvmf_subsystem *subsystem, uint32_t nsid);
bool nvmf_subsystem_admits(const struct nvmf_subsystem *subsystem, const char *host_nqn);

/* Is the NQN of the form "nqn.2016-06.org.example:disk1", as the base specification demands? */
bool nvmf_nqn_is_valid(const char *nqn);

#endif
