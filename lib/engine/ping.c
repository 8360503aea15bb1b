/* ping.c - asks a peer that does not answer for ICMP echoes */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/ping.h"

#include <rte_ether.h>

#include "engine/device_state.h"
#include "engine/lcore_state.h"
#include "engine/port.h"
#include "engine/qp.h"
#include "engine/resolve.h"
#include "rc/qp.h"
#include "wire/neighbour.h"

/* UDP and BTH, RETH and ICRC around the payload of the longest packet */
#define LONGEST_PACKET_EXTRA_BYTES (8u + 12u + 16u + 4u)

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
	number = engine_pings_begin(&device->pings, &path->dest, path->vlan_id, lcore->now_ns);
	if (number == 0)
		return;
	send_question(port, path, &mac, number, WIRE_ECHO_MIN_BYTES);
	send_question(port, path, &mac, number + 1, ip_header_bytes + rc->mtu_bytes + LONGEST_PACKET_EXTRA_BYTES);
}
