/* reload.c - reads the file of --config again, and changes hosts and namespaces while the target runs */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/reload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvmet/plan.h"
#include "nvmet/queue.h"
#include "nvmet/server.h"

/* ---- hosts ---- */

static void disconnect_refused(struct nvmf_target *target, const struct nvmf_subsystem *subsystem)
{
	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++) {
		struct nvmf_controller *controller = target->controllers[i];

		if (controller && controller->queues[0] && controller->subsystem == subsystem &&
		    !nvmf_subsystem_admits(subsystem, controller->host_nqn))
			queue_tell_end(controller->queues[0]->context,
				       "the host is no longer in the list of allowed hosts");
	}
}

static bool hosts_differ(const struct nvmf_subsystem *subsystem, const struct settings_subsystem *settings)
{
	bool differ = subsystem->host_count != settings->host_count;

	for (uint32_t i = 0; i < settings->host_count && !differ; i++)
		differ = strcmp(subsystem->hosts[i], settings->hosts[i]) != 0;
	return differ;
}

static void change_hosts(struct server *server, const struct settings_subsystem *settings)
{
	struct nvmf_subsystem *subsystem = nvmf_target_find(&server->target, settings->nqn);

	if (subsystem == NULL) {
		printf("reload: subsystem %s is new: restart the target to serve it\n", settings->nqn);
		return;
	}
	nvmf_target_lock(&server->target);
	if (hosts_differ(subsystem, settings)) {
		for (uint32_t i = 0; i < settings->host_count; i++)
			snprintf(subsystem->hosts[i], sizeof(subsystem->hosts[i]), "%s", settings->hosts[i]);
		subsystem->host_count = settings->host_count;
		printf("reload: subsystem %s: %u hosts%s\n", subsystem->nqn, subsystem->host_count,
		       subsystem->host_count ? "" : " (any may connect)");
		disconnect_refused(&server->target, subsystem);
	}
	nvmf_target_unlock(&server->target);
}

/* ---- namespaces ---- */

/* Do both describe one disk? Its size may differ. A number of 0 is any. */
static bool are_same(const struct settings_disk *one, const struct settings_disk *other)
{
	return strcmp(one->subsystem, other->subsystem) == 0 &&
	       (one->nsid == other->nsid || one->nsid == 0 || other->nsid == 0) && one->kind == other->kind &&
	       strcmp(one->path, other->path) == 0 && one->block_bytes == other->block_bytes &&
	       one->buffered == other->buffered && one->read_only == other->read_only &&
	       strcmp(one->uuid, other->uuid) == 0 && (one->kind == STORE_FILE || one->bytes == other->bytes);
}

static struct settings_disk *find_same(struct settings *settings, const struct settings_disk *disk)
{
	for (uint32_t i = 0; i < settings->disk_count; i++) {
		if (are_same(&settings->disks[i], disk))
			return &settings->disks[i];
	}
	return NULL;
}

static struct disk *find_disk(struct server *server, struct disks *disks, const struct settings_disk *settings)
{
	const struct nvmf_subsystem *subsystem = nvmf_target_find(&server->target, settings->subsystem);

	return subsystem ? disks_find(disks, subsystem, settings->nsid) : NULL;
}

static void remove_missing(const struct settings *old, struct settings *new, struct server *server, struct disks *disks)
{
	for (uint32_t i = 0; i < old->disk_count; i++) {
		struct disk *disk = find_disk(server, disks, &old->disks[i]);

		if (disk == NULL || find_same(new, &old->disks[i]))
			continue;
		printf("reload: namespace %u of %s removed\n", disk->namespace.nsid, disk->subsystem->nqn);
		disks_remove(disks, disk);
	}
}

static void resize(const struct settings_disk *settings, struct disk *disk, struct disks *disks)
{
	char error[STORE_ERROR_BYTES];

	if (settings->bytes == 0 || settings->bytes == disk->namespace.blocks * disk->namespace.block_bytes)
		return;
	if (disks_resize(disks, disk, settings->bytes, error) != 0)
		app_complain(APP_EXIT_ENVIRONMENT, "%s: %s", settings->where, error);
	else
		printf("reload: namespace %u of %s was resized to %lu bytes\n", disk->namespace.nsid,
		       disk->subsystem->nqn, settings->bytes);
}

/* Sets the number that the disk has got. */
static void add(struct settings_disk *settings, struct server *server, struct disks *disks)
{
	struct nvmf_subsystem *subsystem = nvmf_target_find(&server->target, settings->subsystem);
	char error[STORE_ERROR_BYTES];
	const struct disk *disk = subsystem ? disks_add(disks, subsystem, settings, error) : NULL;

	if (disk) {
		settings->nsid = disk->namespace.nsid;
		printf("reload: namespace %u of %s added\n", disk->namespace.nsid, subsystem->nqn);
	} else if (subsystem) {
		app_complain(APP_EXIT_ENVIRONMENT, "%s: %s", settings->where, error);
	}
}

static void add_or_resize(struct settings *old, struct settings *new, struct server *server, struct disks *disks)
{
	for (uint32_t i = 0; i < new->disk_count; i++) {
		struct settings_disk *settings = &new->disks[i];
		const struct settings_disk *before = find_same(old, settings);
		struct disk *disk = before ? find_disk(server, disks, before) : NULL;

		if (disk) {
			settings->nsid = before->nsid;
			resize(settings, disk, disks);
		} else {
			add(settings, server, disks);
		}
	}
}

void reload(struct settings *settings, struct server *server, struct disks *disks)
{
	struct settings *new = malloc(sizeof(*new));

	if (new == NULL || settings_reread(new) != APP_EXIT_OK || plan_check(new) != APP_EXIT_OK) {
		app_complain(APP_EXIT_USAGE, "--config %s: nothing has changed", settings->config);
		free(new);
		return;
	}
	settings_report_restart(new);
	for (uint32_t i = 0; i < new->subsystem_count; i++)
		change_hosts(server, &new->subsystems[i]);
	remove_missing(settings, new, server, disks);
	add_or_resize(settings, new, server, disks);
	memcpy(settings->subsystems, new->subsystems, sizeof(new->subsystems));
	memcpy(settings->disks, new->disks, sizeof(new->disks));
	settings->subsystem_count = new->subsystem_count;
	settings->disk_count = new->disk_count;
	free(new);
	printf("reload: %s is applied\n", settings->config);
}
