/* json.c - what a target serves, its hosts and its counters, as JSON */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/json.h"

#include <jansson.h>
#include <uuid/uuid.h>

#include "common/json.h"
#include "nvmet/counts.h"

/* JSON is UTF-8, so in a name that is not UTF-8 the bytes are shown as question marks. */
static json_t *describe_name(const char *name)
{
	char plain[SETTINGS_TEXT_BYTES];
	json_t *exact = json_string(name);

	return exact ? exact : json_string(journal_name(name, plain, sizeof(plain)));
}

static json_t *describe_disk(const struct disk *disk)
{
	char uuid[37];
	json_t *object;

	uuid_unparse_lower(disk->namespace.uuid, uuid);
	object = json_pack("{s:i, s:o, s:s, s:s, s:o}", "nsid", (int)disk->namespace.nsid, "subsystem",
			   describe_name(disk->subsystem->nqn), "uuid", uuid, "store",
			   store_kind_name(disk->store->config.kind), "path", describe_name(disk->path));
	json_set_number(object, "blocks", disk->namespace.blocks);
	json_set_number(object, "block_bytes", disk->namespace.block_bytes);
	return object;
}

/* Adds the target to the object `root`, a namespace to its array of them. */
static void describe_counts(const struct counts *counts, void *root)
{
	json_t *object = counts->disk ? describe_disk(counts->disk) : json_object();

	for (uint32_t i = 0; i < counts->count; i++)
		json_set_number(object, counts->rows[i].name, counts->rows[i].value);
	if (counts->disk)
		json_array_append_new(json_object_get(root, "namespaces"), object);
	else
		json_object_set_new(root, "target", object);
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
	json_t *root = json_pack("{s:{}, s:[], s:o}", "target", "namespaces", "controllers",
				 describe_controllers(&server->target));
	int error;

	counts_each(server, disks, describe_counts, root);
	/* Hosts choose their names, and terminals also obey control characters beyond ASCII. */
	error = root && json_dumpf(root, out, JSON_INDENT(1) | JSON_ENSURE_ASCII) == 0 ? 0 : -1;
	if (error == 0)
		fputc('\n', out);
	json_decref(root);
	return error;
}
