/* wakeup.c - who sleeps on a CQ is woken, however close the completion comes to the arming */
/* SPDX-License-Identifier: BSD-3-Clause */
/* UROCE_WAKE_UPS: how many times, 20000 by itself; the long test takes 10^7. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_pause.h>
#include <rte_ring.h>

#include "engine/cq.h"
#include "engine/device_state.h"
#include "network.h"
#include "rule.h"
#include "start.h"

#define LOST_MS 20000

TestSuite(wakeup, .init = test_eal_start, .timeout = 1800);

static struct network network;

/* As cq.h tells how to sleep. Returns whether it slept. */
static bool wait_for_one(int fd, struct uroce_wc *wc)
{
	bool slept = false;

	for (;;) {
		struct pollfd waiting = { .fd = fd, .events = POLLIN };
		uint64_t count;

		uroce_cq_arm(network.ends[0].cq, false);
		if (uroce_cq_poll(network.ends[0].cq, 1, wc) == 1)
			return slept;
		cr_assert_eq(poll(&waiting, 1, LOST_MS), 1, "a wake-up was lost");
		cr_assert_eq(read(fd, &count, sizeof(count)), (ssize_t)sizeof(count));
		slept = true;
		if (uroce_cq_poll(network.ends[0].cq, 1, wc) == 1)
			return slept;
	}
}

/* TC-L-5 */
Test(wakeup, completion_during_arming_wakes_the_reader)
{
	const char *given = getenv("UROCE_WAKE_UPS");
	uint64_t times = given ? strtoull(given, NULL, 0) : 20000, slept = 0;
	struct uroce_wc wc;
	pthread_t poller;
	int fd;

	RULE("M-5");
	network_open_connected(&network, 1, 64);
	cr_assert_eq(pthread_create(&poller, NULL, network_poll_until_stopped, &network), 0);
	fd = uroce_cq_fd(network.ends[0].cq);
	cr_assert_geq(fd, 0);
	for (uint64_t i = 0; i < times; i++) {
		cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 0), 0);
		/* From "long before" to "long after" the completion. */
		for (uint64_t pause = i * 7 % 256; pause > 0; pause--)
			rte_pause();
		slept += wait_for_one(fd, &wc);
		cr_assert_eq(wc.status, UROCE_WC_SUCCESS);
	}
	cr_expect_gt(slept, 0, "it never slept");
	cr_expect_eq(uroce_cq_poll(network.ends[0].cq, 1, &wc), 0);
	network.stop = true;
	pthread_join(poller, NULL);
	network_poll(&network); /* its lcores are ours now */
	network_close(&network);
}

static void complete_one(int end)
{
	struct uroce_wc wc;

	if (end == 0) {
		cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 0), 0);
	} else {
		struct uroce_send_wr wr = { .opcode = UROCE_WR_RDMA_WRITE, .send_flags = UROCE_SEND_SIGNALED };

		cr_assert_eq(uroce_qp_post_send(network.ends[1].qp, &wr, NULL), 0);
	}
	wc = network_wait(&network, end);
	cr_assert_eq(wc.status, UROCE_WC_SUCCESS);
}

static uint64_t take_from(int fd)
{
	uint64_t value;

	return read(fd, &value, sizeof(value)) == sizeof(value) ? value : 0;
}

/* A pipe for the CQs of both ends tells which of them it was, once for each arming. */
Test(wakeup, shared_pipe_identifies_the_cq)
{
	int pipe_fds[2], own;

	RULE("M-5");
	network_open(&network, 1);
	for (int end = 0; end < 2; end++)
		network_create_qp(&network, end, 64, -1);
	network_connect(&network, false);
	cr_assert_eq(pipe2(pipe_fds, O_NONBLOCK | O_CLOEXEC), 0);
	own = uroce_cq_fd(network.ends[0].cq);
	for (int end = 0; end < 2; end++)
		uroce_cq_set_fd(network.ends[end].cq, pipe_fds[1], 100 + (uint64_t)end);
	cr_assert_eq(fcntl(own, F_GETFD), -1, "the CQ's own descriptor is closed");
	cr_assert_eq(uroce_cq_fd(network.ends[0].cq), pipe_fds[1]);
	complete_one(0);
	cr_assert_eq(take_from(pipe_fds[0]), 0, "nobody has armed it");
	for (int end = 1; end >= 0; end--) {
		uroce_cq_arm(network.ends[end].cq, false);
		complete_one(end);
		complete_one(end);
		cr_assert_eq(take_from(pipe_fds[0]), 100 + (uint64_t)end);
		cr_assert_eq(take_from(pipe_fds[0]), 0, "once");
	}
	network_close(&network);
	cr_assert_eq(fcntl(pipe_fds[1], F_GETFD), FD_CLOEXEC, "it stays the caller's");
}

Test(wakeup, full_pipe_loses_no_wake_up)
{
	uint64_t filler[512] = { 0 };
	int pipe_fds[2];

	RULE("M-5");
	network_open(&network, 1);
	for (int end = 0; end < 2; end++)
		network_create_qp(&network, end, 64, -1);
	network_connect(&network, false);
	cr_assert_eq(pipe2(pipe_fds, O_NONBLOCK | O_CLOEXEC), 0);
	uroce_cq_set_fd(network.ends[0].cq, pipe_fds[1], 7);
	while (write(pipe_fds[1], filler, sizeof(filler)) > 0)
		;
	uroce_cq_arm(network.ends[0].cq, false);
	complete_one(0);
	while (read(pipe_fds[0], filler, sizeof(filler)) > 0)
		;
	complete_one(0);
	cr_assert_eq(take_from(pipe_fds[0]), 7);
	network_close(&network);
}

/* What a poll has sent when a completion of it can be seen. */
struct order {
	struct uroce_cq *cq;
	unsigned frames, late; /* late: sent when a completion could be seen already */
};

static uint16_t note_order(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count, void *user)
{
	struct order *order = user;

	(void)port;
	(void)queue;
	(void)mbufs;
	order->frames += count;
	order->late += rte_ring_count(order->cq->ring) > 0 ? count : 0;
	return count;
}

/* A program that ends with its last completion takes its stack along. */
Test(wakeup, ack_leaves_before_its_completion)
{
	struct uroce_recv_wr receive = { .wr_id = 1 };
	struct order order = { 0 };
	const struct rte_eth_rxtx_callback *callback;
	struct uroce_wc wc;
	uint16_t port;

	RULE("S-18");
	network_open_connected(&network, 1, 64);
	order.cq = network.ends[1].cq;
	port = network.ends[1].device->port_id;
	callback = rte_eth_add_tx_callback(port, 0, note_order, &order);
	cr_assert_not_null(callback);
	for (int i = 0; i < 10; i++) {
		cr_assert_eq(uroce_qp_post_recv(network.ends[1].qp, &receive, NULL), 0);
		cr_assert_eq(network_post(&network, UROCE_WR_SEND, 0), 0);
		network_wait(&network, 0);
		wc = network_wait(&network, 1);
		cr_assert_eq(wc.status, UROCE_WC_SUCCESS);
	}
	cr_expect_geq(order.frames, 10);
	cr_expect_eq(order.late, 0, "%u of %u frames", order.late, order.frames);
	rte_eth_remove_tx_callback(port, 0, callback);
	network_close(&network);
}
