/* disk.h - the namespaces of a target with their stores: added, changed and removed while hosts use them */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_DISK_H
#define NVMET_DISK_H

#include "nvmet/settings.h"

struct disk {
	struct nvmf_namespace namespace;
	struct nvmf_subsystem *subsystem;
	struct store *store;
	char path[SETTINGS_TEXT_BYTES];
	uint64_t told_failures, told_ns;  /* number of store failures told so far, and when the last line was printed */
	bool is_cut;                      /* the file has become shorter, and a line has said so */
	bool leaving;                     /* removed for hosts; freed when no command uses it */
	uint64_t polls_before[LANES_MAX]; /* the number of polls of each lane when the disk was removed */
	struct disk *next;
};

struct disks {
	struct server *server;
	struct disk *first;
};

/* Hosts are told of each change. NULL, or -1: error says why, and nothing has changed. */
struct disk *disks_add(struct disks *disks, struct nvmf_subsystem *subsystem, const struct settings_disk *settings,
		       char error[STORE_ERROR_BYTES]);
void disks_remove(struct disks *disks, struct disk *disk);
int disks_resize(struct disks *disks, struct disk *disk, uint64_t bytes, char error[STORE_ERROR_BYTES]);
/* Finds the disk with this number. NULL: there is none, or it is being removed. */
struct disk *disks_find(const struct disks *disks, const struct nvmf_subsystem *subsystem, uint32_t nsid);
/* To be called now and then: frees removed disks that nothing uses; prints failures, at most one line a second. */
void disks_poll(struct disks *disks);
/* All queues must have been closed. */
void disks_close(struct disks *disks);

/*
 * Makes a subsystem from the settings; its serial number is derived from its name unless the settings give one. NULL:
 * no memory.
 */
struct nvmf_subsystem *disk_make_subsystem(const struct settings_subsystem *settings);

#endif
