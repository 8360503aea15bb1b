/* resolve.h - answers ARP, neighbour discovery and echo, and finds the MACs that QPs need (W-8) */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_RESOLVE_H
#define ENGINE_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

struct engine_port;
struct uroce_lcore;
struct uroce_mac;
struct uroce_path;
struct uroce_qp;
struct wire_packet;

#define UNRESOLVED_NS 3000000000ull /* so long a request waits for its peer's MAC: about 30 questions */

/* A frame of kind ARP, ICMP or ICMPv6: answered, learned from, or dropped and counted. */
void engine_resolve_receive(struct uroce_lcore *lcore, struct engine_port *port, const uint8_t *frame, uint32_t bytes);

/* The QP's path is new: completes its template at once, or when the peer's MAC is known. */
void engine_resolve_start(struct uroce_lcore *lcore, struct uroce_qp *qp);
void engine_resolve_forget(struct uroce_qp *qp);

/* true: *mac is the MAC of the path's next hop; false: it was asked for. */
bool engine_resolve_find(struct uroce_lcore *lcore, const struct uroce_path *path, struct uroce_mac *mac);
/* Sends a datagram along a path. false: its MAC is not known yet, or the port has no room. */
bool engine_resolve_send(struct uroce_lcore *lcore, const struct uroce_path *path, const struct wire_packet *packet);

/* While somebody seeks a MAC: looks again, when it is time, at the QPs. true: it is time for datagrams, too. */
bool engine_resolve_poll(struct uroce_lcore *lcore);

#endif
