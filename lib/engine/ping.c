/* ping.c - asks peers that do not answer for echoes, and remembers which came */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/ping.h"

#include <string.h>

#include <rte_ether.h>
#include <rte_random.h>

#include "engine/device_state.h"
#include "engine/lcore_state.h"
#include "engine/port.h"
#include "engine/qp.h"
#include "engine/resolve.h"
#include "rc/qp.h"
#include "wire/neighbour.h"

/* UDP and BTH, RETH and ICRC around the payload of the longest packet */
#define LONGEST_PACKET_EXTRA_BYTES (8u + 12u + 16u + 4u)

void engine_pings_init(struct engine_pings *pings)
{
	memset(pings, 0, sizeof(*pings));
	rte_spinlock_init(&pings->lock);
}

/* The entry of a peer. If it has none: NULL, or with `make` the entry whose question is the oldest. */
static struct engine_ping_peer *find(struct engine_pings *pings, const struct uroce_path *path, bool make)
{
	struct engine_ping_peer *oldest = &pings->peers[0];

	for (unsigned i = 0; i < PING_PEERS; i++) {
		struct engine_ping_peer *peer = &pings->peers[i];

		if (peer->asked_ns && peer->vlan_id == path->vlan_id &&
		    memcmp(&peer->addr, &path->dest, sizeof(peer->addr)) == 0)
			return peer;
		if (peer->asked_ns < oldest->asked_ns)
			oldest = peer;
	}
	return make ? oldest : NULL;
}

/* Returns the number of the first of two new questions, or 0 if the peer was asked lately. */
static uint32_t begin_question(struct engine_pings *pings, const struct uroce_path *path, uint64_t now_ns)
{
	struct engine_ping_peer *peer;
	uint32_t number = 0;

	rte_spinlock_lock(&pings->lock);
	peer = find(pings, path, true);
	if (peer->asked_ns == 0 || memcmp(&peer->addr, &path->dest, sizeof(peer->addr)) != 0 ||
	    peer->vlan_id != path->vlan_id || now_ns >= peer->asked_ns + PING_INTERVAL_NS) {
		number = ((uint32_t)rte_rand() | 1) << 1;
		*peer = (struct engine_ping_peer){
			.addr = path->dest, .vlan_id = path->vlan_id, .number = number, .asked_ns = now_ns
		};
	}
	rte_spinlock_unlock(&pings->lock);
	return number;
}

static void send_question(struct engine_port *port, const struct uroce_path *path, const struct uroce_mac *mac,
			  uint32_t number, uint32_t ip_bytes)
{
	uint32_t bytes = ip_bytes + RTE_ETHER_HDR_LEN + WIRE_VLAN_BYTES;

	if (!engine_port_make_room_for(port, bytes))
		return;
	bytes = wire_neighbour_echo(port->device->mac.bytes, path->source.bytes, mac->bytes, path->dest.bytes, number,
				    ip_bytes, port_frame(port));
	if (path_vlan_tci(path))
		bytes = wire_neighbour_tag(port_frame(port), bytes, path_vlan_tci(path));
	port_send(port, bytes);
}

void engine_ping_ask(struct uroce_lcore *lcore, const struct uroce_qp *qp)
{
	const struct rc_qp *rc = qp_core(qp);
	const struct uroce_path *path = &rc->path;
	struct uroce_device *device = path->device;
	struct engine_port *port = device ? engine_find_port(lcore, device) : NULL;
	uint32_t ip_header_bytes = encap_addr_is_ipv4(path->dest.bytes) ? WIRE_IPV4_BYTES : WIRE_IPV6_BYTES;
	struct uroce_mac mac;
	uint32_t number;

	if (port == NULL || !qp->resolved || !engine_resolve_find(lcore, path, &mac))
		return;
	number = begin_question(&device->pings, path, lcore->now_ns);
	if (number == 0)
		return;
	send_question(port, path, &mac, number, WIRE_ECHO_MIN_BYTES);
	send_question(port, path, &mac, number + 1, ip_header_bytes + rc->mtu_bytes + LONGEST_PACKET_EXTRA_BYTES);
}

void engine_ping_take(struct engine_pings *pings, const struct wire_neighbour *echo)
{
	rte_spinlock_lock(&pings->lock);
	for (unsigned i = 0; i < PING_PEERS; i++) {
		struct engine_ping_peer *peer = &pings->peers[i];

		if (peer->asked_ns && peer->number == (echo->echo & ~1u) &&
		    memcmp(peer->addr.bytes, echo->sender, sizeof(peer->addr.bytes)) == 0)
			peer->came[echo->echo & 1] = true;
	}
	rte_spinlock_unlock(&pings->lock);
}

enum engine_ping engine_ping_result(struct engine_pings *pings, const struct uroce_path *path, uint64_t since_ns,
				    uint64_t now_ns)
{
	enum engine_ping result = PING_UNKNOWN;
	const struct engine_ping_peer *peer;

	rte_spinlock_lock(&pings->lock);
	peer = find(pings, path, false);
	if (peer == NULL || peer->asked_ns < since_ns)
		result = PING_UNKNOWN;
	else if (peer->came[1])
		result = PING_ALL;
	else if (now_ns >= peer->asked_ns + PING_PATIENCE_NS)
		result = peer->came[0] ? PING_SHORT : PING_SILENT;
	rte_spinlock_unlock(&pings->lock);
	return result;
}
