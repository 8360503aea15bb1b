/* route.h - which MAC the frames of a path go to: that of the peer, if it is a neighbour, or of a router */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ROUTE_H
#define ENGINE_ROUTE_H

#include <uroce/device.h>
#include <uroce/qp.h>

/* The index of the port's address that equals addr, or -1. */
int engine_route_find(const struct uroce_device_config *config, const uint8_t addr[16]);

/*
 * Chooses the address of the port that is the source for dest, or -1 if dest cannot be reached from any. *rank: how
 * well the address suits, to compare with other ports; 0: not at all.
 */
int engine_route_choose_source(const struct uroce_device_config *config, const struct uroce_addr *dest, unsigned *rank);

/* Is each gateway a neighbour of its address, and is each VLAN valid? */
/* The index of the first address whose gateway or VLAN is wrong; -1: none is. */
int engine_route_find_wrong(const struct uroce_device_config *config);
bool engine_route_config_is_valid(const struct uroce_device_config *config);

/* Gives a path without a VLAN the VLAN of its source address. */
void engine_route_complete(const struct uroce_device_config *config, struct uroce_path *path);

/* Is the path's source an address of the port, of the peer's IP version, and is the VLAN valid? */
bool engine_route_begins_here(const struct uroce_device_config *config, const struct uroce_path *path);

/*
 * The address whose MAC the frames of a path go to; NULL: the peer is outside of the prefix, and there is no gateway.
 */
const struct uroce_addr *engine_route_next_hop(const struct uroce_device_config *config, const struct uroce_path *path);

#endif
