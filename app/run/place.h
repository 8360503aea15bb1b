/* place.h - a mount namespace in which programs find our device */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program looks for /dev/infiniband/uverbs0, a character device, before it loads a provider. It is given /dev/null
 * under that name, in a mount namespace of its own; a user who is not root gets a user namespace, too, in which he may
 * do that. The tree (tree.h) lies beside it, and both are gone with the last program that uses them.
 */
#ifndef APP_RUN_PLACE_H
#define APP_RUN_PLACE_H

#include <stdbool.h>

#define PLACE_BYTES 128

/* Is the node there already, as `docker run --device /dev/null:/dev/infiniband/uverbs0` makes it? */
bool place_has_node(void);

/*
 * Enters a namespace with the node, or finds that it needs none; root, PLACE_BYTES, is an own folder for the tree then.
 * address names the folder when nothing else does. An exit code; a complaint was printed.
 */
int place_enter(const char *address, char *root);

#endif
