/* route.h - to whom the frames of a path go: to the peer, when it is a neighbour, or to a router */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ROUTE_H
#define ENGINE_ROUTE_H

#include <uroce/device.h>
#include <uroce/qp.h>

/* Which of the port's addresses it is, or -1. */
int engine_route_find(const struct uroce_device_config *config, const uint8_t addr[16]);

/*
 * Which of the port's addresses is to be the source of what goes to dest, or -1: from none of them there is a way.
 * *rank: how well it suits, beside those of other ports; 0: none does.
 */
int engine_route_choose_source(const struct uroce_device_config *config, const struct uroce_addr *dest, unsigned *rank);

/* Is each gateway a neighbour of its address, and each VLAN one that exists? */
bool engine_route_config_is_valid(const struct uroce_device_config *config);

/* Gives a path that names no VLAN the VLAN of its source. */
void engine_route_complete(const struct uroce_device_config *config, struct uroce_path *path);

/* Is the source one of the port's addresses, of the same kind as the peer's, and does the VLAN exist? */
bool engine_route_begins_here(const struct uroce_device_config *config, const struct uroce_path *path);

/* Whose MAC the frames of a path go to; NULL: its peer is outside the prefix, and there is no gateway. */
const struct uroce_addr *engine_route_next_hop(const struct uroce_device_config *config, const struct uroce_path *path);

#endif
