/* resolve.h - answers ARP, neighbour discovery and echo, and finds the MACs that QPs need (W-8) */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_RESOLVE_H
#define ENGINE_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/lcore_state.h"

struct engine_port;
struct uroce_mac;
struct uroce_path;
struct uroce_qp;
struct wire_packet;

#define UNRESOLVED_NS 3000000000ull /* how long requests wait for the peer's MAC: about 30 questions */

#define RESOLVE_PAUSE_NS 100000000ull /* the time between two polls counts as a wait for an answer only up to this */

/* The part of the time since the last poll in which no answer could be received: it does not count as waiting. */
static inline uint64_t resolve_absent_ns(const struct uroce_lcore *lcore)
{
	uint64_t between_ns = lcore->now_ns - lcore->before_ns;

	return between_ns > RESOLVE_PAUSE_NS ? between_ns - RESOLVE_PAUSE_NS : 0;
}

/* Takes an ARP, ICMP or ICMPv6 frame: answers it, learns from it, or drops and counts it. */
void engine_resolve_receive(struct uroce_lcore *lcore, struct engine_port *port, const uint8_t *frame, uint32_t bytes);

/* The QP has a new path: completes its template now, or when the peer's MAC is known. */
void engine_resolve_start(struct uroce_lcore *lcore, struct uroce_qp *qp);
void engine_resolve_forget(struct uroce_qp *qp);

/* Returns true with the MAC of the path's next hop in *mac, false if the MAC is unknown and is being asked for. */
bool engine_resolve_find(struct uroce_lcore *lcore, const struct uroce_path *path, struct uroce_mac *mac);
/*
 * Sends a packet along a path, outside the order of a QP. Returns false if the MAC of the next hop is not known yet, or
 * the port has no room.
 */
bool engine_resolve_send(struct uroce_lcore *lcore, const struct uroce_path *path, uint16_t source_port,
			 const struct wire_packet *packet);
/* The same for a datagram of a UD QP or of the connection manager: its source port follows from the QPNs. */
bool engine_resolve_send_datagram(struct uroce_lcore *lcore, const struct uroce_path *path,
				  const struct wire_packet *packet);

/*
 * While QPs or datagrams wait for a MAC: checks the QPs if a check is due. Returns true if a check was due: then the
 * datagrams have to be checked, too.
 */
bool engine_resolve_poll(struct uroce_lcore *lcore);

#endif
