/* disk.c - a namespace with its store, as hosts have it */
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

static int identify(struct disk *disk, const struct settings_disk *settings)
{
	struct nvmf_namespace *namespace = &disk->namespace;
	char name[NVME_NQN_BYTES + 16];

	snprintf(name, sizeof(name), "%s#%u", disk->subsystem->nqn, namespace->nsid);
	uuid_of_name(name, namespace->uuid);
	if (settings->uuid[0] && uuid_parse(settings->uuid, namespace->uuid) != 0)
		return app_complain(APP_EXIT_USAGE, "uuid %s: use one such as 3f1b5f9c-8b5d-4b86-a2ea-3c0c7e1f6d55",
				    settings->uuid);
	memcpy(namespace->nguid, namespace->uuid, sizeof(namespace->nguid));
	return APP_EXIT_OK;
}

static int serve(struct server *server, struct disk *disk, const struct settings_disk *settings)
{
	struct nvmf_namespace *namespace = &disk->namespace;
	int error;

	if (disk->store->memory) {
		disk->store->region = server_register(server, disk->store->memory, disk->store->bytes);
		if (disk->store->region == NULL)
			return app_complain(APP_EXIT_ENVIRONMENT, "no memory for a region");
	}
	*namespace = (struct nvmf_namespace){
		.nsid = settings->nsid,
		.block_bytes = settings->block_bytes,
		.blocks = disk->store->bytes / settings->block_bytes,
		.read_only = settings->read_only,
		.volatile_cache = disk->store->volatile_cache,
		.store = disk->store,
	};
	error = nvmf_subsystem_add(&server->target, disk->subsystem, namespace);
	if (error == -EEXIST)
		return app_complain(APP_EXIT_USAGE, "namespace %u of %s is there twice", settings->nsid,
				    disk->subsystem->nqn);
	if (error)
		return app_complain(APP_EXIT_USAGE, "%s: at most %u namespaces", disk->subsystem->nqn,
				    NVMF_NAMESPACES_MAX);
	return identify(disk, settings);
}

int disk_open(struct server *server, struct nvmf_subsystem *subsystem, const struct settings_disk *settings,
	      struct disk **disk)
{
	struct store_config config = {
		.kind = settings->kind,
		.path = settings->path,
		.bytes = settings->bytes,
		.block_bytes = settings->block_bytes,
		.buffered = settings->buffered,
		.read_only = settings->read_only,
	};
	char error[STORE_ERROR_BYTES];
	struct disk *made = calloc(1, sizeof(*made));
	int code;

	*disk = NULL;
	if (made == NULL)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory");
	made->subsystem = subsystem;
	made->store = store_open(&config, server->ring, error);
	if (made->store == NULL) {
		free(made);
		return app_complain(APP_EXIT_ENVIRONMENT, "%s", error);
	}
	code = serve(server, made, settings);
	if (code)
		disk_close(server, made);
	else
		*disk = made;
	return code;
}

void disk_close(struct server *server, struct disk *disk)
{
	if (nvmf_subsystem_find(disk->subsystem, disk->namespace.nsid) == &disk->namespace)
		nvmf_subsystem_remove(&server->target, disk->subsystem, disk->namespace.nsid);
	if (disk->store->region)
		server_deregister(server, disk->store->region);
	store_close(disk->store);
	free(disk);
}
