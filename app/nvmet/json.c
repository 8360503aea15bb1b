/* json.c - what a target serves, its hosts and its counters, as JSON */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/json.h"

#include <jansson.h>
#include <uuid/uuid.h>

#include "nvmet/counts.h"

/* JSON is UTF-8, so in a name that is not UTF-8 the bytes are shown as question marks. */
static json_t *describe_name(const char *name)
{
	char plain[SETTINGS_TEXT_BYTES];
	json_t *exact = json_string(name);

	return exact ? exact : json_string(journal_name(name, plain, sizeof(plain)));
}

static void set_number(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static void set_counts(json_t *object, const struct count *counts, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		set_number(object, counts[i].name, counts[i].value);
}

static json_t *describe_target(const struct server *server)
{
	struct count counts[COUNTS_MAX];
	json_t *object = json_object();

	set_counts(object, counts, counts_of_target(server, counts));
	return object;
}

static json_t *describe_disk(const struct disk *disk)
{
	struct count counts[COUNTS_MAX];
	char uuid[37];
	json_t *object;

	uuid_unparse_lower(disk->namespace.uuid, uuid);
	object = json_pack("{s:i, s:o, s:s, s:s, s:o}", "nsid", (int)disk->namespace.nsid, "subsystem",
			   describe_name(disk->subsystem->nqn), "uuid", uuid, "store",
			   store_kind_name(disk->store->config.kind), "path", describe_name(disk->path));
	set_number(object, "blocks", disk->namespace.blocks);
	set_number(object, "block_bytes", disk->namespace.block_bytes);
	set_counts(object, counts, counts_of_disk(disk, counts));
	return object;
}

static json_t *describe_controller(const struct nvmf_controller *controller)
{
	return json_pack("{s:i, s:o, s:o, s:i, s:I}", "cntlid", (int)controller->cntlid, "host",
			 describe_name(controller->host_nqn), "subsystem",
			 describe_name(controller->subsystem ? controller->subsystem->nqn : NVME_DISCOVERY_NQN),
			 "queues", (int)controller->queue_count, "keep_alive_ms",
			 (json_int_t)controller->keep_alive_ms);
}

static json_t *describe_controllers(struct nvmf_target *target)
{
	json_t *array = json_array();

	nvmf_target_lock(target);
	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++) {
		if (target->controllers[i])
			json_array_append_new(array, describe_controller(target->controllers[i]));
	}
	nvmf_target_unlock(target);
	return array;
}

int json_write(struct server *server, const struct disks *disks, FILE *out)
{
	json_t *namespaces = json_array(), *root;
	int error;

	for (const struct disk *disk = disks->first; disk; disk = disk->next)
		json_array_append_new(namespaces, describe_disk(disk));
	root = json_pack("{s:o, s:o, s:o}", "target", describe_target(server), "namespaces", namespaces, "controllers",
			 describe_controllers(&server->target));
	/* Hosts choose their names, and terminals also obey control characters beyond ASCII. */
	error = root && json_dumpf(root, out, JSON_INDENT(1) | JSON_ENSURE_ASCII) == 0 ? 0 : -1;
	if (error == 0)
		fputc('\n', out);
	json_decref(root);
	return error;
}
