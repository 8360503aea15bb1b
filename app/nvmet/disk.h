/* disk.h - a namespace with its store, as hosts have it */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_DISK_H
#define NVMET_DISK_H

#include "nvmet/settings.h"

struct disk {
	struct nvmf_namespace namespace;
	struct nvmf_subsystem *subsystem;
	struct store *store;
	struct disk *next;
};

/* APP_EXIT_OK and the disk is served, or what to exit with; the reason has been printed. */
int disk_open(struct server *server, struct nvmf_subsystem *subsystem, const struct settings_disk *settings,
	      struct disk **disk);
/* No queue is left. */
void disk_close(struct server *server, struct disk *disk);

/* A subsystem as the settings say; its serial number is made of its name unless they say one. NULL: no memory. */
struct nvmf_subsystem *disk_make_subsystem(const struct settings_subsystem *settings);

#endif
