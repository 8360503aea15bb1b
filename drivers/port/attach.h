/* attach.h - from what a user calls a port to an ethdev of that name */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_ATTACH_H
#define DRIVERS_ATTACH_H

#include <stdbool.h>

#include "drivers/ethdev/ethdev.h"

#define DRIVERS_ARGUMENTS_BYTES 512

/* A device of EAL's. */
struct drivers_attachment {
	char name[DRIVERS_ETHDEV_NAME_BYTES];
	char arguments[DRIVERS_ARGUMENTS_BYTES];
	const char *bus; /* "vdev" or "pci" */
	bool made;       /* EAL did not have it before */
};

/*
 * Finds the port that text names, as uroce_port_open(), or has EAL make it. 0; -EINVAL: text is too long; -ENODEV.
 * What DPDK complains about goes to drivers_log_begin().
 */
int drivers_attach(const char *text, struct drivers_attachment *attachment, struct uroce_error *error);

/* The port is closed: what was made is undone. */
void drivers_detach(const struct drivers_attachment *attachment);

#endif
