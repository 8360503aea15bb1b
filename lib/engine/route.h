/* route.h - who gets the frames of a path: the peer, when it is a neighbour, or a router */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ROUTE_H
#define ENGINE_ROUTE_H

#include <uroce/device.h>
#include <uroce/qp.h>

/* Is each gateway a neighbour of its address, and each VLAN one that exists? */
bool engine_route_config_is_valid(const struct uroce_device_config *config);

/* A path that names no VLAN is of its source's. */
void engine_route_complete(const struct uroce_device_config *config, struct uroce_path *path);

/* Is the source an address of the port, of the same kind as the peer's, and the VLAN one that exists? */
bool engine_route_begins_here(const struct uroce_device_config *config, const struct uroce_path *path);

/* Whose MAC frames of a path that begins here go to; NULL: its peer is outside the prefix, and there is no gateway. */
const struct uroce_addr *engine_route_next_hop(const struct uroce_device_config *config, const struct uroce_path *path);

#endif
