/* numbers.c - which disk a host takes each namespace number for, remembered per path of the host */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmf/numbers.h"

#include <stdlib.h>
#include <string.h>

static bool has_name(const struct nvmf_path *path, const struct nvmf_path_name *name)
{
	return path->name.subsystem == name->subsystem && path->name.port_id == name->port_id &&
	       strcmp(path->name.host_nqn, name->host_nqn) == 0 &&
	       memcmp(path->name.host_id, name->host_id, sizeof(name->host_id)) == 0 &&
	       memcmp(path->name.peer, name->peer, sizeof(name->peer)) == 0;
}

static uint32_t paths_at(const struct nvmf_paths *paths, const uint8_t peer[NVMF_PEER_BYTES])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < NVMF_PATHS_MAX; i++)
		count += paths->all[i] && memcmp(paths->all[i]->name.peer, peer, NVMF_PEER_BYTES) == 0;
	return count;
}

/*
 * Chooses the place of the path to be forgotten. NULL: all paths have controllers. Not a share (share.h): a path
 * is only remembered, so a new one replaces an old one and no host is refused.
 */
static struct nvmf_path **place_to_free(struct nvmf_paths *paths)
{
	struct nvmf_path **chosen = NULL;
	uint32_t most = 0;

	for (uint32_t i = 0; i < NVMF_PATHS_MAX; i++) {
		const struct nvmf_path *path = paths->all[i];
		uint32_t count;

		if (path->controllers)
			continue;
		count = paths_at(paths, path->name.peer);
		if (count > most || (count == most && path->left < (*chosen)->left)) {
			most = count;
			chosen = &paths->all[i];
		}
	}
	return chosen;
}

static struct nvmf_path **place_for_new(struct nvmf_paths *paths)
{
	struct nvmf_path **place;

	for (uint32_t i = 0; i < NVMF_PATHS_MAX; i++) {
		if (paths->all[i] == NULL)
			return &paths->all[i];
	}
	place = place_to_free(paths);
	if (place) {
		free(*place);
		*place = NULL;
	}
	return place;
}

struct nvmf_path *nvmf_path_enter(struct nvmf_paths *paths, const struct nvmf_path_name *name)
{
	struct nvmf_path **place = NULL;

	for (uint32_t i = 0; i < NVMF_PATHS_MAX && place == NULL; i++) {
		if (paths->all[i] && has_name(paths->all[i], name))
			place = &paths->all[i];
	}
	if (place == NULL) {
		place = place_for_new(paths);
		if (place == NULL || (*place = calloc(1, sizeof(**place))) == NULL)
			return NULL;
		(*place)->name = *name;
	}
	(*place)->controllers++;
	return *place;
}

void nvmf_path_leave(struct nvmf_paths *paths, struct nvmf_path *path)
{
	path->controllers--;
	path->left = ++paths->departures;
}

void nvmf_paths_free(struct nvmf_paths *paths)
{
	for (uint32_t i = 0; i < NVMF_PATHS_MAX; i++)
		free(paths->all[i]);
}
