/* disk.h - the namespaces that a target serves, with their stores: they come, change and go while hosts use them */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_DISK_H
#define NVMET_DISK_H

#include "nvmet/settings.h"

struct disk {
	struct nvmf_namespace namespace;
	struct nvmf_subsystem *subsystem;
	struct store *store;
	char path[SETTINGS_TEXT_BYTES];
	uint64_t told_failures, told_ns;  /* of the store; when a line last said so */
	bool is_cut;                      /* the file is shorter than it was, and a line has said so */
	bool leaving;                     /* hosts do not see it any more; it goes when nothing of it is under way */
	uint64_t polls_before[LANES_MAX]; /* of each lane when it was removed */
	struct disk *next;
};

struct disks {
	struct server *server;
	struct disk *first;
};

/* Hosts are told of each of these. NULL, or -1: error says why, and nothing has changed. */
struct disk *disks_add(struct disks *disks, struct nvmf_subsystem *subsystem, const struct settings_disk *settings,
		       char error[STORE_ERROR_BYTES]);
void disks_remove(struct disks *disks, struct disk *disk);
int disks_resize(struct disks *disks, struct disk *disk, uint64_t bytes, char error[STORE_ERROR_BYTES]);
/* NULL: there is none, or it is leaving. */
struct disk *disks_find(const struct disks *disks, const struct nvmf_subsystem *subsystem, uint32_t nsid);
/* Now and then: those that have left are let go of; what has failed is told, at most once a second. */
void disks_poll(struct disks *disks);
/* No queue is left. */
void disks_close(struct disks *disks);

/* A subsystem as the settings say; its serial number is made of its name unless they say one. NULL: no memory. */
struct nvmf_subsystem *disk_make_subsystem(const struct settings_subsystem *settings);

#endif
