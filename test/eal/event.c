/* event.c - sleeping on events, and what a device and a QP say of their limits */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <poll.h>
#include <unistd.h>

#include "engine/clock.h"
#include "network.h"
#include "rule.h"
#include "start.h"
#include "ticks.h"

TestSuite(event, .init = test_eal_start, .timeout = 60);

static bool is_readable(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) == 1;
}

static void fail_qp(struct network *network)
{
	network_create_qp(network, 0, 16, -1);
	network_create_qp(network, 1, 16, -1);
	network_connect(network, false);
	network->ends[0].attr.qp_state = UROCE_QPS_ERR;
	cr_assert_eq(uroce_qp_modify(network->ends[1].qp, &network->ends[0].attr, UROCE_QP_STATE, NULL), 0);
	cr_assert_eq(network_post(network, UROCE_WR_RDMA_WRITE, 8), 0);
	cr_assert_neq(network_wait(network, 0).status, UROCE_WC_SUCCESS);
}

Test(event, event_descriptor_is_readable_with_new_and_earlier_events)
{
	static struct network network;
	struct uroce_event event;
	uint64_t count;
	int fd;

	for (int before = 0; before < 2; before++) {
		network_open(&network, 1);
		if (before)
			fail_qp(&network);
		fd = uroce_event_fd(network.ends[0].device);
		cr_assert_geq(fd, 0);
		cr_expect_eq(uroce_event_fd(network.ends[0].device), fd);
		cr_expect_eq(is_readable(fd), before);
		if (!before)
			fail_qp(&network);
		network_event(&network, 0, UROCE_EVENT_QP_FATAL);
		cr_expect(is_readable(fd));
		cr_expect_eq(read(fd, &count, sizeof(count)), (ssize_t)sizeof(count));
		while (uroce_event_poll(network.ends[0].device, &event))
			;
		cr_expect_not(is_readable(fd));
		network_close(&network);
	}
}

Test(event, device_query_returns_limits_and_qp_query_returns_sizes)
{
	static struct network network;
	struct uroce_device_info info;
	struct uroce_qp_init_attr init;

	network_max_qps = 100;
	network_open(&network, 2);
	network_create_qp(&network, 0, 16, 1);
	uroce_device_query(network.ends[0].device, &info);
	cr_expect_eq(info.max_qps, 100);
	cr_expect_eq(info.max_mrs, 4096);
	cr_expect_eq(info.max_cq_depth, 1u << 20);
	uroce_qp_query_init(network.ends[0].qp, &init);
	cr_expect_eq(init.send_cq, network.ends[0].cq);
	cr_expect_eq(init.lcore, uroce_engine_lcore(network.engine, 1));
	cr_expect_eq(uroce_lcore_index(init.lcore), 1);
	cr_expect_null(uroce_engine_lcore(network.engine, 2));
	cr_expect_geq(init.max_send_wr, 1);
	cr_expect_geq(init.max_send_sge, 1);
	network_close(&network);
	network_max_qps = 0;
}

/* Nothing is posted after the connection stands, on either side. */
Test(event, keepalive_reports_a_dead_peer_of_an_idle_qp)
{
	static struct network network;
	struct uroce_qp_attr attr = { .keepalive_ms = 20 };
	struct uroce_qp_error error;
	struct uroce_event event;
	uint64_t answered_ns, end_ns;

	RULE("C-33");
	network_open(&network, 1);
	for (int i = 0; i < 2; i++)
		network_create_qp(&network, i, 16, -1);
	network_connect(&network, false);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 8), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	answered_ns = engine_now_ns();
	cr_assert_eq(uroce_qp_modify(network.ends[0].qp, &attr, UROCE_QP_KEEPALIVE, NULL), 0);
	ticks_start(10000);
	for (end_ns = engine_now_ns() + 200000000; engine_now_ns() < end_ns;)
		network_poll(&network);
	cr_expect_geq(network_counter(&network, 0, "keepalives"), 3);
	cr_expect_not(uroce_event_poll(network.ends[0].device, &event));
	cr_assert_eq(uroce_qp_destroy(network.ends[1].qp), 0);
	network.ends[1].qp = NULL;
	event = network_event(&network, 0, UROCE_EVENT_QP_FATAL);
	cr_expect_eq(event.qp_num, uroce_qp_num(network.ends[0].qp));
	cr_expect_geq(event.silent_us, attr.keepalive_ms * 1000, "%lu", event.silent_us);
	cr_expect_lt(event.silent_us, (engine_now_ns() - answered_ns) / 1000, "%lu", event.silent_us);
	cr_assert_eq(uroce_qp_last_error(network.ends[0].qp, &error), 0);
	cr_expect_eq(error.cause, UROCE_CAUSE_KEEPALIVE);
	network_close(&network);
}
