/* disk.c - adds, changes and removes namespaces with their stores, while hosts use them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/disk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "nvmet/identity.h"
#include "nvmet/kind.h"
#include "nvmet/region.h"
#include "nvmf/change.h"

#define MODEL "uroce NVMe target"
#define TELL_NS 1000000000ull /* time between two lines about failures of a disk */

struct nvmf_subsystem *disk_make_subsystem(const struct settings_subsystem *settings)
{
	struct nvmf_subsystem *subsystem = calloc(1, sizeof(*subsystem));
	uint8_t uuid[16];

	if (subsystem == NULL)
		return NULL;
	memcpy(subsystem->nqn, settings->nqn, sizeof(subsystem->nqn));
	memcpy(subsystem->serial, settings->serial, sizeof(subsystem->serial));
	memcpy(subsystem->model, settings->model[0] ? settings->model : MODEL,
	       settings->model[0] ? sizeof(subsystem->model) : sizeof(MODEL));
	memcpy(subsystem->hosts, settings->hosts, sizeof(subsystem->hosts));
	subsystem->host_count = settings->host_count;
	identity_of_name(settings->nqn, uuid);
	for (int i = 0; settings->serial[0] == '\0' && i < 10; i++)
		snprintf(subsystem->serial + 2 * i, 3, "%02x", uuid[i]);
	return subsystem;
}

/* ---- which disk a file is ---- */

/* A disk that is being added: the settings that ask for it, and the identity that was found with its file. */
struct arrival {
	const struct settings_disk *settings;
	struct identity kept; /* the identity that is kept with the file */
	bool is_kept, has_uuid;
};

static bool same_uuid(const uint8_t *one, const uint8_t *other)
{
	return memcmp(one, other, sizeof(uuid_t)) == 0;
}

/* A UUID as an example for an error message. */
static const char *any_uuid(void)
{
	static char text[37];
	uuid_t uuid;

	uuid_generate(uuid);
	uuid_unparse_lower(uuid, text);
	return text;
}

/* An identity given by the user must not contradict the one that is kept with the disk. */
static int take_given(const struct disk *disk, struct arrival *arrival, char error[STORE_ERROR_BYTES])
{
	const char *text = arrival->settings->uuid;
	uint8_t *uuid = (uint8_t *)disk->namespace.uuid;
	char kept[37];

	if (uuid_parse(text, uuid) != 0)
		return store_refuse(error, "uuid %s: not a UUID: use a form such as %s", text, any_uuid());
	if (disk->store->config.kind != STORE_FILE)
		return store_refuse(error, "uuid %s: a %s namespace gets a new UUID at each start: remove uuid", text,
				    store_kind_name(disk->store->config.kind));
	if (disk->store->is_blank)
		return store_refuse(error, "uuid %s: %s is a new file, which gets a new UUID: remove uuid", text,
				    disk->path);
	if (!arrival->is_kept || same_uuid(arrival->kept.uuid, uuid))
		return 0;
	uuid_unparse_lower(arrival->kept.uuid, kept);
	return store_refuse(
		error,
		"uuid %s: %s already has the UUID %s: remove uuid, or remove the stored UUID with setfattr -x %s %s",
		text, disk->path, kept, IDENTITY_ATTRIBUTE, disk->path);
}

static int choose_uuid(struct disk *disk, struct arrival *arrival, char error[STORE_ERROR_BYTES])
{
	arrival->has_uuid = arrival->settings->uuid[0];
	if (arrival->has_uuid)
		return take_given(disk, arrival, error);
	if (disk->store->is_device)
		return store_refuse(error,
				    "%s: a block device cannot store its UUID: set a fixed UUID, such as uuid %s",
				    disk->path, any_uuid());
	if (arrival->is_kept)
		memcpy(disk->namespace.uuid, arrival->kept.uuid, sizeof(uuid_t));
	else
		uuid_generate(disk->namespace.uuid);
	return 0;
}

static int check_unique(const struct disks *disks, const struct disk *disk, char error[STORE_ERROR_BYTES])
{
	for (const struct disk *other = disks->first; other; other = other->next) {
		char text[37];

		if (!same_uuid(other->namespace.uuid, disk->namespace.uuid))
			continue;
		uuid_unparse_lower(disk->namespace.uuid, text);
		return store_refuse(error,
				    "%s has the same UUID as namespace %u of %s, %s: UUID %s; if the file is a copy, "
				    "remove its UUID with setfattr -x %s %s",
				    disk->path, other->namespace.nsid, other->subsystem->nqn, other->path, text,
				    IDENTITY_ATTRIBUTE, disk->path);
	}
	return 0;
}

static bool had_number(const struct disk *disk, const struct arrival *arrival, uint32_t nsid)
{
	return arrival->is_kept && nsid && arrival->kept.nsid == nsid &&
	       strcmp(arrival->kept.nqn, disk->subsystem->nqn) == 0;
}

/* Finds out which disk this is, before hosts can see it. Returns 0, or -1: error says why not. */
static int identify(const struct disks *disks, struct disk *disk, struct arrival *arrival,
		    char error[STORE_ERROR_BYTES])
{
	struct nvmf_namespace *namespace = &disk->namespace;
	const struct store *store = disk->store;
	bool may_be_kept = store->config.kind == STORE_FILE && !store->is_device;

	arrival->is_kept = may_be_kept && !store->is_blank && identity_read(disk->path, &arrival->kept);
	if (choose_uuid(disk, arrival, error) != 0 || check_unique(disks, disk, error) != 0)
		return -1;
	memcpy(namespace->nguid, namespace->uuid, sizeof(namespace->nguid));
	if (namespace->nsid == 0 && had_number(disk, arrival, arrival->kept.nsid) &&
	    nvmf_subsystem_find(disk->subsystem, arrival->kept.nsid) == NULL)
	namespace->nsid = arrival->kept.nsid;
	return 0;
}

/*
 * Keeps the identity with the disk's file, unless the file has this NSID from before. Nothing is kept with a device:
 * only its user knows by which NSID hosts know the device.
 */
static int keep_identity(struct disk *disk, const struct arrival *arrival, char error[STORE_ERROR_BYTES])
{
	struct nvmf_namespace *namespace = &disk->namespace;
	struct identity identity = { .nsid = namespace->nsid };
	int code;

	if (disk->store->config.kind != STORE_FILE || !namespace->is_new)
		return 0;
	memcpy(identity.uuid, namespace->uuid, sizeof(identity.uuid));
	strcpy(identity.nqn, disk->subsystem->nqn);
	code = identity_write(disk->path, &identity);
	if (code == 0 || arrival->is_kept || arrival->has_uuid)
		return 0;
	return store_refuse(error, "%s: the UUID of this file cannot be stored (%s): set a fixed UUID, such as uuid %s",
			    disk->path, strerror(-code), any_uuid());
}

/* ---- adding and removing ---- */

static int make_region(struct server *server, struct store *store, char error[STORE_ERROR_BYTES])
{
	if (store->memory == NULL)
		return 0;
	store->region = region_open(server, store->memory, store->bytes);
	return store->region ? 0 : store_refuse(error, "no memory for a memory region");
}

static int serve(struct disks *disks, struct disk *disk, const struct settings_disk *settings,
		 char error[STORE_ERROR_BYTES])
{
	struct nvmf_namespace *namespace = &disk->namespace;
	struct arrival arrival = { .settings = settings };
	int code;

	if (make_region(disks->server, disk->store, error) != 0)
		return -1;
	*namespace = (struct nvmf_namespace){
		.nsid = settings->nsid,
		.block_bytes = settings->block_bytes,
		.blocks = disk->store->bytes / settings->block_bytes,
		.read_only = settings->read_only,
		.store = disk->store,
	};
	if (identify(disks, disk, &arrival, error) != 0)
		return -1;
	/* Hosts may know another disk by this number, unless this disk had it before. */
	namespace->is_new = !disk->store->is_device && !had_number(disk, &arrival, namespace->nsid);
	code = nvmf_subsystem_add(&disks->server->target, disk->subsystem, namespace);
	if (code == 0)
		return keep_identity(disk, &arrival, error);
	if (code == -EEXIST)
		return store_refuse(error, "namespace %u of %s exists already", namespace->nsid, disk->subsystem->nqn);
	if (code == -EBUSY)
		return store_refuse(error,
				    "a host has not yet processed the removal of namespace %u of %s: use another nsid, "
				    "or retry later",
				    namespace->nsid, disk->subsystem->nqn);
	return store_refuse(error, "%s: at most %u namespaces", disk->subsystem->nqn, NVMF_NAMESPACES_MAX);
}

static void let_go(struct server *server, struct disk *disk)
{
	if (nvmf_subsystem_find(disk->subsystem, disk->namespace.nsid) == &disk->namespace)
		nvmf_subsystem_remove(&server->target, disk->subsystem, disk->namespace.nsid);
	if (disk->store->region)
		region_close(disk->store->region);
	store_close(disk->store);
	free(disk);
}

struct disk *disks_add(struct disks *disks, struct nvmf_subsystem *subsystem, const struct settings_disk *settings,
		       char error[STORE_ERROR_BYTES])
{
	struct store_config config = settings_store(settings);
	struct disk *disk = calloc(1, sizeof(*disk));

	if (disk == NULL) {
		store_refuse(error, "no memory");
		return NULL;
	}
	strcpy(disk->path, settings->path);
	config.path = disk->path;
	disk->subsystem = subsystem;
	disk->store = store_open(&config, disks->server->lane_count, error);
	if (disk->store == NULL) {
		free(disk);
		return NULL;
	}
	disk->next = disks->first;
	if (serve(disks, disk, settings, error) == 0) {
		disks->first = disk;
		return disk;
	}
	if (nvmf_subsystem_find(subsystem, disk->namespace.nsid) == &disk->namespace) { /* hosts may have seen it */
		disks->first = disk;
		disks_remove(disks, disk);
	} else {
		let_go(disks->server, disk);
	}
	return NULL;
}

void disks_remove(struct disks *disks, struct disk *disk)
{
	nvmf_subsystem_remove(&disks->server->target, disk->subsystem, disk->namespace.nsid);
	disk->leaving = true;
	for (uint32_t i = 0; i < disks->server->lane_count; i++)
		disk->polls_before[i] = disks->server->lanes[i].polls;
}

/*
 * Does nothing use the disk any more? A lane that found the namespace before its removal has counted its command by the
 * end of that poll, and in later polls no lane finds the namespace. So each lane must have ended a poll since the
 * removal.
 */
static bool is_unused(const struct server *server, const struct disk *disk)
{
	for (uint32_t i = 0; i < server->lane_count; i++) {
		if (server->lanes[i].polls == disk->polls_before[i])
			return false;
	}
	return nvmf_namespace_under_way(&disk->namespace) == 0 && store_users(disk->store) == 0;
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

/* ---- looking after disks ---- */

static void tell_failures(struct server *server, struct disk *disk)
{
	static const char *const names[] = { [NVMF_BLOCK_READ] = "read",
					     [NVMF_BLOCK_WRITE] = "write",
					     [NVMF_BLOCK_COMPARE] = "compare",
					     [NVMF_BLOCK_FLUSH] = "flush",
					     [NVMF_BLOCK_ZERO] = "write of zeroes",
					     [NVMF_BLOCK_DEALLOCATE] = "deallocate" };
	struct store_failures now;

	if (server->lanes[0].now_ns - disk->told_ns < TELL_NS)
		return;
	now = store_failures(disk->store);
	if (now.count == disk->told_failures)
		return;
	journal_tell(&server->journal, server->lanes[0].now_ns,
		     "namespace %u of %s: %lu requests failed; last failure: %s at byte %lu of %s: %s (errno %d)",
		     disk->namespace.nsid, disk->subsystem->nqn, now.count - disk->told_failures, names[now.last_op],
		     now.last_offset, disk->path, strerror(now.last_error), now.last_error);
	disk->told_failures = now.count;
	disk->told_ns = server->lanes[0].now_ns;
}

static void look_at(struct server *server, struct disk *disk)
{
	struct store *store = disk->store;
	uint64_t used_bytes = store_look(store);
	bool is_cut = store->config.kind == STORE_FILE && store->there_bytes < store->bytes;

	disk->namespace.used_blocks = (used_bytes + disk->namespace.block_bytes - 1) / disk->namespace.block_bytes;
	if (store->config.kind == STORE_FILE && !store->is_device && disk->namespace.used_blocks == 0)
		disk->namespace.used_blocks = 1; /* 0 would say that it is not thin */
	if (is_cut != disk->is_cut)
		journal_tell(
			&server->journal, server->lanes[0].now_ns,
			is_cut ? "namespace %u of %s: %s was truncated to %lu bytes; access beyond the new end fails" :
				 "namespace %u of %s: %s was extended to %lu bytes again",
			disk->namespace.nsid, disk->subsystem->nqn, disk->path, store->there_bytes);
	disk->is_cut = is_cut;
	if (store->sync_failed)
		nvmf_subsystem_degrade(&server->target, disk->subsystem, disk->namespace.nsid);
	tell_failures(server, disk);
}

void disks_poll(struct disks *disks)
{
	struct disk **link = &disks->first;

	while (*link) {
		struct disk *disk = *link;

		if (!disk->leaving)
			look_at(disks->server, disk);
		if (disk->leaving && is_unused(disks->server, disk)) {
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
