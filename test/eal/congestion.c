/* congestion.c - packets that a switch has marked, and the notifications that they draw (N-1) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <rte_ethdev.h>

#include "engine/clock.h"
#include "network.h"
#include "rule.h"
#include "spoil.h"
#include "start.h"
#include "ticks.h"
#include "wire/bytes.h"
#include "wire/frame.h"
#include "wire/packet.h"

TestSuite(congestion, .init = test_eal_start, .timeout = 60);

#define MESSAGES 400u

static struct network network;
static struct wire_packet notification;
static struct wire_encap around;
static unsigned notifications;
static uint8_t seen_class; /* of the last RoCE packet that came to end 1 */

/* Keeps the last notification that comes to end 0. */
static uint16_t see(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count, uint16_t most, void *unused)
{
	(void)port;
	(void)queue;
	(void)most;
	(void)unused;
	for (uint16_t i = 0; i < count; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(mbufs[i], const uint8_t *);
		struct wire_encap encap;
		struct wire_packet packet;

		if (wire_encap_parse(frame, mbufs[i]->pkt_len, true, &encap) != WIRE_FRAME_ROCE ||
		    wire_packet_parse(frame + encap.bth_offset, encap.bth_bytes, &packet) != WIRE_PACKET_OK ||
		    packet.opcode != OP_CNP)
			continue;
		around = encap;
		notification = packet;
		notifications++;
	}
	return count;
}

static uint16_t see_class(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count, uint16_t most,
			  void *unused)
{
	(void)port;
	(void)queue;
	(void)most;
	(void)unused;
	for (uint16_t i = 0; i < count; i++) {
		struct wire_encap encap;

		if (wire_encap_parse(rte_pktmbuf_mtod(mbufs[i], const uint8_t *), mbufs[i]->pkt_len, true, &encap) ==
		    WIRE_FRAME_ROCE)
			seen_class = encap.traffic_class;
	}
	return count;
}

static const struct rte_eth_rxtx_callback *on_frames_to(int end, rte_rx_callback_fn seen)
{
	const struct rte_eth_rxtx_callback *callback =
		rte_eth_add_rx_callback(network.loop.ports[end].port_id, 0, seen, NULL);

	cr_assert(callback);
	return callback;
}

static void open_with(bool ipv6, enum uroce_cc cc, uint8_t traffic_class)
{
	notifications = 0;
	network_open(&network, 1);
	network.cc = (uint8_t)cc;
	network.traffic_class = traffic_class;
	for (int end = 0; end < 2; end++)
		network_create_qp(&network, end, 64, -1);
	network_connect(&network, ipv6);
	on_frames_to(0, see);
}

static void open_seen(bool ipv6)
{
	open_with(ipv6, UROCE_CC_DEFAULT, 0);
}

static void exchange(enum uroce_wr_opcode opcode, unsigned messages, uint32_t bytes)
{
	for (unsigned i = 0; i < messages; i++) {
		cr_assert_eq(network_post(&network, opcode, bytes), 0);
		cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	}
	for (int i = 0; i < 10; i++) /* the last notification may be under way */
		network_poll(&network);
}

static void expect_notifications(bool ipv6)
{
	uint64_t began_ns, spent_us, sent;

	ticks_start(1000);
	open_seen(ipv6);
	on_frames_to(1, spoil_mark_congestion);
	began_ns = engine_now_ns();
	exchange(UROCE_WR_RDMA_WRITE, MESSAGES, 64);
	spent_us = (engine_now_ns() - began_ns) / 1000;
	sent = network_counter(&network, 1, "np_cnp_sent");
	cr_expect_geq(network_counter(&network, 1, "np_ecn_marked_roce_packets"), MESSAGES);
	cr_expect_geq(sent, 1);
	cr_expect_leq(sent, spent_us / 50 + 1, "%lu in %lu us", sent, spent_us);
	cr_expect_eq(notifications, sent);
	cr_expect_eq(network_counter(&network, 0, "rp_cnp_ignored"), sent);
	cr_expect_eq(around.ipv6, ipv6);
	cr_expect_eq(around.traffic_class, 48 << 2);
	cr_expect_eq(notification.flags, WIRE_BECN);
	cr_expect_eq(notification.psn, 0);
	cr_expect_eq(notification.pkey, 0xFFFF);
	cr_expect_eq(notification.dest_qpn, uroce_qp_num(network.ends[0].qp));
	network_close(&network);
}

Test(congestion, marked_packets_draw_rate_limited_notifications)
{
	RULE("N-1");
	expect_notifications(false);
}

Test(congestion, marked_packets_over_ipv6_draw_notifications)
{
	RULE("N-1");
	expect_notifications(true);
}

Test(congestion, marked_read_responses_draw_notifications)
{
	RULE("N-1");
	open_seen(false);
	on_frames_to(0, spoil_mark_congestion);
	exchange(UROCE_WR_RDMA_READ, 1, 64);
	cr_expect_eq(network_counter(&network, 0, "np_cnp_sent"), 1);
	network_close(&network);
}

/* Returning packets are marked as well: ACKs, and the notifications themselves. */
Test(congestion, marked_acks_and_notifications_draw_no_notification)
{
	RULE("N-1");
	open_seen(true); /* over IPv4 an ACK goes another way, on which no mark is looked at */
	on_frames_to(0, spoil_mark_congestion);
	on_frames_to(1, spoil_mark_congestion);
	exchange(UROCE_WR_RDMA_WRITE, MESSAGES, 64);
	cr_expect_geq(notifications, 1);
	cr_expect_eq(network_counter(&network, 0, "np_ecn_marked_roce_packets"), 0);
	cr_expect_eq(network_counter(&network, 0, "np_cnp_sent"), 0);
	network_close(&network);
}

Test(congestion, unmarked_packets_draw_no_notification)
{
	RULE("N-1");
	open_seen(false);
	exchange(UROCE_WR_RDMA_WRITE, 10, 64);
	cr_expect_eq(network_counter(&network, 1, "np_ecn_marked_roce_packets"), 0);
	cr_expect_eq(notifications, 0);
	network_close(&network);
}

static uint32_t rate_mbps(int end)
{
	struct uroce_qp_attr attr;

	cr_assert_eq(uroce_qp_query(network.ends[end].qp, &attr), 0);
	return attr.rate_mbps;
}

static void expect_slows_down(int sender, int marked, enum uroce_wr_opcode opcode, uint16_t sack_window)
{
	const struct rte_eth_rxtx_callback *marker;
	const char *pattern = " Mbit/s because a switch marks packets (ECN): 0 congestion";
	char why[UROCE_WHY_BYTES];
	uint64_t began_ns;
	uint32_t rate;

	ticks_start(100);
	network_sack_window = sack_window;
	open_with(false, UROCE_CC_DCQCN, 0);
	marker = on_frames_to(marked, spoil_mark_congestion);
	for (unsigned i = 0; i < 1000 && network_counter(&network, sender, "rp_cnp_handled") < 3; i++)
		exchange(opcode, 10, 4096);
	rate = rate_mbps(sender);
	cr_expect_geq(network_counter(&network, sender, "rp_cnp_handled"), 3);
	cr_expect_eq(network_counter(&network, sender, "rp_cnp_ignored"), 0);
	cr_expect_eq(network_counter(&network, sender, "drop_source_port"), 0);
	cr_expect(rate > 0 && rate < 50000, "%u", rate);
	cr_assert_eq(uroce_qp_why(network.engine, uroce_qp_num(network.ends[sender].qp), why, sizeof(why)), 0);
	cr_expect(strstr(why, pattern), "%s", why);
	cr_expect_eq(rte_eth_remove_rx_callback(network.loop.ports[marked].port_id, 0, marker), 0);
	for (began_ns = engine_now_ns(); rate_mbps(sender) && engine_now_ns() - began_ns < 10000000000;)
		exchange(opcode, 10, 4096);
	cr_assert_eq(uroce_qp_why(network.engine, uroce_qp_num(network.ends[sender].qp), why, sizeof(why)), 0);
	cr_expect_not(strstr(why, "Mbit/s"), "%s", why);
	cr_expect_eq(rate_mbps(sender), 0, "%u after 10 s without a mark", rate_mbps(sender));
	network_close(&network);
}

Test(congestion, with_dcqcn_the_sender_slows_down_and_recovers)
{
	RULE("N-2");
	expect_slows_down(0, 1, UROCE_WR_RDMA_WRITE, 0);
}

Test(congestion, dcqcn_read_responder_slows_down)
{
	RULE("N-2");
	expect_slows_down(1, 0, UROCE_WR_RDMA_READ, 0);
}

/* Then packets from unknown ports are dropped, and a notification is no such packet. */
Test(congestion, dcqcn_sender_with_sacks_slows_down)
{
	RULE("N-1");
	RULE("W-2");
	expect_slows_down(0, 1, UROCE_WR_RDMA_WRITE, 256);
}

/* A traffic class set by the application is not changed. */
Test(congestion, dcqcn_packets_are_ecn_capable_by_default)
{
	static const struct {
		enum uroce_cc cc;
		uint8_t given, seen;
	} rows[] = { { UROCE_CC_DEFAULT, 0, 0 },
		     { UROCE_CC_FIXED, 0, 0 },
		     { UROCE_CC_DCQCN, 0, UROCE_ECN_ECT0 },
		     { UROCE_CC_DCQCN, 26 << 2, 26 << 2 | UROCE_ECN_ECT0 },
		     { UROCE_CC_DCQCN, UROCE_ECN_ECT1, UROCE_ECN_ECT1 } };

	RULE("N-2");
	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		seen_class = 0xFF;
		open_with(false, rows[i].cc, rows[i].given);
		on_frames_to(1, see_class);
		exchange(UROCE_WR_RDMA_WRITE, 1, 64);
		cr_expect_eq(seen_class, rows[i].seen, "row %zu: %#x", i, seen_class);
		network_close(&network);
	}
}
