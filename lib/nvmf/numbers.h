/* numbers.h - which disk a host takes each namespace number for, remembered per path of the host */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host writes on a new connection before it identifies its namespaces there, so such a write is meant for the disk
 * that the host identified on an earlier connection. A host scans each of its paths separately, so it may take a number
 * for different disks on different paths. The names of the host, the addresses of both ends and the subsystem name a
 * path.
 *
 * A target remembers up to NVMF_PATHS_MAX paths for its lifetime. A new path beyond that replaces a path without a
 * controller: among the paths of the address that has most of them, the one whose last controller left first. So an
 * address that connects under many names replaces only its own paths. A host whose path is forgotten has to identify
 * its namespaces before it writes.
 */
#ifndef NVMF_NUMBERS_H
#define NVMF_NUMBERS_H

#include <string.h>

#include "nvmf/subsystem.h"

#define NVMF_PATHS_MAX 512u
#define NVMF_PEER_BYTES 16u

/* Which disk a host takes each number for. */
struct nvmf_numbers {
	bool known[NVMF_NAMESPACES_MAX]; /* nsid 1 first; false: the host knows no disk by this number */
	uint8_t uuids[NVMF_NAMESPACES_MAX][16];
};

static inline void numbers_learn(struct nvmf_numbers *numbers, const struct nvmf_namespace *namespace)
{
	numbers->known[namespace->nsid - 1] = true;
	memcpy(numbers->uuids[namespace->nsid - 1], namespace->uuid, sizeof(namespace->uuid));
}

/* Does the host take this number for this namespace? NULL: the number is free. */
static inline bool numbers_mean(const struct nvmf_numbers *numbers, uint32_t nsid,
				const struct nvmf_namespace *namespace)
{
	return namespace && numbers->known[nsid - 1] &&
	       memcmp(numbers->uuids[nsid - 1], namespace->uuid, sizeof(namespace->uuid)) == 0;
}

struct nvmf_path_name {
	const struct nvmf_subsystem *subsystem;
	char host_nqn[NVME_NQN_BYTES];
	uint8_t host_id[16];
	uint8_t peer[NVMF_PEER_BYTES]; /* address of the host */
	uint16_t port_id;              /* address of the target */
};

struct nvmf_path {
	struct nvmf_path_name name;
	struct nvmf_numbers numbers;
	uint32_t controllers; /* that exist now */
	uint64_t left;        /* the departure of its last controller: departures are counted */
};

struct nvmf_paths {
	struct nvmf_path *all[NVMF_PATHS_MAX];
	uint64_t departures;
};

/* A controller of the path with this name begins. NULL: no memory. */
struct nvmf_path *nvmf_path_enter(struct nvmf_paths *paths, const struct nvmf_path_name *name);
/* A controller of the path ends. */
void nvmf_path_leave(struct nvmf_paths *paths, struct nvmf_path *path);
void nvmf_paths_free(struct nvmf_paths *paths);

#endif
