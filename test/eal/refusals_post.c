/* refusals_post.c - each refused post leaves its sentence with uroce_last_error() */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>

#include "network.h"
#include "refusals.h"
#include "start.h"

TestSuite(refusals_post, .init = test_eal_start, .timeout = 60);

static struct network network;

static int post(uint32_t opcode, uint32_t flags, uint32_t num_sge, uint32_t bytes)
{
	static struct uroce_sge list[3];
	struct uroce_send_wr wr = { .opcode = (enum uroce_wr_opcode)opcode, .send_flags = flags, .num_sge = num_sge };

	list[0] = (struct uroce_sge){ (uintptr_t)network.ends[0].buffer, bytes, uroce_mr_lkey(network.ends[0].mr) };
	wr.sg_list = bytes ? list : NULL;
	return uroce_qp_post_send(network.ends[0].qp, &wr, NULL);
}

static int post_recv(uint32_t num_sge)
{
	return uroce_qp_post_recv(network.ends[0].qp, &(struct uroce_recv_wr){ .num_sge = num_sge }, NULL);
}

Test(refusals_post, invalid_requests)
{
	struct uroce_qp_attr attr = { .max_rd_atomic = 0 };

	network_open_ends(&network);
	EXPECT(-EINVAL, "state RESET: send requests can be posted only in RTS, SQD and ERR",
	       post(UROCE_WR_SEND, 0, 1, 8));
	EXPECT(-EINVAL, "state RESET: receives can be posted in all states except RESET", post_recv(0));
	network_connect(&network, false);
	EXPECT(-EINVAL, "opcode 77: not a member of enum uroce_wr_opcode", post(77, 0, 1, 8));
	EXPECT(-EINVAL, "opcode 10: not a member of enum uroce_wr_opcode", post(10, 0, 1, 8));
	EXPECT(-EINVAL, "num_sge 3: must be 0 to 2, the limit of the queue", post(UROCE_WR_SEND, 0, 3, 8));
	EXPECT(-EINVAL, "sg_list: NULL although num_sge is 1", post(UROCE_WR_SEND, 0, 1, 0));
	EXPECT(-EINVAL, "8 bytes inline: must not exceed 0, the max_inline_data of the QP",
	       post(UROCE_WR_SEND, UROCE_SEND_INLINE, 1, 8));
	EXPECT(-EINVAL, "num_sge 1, 9 bytes: an atomic requires one SGE of 8 bytes",
	       post(UROCE_WR_ATOMIC_WRITE, 0, 1, 9));
	EXPECT(-EINVAL,
	       "flush 0x0, num_sge 0: FLUSH must have no SGEs, and requires UROCE_FLUSH_GLOBAL or "
	       "UROCE_FLUSH_PERSISTENT and a max_rd_atomic of 1 or more",
	       post(UROCE_WR_FLUSH, 0, 0, 8));
	EXPECT(-EINVAL, "send_flags 0x40, num_sge 1: opcode 2 does not allow these flags or SGEs",
	       post(UROCE_WR_SEND, 64, 1, 8));
	attr.qp_state = UROCE_QPS_SQD;
	cr_assert_eq(uroce_qp_modify(network.ends[0].qp, &attr, UROCE_QP_STATE, NULL), 0);
	cr_assert_eq(uroce_qp_modify(network.ends[0].qp, &attr, UROCE_QP_MAX_RD_ATOMIC, NULL), 0);
	EXPECT(-EINVAL, "opcode 4: the max_rd_atomic of the QP is 0; set it to 1 or more",
	       post(UROCE_WR_RDMA_READ, 0, 1, 8));
	network_close(&network);
}

Test(refusals_post, full_queues)
{
	network_open_ends(&network);
	network_connect(&network, false);
	while (post(UROCE_WR_SEND, 0, 1, 8) == 0)
		;
	EXPECT(-ENOMEM,
	       "max_send_wr 64: the send queue is full: completions free entries, so poll the CQ, and signal at least "
	       "one request per max_send_wr requests",
	       post(UROCE_WR_SEND, 0, 1, 8));
	while (post_recv(0) == 0)
		;
	EXPECT(-ENOMEM, "max_recv_wr 64: the receive queue is full; each message received frees one entry",
	       post_recv(0));
	network_close(&network);
}
