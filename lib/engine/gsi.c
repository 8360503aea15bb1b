/* gsi.c - QP 1 of an lcore: judges datagrams of connection management and hands them to the manager */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/gsi.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "engine/connect.h"
#include "engine/device_state.h"
#include "engine/engine.h"
#include "engine/lcore_state.h"
#include "engine/log.h"
#include "engine/numa_alloc.h"
#include "engine/port.h"
#include "engine/port_state.h"
#include "engine/resolve.h"
#include "engine/route.h"
#include "rc/path.h"
#include "wire/packet.h"

#define GUID_LOCAL 0x0200000000000000ull
#define GUID_GROUP 0x0100000000000000ull /* the bit for group addresses */

/* ---- opening ---- */

static int open_lcore(struct uroce_lcore *lcore, const struct cm_config *config)
{
	uint64_t bytes = sizeof(struct engine_connect) + cm_bytes(config);
	struct engine_connect *connect = engine_numa_alloc(bytes, -1);

	if (connect == NULL)
		return engine_refuse(-ENOMEM, "no memory for the connection manager");
	connect->cm = cm_init(connect + 1, config);
	connect->bytes = bytes;
	TAILQ_INIT(&connect->resolving);
	/* G1: publishes the complete manager; pairs with the load in engine_gsi_receive() */
	atomic_store_explicit(&lcore->connect, connect, memory_order_release);
	return 0;
}

int engine_gsi_open(struct uroce_engine *engine)
{
	struct cm_config config = {
		.id_mask = engine->lcore_mask,
		.max_path_mtu = cm_mtu_code(LIMIT_MTU_BYTES),
		.listeners = &engine->listeners,
	};

	/* as many connections as the lcore can have QPs */
	cm_config_fit(&config, engine->index_count / (engine->lcore_mask + 1));
	/* A process is a new node to its peers (C-13), so it draws a GUID at random, marked as locally administered. */
	if (getrandom(engine->cm_key, sizeof(engine->cm_key), 0) != sizeof(engine->cm_key) ||
	    getrandom(&config.ca_guid, sizeof(config.ca_guid), 0) != sizeof(config.ca_guid))
		return engine_refuse_random();
	memcpy(engine->listeners.key, engine->cm_key, sizeof(engine->cm_key));
	config.ca_guid = (config.ca_guid & ~GUID_GROUP) | GUID_LOCAL;
	for (unsigned i = 0; i < engine->lcore_count; i++) {
		int error;

		/*
		 * Each manager has a key of its own, so that no two managers draw the same ids; cm_key, which all
		 * managers share, decides which lcore gets a REQ.
		 */
		if (getrandom(config.key, sizeof(config.key), 0) != sizeof(config.key))
			return engine_refuse_random();
		config.id_low = i;
		error = open_lcore(engine->lcores[i], &config);
		if (error) {
			engine_gsi_close(engine);
			return error;
		}
	}
	return 0;
}

void engine_gsi_close(struct uroce_engine *engine)
{
	for (unsigned i = 0; i < engine->lcore_count; i++) {
		struct engine_connect *connect = atomic_load(&engine->lcores[i]->connect);

		if (connect == NULL)
			continue;
		atomic_store(&engine->lcores[i]->connect, NULL);
		engine_numa_free(connect, connect->bytes);
	}
}

/* ---- datagrams ---- */

/*
 * While data flows, setting up connections may take a tenth of an lcore's time (C-30). So each REQ uses up REQ_NS, and
 * each datagram of any kind DATAGRAM_NS. AT_A_TIME datagrams are taken at once: as many as an honest host sends when it
 * opens all its connections. While no data flows there is no limit. *spent_ns is the time up to which the accepted
 * datagrams have used the budget. A sender gains nothing if its MAD names a false kind.
 */
#define REQ_NS 100000ull
#define DATAGRAM_NS 10000ull
#define AT_A_TIME 8192ull
#define LOOK_NS 1000000ull
#define DATA_FRAMES 100u /* frames within LOOK_NS, in both directions, that show that data flows */

/* Counts the frames of all ports in both directions, without datagrams of connection management. */
static uint64_t count_data(const struct uroce_lcore *lcore)
{
	uint64_t frames = 0;

	for (unsigned i = 0; i < lcore->port_count; i++) {
		const struct engine_port *port = lcore->ports[i];

		frames += port->rx_frames + port_frames_out(port) - port->counters[CNT_PORT_GSI] -
			  port->counters[CNT_PORT_GSI_BUDGET];
	}
	return frames - lcore->connect->sent;
}

/* Does data flow? Measured at most once in LOOK_NS, and only when a datagram comes. */
static bool data_flows(const struct uroce_lcore *lcore)
{
	struct engine_connect *connect = lcore->connect;
	uint64_t frames;

	if (lcore->now_ns - connect->looked_ns >= LOOK_NS) {
		frames = count_data(lcore);
		connect->data_flows =
			(frames - connect->data_frames) * LOOK_NS > DATA_FRAMES * (lcore->now_ns - connect->looked_ns);
		connect->data_frames = frames;
		connect->looked_ns = lcore->now_ns;
	}
	return connect->data_flows;
}

static bool is_paid(uint64_t *spent_ns, uint64_t cost_ns, uint64_t now_ns)
{
	if (*spent_ns < now_ns)
		*spent_ns = now_ns;
	if (*spent_ns - now_ns > AT_A_TIME * cost_ns)
		return false;
	*spent_ns += cost_ns;
	return true;
}

/*
 * U-5: while data flows, datagrams get no more time than the budget. Each lcore has a budget of its own, without a
 * lock. Not a share (share.h): time that was spent is not given back, and what is dropped is sent again.
 */
static bool is_in_budget(const struct uroce_lcore *lcore, const uint8_t *mad)
{
	struct engine_connect *connect = lcore->connect;

	if (!data_flows(lcore))
		return true;
	if (cm_mad_kind(mad) == CM_REQ && !is_paid(&connect->req_spent_ns, REQ_NS, lcore->now_ns))
		return false;
	return is_paid(&connect->spent_ns, DATAGRAM_NS, lcore->now_ns);
}

/*
 * Judges a packet to QP 1 (U-2) in the order of W-5: the ICRC comes last, because it costs most. Returns CNT_COUNTERS
 * if the packet is accepted.
 */
static enum rc_counter judge(const struct uroce_lcore *lcore, const struct engine_port *port,
			     const struct wire_packet *packet, const struct rc_origin *origin)
{
	if (packet->opcode != OP_UD_SEND_ONLY)
		return CNT_PORT_OTHER_CLASS;
	if (engine_route_find(&port->device->config, origin->dest) < 0)
		return CNT_PORT_ADDRESS;
	if (!pkey_matches(PKEY_DEFAULT, packet->pkey))
		return CNT_PORT_PKEY;
	if (packet->qkey != CM_QKEY)
		return CNT_PORT_GSI_QKEY;
	if (packet->payload_bytes != CM_MAD_BYTES)
		return CNT_PORT_GSI_LENGTH;
	if (!is_in_budget(lcore, packet->payload))
		return CNT_PORT_GSI_BUDGET;
	if (!origin_icrc_is_right(origin, packet->payload))
		return CNT_PORT_RX_ICRC;
	return CNT_COUNTERS;
}

/*
 * Is there an lcore with this index, and has it a queue of the device? An lcore without a queue has no QPs and no
 * connections of the device.
 */
static bool owns(const struct uroce_engine *engine, uint32_t owner, const struct uroce_device *device)
{
	return owner < engine->lcore_count && engine_find_port(engine->lcores[owner], device) != NULL;
}

/* Does the message begin a connection, so that any lcore may take it? */
static bool begins(const uint8_t *mad)
{
	uint8_t kind = cm_mad_kind(mad);

	return kind == CM_REQ || kind == CM_SIDR_REQ;
}

/*
 * Chooses the lcore whose manager gets a message. If the port wires each queue to one queue of the peer, a connection
 * belongs to the lcore that its REQ came to: all its frames will arrive at that lcore, and so will a repeated or a new
 * REQ (C-11, C-13). Otherwise nobody can tell at which lcore frames will arrive, and the managers share the connections
 * evenly.
 */
static uint32_t choose_owner(const struct uroce_lcore *lcore, const struct uroce_device *device, const uint8_t *source,
			     const uint8_t *mad)
{
	const struct uroce_engine *engine = lcore->engine;
	uint32_t owner;

	if (device->queues_are_wired && begins(mad))
		return lcore->index;
	owner = cm_owner(engine->cm_key, engine->lcore_mask, source, mad);
	return owns(engine, owner, device) ? owner : lcore->index;
}

static void give_to_manager(struct uroce_lcore *lcore, struct engine_port *port, const struct rte_mbuf *mbuf,
			    const struct wire_packet *packet, const struct rc_origin *origin)
{
	const struct engine_connect *connect = lcore->connect;
	uint64_t strangers, unknown;
	struct cm_route route = { .vlan_id = origin->vlan_id,
				  .max_path_mtu = cm_mtu_code(port->device->config.mtu_bytes),
				  .device = port->device };

	memcpy(route.source, origin->dest, sizeof(route.source));
	memcpy(route.dest, origin->source, sizeof(route.dest));
	/* The answer is sent to the source MAC of the frame, which may be a router's. */
	memcpy(route.dest_mac, rte_pktmbuf_mtod_offset(mbuf, const uint8_t *, 6), sizeof(route.dest_mac));
	strangers = cm_count(connect->cm, CM_CNT_DROP_STRANGER) + cm_count(connect->cm, CM_CNT_DROP_UNKNOWN);
	unknown = cm_count(connect->cm, CM_CNT_UNKNOWN_DREQ);
	cm_receive(connect->cm, &route, packet->payload, packet->payload_bytes, lcore->now_ns);
	port->counters[CNT_PORT_GSI_STRANGER] +=
		cm_count(connect->cm, CM_CNT_DROP_STRANGER) + cm_count(connect->cm, CM_CNT_DROP_UNKNOWN) - strangers;
	port->counters[CNT_PORT_GSI_UNKNOWN_DREQ] += cm_count(connect->cm, CM_CNT_UNKNOWN_DREQ) - unknown;
	engine_connect_run(lcore);
}

bool engine_gsi_receive(struct uroce_lcore *lcore, struct engine_port *port, struct rte_mbuf *mbuf,
			const struct wire_packet *packet, const struct rc_origin *origin)
{
	struct uroce_engine *engine = lcore->engine;
	enum rc_counter drop;
	uint32_t owner;

	/* pairs with G1: a manager that we see is complete */
	if (atomic_load_explicit(&lcore->connect, memory_order_acquire) == NULL) {
		engine_port_refuse(port, CNT_PORT_UNKNOWN_QPN, origin);
		return false;
	}
	drop = judge(lcore, port, packet, origin);
	if (drop != CNT_COUNTERS) {
		engine_port_refuse(port, drop, origin);
		return false;
	}
	owner = choose_owner(lcore, port->device, origin->source, packet->payload);
	if (owner != lcore->index)
		return engine_port_hand_over(port, engine->lcores[owner], mbuf);
	port->counters[CNT_PORT_GSI]++;
	give_to_manager(lcore, port, mbuf, packet, origin);
	return false;
}
