/* flood_sacks.c - forged SACKs, PROBEs and requests to connections with SACKs: the share that a good flow keeps */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A share is counted in polls of the lcore, not in seconds. Idle queue pairs are the targets; the forger knows their
 * addresses, QPNs and P_Key, and in some floods a source port of each peer as well (docs/explanation/threat-model.md).
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "engine/qp.h"
#include "flows.h"
#include "rc/ports.h"
#include "rule.h"
#include "start.h"
#include "ticks.h"

#define POLLS 400u
#define IDLE 32u
#define JUNK_PER_POLL 32u

TestSuite(flood_sacks, .init = test_eal_start, .timeout = 60);

enum flood { NOTHING, PROBES, PROBES_BEHIND_A_GAP, SACKS, RANDOM_PSNS, UNKNOWN_PORTS, FLOODS };

static const char *const names[] = { "nothing", "PROBEs",      "PROBEs behind a gap",
				     "SACKs",   "random PSNs", "PROBEs from unknown ports" };

struct target {
	struct network network;
	struct flow flow, idle[IDLE];
};

/* The next forged packet, to one of the idle QPs of end 1. */
static struct rte_mbuf *forge(struct target *target, enum flood flood, uint32_t number)
{
	static const uint8_t data[4];
	const struct uroce_qp *from = target->idle[number % IDLE].qps[0], *to = target->idle[number % IDLE].qps[1];
	struct wire_packet packet = { .dest_qpn = uroce_qp_num(to), .pkey = 0xFFFF, .payload = data };
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(target->network.loop.pool);
	struct wire_frame_template template = from->template;
	uint32_t epsn = qp_core(to)->responder.epsn.v;

	cr_assert_not_null(mbuf);
	switch (flood) {
	case SACKS:
		packet.opcode = OP_SACK;
		packet.cack_psn = (epsn + number * 7919) & PSN_MASK;
		packet.sack_bitmap = number;
		break;
	case RANDOM_PSNS:
		packet.opcode = OP_SEND_ONLY;
		packet.payload_bytes = sizeof(data);
		packet.psn = (epsn + 1 + number * 104729 % 0x7FFFFE) & PSN_MASK;
		break;
	case NOTHING:
	case PROBES:
	case PROBES_BEHIND_A_GAP:
	case UNKNOWN_PORTS:
	case FLOODS:
		packet.opcode = OP_PROBE;
		packet.control_kind = WIRE_PROBE_KIND;
		packet.probe_id = (uint16_t)number;
		break;
	}
	if (flood == UNKNOWN_PORTS)
		frame_set_source_port(&template, (uint16_t)(1 + number % (PORTS_FIRST - 1)));
	network_fill_frame(mbuf, &template, &packet);
	return mbuf;
}

static void send_junk(struct target *target, enum flood flood, uint32_t *number)
{
	struct rte_mbuf *burst[JUNK_PER_POLL];

	for (uint32_t i = 0; i < JUNK_PER_POLL; i++)
		burst[i] = forge(target, flood, (*number)++);
	cr_assert_eq(rte_eth_tx_burst(target->network.loop.ports[0].port_id, 0, burst, JUNK_PER_POLL), JUNK_PER_POLL);
}

/* One request of each peer is far ahead, so that SACKs describe a long gap. */
static void open_gaps(struct target *target)
{
	static const uint8_t data[4];

	for (uint32_t i = 0; i < IDLE; i++) {
		const struct uroce_qp *from = target->idle[i].qps[0], *to = target->idle[i].qps[1];
		struct rte_mbuf *mbuf = rte_pktmbuf_alloc(target->network.loop.pool);
		struct wire_packet packet = {
			.opcode = OP_SEND_ONLY,
			.dest_qpn = uroce_qp_num(to),
			.pkey = 0xFFFF,
			.psn = (qp_core(to)->responder.epsn.v + 1900) & PSN_MASK,
			.payload = data,
			.payload_bytes = sizeof(data),
		};

		network_fill_frame(mbuf, &from->template, &packet);
		cr_assert_eq(rte_eth_tx_burst(target->network.loop.ports[0].port_id, 0, &mbuf, 1), 1);
		network_poll(&target->network);
	}
}

/* The requests that a flow completes in POLLS, beside JUNK_PER_POLL forged packets each. */
static uint64_t work_beside(enum flood flood)
{
	static struct target target;
	const struct flow_work work = { .opcode = UROCE_WR_RDMA_WRITE, .bytes = 65536, .depth = 16 };
	const struct flow_work nothing = { .opcode = UROCE_WR_RDMA_WRITE, .bytes = 64, .depth = 1 };
	struct uroce_event event;
	uint32_t number = 0, alarms = 0;
	uint64_t before;

	ticks_start(500); /* a poll takes some microseconds of the engine's time, however fast the machine is */
	network_open(&target.network, 1);
	flow_open(&target.network, &target.flow, &work);
	for (uint32_t i = 0; i < IDLE; i++) {
		flow_open(&target.network, &target.idle[i], &nothing);
		flow_poll(&target.network, &target.idle[i]); /* one request each, so that the path is resolved */
		flow_drain(&target.network, &target.idle[i]);
	}
	if (flood == PROBES_BEHIND_A_GAP)
		open_gaps(&target);
	flow_poll(&target.network, &target.flow);
	flow_drain(&target.network, &target.flow);
	before = target.flow.completed;
	for (uint32_t poll = 0; poll < POLLS; poll++) {
		flow_poll(&target.network, &target.flow);
		if (flood != NOTHING)
			send_junk(&target, flood, &number);
		network_poll(&target.network);
	}
	before = target.flow.completed - before;
	flow_drain(&target.network, &target.flow);
	cr_assert_eq(flow_counter(&target.flow, 0, "local_ack_timeout_err"), 0);
	while (uroce_event_poll(target.network.ends[1].device, &event))
		alarms += event.type == UROCE_EVENT_ANOMALY;
	while (uroce_event_poll(target.network.ends[0].device, &event))
		;
	if (flood == UNKNOWN_PORTS) {
		cr_expect_eq(network_counter(&target.network, 1, "drop_source_port"), number);
		cr_expect_eq(alarms, 0, "400 packets for each queue pair");
	}
	flow_close(&target.flow);
	for (uint32_t i = 0; i < IDLE; i++)
		flow_close(&target.idle[i]);
	network_close(&target.network);
	return before;
}

Test(flood_sacks, good_flow_keeps_its_share_during_forged_control_packets)
{
	uint64_t alone;

	RULE("Y-2");
	RULE("S-22");
	network_sack_window = 256;
	alone = work_beside(NOTHING);
	for (enum flood flood = PROBES; flood < FLOODS; flood++) {
		uint64_t beside = work_beside(flood);

		fprintf(stderr, "# beside %s: %lu of %lu requests\n", names[flood], beside, alone);
		cr_expect_geq(beside * 10, alone * 8, "%s: %lu of %lu", names[flood], beside, alone);
	}
	network_sack_window = 0;
}
