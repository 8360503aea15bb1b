/* attach.h - from the name that a user gives to an ethdev port */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_ATTACH_H
#define DRIVERS_ATTACH_H

#include <stdbool.h>

#include "drivers/ethdev/ethdev.h"

#define DRIVERS_ARGUMENTS_BYTES 512

/* A device of EAL. */
struct drivers_attachment {
	char name[DRIVERS_ETHDEV_NAME_BYTES];
	char arguments[DRIVERS_ARGUMENTS_BYTES];
	const char *bus; /* "vdev" or "pci" */
	bool made;       /* EAL has made it for us */
};

/*
 * Finds the port that text names, as uroce_port_open() does, or lets EAL make it. Returns 0, -EINVAL if text is too
 * long, or -ENODEV. drivers_log_start() makes the log keep what DPDK complains about meanwhile.
 */
int drivers_attach(const char *text, struct drivers_attachment *attachment, struct uroce_error *error);

/*
 * Reports what is known of the device without making it: the interface, the PCI device and the rights exist, and once
 * EAL runs, a virtual device has a driver. Fills in *attachment. Returns as drivers_attach().
 */
int drivers_attach_check(const char *text, struct drivers_attachment *attachment, struct uroce_error *error);

/* The port has been closed: removes the device, if it was made here. */
void drivers_detach(const struct drivers_attachment *attachment);

#endif
