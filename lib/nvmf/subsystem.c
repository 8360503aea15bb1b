/* subsystem.c - the namespaces of a subsystem, its hosts, and what it may be called */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmf/subsystem.h"

#include <string.h>

bool nvmf_nqn_is_valid(const char *nqn)
{
	size_t length = strnlen(nqn, NVME_NQN_BYTES);

	/* "nqn.", year and month, a reversed domain name */
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
