/* clock.c - a TSC that jumps, a virtual machine that was paused: time goes on, and so does the work */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <rte_ethdev.h>

#include "network.h"
#include "rule.h"
#include "start.h"

#define SECOND_NS 1000000000ull
#define HOUR_NS (3600 * SECOND_NS)
#define ACK_TIMEOUT 16 /* it expires by jumps alone */
#define TIMEOUT_NS 268435456

TestSuite(clock, .init = test_eal_start, .timeout = 60);

static uint64_t offset_ns;

uint64_t __real_engine_now_ns(void);
uint64_t __wrap_engine_now_ns(void);

/* Linked in the place of engine_now_ns(): the clock as the engine sees it. */
uint64_t __wrap_engine_now_ns(void)
{
	return __real_engine_now_ns() + offset_ns;
}

/* Long ago is what the clock of a fresh machine says: it can jump back. */
static void open_network(struct network *network, unsigned lcores)
{
	offset_ns = 10 * HOUR_NS;
	network_open(network, lcores);
	network->timeout = ACK_TIMEOUT;
	for (int end = 0; end < 2; end++)
		network_create_qp(network, end, 64, end % (int)lcores);
	network_connect(network, false);
	cr_assert_eq(network_post(network, UROCE_WR_RDMA_WRITE, 100), 0);
	cr_assert_eq(network_wait(network, 0).status, UROCE_WC_SUCCESS);
}

/* The other lcore has no core meanwhile. */
static void poll_alone(struct network *network, unsigned lcore, uint32_t polls)
{
	for (uint32_t i = 0; i < polls; i++)
		uroce_lcore_poll(uroce_engine_lcore(network->engine, lcore));
}

static const int64_t jumps[] = { 1000000000, (int64_t)HOUR_NS, -1000000000, -(int64_t)HOUR_NS, -1000, 300000000 };

/*
 * TC-H-10: in the middle of a message, while the peer, on another lcore, is silent. All is done and no byte is wrong; a
 * jump beyond the ACK timeout costs one retry, however far it goes, and any other none.
 */
Test(clock, work_in_flight_completes_when_time_jumps)
{
	static struct network network;

	RULE("T-1");
	RULE("T-3");
	open_network(&network, 2);
	for (uint32_t i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
		uint64_t expired = network_counter(&network, 0, "local_ack_timeout_err");
		struct uroce_wc wc;
		uint32_t polls = 0;

		cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 500000 + i), 0);
		while (uroce_cq_poll(network.ends[0].cq, 1, &wc) == 0) {
			network_poll(&network);
			if (++polls != 2)
				continue;
			poll_alone(&network, 0,
				   20); /* what the peer has answered is taken: an answer would be progress */
			offset_ns += (uint64_t)jumps[i];
			poll_alone(&network, 0, 20);
		}
		cr_expect_eq(wc.status, UROCE_WC_SUCCESS, "jump %u: %s", i, uroce_wc_status_name(wc.status));
		cr_expect_eq(network_counter(&network, 0, "local_ack_timeout_err") - expired, jumps[i] > TIMEOUT_NS,
			     "jump %u", i);
		cr_assert_gt(polls, 2);
		cr_assert_arr_eq(network.ends[1].buffer, network.ends[0].buffer, 500000 + i);
	}
	network_close(&network);
}

/*
 * TC-H-10: a clock that goes back an hour. A timer that is running fires in its time, not an hour later. The peer is
 * gone, so that only timers can end the request; and the clock runs fast, so that they soon do.
 */
Test(clock, timers_fire_when_the_clock_goes_back)
{
	static struct network network;
	struct uroce_wc wc = { .status = UROCE_WC_SUCCESS };
	uint32_t polls = 0;

	RULE("T-1");
	RULE("T-4");
	open_network(&network, 1);
	cr_assert_eq(uroce_qp_destroy(network.ends[1].qp), 0);
	network.ends[1].qp = NULL;
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 100), 0);
	for (uint32_t i = 0; i < 10; i++)
		network_poll(&network);
	offset_ns -= HOUR_NS;
	while (uroce_cq_poll(network.ends[0].cq, 1, &wc) == 0 && polls++ < 60000) {
		network_poll(&network);
		offset_ns += SECOND_NS / 1000;
	}
	cr_expect_eq(wc.status, UROCE_WC_RETRY_EXC_ERR, "%s", uroce_wc_status_name(wc.status));
	cr_expect_leq(polls, 3000, "four times 268 ms, a ms a poll, and some lateness");
	network_event(&network, 0, UROCE_EVENT_QP_FATAL);
	network_close(&network);
}

/*
 * All threads lose their cores for a second, as those of a virtual machine do: what the peer answers as soon as it goes
 * on counts before the deadline that has passed.
 */
Test(clock, restarted_host_does_not_starve_other_hosts)
{
	static struct network network;
	struct uroce_wc wc;

	RULE("T-1");
	open_network(&network, 2);
	for (uint32_t i = 0; i < 10; i++) {
		cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 100 + i), 0);
		poll_alone(&network, 0, 1);
		offset_ns += SECOND_NS;
		poll_alone(&network, 0, 1); /* the thread finds a deadline long over */
		poll_alone(&network, 1, 2); /* the others go on as well */
		for (uint32_t polls = 0; uroce_cq_poll(network.ends[0].cq, 1, &wc) == 0; polls++) {
			cr_assert_lt(polls, 10);
			network_poll(&network);
		}
		cr_assert_eq(wc.status, UROCE_WC_SUCCESS);
	}
	cr_expect_eq(network_counter(&network, 0, "local_ack_timeout_err"), 0);
	cr_expect_eq(network_counter(&network, 0, "retransmitted_packets"), 0);
	network_close(&network);
}

/* TC-H-10: the lcores agree about the time afterwards, so that what one of them stamps another can judge. */
Test(clock, backward_jump_is_compensated_once)
{
	static struct network network;
	uint64_t before, after;

	RULE("T-1");
	offset_ns = 10 * HOUR_NS;
	network_open(&network, 2);
	network_poll(&network);
	before = __wrap_engine_now_ns();
	offset_ns -= HOUR_NS;
	for (uint32_t i = 0; i < 3; i++)
		network_poll(&network);
	after = __wrap_engine_now_ns();
	cr_expect_lt(after - before + SECOND_NS, 10 * SECOND_NS, "%ld ns on", (int64_t)(after - before));
	network_close(&network);
}

/* ---- a port that takes nothing although it says that its link is up ---- */

#define BUDGET_MS (4 * TIMEOUT_NS / 1000000 + 1) /* of network_connect(): 3 retries */
#define BUFFER_MESSAGES 4

static bool port_is_stuck;

static uint16_t tx_callback(uint16_t port_id, uint16_t queue, struct rte_mbuf **frames, uint16_t count, void *argument)
{
	(void)port_id;
	(void)queue;
	(void)frames;
	(void)argument;
	return port_is_stuck ? 0 : count;
}

static void open_with_port(struct network *network)
{
	port_is_stuck = false;
	open_network(network, 1);
	cr_assert_not_null(rte_eth_add_tx_callback(network->loop.ports[0].port_id, 0, tx_callback, NULL));
}

/* Polls, a millisecond each at least, until end 0 has a completion. */
static uint32_t polls_until(struct network *network, struct uroce_wc *wc)
{
	uint32_t polls = 0;

	while (uroce_cq_poll(network->ends[0].cq, 1, wc) == 0) {
		cr_assert_lt(++polls, 100000u, "no completion came");
		offset_ns += SECOND_NS / 1000;
		network_poll(network);
	}
	return polls;
}

/*
 * Whatever a port does, a request fails within its retry budget and a second. More is posted than the port's own queue
 * takes, and either all of it while the port takes nothing, or the port stops in the middle.
 */
Test(clock, stuck_port_costs_at_most_the_retry_budget_and_a_second)
{
	static struct network network;

	RULE("T-4");
	for (int in_the_middle = 0; in_the_middle < 2; in_the_middle++) {
		struct uroce_wc wc;

		open_with_port(&network);
		port_is_stuck = !in_the_middle;
		for (int i = 0; i < BUFFER_MESSAGES; i++)
			cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, NETWORK_BUFFER_BYTES), 0);
		network_poll(&network);
		port_is_stuck = true;
		cr_expect_leq(polls_until(&network, &wc), BUDGET_MS + 1000);
		cr_expect_eq(wc.status, UROCE_WC_RETRY_EXC_ERR, "%s", uroce_wc_status_name(wc.status));
		cr_expect_gt(network_counter(&network, 0, "tx_stuck"), 0);
		port_is_stuck = false;
		network_event(&network, 0, UROCE_EVENT_QP_FATAL);
		network_close(&network);
	}
}

static void poll_for_ms(struct network *network, uint32_t ms)
{
	for (uint32_t i = 0; i < ms; i++) {
		offset_ns += SECOND_NS / 1000;
		network_poll(network);
	}
}

/* A link that has just come up is not held to what was waited for before. */
Test(clock, port_has_its_full_time_once_its_link_is_up)
{
	static struct network network;
	struct uroce_wc wc;

	RULE("T-4");
	open_with_port(&network);
	port_is_stuck = true;
	cr_assert_eq(rte_eth_dev_set_link_down(network.loop.ports[0].port_id), 0);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, NETWORK_BUFFER_BYTES), 0);
	poll_for_ms(&network, 600);
	cr_expect_gt(network_counter(&network, 0, "tx_link_down"), 0);
	cr_assert_eq(rte_eth_dev_set_link_up(network.loop.ports[0].port_id), 0);
	poll_for_ms(&network, 300);
	port_is_stuck = false;
	polls_until(&network, &wc);
	cr_expect_eq(wc.status, UROCE_WC_SUCCESS, "%s", uroce_wc_status_name(wc.status));
	cr_expect_eq(network_counter(&network, 0, "tx_stuck"), 0);
	network_close(&network);
}

/* What it did not take is sent again as if the wire had lost it; and the next time is not held against the port. */
Test(clock, recovered_port_resumes)
{
	static struct network network;

	RULE("T-3");
	open_with_port(&network);
	for (int i = 0; i < 3; i++) {
		struct uroce_wc wc;
		uint64_t lost = network_counter(&network, 0, "tx_stuck");

		port_is_stuck = true;
		cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, NETWORK_BUFFER_BYTES), 0);
		poll_for_ms(&network, i == 1 ? 400 : 600);
		port_is_stuck = false;
		polls_until(&network, &wc);
		cr_expect_eq(wc.status, UROCE_WC_SUCCESS, "%s", uroce_wc_status_name(wc.status));
		cr_expect_eq(network_counter(&network, 0, "tx_stuck") > lost, i != 1, "time %d", i);
		cr_assert_arr_eq(network.ends[1].buffer, network.ends[0].buffer, NETWORK_BUFFER_BYTES);
	}
	network_close(&network);
}
