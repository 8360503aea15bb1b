/* tree.h - the small tree in which libibverbs finds a device, as it looks in /sys for those of the kernel */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_RUN_TREE_H
#define APP_RUN_TREE_H

#include <uroce/device.h>

#define TREE_DEVICE "uroce0"
#define TREE_NODE "uverbs0" /* below /dev/infiniband */

struct tree_port {
	const char *interface; /* of the kernel, whose port it is; NULL: of none */
	unsigned addr_count;
	struct uroce_addr addrs[UROCE_ADDRS_MAX];
};

/* Writes it below root, a directory that is there. 0, or a negative errno. */
int tree_write(const char *root, const struct tree_port *port);

#endif
