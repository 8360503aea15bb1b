/* resolve.h - answers ARP, neighbour discovery and echo, and finds the MACs that QPs need (W-8) */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_RESOLVE_H
#define ENGINE_RESOLVE_H

#include "engine/engine.h"

/* A frame of kind ARP, ICMP or ICMPv6: answered, learned from, or dropped and counted. */
void engine_resolve_receive(struct uroce_lcore *lcore, struct engine_port *port, const uint8_t *frame, uint32_t bytes);

/* The QP's path is new: completes its template at once, or when the peer's MAC is known. */
void engine_resolve_start(struct uroce_lcore *lcore, struct uroce_qp *qp);
/* The MAC of a path's next hop, asked for when it is not known. true: *mac is it. */
bool engine_resolve_find(struct uroce_lcore *lcore, const struct uroce_path *path, struct uroce_mac *mac);
/* An alternate path was loaded: asks for its MAC now, so that it is known when it is needed. */
void engine_resolve_prepare(struct uroce_lcore *lcore, const struct uroce_path *path);
void engine_resolve_forget(struct uroce_lcore *lcore, struct uroce_qp *qp);

/* Looks at the waiting QPs again when it is time. */
void engine_resolve_poll(struct uroce_lcore *lcore);

#endif
