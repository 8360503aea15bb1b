/* run.h - the parts of uroce-run */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_RUN_RUN_H
#define APP_RUN_RUN_H

#include <stdbool.h>

#include <uroce/device.h>

/* ---- check.c: could a program run here, and what is missing? ---- */

/*
 * Checks that libibverbs exists and has the private ABI of our provider. Returns APP_EXIT_OK, or the exit code after a
 * complaint.
 */
int check_library(void);

/* Checks each need in a process of its own, and prints a line for each. The environment names the port. */
int check_all(const char *libraries);

/* ---- claim.c: claims the address of the program to run ---- */

/*
 * text: "10.0.0.1/24", or "10.0.0.1-10.0.0.9/24" for the first free address of the range. The claim (claim.h of
 * drivers/port) names `program` as its holder, and stays until the last process that has inherited it ends. out gets
 * the address, as uroce_addr_parse() takes it. Returns APP_EXIT_OK, or the exit code after a complaint.
 */
int claim_address(const char *text, const char *program, char *out, size_t room, struct uroce_addr *address);

/* ---- tree.c: writes a small tree that looks like /sys, in which libibverbs finds our device ---- */

#define TREE_DEVICE "uroce0"
#define TREE_NODE "uverbs0" /* name below /dev/infiniband */

struct tree_port {
	const char *interface; /* the kernel's interface under the port; NULL: none */
	unsigned addr_count;
	struct uroce_addr addrs[UROCE_ADDRS_MAX];
};

/* Writes the tree below root, an existing directory. Returns 0 or a negative errno. */
int tree_write(const char *root, const struct tree_port *port);

/* ---- place.c: makes a mount namespace in which programs find our device ---- */

/*
 * A program looks for the character device /dev/infiniband/uverbs0 before it loads a provider. So it gets /dev/null
 * under that name, in a mount namespace of its own, and without root in a user namespace, which permits the mount. The
 * tree is made in the same namespace. Both vanish with the last program that uses them.
 */

#define PLACE_BYTES 128

/* Does the node exist already, as `docker run --device /dev/null:/dev/infiniband/uverbs0` makes it? */
bool place_has_node(void);

/*
 * Enters a mount namespace that has the node, unless the node exists already. Writes the path of the tree's folder into
 * `root`, of PLACE_BYTES bytes; if no namespace was entered, user and address are part of the folder's name. Returns
 * APP_EXIT_OK, or the exit code after a complaint.
 */
int place_enter(const char *address, char *root);

#endif
