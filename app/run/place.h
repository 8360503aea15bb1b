/* place.h - makes a mount namespace in which programs find our device */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program looks for the character device /dev/infiniband/uverbs0 before it loads a provider. So it gets /dev/null
 * under that name, in a mount namespace of its own; a user who is not root also gets a user namespace, in which he may
 * mount. The tree (tree.h) is made in the same namespace. Both vanish with the last program that uses them.
 */
#ifndef APP_RUN_PLACE_H
#define APP_RUN_PLACE_H

#include <stdbool.h>

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
