/* findings.c - a peer that does not answer, and what its sender finds out about that: in every place that tells it */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "network.h"
#include "rule.h"
#include "spoil.h"
#include "start.h"
#include "ticks.h"
#include "wire/neighbour.h"

#define TICK_NS 1000000u /* a poll takes a millisecond, and the ACK timer 67 */
#define ACK_TIMEOUT 14
#define POLLS 20000

TestSuite(findings, .init = test_eal_start, .timeout = 60);

static struct network network;

static void open_unused(uint8_t timeout)
{
	network_open(&network, 1);
	ticks_start(TICK_NS);
	network.timeout = timeout;
	for (int end = 0; end < 2; end++)
		network_create_qp(&network, end, 64, -1);
	network_connect(&network, false);
}

/* A connection that has worked, so that the peer has answered once. */
static void open_with(uint8_t timeout)
{
	open_unused(timeout);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 100), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	for (int i = 0; i < 1000; i++) /* a second passes: what comes now is not what was there */
		network_poll(&network);
}

static void open_connected(void)
{
	open_with(ACK_TIMEOUT);
}

static void on_frames_to(int end, rte_rx_callback_fn seen, void *argument)
{
	cr_assert(rte_eth_add_rx_callback(network.loop.ports[end].port_id, 0, seen, argument));
}

/* Posts a WRITE, which fails, and expects the finding in each place where a failure is explained. */
static void expect_found(uint32_t bytes, enum uroce_finding finding, const char *sentence)
{
	char line[UROCE_EXPLAIN_BYTES], why[UROCE_WHY_BYTES];
	uint32_t number = uroce_qp_num(network.ends[0].qp), next = 0;
	struct uroce_qp_error error;
	struct uroce_qp_view view;
	struct uroce_wc wc;
	int polls = 0;

	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, bytes), 0);
	while (uroce_cq_poll(network.ends[0].cq, 1, &wc) == 0 && ++polls < POLLS)
		network_poll(&network);
	cr_assert_lt(polls, POLLS, "no completion came");
	cr_expect_eq(wc.status, UROCE_WC_RETRY_EXC_ERR, "%s", uroce_wc_status_name(wc.status));
	cr_expect_eq(wc.finding, finding, "finding %u", wc.finding);
	uroce_wc_explain(&wc, line, sizeof(line));
	cr_expect(strstr(line, sentence), "\"%s\" is not in: %s", sentence, line);
	cr_expect_lt(strlen(line), sizeof(line) - 1, "it may have been cut: %s", line);
	/* a program that asks for the last error, a prompt, and the recorder, whose view was kept */
	cr_assert_eq(uroce_qp_last_error(network.ends[0].qp, &error), 0);
	cr_expect_eq(error.finding, finding);
	cr_assert_eq(uroce_inspect_qp(network.engine, number, &view), 0);
	cr_expect(strstr(uroce_qp_explain(&view, line, sizeof(line)), sentence), "%s", line);
	cr_assert_eq(uroce_qp_why(network.engine, number, why, sizeof(why)), 0);
	cr_expect(strstr(why, sentence), "%s", why);
	cr_assert(uroce_inspect_failed(network.engine, 0, &next, &view));
	cr_expect(strstr(uroce_qp_explain(&view, line, sizeof(line)), sentence), "%s", line);
}

Test(findings, port_has_no_link)
{
	RULE("E-4");
	open_connected();
	on_frames_to(1, spoil_drop_long, (void *)0); /* a ring passes frames even so */
	cr_assert_eq(rte_eth_dev_set_link_down(network.loop.ports[0].port_id), 0);
	expect_found(100, UROCE_FINDING_NO_LINK,
		     ". Found: this port has no link: check the cable, the switch, or the program at the other end of "
		     "the shared memory");
	network_close(&network);
}

/* It is back, and the peer has gone meanwhile, or so it seems. */
Test(findings, link_was_down)
{
	RULE("E-4");
	open_connected();
	on_frames_to(1, spoil_drop_long, (void *)0);
	cr_assert_eq(rte_eth_dev_set_link_down(network.loop.ports[0].port_id), 0);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 8), 0);
	for (int i = 0; i < 80; i++)
		network_poll(&network);
	cr_assert_eq(rte_eth_dev_set_link_up(network.loop.ports[0].port_id), 0);
	expect_found(100, UROCE_FINDING_LINK_FLAPPED,
		     ". Found: this port had no link for part of the time without a response: to survive such an "
		     "outage, use a larger timeout or retry_cnt");
	network_close(&network);
}

static uint16_t take_nothing(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t count, void *unused)
{
	(void)port, (void)queue, (void)frames, (void)count, (void)unused;
	return 0;
}

Test(findings, port_sends_no_frames)
{
	RULE("E-4");
	open_connected();
	cr_assert(rte_eth_add_tx_callback(network.loop.ports[0].port_id, 0, take_nothing, NULL));
	expect_found(100, UROCE_FINDING_PORT_STUCK,
		     ". Found: this port transmitted no frames (tx_stuck, tx_held): check the port's driver, and the "
		     "transmit queue of the kernel interface");
	network_close(&network);
}

Test(findings, another_station_has_the_address)
{
	static const uint8_t other_mac[6] = { 2, 0, 0, 0, 0, 99 };
	struct uroce_addr addr = network_address("10.0.0.1");
	uint8_t frame[WIRE_NEIGHBOUR_MAX_BYTES];
	uint32_t bytes = wire_neighbour_announce(other_mac, addr.bytes, frame);
	struct rte_mbuf *mbuf;

	RULE("E-4");
	RULE("W-8");
	open_connected();
	on_frames_to(1, spoil_drop_long, (void *)0);
	mbuf = rte_pktmbuf_alloc(network.loop.pool);
	cr_assert_not_null(mbuf);
	memcpy(rte_pktmbuf_append(mbuf, (uint16_t)bytes), frame, bytes);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 8), 0);
	network_poll(&network);
	cr_assert_eq(rte_eth_tx_burst(network.loop.ports[1].port_id, 0, &mbuf, 1), 1);
	expect_found(100, UROCE_FINDING_ADDRESS_CONFLICT,
		     ". Found: another station has the same address as this port: change one of the two addresses");
	network_close(&network);
}

Test(findings, frames_of_the_peer_arrive_damaged)
{
	RULE("E-4");
	open_connected();
	on_frames_to(0, spoil_damage, NULL);
	expect_found(100, UROCE_FINDING_CORRUPTION,
		     ". Found: frames arrive damaged (rx_icrc_encapsulated, drop_udp_checksum): check cables, optics "
		     "and switches");
	network_close(&network);
}

Test(findings, frames_of_the_peer_have_another_pkey)
{
	RULE("E-4");
	open_connected();
	on_frames_to(0, spoil_change_pkey, NULL);
	expect_found(100, UROCE_FINDING_PKEY,
		     ". Found: frames with another P_Key arrive (drop_pkey): configure the same P_Key on both ends");
	network_close(&network);
}

Test(findings, frames_of_the_peer_have_another_vlan)
{
	RULE("E-4");
	RULE("W-9");
	open_connected();
	on_frames_to(0, spoil_tag, NULL);
	expect_found(100, UROCE_FINDING_VLAN,
		     ". Found: frames of another VLAN arrive (drop_vlan): configure the same VLAN on both ends");
	network_close(&network);
}

Test(findings, frames_of_the_peer_have_another_address)
{
	RULE("E-4");
	open_connected();
	on_frames_to(0, spoil_change_source, NULL);
	expect_found(100, UROCE_FINDING_ADDRESS,
		     ". Found: frames arrive whose addresses differ from the QP's path (drop_address): compare the "
		     "paths of both ends");
	network_close(&network);
}

Test(findings, path_mtu_does_not_pass)
{
	RULE("E-4");
	open_connected();
	on_frames_to(1, spoil_drop_long, (void *)1500);
	expect_found(5000, UROCE_FINDING_SIZE,
		     ". Found: the peer's address answers short echo requests, but no echo requests with the length of "
		     "a path MTU packet: frames of the path MTU do not pass (MTUs of interfaces and switches, framesz, "
		     "bsize)");
	network_close(&network);
}

Test(findings, only_the_peers_queue_pair_is_gone)
{
	RULE("E-4");
	open_connected();
	cr_assert_eq(uroce_qp_destroy(network.ends[1].qp), 0);
	network.ends[1].qp = NULL;
	expect_found(100, UROCE_FINDING_PEER_QP,
		     ". Found: the peer's address answers echo requests, but the peer's queue pair no longer responds: "
		     "the peer's program has ended or hangs, its queue pair was destroyed (the peer's drop_unknown_qpn "
		     "grows), or its queue pair is in ERR (the peer's drop_qp_state grows)");
	network_close(&network);
}

Test(findings, peers_queue_pair_never_existed)
{
	RULE("E-4");
	open_unused(ACK_TIMEOUT);
	cr_assert_eq(uroce_qp_destroy(network.ends[1].qp), 0);
	network.ends[1].qp = NULL;
	expect_found(100, UROCE_FINDING_PEER_QP,
		     ". Found: the peer's address answers echo requests, but the peer's queue pair does not respond: "
		     "the queue pair no longer exists (peer's drop_unknown_qpn grows), is not connected to this queue "
		     "pair (drop_qp_state, "
		     "drop_address), or has another VLAN (drop_vlan) or P_Key (drop_pkey)");
	network_close(&network);
}

Test(findings, peer_reports_endless_losses)
{
	RULE("E-4");
	open_connected();
	on_frames_to(0, spoil_make_naks, NULL);
	expect_found(100, UROCE_FINDING_LOSS,
		     ". Found: the peer's address answers echo requests, short and long: look for packet drops "
		     "(rx_missed_errors of both ports, drop counters of the switches)");
	network_close(&network);
}

Test(findings, peers_address_is_silent)
{
	RULE("E-4");
	open_connected();
	on_frames_to(1, spoil_drop_long, (void *)0);
	expect_found(100, UROCE_FINDING_PEER_SILENT,
		     ". Found: the peer's address does not answer echo requests either: the peer's program or machine "
		     "is down, stopped or not scheduled, or the path is interrupted");
	network_close(&network);
}

/* With a long timeout it takes a minute until the request fails; `why` says it at once. */
Test(findings, why_reports_a_finding_before_the_request_fails)
{
	char why[UROCE_WHY_BYTES];

	RULE("E-4");
	open_with(18);
	cr_assert_eq(uroce_qp_destroy(network.ends[1].qp), 0);
	network.ends[1].qp = NULL;
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 100), 0);
	for (int i = 0; i < 1400; i++) /* one ACK timeout of 1.07 s */
		network_poll(&network);
	cr_assert_eq(uroce_qp_why(network.engine, uroce_qp_num(network.ends[0].qp), why, sizeof(why)), 0);
	cr_expect(strstr(why, "in RTS: nothing has failed"), "%s", why);
	cr_expect(strstr(why, "no response arrives: the peer's address answers echo requests, but the peer's "
			      "queue pair no longer responds"),
		  "%s", why);
	network_close(&network);
}

/* What a test over loop ports cannot make: a thread without a core, and a socket whose ring is full. */
Test(findings, lcore_was_not_polled_or_took_too_little)
{
	static const struct {
		enum uroce_finding finding;
		const char *sentence;
	} rows[] = {
		{ UROCE_FINDING_NOT_POLLED, ". Found: this lcore was not polled for most of the time without a "
					    "response: give the lcore a core of its own" },
		{ UROCE_FINDING_RING_FULL,
		  ". Found: frames arrive faster than the lcores process them (drop_ring_full, drop_handover_full): "
		  "use more descriptors, lcores or cores" },
	};

	RULE("E-4");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct uroce_wc wc = { .status = UROCE_WC_RETRY_EXC_ERR,
					     .opcode = UROCE_WC_SEND,
					     .vendor_err = UROCE_CAUSE_TIMEOUT,
					     .finding = (uint8_t)rows[i].finding };
		char line[UROCE_EXPLAIN_BYTES];

		cr_expect(strstr(uroce_wc_explain(&wc, line, sizeof(line)), rows[i].sentence), "%s", line);
	}
}
