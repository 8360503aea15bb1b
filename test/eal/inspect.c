/* inspect.c - an engine looked at from beside, while others work on it, and when nobody does */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <uroce/inspect.h>

#include "app/common/clock.h"
#include "network.h"
#include "rule.h"
#include "start.h"

TestSuite(inspect, .init = test_eal_start, .timeout = 60);

static void write_some(struct network *network, uint32_t count)
{
	struct uroce_send_wr wr = { .opcode = UROCE_WR_SEND, .send_flags = UROCE_SEND_SIGNALED };
	struct uroce_recv_wr receive = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		cr_assert_eq(uroce_qp_post_recv(network->ends[1].qp, &receive, NULL), 0);
		cr_assert_eq(uroce_qp_post_send(network->ends[0].qp, &wr, NULL), 0);
	}
	for (int i = 0; i < 2000; i++)
		network_poll(network);
}

/* By the thread that polls the lcore, to which it is at once. */
Test(inspect, view_matches_the_qp)
{
	struct network network;
	struct uroce_qp_view view;
	uint32_t place = 0, qp_nums[4];

	RULE("O-1");
	network_open_connected(&network, 1, 64);
	network_poll(&network);
	cr_assert_eq(uroce_inspect_qps(network.engine, &place, qp_nums, 1), 1);
	cr_assert_eq(uroce_inspect_qps(network.engine, &place, qp_nums + 1, 3), 1);
	for (uint32_t i = 0; i < 2; i++) {
		struct uroce_qp *qp = network.ends[i].qp;
		uint32_t number = uroce_qp_num(qp);

		cr_assert(number == qp_nums[0] || number == qp_nums[1]);
		cr_assert_eq(uroce_inspect_qp(network.engine, number, &view), 0);
		cr_assert_eq(view.qp_num, number);
		cr_assert_eq(view.attr.qp_state, UROCE_QPS_RTS);
		cr_assert_eq(view.attr.dest_qp_num, uroce_qp_num(network.ends[!i].qp));
		cr_assert_eq(view.error.status, UROCE_WC_SUCCESS);
		cr_assert_eq(view.acked_psn, view.sent_psn);
	}
	cr_assert_eq(uroce_inspect_qp(network.engine, qp_nums[0] ^ 0x800000, &view), -ENOENT);
	cr_assert_eq(uroce_inspect_qp(network.engine, UINT32_MAX, &view), -ENOENT);
	network_close(&network);
}

Test(inspect, view_shows_posted_sent_and_received_work)
{
	struct network network;
	struct uroce_qp_view before, after, peer;
	struct uroce_recv_wr receive = { 0 };
	uint32_t number, peer_number;

	RULE("O-1");
	network_open_connected(&network, 1, 64);
	number = uroce_qp_num(network.ends[0].qp);
	peer_number = uroce_qp_num(network.ends[1].qp);
	network_poll(&network);
	cr_assert_eq(uroce_inspect_qp(network.engine, number, &before), 0);
	write_some(&network, 10);
	cr_assert_eq(uroce_qp_post_recv(network.ends[1].qp, &receive, NULL), 0);
	cr_assert_eq(uroce_inspect_qp(network.engine, number, &after), 0);
	cr_assert_eq(uroce_inspect_qp(network.engine, peer_number, &peer), 0);
	cr_assert_eq((after.acked_psn - before.acked_psn) & 0xFFFFFF, 10);
	cr_assert_eq(after.sent_psn, after.acked_psn);
	cr_assert_eq(peer.expected_psn, after.sent_psn);
	cr_assert_eq(after.sends, 0);
	cr_assert_eq(peer.receives, 1);
	cr_assert_eq(peer.stats.values[uroce_counter_find("rx_send_requests")], 10);
	cr_assert_gt(after.round_trip_ns, 0);
	network_close(&network);
}

Test(inspect, port_and_lcore_views_show_their_state)
{
	struct network network;
	struct uroce_port_view port;
	struct uroce_lcore_view lcore;
	uint16_t ids[4];
	uint32_t qps = 0;

	RULE("O-1");
	network_open_connected(&network, 1, 64);
	write_some(&network, 10);
	cr_assert_eq(uroce_inspect_ports(network.engine, ids, 4), 2);
	cr_assert_neq(ids[0], ids[1]);
	for (uint32_t i = 0; i < 2; i++) {
		cr_assert_eq(uroce_inspect_port(network.engine, ids[i], &port), 0);
		cr_assert_gt(strlen(port.name), 0);
		cr_assert(port.link_up);
		cr_assert_geq(port.info.addr_count, 1);
		cr_assert_eq(port.regions, 1);
		cr_assert_gt(port.stats.rx_frames, 0);
		qps += port.qps;
	}
	cr_assert_eq(qps, 2);
	cr_assert_eq(uroce_inspect_port(network.engine, 31, &port), -ENOENT);
	cr_assert_eq(uroce_inspect_lcore(network.engine, 0, &lcore), 0);
	cr_assert_eq(lcore.qps, 2);
	cr_assert_gt(lcore.busy_ns, 0);
	cr_assert_leq(lcore.busy_ns, lcore.since_ns);
	cr_assert_eq(uroce_inspect_lcore(network.engine, 1, &lcore), -ENOENT);
	network_close(&network);
}

/* Why a QP is in ERR, of the requester and of the responder, and of one that was moved there. */
Test(inspect, why_returns_a_sentence)
{
	struct network network;
	struct uroce_send_wr wr = { .opcode = UROCE_WR_RDMA_WRITE, .rkey = 1, .remote_addr = 8 };
	struct uroce_sge sge;
	struct uroce_qp_view view;
	char text[UROCE_EXPLAIN_BYTES];

	RULE("E-4");
	network_open_connected(&network, 1, 64);
	sge = (struct uroce_sge){ .addr = (uintptr_t)network.ends[0].buffer,
				  .length = 8,
				  .lkey = uroce_mr_lkey(network.ends[0].mr) };
	wr.sg_list = &sge;
	wr.num_sge = 1;
	cr_assert_eq(uroce_qp_post_send(network.ends[0].qp, &wr, NULL), 0);
	for (int i = 0; i < 2000; i++)
		network_poll(&network);
	cr_assert_eq(uroce_inspect_qp(network.engine, uroce_qp_num(network.ends[0].qp), &view), 0);
	uroce_qp_explain(&view, text, sizeof(text));
	cr_assert(strstr(text, "in ERR") && strstr(text, "REM_ACCESS_ERR"), "%s", text);
	cr_assert_eq(uroce_inspect_qp(network.engine, uroce_qp_num(network.ends[1].qp), &view), 0);
	uroce_qp_explain(&view, text, sizeof(text));
	cr_assert(strstr(text, "a request of the peer failed"), "%s", text);
	cr_assert_eq(strlen(uroce_qp_explain(&view, text, 8)), 7);
	network_close(&network);
}

static uint32_t count_mrs(struct network *network, uint32_t *windows)
{
	struct uroce_mr_view views[3];
	uint16_t ids[4];
	uint32_t place = 0, all = 0;
	int found;

	cr_assert_eq(uroce_inspect_ports(network->engine, ids, 4), 2);
	*windows = 0;
	do {
		found = uroce_inspect_mrs(network->engine, ids[0], &place, views, 3);
		cr_assert_geq(found, 0);
		for (int i = 0; i < found; i++)
			*windows += views[i].is_window;
		all += (uint32_t)found;
	} while (found == 3);
	return all;
}

/* In pages; a region that is gone is not there, and no window that is not bound. */
Test(inspect, region_views_match_registrations)
{
	struct network network;
	struct uroce_mr_view view;
	struct uroce_mr *mrs[7];
	uint32_t windows, place = 0;
	uint16_t ids[4];
	static uint8_t memory[4096];

	RULE("O-1");
	network_open_connected(&network, 1, 64);
	network_poll(&network);
	cr_assert_eq(uroce_inspect_ports(network.engine, ids, 4), 2);
	cr_assert_eq(uroce_inspect_mrs(network.engine, ids[0], &place, &view, 1), 1);
	cr_assert_eq(view.bytes, NETWORK_BUFFER_BYTES);
	cr_assert_eq(view.addr, (uintptr_t)network.ends[ids[0] > ids[1]].buffer);
	cr_assert(view.access & UROCE_ACCESS_REMOTE_READ && view.access & UROCE_ACCESS_REMOTE_ATOMIC);
	cr_assert_eq(view.access >> 31, 0, "only what the user knows of");
	for (uint32_t i = 0; i < 7; i++)
		cr_assert_eq(uroce_mr_reg(network.ends[ids[0] > ids[1]].pd, memory, 100 + i, UROCE_ACCESS_LOCAL_WRITE,
					  &mrs[i]),
			     0);
	cr_assert_eq(count_mrs(&network, &windows), 8);
	cr_assert_eq(windows, 0);
	for (uint32_t i = 0; i < 7; i++)
		cr_assert_eq(uroce_mr_dereg(mrs[i]), 0);
	cr_assert_eq(count_mrs(&network, &windows), 1);
	place = 0;
	cr_assert_eq(uroce_inspect_mrs(network.engine, 31, &place, &view, 1), -ENOENT);
	network_close(&network);
}

/* A QP that failed is known as it was, also when it is gone; of many the last ones are. */
Test(inspect, failed_qps_are_kept_for_inspection)
{
	struct network network;
	struct uroce_send_wr wr = { .opcode = UROCE_WR_RDMA_WRITE, .rkey = 1, .remote_addr = 8 };
	struct uroce_qp_view view;
	uint32_t place = 0, number, found = 0;

	RULE("O-1");
	network_open_connected(&network, 1, 64);
	cr_assert(!uroce_inspect_failed(network.engine, 0, &place, &view));
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 64), 0);
	network_wait(&network, 0);
	cr_assert_eq(uroce_qp_post_send(network.ends[0].qp, &wr, NULL), 0); /* no data: no key is looked at */
	for (int i = 0; i < 2000; i++)
		network_poll(&network);
	cr_assert(!uroce_inspect_failed(network.engine, 0, &place, &view), "nothing has failed");
	for (uint32_t round = 0; round < UROCE_INSPECT_FAILED_MAX; round++) {
		struct uroce_sge sge = { .addr = (uintptr_t)network.ends[0].buffer,
					 .length = 8,
					 .lkey = uroce_mr_lkey(network.ends[0].mr) };

		wr.sg_list = &sge;
		wr.num_sge = 1;
		cr_assert_eq(uroce_qp_post_send(network.ends[0].qp, &wr, NULL), 0);
		cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_REM_ACCESS_ERR);
		number = uroce_qp_num(network.ends[0].qp);
		for (int i = 0; i < 2; i++) {
			cr_assert_eq(uroce_qp_destroy(network.ends[i].qp), 0);
			network_create_qp(&network, i, 64, -1);
		}
		network_connect(&network, false);
	}
	/* Each time the responder failed first, then the requester: so many are kept. */
	while (uroce_inspect_failed(network.engine, 0, &place, &view)) {
		cr_assert_eq(view.attr.qp_state, UROCE_QPS_ERR);
		cr_assert_neq(view.error.status, UROCE_WC_SUCCESS);
		found++;
	}
	cr_assert_eq(found, UROCE_INSPECT_FAILED_MAX);
	cr_assert_eq(view.qp_num, number);
	cr_assert_eq(view.error.status, UROCE_WC_REM_ACCESS_ERR);
	cr_assert_eq(place, 2 * UROCE_INSPECT_FAILED_MAX);
	cr_assert(!uroce_inspect_failed(network.engine, 1, &place, &view), "there is no such lcore");
	network_close(&network);
}

static void *look(void *argument)
{
	struct network *network = argument;
	struct uroce_lcore_view lcore;
	struct uroce_qp_view view;
	double began = app_now_seconds();
	int error = uroce_inspect_lcore(network->engine, 0, &lcore);

	cr_assert_eq(error, -ETIMEDOUT, "%d", error);
	cr_assert_eq(uroce_inspect_qp(network->engine, uroce_qp_num(network->ends[0].qp), &view), -ETIMEDOUT);
	cr_assert_lt(app_now_seconds() - began, 30);
	return NULL;
}

/* No other thread accesses an lcore's QPs even when it stalls, because its thread may be using them. */
Test(inspect, lcore_that_does_not_poll_times_out)
{
	struct network network;
	pthread_t other;

	RULE("O-1");
	network_open_connected(&network, 1, 64);
	network_poll(&network);
	cr_assert_eq(pthread_create(&other, NULL, look, &network), 0);
	pthread_join(other, NULL);
	network_close(&network);
}

static _Atomic bool done;

static void *look_again_and_again(void *argument)
{
	struct uroce_engine *engine = argument;
	uint32_t views = 0;

	while (!atomic_load(&done)) {
		uint32_t place = 0, qp_nums[64], count = uroce_inspect_qps(engine, &place, qp_nums, 64);
		struct uroce_qp_view view;

		for (uint32_t i = 0; i < count && !atomic_load(&done); i++) {
			int error = uroce_inspect_qp(engine, qp_nums[i], &view);

			cr_assert(error == 0 || error == -ENOENT || error == -ETIMEDOUT, "%d", error);
			cr_assert(error != 0 || view.qp_num == qp_nums[i]);
			views += error == 0;
		}
	}
	cr_assert_gt(views, 0);
	return NULL;
}

/* QPs come and go under its eyes. */
Test(inspect, destroyed_qps_disappear_from_inspection)
{
	struct network network;
	pthread_t other;
	double end = app_now_seconds() + 1;

	RULE("X-4");
	network_open_connected(&network, 1, 64);
	network_poll(&network);
	cr_assert_eq(pthread_create(&other, NULL, look_again_and_again, network.engine), 0);
	while (app_now_seconds() < end) {
		struct uroce_qp_init_attr init = {
			.send_cq = network.ends[0].cq,
			.recv_cq = network.ends[0].cq,
			.max_send_wr = 4,
			.max_recv_wr = 4,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		};
		struct uroce_qp *qp;

		cr_assert_eq(uroce_qp_create(network.ends[0].pd, &init, &qp), 0, "%s", uroce_last_error());
		for (int i = 0; i < 50; i++)
			network_poll(&network);
		cr_assert_eq(uroce_qp_destroy(qp), 0);
	}
	atomic_store(&done, true);
	for (int i = 0; i < 1000; i++)
		network_poll(&network);
	pthread_join(other, NULL);
	network_close(&network);
}
