/* flood.c - frames that nobody asked for: dropped, counted, never answered, and no harm to a good connection */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "engine/clock.h"
#include "engine/steer.h"
#include "flows.h"
#include "rule.h"
#include "start.h"
#include "ticks.h"
#include "wire/bytes.h"
#include "wire/icrc.h"

#define FRAMES 2000u
#define BURST_FRAMES 32u

TestSuite(flood, .init = test_eal_start, .timeout = 60);

/* What is wrong with an otherwise right WRITE of 64 bytes to QP B. Offsets count from the Ethernet header (IPv4). */
enum { IP_AT = 14, UDP_AT = 34, BTH_AT = 42 };

struct junk {
	const char *counter;
	void (*spoil)(uint8_t *frame, uint32_t bytes, uint32_t number);
	bool keeps_icrc; /* the ICRC is not made right again afterwards */
};

static void spoil_qpn(uint8_t *frame, uint32_t bytes, uint32_t number)
{
	(void)bytes;
	store_be24(frame + BTH_AT + 5, load_be24(frame + BTH_AT + 5) ^ (number % 0xFFFF + 1));
}

static void spoil_source(uint8_t *frame, uint32_t bytes, uint32_t number)
{
	(void)bytes;
	store_be32(frame + IP_AT + 12, 0x0A000100 + number);
	store_be16(frame + IP_AT + 10, 0);
	store_be16(frame + IP_AT + 10, (uint16_t)~wire_encap_sum(0, frame + IP_AT, 20));
}

static void spoil_pkey(uint8_t *frame, uint32_t bytes, uint32_t number)
{
	(void)bytes;
	store_be16(frame + BTH_AT + 2, (uint16_t)(0xFFFF ^ (number % 0x7FFE + 1)));
}

static void spoil_icrc(uint8_t *frame, uint32_t bytes, uint32_t number)
{
	frame[bytes - 4 + number % 4] ^= (uint8_t)(1 + number % 255);
}

static void spoil_version(uint8_t *frame, uint32_t bytes, uint32_t number)
{
	(void)bytes;
	frame[BTH_AT + 1] |= (uint8_t)(1 + number % 15);
}

static void spoil_class(uint8_t *frame, uint32_t bytes, uint32_t number)
{
	(void)bytes;
	frame[BTH_AT] = (uint8_t)(0x20 + number % 0x40);
}

static void spoil_ip_checksum(uint8_t *frame, uint32_t bytes, uint32_t number)
{
	(void)bytes;
	frame[IP_AT + 10] ^= (uint8_t)(1 + number % 255);
}

static void spoil_udp_checksum(uint8_t *frame, uint32_t bytes, uint32_t number)
{
	(void)bytes;
	store_be16(frame + UDP_AT + 6, (uint16_t)(number % 7 + 1));
}

static void spoil_length(uint8_t *frame, uint32_t bytes, uint32_t number)
{
	(void)bytes;
	(void)number;
	store_be16(frame + IP_AT + 2, (uint16_t)(load_be16(frame + IP_AT + 2) + 100));
	store_be16(frame + IP_AT + 10, 0);
	store_be16(frame + IP_AT + 10, (uint16_t)~wire_encap_sum(0, frame + IP_AT, 20));
}

static void spoil_fragment(uint8_t *frame, uint32_t bytes, uint32_t number)
{
	(void)bytes;
	store_be16(frame + IP_AT + 6, (uint16_t)(1 + number % 0x1FFF));
	store_be16(frame + IP_AT + 10, 0);
	store_be16(frame + IP_AT + 10, (uint16_t)~wire_encap_sum(0, frame + IP_AT, 20));
}

static void spoil_notification(uint8_t *frame, uint32_t bytes, uint32_t number)
{
	(void)bytes;
	(void)number;
	frame[BTH_AT] = 0x81;
}

static void spoil_port(uint8_t *frame, uint32_t bytes, uint32_t number)
{
	(void)bytes;
	store_be16(frame + UDP_AT + 2, (uint16_t)(4792 + number % 1000));
}

static void spoil_type(uint8_t *frame, uint32_t bytes, uint32_t number)
{
	(void)bytes;
	(void)number;
	store_be16(frame + 12, 0x0806);
}

/* ARP of another network: nothing is wrong with it. */
static void spoil_arp(uint8_t *frame, uint32_t bytes, uint32_t number)
{
	static const uint8_t arp[] = { 0, 6, 8, 0, 6, 4, 0, 1 };

	(void)bytes;
	(void)number;
	store_be16(frame + 12, 0x0806);
	memcpy(frame + IP_AT, arp, sizeof(arp));
}

/* An ACK, from nobody: of what was never sent. */
static void spoil_response(uint8_t *frame, uint32_t bytes, uint32_t number)
{
	(void)bytes;
	frame[BTH_AT] = OP_ACKNOWLEDGE;
	store_be24(frame + BTH_AT + 9, load_be24(frame + BTH_AT + 9) + 100000 + number);
}

/* A request that a switch has marked, with a PSN far from the expected one. */
static void spoil_mark(uint8_t *frame, uint32_t bytes, uint32_t number)
{
	(void)bytes;
	frame[IP_AT + 1] |= UROCE_ECN_CE;
	store_be16(frame + IP_AT + 10, 0);
	store_be16(frame + IP_AT + 10, (uint16_t)~wire_encap_sum(0, frame + IP_AT, 20));
	store_be24(frame + BTH_AT + 9, (load_be24(frame + BTH_AT + 9) + 300 + number * 8000) & 0xFFFFFF);
}

static const struct junk junk[] = {
	{ "drop_unknown_qpn", spoil_qpn, false },
	{ "drop_address", spoil_source, false },
	{ "drop_pkey", spoil_pkey, false },
	{ "rx_icrc_encapsulated", spoil_icrc, true },
	{ "drop_transport_version", spoil_version, false },
	{ "drop_other_class", spoil_class, false },
	{ "drop_ip_header", spoil_ip_checksum, true },
	{ "drop_udp_checksum", spoil_udp_checksum, true },
	{ "drop_truncated", spoil_length, true },
	{ "drop_ip_fragment", spoil_fragment, true },
	{ "rp_cnp_ignored", spoil_notification, false },
	{ "drop_not_roce", spoil_port, true },
	{ "drop_neighbour", spoil_type, true },
	{ "drop_not_roce", spoil_arp, true },
	{ "drop_ghost_response", spoil_response, false },
};

static void make_right(uint8_t *frame, uint32_t bytes)
{
	store_le32(frame + bytes - 4, wire_icrc_frame(frame + IP_AT, bytes - IP_AT - 4));
}

/* The frame that end 0 would send next, but for a key that would end the connection: none of it may be executed. */
static struct rte_mbuf *create_frame(struct network *network, const struct junk *kind, uint32_t number)
{
	static const uint8_t data[64];
	const struct uroce_qp *qp = network->ends[0].qp;
	struct wire_packet packet = {
		.opcode = OP_WRITE_ONLY,
		.flags = WIRE_ACKREQ,
		.psn = qp_core(qp)->win.snd_max.v,
		.dest_qpn = uroce_qp_num(network->ends[1].qp),
		.pkey = 0xFFFF,
		.va = (uintptr_t)network->ends[1].buffer,
		.rkey = 0xBAD,
		.dma_length = sizeof(data),
		.payload = data,
		.payload_bytes = sizeof(data),
	};
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(network->loop.pool);
	uint8_t *frame;

	cr_assert_not_null(mbuf);
	network_fill_frame(mbuf, &qp->template, &packet);
	frame = rte_pktmbuf_mtod(mbuf, uint8_t *);
	kind->spoil(frame, mbuf->data_len, number);
	if (!kind->keeps_icrc)
		make_right(frame, mbuf->data_len);
	return mbuf;
}

/* Sends so many frames of junk, and polls the first `lcores` lcores after each burst. */
static void flood_lcores(struct network *network, const struct junk *kind, uint32_t count, unsigned lcores)
{
	for (uint32_t number = 0; number < count;) {
		struct rte_mbuf *burst[BURST_FRAMES];
		uint16_t in_burst = 0;

		for (; in_burst < BURST_FRAMES && number < count; number++)
			burst[in_burst++] = create_frame(network, kind, number);
		cr_assert_eq(rte_eth_tx_burst(network->loop.ports[0].port_id, 0, burst, in_burst), in_burst);
		for (unsigned i = 0; i < lcores; i++)
			uroce_lcore_poll(uroce_engine_lcore(network->engine, i));
	}
}

static void flood(struct network *network, const struct junk *kind)
{
	flood_lcores(network, kind, FRAMES, uroce_engine_lcore_count(network->engine));
}

Test(flood, junk_is_counted_and_never_answered)
{
	static struct network network;

	RULE("Y-2");
	RULE("Y-3");
	RULE("W-5");
	network_open_connected(&network, 1, 64);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 100), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	for (size_t i = 0; i < sizeof(junk) / sizeof(junk[0]); i++) {
		uint64_t before = network_counter(&network, 1, junk[i].counter);
		uint64_t sent = network_frames_sent(&network, 1);

		flood(&network, &junk[i]);
		cr_assert_eq(network_counter(&network, 1, junk[i].counter) - before, FRAMES, "%s", junk[i].counter);
		cr_assert_eq(network_frames_sent(&network, 1), sent, "%s was answered", junk[i].counter);
	}
	memset(network.ends[1].buffer, 0, 100001);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 100001), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	cr_assert_arr_eq(network.ends[1].buffer, network.ends[0].buffer, 100001);
	network_close(&network);
}

static void spoil_nothing(uint8_t *frame, uint32_t bytes, uint32_t number)
{
	(void)frame;
	(void)bytes;
	(void)number;
}

/* The same frame with nothing spoiled does its harm: the flood above was not harmless by mistake. */
Test(flood, fully_matching_forged_frame_is_accepted)
{
	static struct network network;
	static const struct junk right = { "resp_remote_access_errors", spoil_nothing, false };
	struct rte_mbuf *frame;

	RULE("Y-3");
	network_open_connected(&network, 1, 64);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 100), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	frame = create_frame(&network, &right, 0);
	cr_assert_eq(rte_eth_tx_burst(network.loop.ports[0].port_id, 0, &frame, 1), 1);
	network_poll(&network);
	cr_assert_eq(network_counter(&network, 1, right.counter), 1);
	network_event(&network, 1, UROCE_EVENT_QP_ACCESS_ERR);
	network_close(&network);
}

/* Such frames would slow down an honest peer: only who knows the PSN may do that. */
Test(flood, marked_packets_with_any_psn_draw_no_notification)
{
	static struct network network;
	static const struct junk marked = { "np_ecn_marked_roce_packets", spoil_mark, false };

	RULE("N-1");
	network_open_connected(&network, 1, 64);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 100), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	flood(&network, &marked);
	cr_assert_eq(network_counter(&network, 1, marked.counter), 0);
	cr_assert_eq(network_counter(&network, 1, "np_cnp_sent"), 0);
	cr_assert_geq(network_counter(&network, 1, "out_of_sequence"), 1);
	network_close(&network);
}

#define POLLS 300u
#define JUNK_A_POLL 64u

/* What a flow gets done in POLLS while so many frames of junk come each poll, aimed at the QPs of the network. */
static uint64_t work_beside(struct network *network, const struct junk *kind, uint32_t junk_a_poll)
{
	const struct flow_work work = { .opcode = UROCE_WR_RDMA_WRITE, .bytes = 65536, .depth = 16 };
	uint32_t number = 0;
	struct flow flow;
	uint64_t before;

	flow_open(network, &flow, &work);
	flow_poll(network, &flow);
	flow_drain(network, &flow);
	before = flow.completed;
	for (uint32_t poll = 0; poll < POLLS; poll++) {
		struct rte_mbuf *burst[JUNK_A_POLL];

		flow_poll(network, &flow);
		for (uint32_t i = 0; i < junk_a_poll; i++)
			burst[i] = create_frame(network, kind, number++);
		cr_assert_eq(rte_eth_tx_burst(network->loop.ports[0].port_id, 0, burst, (uint16_t)junk_a_poll),
			     junk_a_poll);
		network_poll(network);
	}
	before = flow.completed - before;
	flow_drain(network, &flow);
	cr_assert_eq(flow_counter(&flow, 0, "local_ack_timeout_err"), 0);
	flow_close(&flow);
	return before;
}

/* TC-G-11: junk costs its share of the frames that an lcore takes a poll, and no more. */
Test(flood, good_connection_keeps_its_share_during_junk)
{
	static struct network network;
	uint64_t alone;

	RULE("Y-2");
	ticks_start(1000);
	network_open_connected(&network, 1, 64);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 100), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	alone = work_beside(&network, NULL, 0);
	for (size_t i = 0; i < sizeof(junk) / sizeof(junk[0]); i++) {
		uint64_t before = network_counter(&network, 1, junk[i].counter);
		uint64_t beside = work_beside(&network, &junk[i], JUNK_A_POLL);

		cr_assert_eq(network_counter(&network, 1, junk[i].counter) - before, POLLS * JUNK_A_POLL, "%s",
			     junk[i].counter);
		cr_expect_geq(beside * 10, alone * 8, "%s: %lu of %lu", junk[i].counter, beside, alone);
	}
	network_close(&network);
}

/* Until the end has something to tell, or so many frames of a kind have gone. How many went. */
static uint32_t flood_until_event(struct network *network, const struct junk *kind, uint32_t limit,
				  struct uroce_event *event)
{
	uint32_t sent = 0;

	event->type = UROCE_EVENT_TYPES;
	while (sent < limit && !uroce_event_poll(network->ends[1].device, event)) {
		flood(network, kind);
		sent += FRAMES;
	}
	/* Counters are looked at a thousand times a second. */
	for (uint64_t began = engine_now_ns(); engine_now_ns() - began < 5000000;)
		network_poll(network);
	if (event->type == UROCE_EVENT_TYPES)
		uroce_event_poll(network->ends[1].device, event);
	return sent;
}

/* As spoil_qpn(), but the frame is for another station. */
static void spoil_receiver(uint8_t *frame, uint32_t bytes, uint32_t number)
{
	spoil_qpn(frame, bytes, number);
	store_be32(frame + IP_AT + 16, 0x0A000100 + number);
	store_be16(frame + IP_AT + 10, 0);
	store_be16(frame + IP_AT + 10, (uint16_t)~wire_encap_sum(0, frame + IP_AT, 20));
}

/* Programs that share an interface see each other's frames: those are no guesses. */
Test(flood, frames_to_other_addresses_raise_no_alarm)
{
	static const struct junk others = { "rx_other_address", spoil_receiver, false };
	static struct network network;
	struct uroce_event event;
	uint32_t sent;

	RULE("Y-3");
	RULE("W-5");
	network_open_connected(&network, 1, 64);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 100), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	ticks_start(1000);
	sent = flood_until_event(&network, &others, 4 * ANOMALY_UNKNOWN_SENDERS, &event);
	cr_expect_eq(event.type, UROCE_EVENT_TYPES, "%s after %u", uroce_event_name(event.type), sent);
	cr_expect_eq(network_counter(&network, 1, "rx_other_address"), sent);
	cr_expect_eq(network_counter(&network, 1, "drop_unknown_qpn"), 0);
	network_close(&network);
}

/*
 * TC-G-3: he knows addresses and P_Key, and guesses QPN and PSN. Each QPN that is not ours is refused; that there are
 * many of them is told before a second is over. Exactly two of 2^24 QPNs are ours, and of each exactly one of 2^24 PSNs
 * is executed (adversary.c).
 */
Test(flood, blind_qpn_guesses_raise_an_alarm)
{
	static struct network network;
	const uint32_t rate = 1600000;
	struct uroce_event event;
	uint32_t hits = 0, sent;
	double years;

	RULE("Y-3");
	RULE("V-1");
	network_open_connected(&network, 1, 64);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 100), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	for (uint32_t qpn = 0; qpn < 1u << 24; qpn++)
		hits += steer_lookup(network.engine, qpn) != NULL;
	cr_assert_eq(hits, 2);
	years = (double)(1ull << 48) / rate / (365.25 * 86400);
	cr_assert_gt(years, 5, "a sweep of QPNs and PSNs takes %.1f years", years);
	ticks_start(1000);
	sent = flood_until_event(&network, &junk[0], ANOMALY_UNKNOWN_SENDERS - FRAMES, &event);
	cr_assert_eq(event.type, UROCE_EVENT_TYPES, "%s after %u", uroce_event_name(event.type), sent);
	sent += flood_until_event(&network, &junk[0], 4 * ANOMALY_UNKNOWN_SENDERS, &event);
	cr_assert_eq(event.type, UROCE_EVENT_ANOMALY);
	cr_assert_eq(event.qp_num, 0);
	cr_assert_lt(sent, rate, "a second at that rate");
	cr_assert_eq(network_counter(&network, 1, "drop_unknown_qpn"), sent);
	/* Once a second, however many come: the next ones have to wait for it. */
	flood_until_event(&network, &junk[0], FRAMES, &event);
	cr_assert_eq(event.type, UROCE_EVENT_TYPES);
	network_close(&network);
}

static uint32_t sweep_from, sweep_step;

static void spoil_psn(uint8_t *frame, uint32_t bytes, uint32_t number)
{
	(void)bytes;
	store_be24(frame + BTH_AT + 9, load_be24(frame + BTH_AT + 9) + sweep_from + number * sweep_step);
}

/* TC-G-4: all but the PSN is known. Ahead of what is expected there is one NAK, behind it at most an ACK a frame. */
Test(flood, psn_sweep_draws_one_nak_and_executes_nothing)
{
	static struct network network;
	static const struct junk psns = { "a PSN", spoil_psn, false };
	uint64_t sent;

	RULE("Y-2");
	RULE("K-SEQ");
	RULE("P-6");
	ticks_start(1000);
	network_open_connected(&network, 1, 64);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 100), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	sweep_step = (1u << 23) / FRAMES;
	sweep_from = 1;
	sent = network_frames_sent(&network, 1);
	flood(&network, &psns);
	cr_assert_eq(network_frames_sent(&network, 1), sent + 1, "one NAK");
	cr_assert_eq(network_event(&network, 1, UROCE_EVENT_ANOMALY).qp_num, uroce_qp_num(network.ends[1].qp));
	sweep_from = 1u << 23;
	flood(&network, &psns);
	cr_assert_leq(network_frames_sent(&network, 1), sent + 1 + FRAMES);
	cr_assert_eq(network_counter(&network, 1, "duplicate_request"), FRAMES);
	cr_assert_eq(network_counter(&network, 1, "resp_remote_access_errors"), 0);
	memset(network.ends[1].buffer, 0, 100001);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 100001), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	cr_assert_arr_eq(network.ends[1].buffer, network.ends[0].buffer, 100001);
	network_close(&network);
}

static void spoil_source_asking(uint8_t *frame, uint32_t bytes, uint32_t number)
{
	spoil_source(frame, bytes, number);
	frame[BTH_AT + 1] |= 0x40; /* MigReq */
}

/* The queue pair of each end belongs to an lcore of its own; one WRITE has gone from end 0 to end 1. */
static void open_across_lcores(struct network *network)
{
	network_open(network, 2);
	network_create_qp(network, 0, 16, 0);
	network_create_qp(network, 1, 16, 1);
	network_connect(network, false);
	cr_assert_eq(network_post(network, UROCE_WR_RDMA_WRITE, 64), 0);
	cr_assert_eq(network_wait(network, 0).status, UROCE_WC_SUCCESS);
}

/*
 * The queue pair of end 1 belongs to lcore 1, and frames come to lcore 0: those of another address take no place in the
 * ring between the lcores, so honest ones find it empty.
 */
Test(flood, frames_from_another_address_stay_on_their_lcore)
{
	static struct network network;
	uint64_t before;

	RULE("Y-2");
	RULE("W-5");
	open_across_lcores(&network);
	before = network_counter(&network, 1, "rx_handed_over");
	cr_expect_eq(before, 1);
	flood_lcores(&network, &junk[1], FRAMES, 1);
	cr_expect_eq(network_counter(&network, 1, "rx_handed_over"), before);
	cr_expect_eq(network_counter(&network, 1, "drop_handover_full"), 0);
	cr_expect_eq(network_counter(&network, 1, "drop_address"), FRAMES);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 64), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	cr_expect_eq(network_counter(&network, 1, "rx_handed_over"), before + 1);
	network_close(&network);
}

/* With an alternate path a request to migrate from anywhere is judged by the owner. Half of the ring is kept. */
Test(flood, migration_requests_from_another_address_fill_half_the_ring)
{
	static struct network network;
	static const struct junk asking = { "drop_address", spoil_source_asking, false };
	struct uroce_qp_attr attr = {
		.alt_path = { .source = network_address("10.0.0.2"), .dest = network_address("10.0.0.3") },
		.alt_pkey = 0xFFFF,
		.alt_timeout = 14,
	};
	uint64_t before;

	RULE("A-6");
	RULE("Y-2");
	open_across_lcores(&network);
	flood_lcores(&network, &asking, 1, 1);
	cr_expect_eq(network_counter(&network, 1, "rx_handed_over"), 1, "there is no alternate path yet");
	cr_assert_eq(uroce_qp_modify(network.ends[1].qp, &attr, UROCE_QP_ALT_PATH, NULL), 0);
	before = network_counter(&network, 1, "rx_handed_over");
	flood_lcores(&network, &asking, 2 * HANDOVER_FRAMES, 1);
	cr_expect_gt(network_counter(&network, 1, "rx_handed_over"), before);
	cr_expect_leq(network_counter(&network, 1, "rx_handed_over"), before + HANDOVER_FRAMES / 2);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 64), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	cr_expect_eq(network_counter(&network, 1, "drop_handover_full"), 0);
	network_close(&network);
}
