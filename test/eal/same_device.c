/* same_device.c - queue pairs of one device reach each other by its own addresses */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "engine/device_state.h"
#include "network.h"
#include "rule.h"
#include "start.h"

TestSuite(same_device, .init = test_eal_start, .timeout = 60);

#define BYTES 100000u

static struct network network;

static struct uroce_qp *create(void)
{
	const struct uroce_qp_init_attr init = {
		.send_cq = network.ends[0].cq,
		.recv_cq = network.ends[0].cq,
		.max_send_wr = 8,
		.max_recv_wr = 8,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_dest_rd_atomic = 4,
	};
	struct uroce_qp *qp;

	cr_assert_eq(uroce_qp_create(network.ends[0].pd, &init, &qp), 0);
	return qp;
}

static void connect_to(struct uroce_qp *qp, struct uroce_qp *peer, const char *source, const char *dest)
{
	struct uroce_qp_attr told, attr = {
		.access_flags = UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ,
		.path_mtu = 1024,
		.dest_qp_num = uroce_qp_num(peer),
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.path = { .source = network_address(source), .dest = network_address(dest) },
	};

	cr_assert_eq(uroce_qp_query(peer, &told), 0);
	attr.rq_psn = told.sq_psn;
	cr_assert_eq(uroce_qp_connect(qp, &attr, NULL), 0, "%s", uroce_last_error());
}

/* Each half of the buffer belongs to one of them. */
static void moves_bytes(struct uroce_qp *qp, enum uroce_wr_opcode opcode)
{
	struct end *end = &network.ends[0];
	uint8_t *ours = end->buffer, *theirs = end->buffer + NETWORK_BUFFER_BYTES / 2;
	uint8_t *from = opcode == UROCE_WR_RDMA_READ ? theirs : ours,
		*to = opcode == UROCE_WR_RDMA_READ ? ours : theirs;
	struct uroce_sge sge = { .addr = (uintptr_t)ours, .length = BYTES, .lkey = uroce_mr_lkey(end->mr) };
	struct uroce_send_wr wr = {
		.opcode = opcode,
		.sg_list = &sge,
		.num_sge = 1,
		.send_flags = UROCE_SEND_SIGNALED,
		.remote_addr = (uintptr_t)theirs,
		.rkey = uroce_mr_rkey(end->mr),
	};

	for (uint32_t i = 0; i < BYTES; i++)
		from[i] = (uint8_t)(i * 7 + opcode);
	memset(to, 0, BYTES);
	cr_assert_eq(uroce_qp_post_send(qp, &wr, NULL), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	cr_assert_arr_eq(from, to, BYTES);
}

static void both_ways(unsigned lcores)
{
	struct uroce_qp *qps[2];

	network_open(&network, lcores);
	cr_assert_eq(uroce_cq_create(network.ends[0].device, 64, &network.ends[0].cq), 0);
	for (int i = 0; i < 2; i++)
		qps[i] = create();
	for (int i = 0; i < 2; i++)
		connect_to(qps[i], qps[1 - i], "10.0.0.1", "10.0.0.1");
	for (int i = 0; i < 2; i++) {
		moves_bytes(qps[i], UROCE_WR_RDMA_WRITE);
		moves_bytes(qps[i], UROCE_WR_RDMA_READ);
	}
	cr_assert_gt(network_counter(&network, 0, "own_frames"), 4 * BYTES / 1024);
	cr_assert_eq(network_counter(&network, 0, "drop_handover_full"), 0);
	cr_assert_eq(network_counter(&network, 1, "drop_address"), 0, "nothing has left");
	for (int i = 0; i < 2; i++)
		cr_assert_eq(uroce_qp_destroy(qps[i]), 0);
	network_close(&network);
}

Test(same_device, queue_pairs_of_one_device_reach_each_other)
{
	RULE("W-8");
	both_ways(1);
}

Test(same_device, queue_pairs_on_two_lcores_reach_each_other)
{
	RULE("W-8");
	both_ways(2);
}

/* One that is its own peer. */
Test(same_device, a_queue_pair_reaches_itself)
{
	struct uroce_qp *qp;

	network_open(&network, 1);
	cr_assert_eq(uroce_cq_create(network.ends[0].device, 64, &network.ends[0].cq), 0);
	qp = create();
	connect_to(qp, qp, "10.0.0.1", "10.0.0.1");
	moves_bytes(qp, UROCE_WR_RDMA_WRITE);
	cr_assert_eq(uroce_qp_destroy(qp), 0);
	network_close(&network);
}

/* Programs that share an interface have its MAC in common. */
static void reaches_itself_and_peer_with_same_mac(bool ipv6)
{
	struct uroce_qp *qp;
	uint64_t own_frames;

	network_open(&network, 1);
	network.ends[1].device->mac = network.ends[0].device->mac;
	cr_assert_eq(uroce_cq_create(network.ends[0].device, 64, &network.ends[0].cq), 0);
	qp = create();
	connect_to(qp, qp, ipv6 ? "fe80::1" : "10.0.0.1", ipv6 ? "fe80::1" : "10.0.0.1");
	moves_bytes(qp, UROCE_WR_RDMA_WRITE);
	own_frames = network_counter(&network, 0, "own_frames");
	for (int i = 0; i < 2; i++)
		network_create_qp(&network, i, 64, -1);
	network_connect(&network, ipv6);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, BYTES), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	cr_assert_eq(network_counter(&network, 0, "own_frames"), own_frames);
	cr_assert_eq(uroce_qp_destroy(qp), 0);
	network_close(&network);
}

Test(same_device, frames_to_a_peer_with_the_same_mac_leave)
{
	RULE("W-8");
	reaches_itself_and_peer_with_same_mac(false);
}

Test(same_device, ipv6_frames_to_a_peer_with_the_same_mac_leave)
{
	RULE("W-8");
	reaches_itself_and_peer_with_same_mac(true);
}
