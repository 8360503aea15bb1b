/* disk.c - the namespaces that a target serves, with their stores: they come, change and go while hosts use them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/disk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#define MODEL "uroce NVMe target"

/* Always the same for the same name, so that a host knows a disk again when the target has been restarted. */
static void uuid_of_name(const char *name, uuid_t uuid)
{
	static const uuid_t family = { 0x75, 0x72, 0x6F, 0x63, 0x65, 0x6E, 0x4D, 0x65,
				       0x80, 0x74, 0x61, 0x72, 0x67, 0x65, 0x74, 0x73 };

	uuid_generate_sha1(uuid, family, name, strlen(name));
}

struct nvmf_subsystem *disk_make_subsystem(const struct settings_subsystem *settings)
{
	struct nvmf_subsystem *subsystem = calloc(1, sizeof(*subsystem));
	uuid_t uuid;

	if (subsystem == NULL)
		return NULL;
	memcpy(subsystem->nqn, settings->nqn, sizeof(subsystem->nqn));
	memcpy(subsystem->serial, settings->serial, sizeof(subsystem->serial));
	memcpy(subsystem->model, settings->model[0] ? settings->model : MODEL,
	       settings->model[0] ? sizeof(subsystem->model) : sizeof(MODEL));
	memcpy(subsystem->hosts, settings->hosts, sizeof(subsystem->hosts));
	subsystem->host_count = settings->host_count;
	uuid_of_name(settings->nqn, uuid);
	for (int i = 0; settings->serial[0] == '\0' && i < 10; i++)
		snprintf(subsystem->serial + 2 * i, 3, "%02x", uuid[i]);
	return subsystem;
}

static bool identify(struct disk *disk, const char *uuid, char error[STORE_ERROR_BYTES])
{
	struct nvmf_namespace *namespace = &disk->namespace;
	char name[NVME_NQN_BYTES + 16];

	snprintf(name, sizeof(name), "%s#%u", disk->subsystem->nqn, namespace->nsid);
	uuid_of_name(name, namespace->uuid);
	if (uuid[0] && uuid_parse(uuid, namespace->uuid) != 0) {
		snprintf(error, STORE_ERROR_BYTES, "uuid %s: use one such as 3f1b5f9c-8b5d-4b86-a2ea-3c0c7e1f6d55",
			 uuid);
		return false;
	}
	memcpy(namespace->nguid, namespace->uuid, sizeof(namespace->nguid));
	return true;
}

static bool serve(struct server *server, struct disk *disk, const struct settings_disk *settings,
		  char error[STORE_ERROR_BYTES])
{
	struct nvmf_namespace *namespace = &disk->namespace;
	int code;

	if (disk->store->memory) {
		disk->store->region = server_register(server, disk->store->memory, disk->store->bytes);
		if (disk->store->region == NULL) {
			snprintf(error, STORE_ERROR_BYTES, "no memory for a region");
			return false;
		}
	}
	*namespace = (struct nvmf_namespace){
		.nsid = settings->nsid,
		.block_bytes = settings->block_bytes,
		.blocks = disk->store->bytes / settings->block_bytes,
		.read_only = settings->read_only,
		.store = disk->store,
	};
	code = nvmf_subsystem_add(&server->target, disk->subsystem, namespace);
	if (code == 0)
		return identify(disk, settings->uuid, error);
	if (code == -EEXIST)
		snprintf(error, STORE_ERROR_BYTES, "namespace %u of %s is there already", settings->nsid,
			 disk->subsystem->nqn);
	else
		snprintf(error, STORE_ERROR_BYTES, "%s: at most %u namespaces", disk->subsystem->nqn,
			 NVMF_NAMESPACES_MAX);
	return false;
}

static void let_go(struct server *server, struct disk *disk)
{
	if (nvmf_subsystem_find(disk->subsystem, disk->namespace.nsid) == &disk->namespace)
		nvmf_subsystem_remove(&server->target, disk->subsystem, disk->namespace.nsid);
	if (disk->store->region)
		server_deregister(server, disk->store->region);
	store_close(disk->store);
	free(disk);
}

struct disk *disks_add(struct disks *disks, struct nvmf_subsystem *subsystem, const struct settings_disk *settings,
		       char error[STORE_ERROR_BYTES])
{
	struct store_config config = {
		.kind = settings->kind,
		.bytes = settings->bytes,
		.block_bytes = settings->block_bytes,
		.buffered = settings->buffered,
		.read_only = settings->read_only,
	};
	struct disk *disk = calloc(1, sizeof(*disk));

	if (disk == NULL) {
		snprintf(error, STORE_ERROR_BYTES, "no memory");
		return NULL;
	}
	strcpy(disk->path, settings->path);
	config.path = disk->path;
	disk->subsystem = subsystem;
	disk->store = store_open(&config, disks->server->ring, error);
	if (disk->store == NULL) {
		free(disk);
		return NULL;
	}
	if (!serve(disks->server, disk, settings, error)) {
		let_go(disks->server, disk);
		return NULL;
	}
	disk->next = disks->first;
	disks->first = disk;
	return disk;
}

void disks_remove(struct disks *disks, struct disk *disk)
{
	nvmf_subsystem_remove(&disks->server->target, disk->subsystem, disk->namespace.nsid);
	disk->leaving = true;
}

int disks_resize(struct disks *disks, struct disk *disk, uint64_t bytes, char error[STORE_ERROR_BYTES])
{
	if (store_resize(disk->store, bytes, error) != 0)
		return -1;
	disk->namespace.blocks = disk->store->bytes / disk->namespace.block_bytes;
	nvmf_subsystem_changed(&disks->server->target, disk->subsystem, disk->namespace.nsid);
	return 0;
}

struct disk *disks_find(const struct disks *disks, const struct nvmf_subsystem *subsystem, uint32_t nsid)
{
	for (struct disk *disk = disks->first; disk; disk = disk->next) {
		if (disk->subsystem == subsystem && disk->namespace.nsid == nsid && !disk->leaving)
			return disk;
	}
	return NULL;
}

void disks_poll(struct disks *disks)
{
	struct disk **link = &disks->first;

	while (*link) {
		struct disk *disk = *link;

		if (disk->leaving && disk->namespace.under_way == 0 && disk->store->users == 0) {
			*link = disk->next;
			let_go(disks->server, disk);
		} else {
			link = &disk->next;
		}
	}
}

void disks_close(struct disks *disks)
{
	while (disks->first) {
		struct disk *disk = disks->first;

		disks->first = disk->next;
		let_go(disks->server, disk);
	}
}
