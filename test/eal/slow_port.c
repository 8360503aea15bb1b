/* slow_port.c - a port that takes few frames, and many QPs that want to send */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_ring.h>

#include "engine/run_queue.h"
#include "flows.h"
#include "rule.h"
#include "start.h"

#define BYTES 64u
#define LOOKS_MOST 2u /* at a QP that there is no room for: a poll sends twice */
#define CROWD 1000u
#define STARVING 990u

TestSuite(slow_port, .init = test_eal_start, .timeout = 60);

static struct network network;

static struct uroce_lcore *the_lcore(void)
{
	return uroce_engine_lcore(network.engine, 0);
}

/* A WRITE to the end that posts the requests of the flow. */
static void post_from_far(struct flow *flow)
{
	struct uroce_sge sge = {
		.addr = (uintptr_t)network.ends[1].buffer,
		.length = BYTES,
		.lkey = uroce_mr_lkey(network.ends[1].mr),
	};
	struct uroce_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = UROCE_WR_RDMA_WRITE,
		.send_flags = UROCE_SEND_SIGNALED,
		.remote_addr = (uintptr_t)network.ends[0].buffer,
		.rkey = uroce_mr_rkey(network.ends[0].mr),
	};

	cr_assert_eq(uroce_qp_post_send(flow->qps[1], &wr, NULL), 0);
}

static void expect_far_completion(struct flow *flow)
{
	struct uroce_wc wc;

	cr_assert_eq(uroce_cq_poll(flow->cqs[1], 1, &wc), 1);
	cr_assert_eq(wc.status, UROCE_WC_SUCCESS);
}

static uint32_t places; /* frames that port 0 still takes */

static uint16_t take_some(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t count, void *nothing)
{
	uint16_t taken = count < places ? count : (uint16_t)places;

	(void)port, (void)queue, (void)frames, (void)nothing;
	places -= taken;
	return taken;
}

static void open_crowd(struct flow *flows, uint32_t count, uint32_t depth)
{
	const struct flow_work work = { .opcode = UROCE_WR_RDMA_WRITE, .bytes = 8, .depth = depth };
	uint16_t port;

	network_max_qps = 4096;
	network_open(&network, 1);
	for (uint32_t i = 0; i < count; i++)
		flow_open(&network, &flows[i], &work);
	port = network.loop.ports[0].port_id;
	places = UINT32_MAX;
	cr_assert_not_null(rte_eth_add_tx_callback(port, 0, take_some, NULL));
	for (uint32_t i = 0; i < count; i++)
		flow_poll(&network, &flows[i]);
	for (uint32_t i = 0; i < count; i++)
		flow_drain(&network, &flows[i]); /* the MAC addresses are known */
}

static void close_crowd(struct flow *flows, uint32_t count)
{
	places = UINT32_MAX;
	for (uint32_t i = 0; i < count; i++)
		flow_drain(&network, &flows[i]);
	for (uint32_t i = 0; i < count; i++)
		flow_close(&flows[i]);
	network_close(&network);
	network_max_qps = 0;
}

Test(slow_port, full_port_limits_visited_qps_and_later_serves_all)
{
	static struct flow flows[CROWD];
	struct engine_run_queue *active;
	uint32_t polls = 0;

	RULE("S-15");
	open_crowd(flows, CROWD, 1);
	active = &engine_find_port(the_lcore(), network.ends[0].device)->run_queue;
	places = 0;
	for (uint32_t i = 0; i < CROWD; i++)
		flow_poll(&network, &flows[i]);
	for (uint32_t i = 0; i < 20; i++)
		network_poll(&network); /* doorbells, and frames that wait */
	cr_assert_geq(run_queue_count(active), CROWD - TX_PENDING);
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t before = active->looks, first = active->turns.head;

		network_poll(&network);
		cr_assert_leq(active->looks - before, LOOKS_MOST, "poll %u: QPs looked at in vain", i);
		cr_assert_gt(active->looks - before, 0, "for some what is to be done needs no port");
		cr_assert_eq(active->turns.head, first, "who waits for room keeps his place");
	}
	places = UINT32_MAX;
	for (uint32_t i = 0; i < CROWD; polls++) {
		cr_assert_leq(polls, CROWD / OUTBOX_PACKETS, "QP %u waits", i);
		network_poll(&network);
		for (; i < CROWD; i++) {
			flow_reap(&flows[i]);
			if (flows[i].completed < flows[i].posted)
				break;
		}
	}
	close_crowd(flows, CROWD);
}

/*
 * All of them have more to send than the port takes, and it takes the same each poll, one QP's share: if those who find
 * no room lost their places, it could be the same ones round after round.
 */
Test(slow_port, limited_port_starves_no_qp)
{
	static struct flow flows[STARVING];

	open_crowd(flows, STARVING, FLOW_DEPTH);
	for (uint32_t poll = 0; poll < 20 * STARVING; poll++) {
		for (uint32_t i = 0; poll % 8 == 0 && i < STARVING; i++)
			flow_poll(&network, &flows[i]);
		places = OUTBOX_PACKETS;
		network_poll(&network);
	}
	for (uint32_t i = 0; i < STARVING; i++) {
		flow_reap(&flows[i]);
		cr_assert_gt(flows[i].completed, FLOW_DEPTH, "in 20 rounds QP %u has sent nothing", i);
	}
	close_crowd(flows, STARVING);
}

/*
 * The last of a hundred QPs that wait for a slow port receives a WRITE: its ACK leaves within a few polls, its own
 * requests when they have their turn. If the ACK waited for that turn, a crowd of QPs would exhaust the retries of
 * peers.
 */
Test(slow_port, ack_does_not_wait_for_the_turn_of_the_requests)
{
	static struct flow flows[CROWD];
	struct flow *last = &flows[99];
	uint64_t sent;

	RULE("S-18");
	open_crowd(flows, 100, FLOW_DEPTH);
	places = 0;
	for (uint32_t i = 0; i < 100; i++)
		flow_poll(&network, &flows[i]);
	for (uint32_t i = 0; i < 20; i++)
		network_poll(&network);
	sent = flow_counter(last, 1, "rx_write_requests");
	post_from_far(last);
	for (uint32_t poll = 0; poll < 4; poll++) {
		places = OUTBOX_PACKETS;
		network_poll(&network);
	}
	expect_far_completion(last);
	cr_assert_eq(flow_counter(last, 1, "rx_write_requests"), sent, "its requests keep their place");
	close_crowd(flows, 100);
}

static struct rte_mbuf *withheld[BURST]; /* come in at once, as soon as `withholds` is false */
static uint16_t withheld_count;
static bool withholds;

static uint16_t withhold(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t count, uint16_t most,
			 void *nothing)
{
	(void)port, (void)queue, (void)nothing;
	if (withholds) {
		cr_assert_leq(withheld_count + count, (int)BURST);
		memcpy(&withheld[withheld_count], frames, count * sizeof(frames[0]));
		withheld_count += count;
		return 0;
	}
	if (withheld_count == 0 || count + withheld_count > most)
		return count;
	memcpy(&frames[count], withheld, withheld_count * sizeof(frames[0]));
	count += withheld_count;
	withheld_count = 0;
	return count;
}

/*
 * A QP that waits for READ responses, and so is not queued, receives them in one burst with a WRITE: it may send again,
 * at the end of a long queue, and owes an ACK, which leaves within a few polls.
 */
Test(slow_port, ack_does_not_wait_for_the_turn_of_requests_that_may_go_on)
{
	static struct flow flows[CROWD];
	const struct flow_work reads = { .opcode = UROCE_WR_RDMA_READ, .bytes = 8, .depth = FLOW_DEPTH };
	const struct uroce_qp_attr no_probe = { .no_probe = true }; /* it would be queued for a probe */
	struct flow *reader = &flows[100];

	RULE("S-18");
	open_crowd(flows, 100, FLOW_DEPTH);
	flow_open(&network, reader, &reads);
	cr_assert_eq(uroce_qp_modify(reader->qps[0], &no_probe, UROCE_QP_NO_PROBE, NULL), 0);
	flow_poll(&network, reader);
	flow_drain(&network, reader);
	cr_assert_not_null(rte_eth_add_rx_callback(network.loop.ports[0].port_id, 0, withhold, NULL));
	withholds = true;
	flow_poll(&network, reader);
	post_from_far(reader);
	for (uint32_t i = 0; i < 4; i++)
		network_poll(&network);
	cr_assert_gt(withheld_count, 1);
	places = 0;
	for (uint32_t i = 0; i < 100; i++)
		flow_poll(&network, &flows[i]);
	for (uint32_t i = 0; i < 20; i++)
		network_poll(&network);
	withholds = false;
	for (uint32_t poll = 0; poll < 6; poll++) {
		places = OUTBOX_PACKETS;
		network_poll(&network);
	}
	expect_far_completion(reader);
	close_crowd(flows, 101);
}

/* In each poll the port accepts one service of one QP, and one QP leaves the ring: no QP is skipped. */
Test(slow_port, qp_without_room_keeps_its_place)
{
	static struct flow flows[CROWD];
	const struct engine_run_queue *active;

	RULE("S-15");
	open_crowd(flows, 100, FLOW_DEPTH);
	active = &engine_find_port(the_lcore(), network.ends[0].device)->run_queue;
	places = 0;
	for (uint32_t i = 0; i < 100; i++)
		flow_poll(&network, &flows[i]);
	for (uint32_t poll = 0; poll < 70; poll++) {
		uint32_t before = active->turns.head;

		places = OUTBOX_PACKETS;
		network_poll(&network);
		cr_assert(poll < 10 || active->turns.head - before == 1, "poll %u: %u QPs have left their place", poll,
			  active->turns.head - before);
	}
	close_crowd(flows, 100);
}
