/* tree.h - writes a small tree that looks like /sys, in which libibverbs finds our device */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_RUN_TREE_H
#define APP_RUN_TREE_H

#include <uroce/device.h>

#define TREE_DEVICE "uroce0"
#define TREE_NODE "uverbs0" /* name below /dev/infiniband */

struct tree_port {
	const char *interface; /* the kernel's interface under the port; NULL: none */
	unsigned addr_count;
	struct uroce_addr addrs[UROCE_ADDRS_MAX];
};

/* Writes the tree below root, an existing directory. Returns 0 or a negative errno. */
int tree_write(const char *root, const struct tree_port *port);

#endif
