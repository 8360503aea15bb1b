/* congestion.c - packets that a switch has marked, and the notifications that they draw (N-1) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <rte_ethdev.h>

#include "engine/clock.h"
#include "network.h"
#include "rule.h"
#include "spoil.h"
#include "start.h"
#include "wire/bytes.h"
#include "wire/frame.h"
#include "wire/packet.h"

TestSuite(congestion, .init = test_eal_start, .timeout = 60);

#define MESSAGES 400u

static struct network network;
static struct wire_packet notification;
static struct wire_encap around;
static unsigned notifications;

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

static void on_frames_to(int end, rte_rx_callback_fn seen)
{
	cr_assert(rte_eth_add_rx_callback(network.loop.ports[end].port_id, 0, seen, NULL));
}

static void open_seen(bool ipv6)
{
	notifications = 0;
	network_open(&network, 1);
	for (int end = 0; end < 2; end++)
		network_create_qp(&network, end, 64, -1);
	network_connect(&network, ipv6);
	on_frames_to(0, see);
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
	cr_expect_eq(network_counter(&network, 0, "drop_cnp"), sent);
	cr_expect_eq(around.ipv6, ipv6);
	cr_expect_eq(around.traffic_class, 48 << 2);
	cr_expect_eq(notification.flags, WIRE_BECN);
	cr_expect_eq(notification.psn, 0);
	cr_expect_eq(notification.pkey, 0xFFFF);
	cr_expect_eq(notification.dest_qpn, uroce_qp_num(network.ends[0].qp));
	network_close(&network);
}

Test(congestion, marked_packets_draw_notifications_but_not_each)
{
	RULE("N-1");
	expect_notifications(false);
}

Test(congestion, so_they_do_over_ipv6)
{
	RULE("N-1");
	expect_notifications(true);
}

Test(congestion, responses_of_reads_draw_them_too)
{
	RULE("N-1");
	open_seen(false);
	on_frames_to(0, spoil_mark_congestion);
	exchange(UROCE_WR_RDMA_READ, 1, 64);
	cr_expect_eq(network_counter(&network, 0, "np_cnp_sent"), 1);
	network_close(&network);
}

/* What comes back is marked as well: ACKs, and the notifications themselves. */
Test(congestion, acks_and_notifications_draw_none)
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

Test(congestion, unmarked_packets_draw_none)
{
	RULE("N-1");
	open_seen(false);
	exchange(UROCE_WR_RDMA_WRITE, 10, 64);
	cr_expect_eq(network_counter(&network, 1, "np_ecn_marked_roce_packets"), 0);
	cr_expect_eq(notifications, 0);
	network_close(&network);
}
