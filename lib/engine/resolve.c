/* resolve.c - finds the MAC of an address: asks, answers, and lets QPs wait */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "engine/clock.h"
#include "engine/dad.h"
#include "engine/device_state.h"
#include "engine/lcore_state.h"
#include "engine/port.h"
#include "engine/resolve.h"
#include "engine/port_state.h"
#include "engine/qp.h"
#include "engine/route.h"
#include "engine/run_queue.h"
#include "rc/cc.h"
#include "wire/neighbour.h"

#define HOP_LIMIT_DEFAULT 64
#define LOOK_AGAIN_NS 1000000ull

/* A frame for which there is no room is lost. A QP or datagram that needs the MAC asks for it again. */
static void send_frame(struct engine_port *port, const uint8_t *frame, uint32_t bytes)
{
	if (!engine_port_make_room_for(port, bytes))
		return;
	memcpy(port_frame(port), frame, bytes);
	port_send(port, bytes);
}

/*
 * The address has this MAC: stores it, and resolves QPs that wait for it. wanted: store it even if the address is new.
 */
static void learn(struct uroce_lcore *lcore, struct engine_port *port, const struct wire_neighbour *told,
		  const uint8_t addr[16], const struct uroce_mac *mac, bool wanted)
{
	struct uroce_addr known;

	memcpy(known.bytes, addr, sizeof(known.bytes));
	engine_neigh_learn(&port->device->neigh, &known, told->vlan_tci & WIRE_VLAN_ID, mac, wanted, lcore->now_ns);
	lcore->resolve_ns = 0;
}

static void answer_request(struct uroce_lcore *lcore, struct engine_port *port, const struct wire_neighbour *request,
			   const struct uroce_mac *mac)
{
	uint8_t reply[WIRE_NEIGHBOUR_MAX_BYTES];
	uint32_t bytes;

	if (!request->probe)
		learn(lcore, port, request, request->sender, mac, true);
	bytes = wire_neighbour_reply(port->device->mac.bytes, request->target, request, mac->bytes, reply);
	send_frame(port, reply, bytes);
}

static void answer_echo(struct engine_port *port, const uint8_t *frame, uint32_t bytes)
{
	if (!engine_port_make_room_for(port, bytes))
		return;
	memcpy(port_frame(port), frame, bytes);
	wire_neighbour_echo_reply(port_frame(port), bytes);
	port_send(port, bytes);
}

/* Another station uses the address: shows all stations that it is ours, and has that reported, but not each time. */
static void defend(struct uroce_lcore *lcore, struct engine_port *port, uint32_t index,
		   const struct wire_neighbour *heard)
{
	struct uroce_device *device = port->device;
	const struct uroce_vlan *vlan = &device->config.vlans[index];
	const struct uroce_path path = { .vlan_id = vlan->id, .vlan_priority = vlan->priority };
	uint8_t frame[WIRE_NEIGHBOUR_MAX_BYTES];
	uint32_t bytes;
	bool now;

	rte_spinlock_lock(&device->defence_lock);
	now = engine_dad_may_defend(&device->defended_ns[index], lcore->now_ns);
	rte_spinlock_unlock(&device->defence_lock);
	if (!now)
		return;
	bytes = wire_neighbour_announce(device->mac.bytes, device->config.addrs[index].bytes, frame);
	if (path_vlan_tci(&path))
		bytes = wire_neighbour_tag(frame, bytes, path_vlan_tci(&path));
	send_frame(port, frame, bytes);
	port->conflict = (struct engine_conflict){ .is_new = true, .index = index };
	memcpy(port->conflict.holder.bytes, heard->sender_mac, sizeof(port->conflict.holder.bytes));
}

/* Does the message show that another station uses an address of the port? Then it is counted, and nothing else. */
static bool is_conflict(struct uroce_lcore *lcore, struct engine_port *port, const struct wire_neighbour *heard)
{
	const struct uroce_device_config *config = &port->device->config;

	for (uint32_t i = 0; i < config->addr_count; i++) {
		const struct engine_dad_claim claim = { config->addrs[i], config->vlans[i].id, port->device->mac };

		if (!engine_dad_contradicts(&claim, heard))
			continue;
		port->counters[CNT_PORT_ADDRESS_CONFLICT]++;
		defend(lcore, port, i, heard);
		return true;
	}
	return false;
}

void engine_resolve_receive(struct uroce_lcore *lcore, struct engine_port *port, const uint8_t *frame, uint32_t bytes)
{
	struct wire_neighbour neighbour;
	struct uroce_mac mac;

	if (!wire_neighbour_parse(frame, bytes, &neighbour)) {
		port->counters[CNT_PORT_NEIGHBOUR]++;
		return;
	}
	if (neighbour.kind == WIRE_NEIGHBOUR_OTHER) {
		port->counters[CNT_PORT_NOT_ROCE]++;
		return;
	}
	port->counters[CNT_PORT_NEIGHBOURS]++;
	if (is_conflict(lcore, port, &neighbour))
		return;
	/* Without a link-layer option the source MAC of the frame is used. */
	memcpy(mac.bytes, neighbour.has_sender_mac ? neighbour.sender_mac : frame + 6, sizeof(mac.bytes));
	switch ((enum wire_neighbour_kind)neighbour.kind) {
	case WIRE_NEIGHBOUR_REQUEST:
		if (engine_route_find(&port->device->config, neighbour.target) >= 0)
			answer_request(lcore, port, &neighbour, &mac);
		break;
	case WIRE_NEIGHBOUR_REPLY:
		learn(lcore, port, &neighbour, neighbour.target, &mac, false);
		break;
	case WIRE_NEIGHBOUR_ECHO:
		if (engine_route_find(&port->device->config, neighbour.target) >= 0)
			answer_echo(port, frame, bytes);
		break;
	case WIRE_NEIGHBOUR_ECHOED:
		engine_pings_take(&port->device->pings, neighbour.sender, neighbour.echo);
		break;
	case WIRE_NEIGHBOUR_NONE:
	case WIRE_NEIGHBOUR_OTHER:
		break;
	}
}

static bool mac_is_set(const struct uroce_mac *mac)
{
	static const struct uroce_mac none;

	return memcmp(mac, &none, sizeof(none)) != 0;
}

/* Asks for the MAC of an address, in the path's VLAN. */
static void ask_for(struct engine_port *port, const struct uroce_path *path, const struct uroce_addr *hop)
{
	uint8_t request[WIRE_NEIGHBOUR_MAX_BYTES];
	uint32_t bytes = wire_neighbour_request(port->device->mac.bytes, path->source.bytes, hop->bytes, request);

	if (path_vlan_tci(path))
		bytes = wire_neighbour_tag(request, bytes, path_vlan_tci(path));
	send_frame(port, request, bytes);
}

bool engine_resolve_find(struct uroce_lcore *lcore, const struct uroce_path *path, struct uroce_mac *mac)
{
	struct uroce_device *device = path->device;
	const struct uroce_addr *hop;
	bool ask = false;

	if (engine_route_find(&device->config, path->dest.bytes) >= 0) {
		engine_find_port(lcore, device)->has_own = true;
		*mac = device->mac;
		return true;
	}
	*mac = path->dest_mac;
	if (mac_is_set(mac))
		return true;
	hop = engine_route_next_hop(&device->config, path);
	if (hop == NULL)
		return false; /* never reached: check_path() of modify.c refuses such a path */
	if (engine_neigh_resolve(&device->neigh, hop, path->vlan_id, lcore->now_ns, mac, &ask))
		return true;
	if (ask)
		ask_for(engine_find_port(lcore, device), path, hop);
	return false;
}

static void prepare_template(struct wire_frame_template *template, const struct uroce_path *path,
			     const struct uroce_mac *dest_mac, uint16_t source_port)
{
	struct wire_encap encap = {
		.ipv6 = !encap_addr_is_ipv4(path->dest.bytes),
		.traffic_class = path->traffic_class,
		.hop_limit = path->hop_limit ? path->hop_limit : HOP_LIMIT_DEFAULT,
		.vlan = path_vlan_tci(path) != 0,
		.vlan_tci = path_vlan_tci(path),
		.flow_label = path->flow_label,
		.source_port = source_port,
		.dest_port = WIRE_UDP_PORT,
	};

	memcpy(encap.dest_mac, dest_mac->bytes, sizeof(encap.dest_mac));
	memcpy(encap.source_mac, path->device->mac.bytes, sizeof(encap.source_mac));
	memcpy(encap.source, path->source.bytes, sizeof(encap.source));
	memcpy(encap.dest, path->dest.bytes, sizeof(encap.dest));
	wire_frame_prepare(template, &encap);
}

bool engine_resolve_send(struct uroce_lcore *lcore, const struct uroce_path *path, uint16_t source_port,
			 const struct wire_packet *packet)
{
	struct engine_port *port = engine_find_port(lcore, path->device);
	struct wire_frame_template template;
	struct uroce_mac mac;

	if (port == NULL || !engine_resolve_find(lcore, path, &mac) || !port_make_room(port))
		return false;
	prepare_template(&template, path, &mac, source_port);
	port_send(port, wire_frame_build(&template, packet, port_frame(port)));
	return true;
}

bool engine_resolve_send_datagram(struct uroce_lcore *lcore, const struct uroce_path *path,
				  const struct wire_packet *packet)
{
	return engine_resolve_send(lcore, path, path_source_port(packet->source_qpn, packet->dest_qpn), packet);
}

/* Returns true if the MAC is known, and the template is complete. */
static bool try_to_resolve(struct uroce_lcore *lcore, struct uroce_qp *qp)
{
	struct uroce_path path = qp_core(qp)->path;
	struct uroce_mac mac;

	if (!engine_resolve_find(lcore, &path, &mac))
		return false;
	/* N-2: switches may mark what the QP sends, unless its traffic class has ECN bits of its own. */
	if (rc_cc_listens(qp_core(qp)) && uroce_traffic_class_ecn(path.traffic_class) == UROCE_ECN_NOT_ECT)
		path.traffic_class |= UROCE_ECN_ECT0;
	prepare_template(&qp->template, &path, &mac, rc_ports_own(qp_core(qp), 0));
	qp->port = engine_find_port(lcore, path.device);
	qp->resolved = true;
	run_queue_move(qp, &qp->port->run_queue);
	run_queue_add(qp);
	return true;
}

void engine_resolve_start(struct uroce_lcore *lcore, struct uroce_qp *qp)
{
	engine_resolve_forget(qp);
	qp->resolved = false;
	qp->migrations = qp_core(qp)->migration.count;
	run_queue_move(qp, &lcore->run_queue);
	if (try_to_resolve(lcore, qp))
		return;
	/* lcore->now_ns may be old if the lcore has not been polled yet, and this may be later than lcore->now_ns */
	qp->waiting_since_ns = engine_now_ns();
	LIST_INSERT_HEAD(&lcore->unresolved, qp, with_unresolved);
	lcore->seeks_mac = true;
}

void engine_resolve_forget(struct uroce_qp *qp)
{
	if (qp->with_unresolved.le_prev == NULL)
		return;
	LIST_REMOVE(qp, with_unresolved);
	qp->with_unresolved.le_prev = NULL;
}

/* Fails the requests of a QP that has waited too long for its peer's MAC. */
static void check_patience(struct uroce_lcore *lcore, struct uroce_qp *qp)
{
	qp->waiting_since_ns = RTE_MIN(qp->waiting_since_ns + resolve_absent_ns(lcore), lcore->now_ns);
	if (!rc_qp_has_requests(qp_core(qp))) {
		qp->waiting_since_ns = lcore->now_ns;
	} else if (lcore->now_ns >= qp->waiting_since_ns + UNRESOLVED_NS) {
		qp->waiting_since_ns = lcore->now_ns;
		rc_qp_unreachable(qp_core(qp));
		run_queue_add(qp);
	}
}

static __rte_noinline void look_at_unresolved(struct uroce_lcore *lcore)
{
	struct uroce_qp *next;

	lcore->resolve_ns = lcore->now_ns + LOOK_AGAIN_NS;
	for (struct uroce_qp *qp = LIST_FIRST(&lcore->unresolved); qp; qp = next) {
		next = LIST_NEXT(qp, with_unresolved);
		if (try_to_resolve(lcore, qp))
			engine_resolve_forget(qp);
		else
			check_patience(lcore, qp);
	}
}

bool engine_resolve_poll(struct uroce_lcore *lcore)
{
	if (lcore->now_ns < lcore->resolve_ns)
		return false;
	look_at_unresolved(lcore);
	lcore->seeks_mac = !LIST_EMPTY(&lcore->unresolved) || !LIST_EMPTY(&lcore->uds_waiting);
	return true;
}
