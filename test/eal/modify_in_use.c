/* modify_in_use.c - changes while in use: a reregistered region keeps its keys, a resized queue its entries */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "network.h"
#include "rule.h"
#include "start.h"

TestSuite(modify_in_use, .init = test_eal_start, .timeout = 60);

#define RIGHTS (UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE)

static struct network network;

/* A WRITE of 8 bytes from the start of end 0's buffer. */
static enum uroce_wc_status write_to(uint64_t remote_addr, uint32_t rkey)
{
	struct uroce_sge sge = { .addr = (uintptr_t)network.ends[0].buffer,
				 .length = 8,
				 .lkey = uroce_mr_lkey(network.ends[0].mr) };
	struct uroce_send_wr wr = {
		.opcode = UROCE_WR_RDMA_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
		.send_flags = UROCE_SEND_SIGNALED,
		.remote_addr = remote_addr,
		.rkey = rkey,
	};

	cr_assert_eq(uroce_qp_post_send(network.ends[0].qp, &wr, NULL), 0);
	return network_wait(&network, 0).status;
}

Test(modify_in_use, reregistered_region_changes_and_keeps_its_keys)
{
	struct end *end;
	struct uroce_mr *mr;
	uint32_t key;

	RULE("M-1");
	network_open_connected(&network, 1, 64);
	end = &network.ends[1];
	cr_assert_eq(uroce_mr_reg(end->pd, end->buffer, 4096, RIGHTS, &mr), 0);
	key = uroce_mr_rkey(mr);
	memcpy(network.ends[0].buffer, "for all", 8);
	cr_assert_eq(uroce_mr_rereg(mr, end->pd, end->buffer + 8192, 4096, 1 << 20, RIGHTS), 0);
	cr_assert_eq(uroce_mr_rkey(mr), key);
	cr_assert_eq(write_to((1 << 20) + 4088, key), UROCE_WC_SUCCESS);
	cr_assert_str_eq((const char *)end->buffer + 8192 + 4088, "for all");
	cr_assert_eq(write_to((uintptr_t)end->buffer, key), UROCE_WC_REM_ACCESS_ERR, "the peer responded before");
	cr_assert_eq(uroce_mr_dereg(mr), 0);
	network_close(&network);
}

Test(modify_in_use, refused_reregistration_leaves_the_region_unchanged)
{
	struct end *end;
	struct uroce_mr *mr;

	network_open_connected(&network, 1, 64);
	end = &network.ends[1];
	cr_assert_eq(uroce_mr_reg(end->pd, end->buffer, 4096, RIGHTS, &mr), 0);
	cr_assert_eq(uroce_mr_rereg(mr, end->pd, NULL, 4096, 0, RIGHTS), -EINVAL);
	cr_assert_eq(uroce_mr_rereg(mr, end->pd, end->buffer, 4096, 0, UROCE_ACCESS_REMOTE_WRITE), -EINVAL);
	cr_assert_eq(uroce_mr_rereg(mr, network.ends[0].pd, end->buffer, 4096, 0, RIGHTS), -EINVAL,
		     "a domain of another device");
	cr_assert_eq(write_to((uintptr_t)end->buffer + 4088, uroce_mr_rkey(mr)), UROCE_WC_SUCCESS);
	cr_assert_eq(uroce_mr_dereg(mr), 0);
	network_close(&network);
}

/* Whose domain it is then: the one before may go, the new one may not, and queue pairs of the one before fail. */
Test(modify_in_use, a_region_changes_its_domain)
{
	struct end *end;
	struct uroce_pd *pd;
	struct uroce_mr *mr;

	network_open_connected(&network, 1, 64);
	end = &network.ends[1];
	cr_assert_eq(uroce_pd_alloc(end->device, &pd), 0);
	cr_assert_eq(uroce_mr_reg(end->pd, end->buffer, 4096, RIGHTS, &mr), 0);
	cr_assert_eq(uroce_mr_rereg(mr, pd, end->buffer, 4096, (uintptr_t)end->buffer, RIGHTS), 0);
	cr_assert_eq(uroce_pd_dealloc(pd), -EBUSY);
	cr_assert_eq(write_to((uintptr_t)end->buffer, uroce_mr_rkey(mr)), UROCE_WC_REM_ACCESS_ERR);
	cr_assert_eq(uroce_mr_dereg(mr), 0);
	cr_assert_eq(uroce_pd_dealloc(pd), 0);
	network_close(&network);
}

/* So many receives of end 0's QP flushed: completions with wr_ids from first on. */
static struct uroce_qp *post_receives(uint64_t first, unsigned count)
{
	const struct uroce_qp_init_attr init = {
		.send_cq = network.ends[0].cq,
		.recv_cq = network.ends[0].cq,
		.max_send_wr = 1,
		.max_recv_wr = 64,
		.max_send_sge = 1,
		.max_recv_sge = 1,
	};
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_INIT };
	struct uroce_recv_wr wr = { .wr_id = first };
	struct uroce_qp *qp;

	cr_assert_eq(uroce_qp_create(network.ends[0].pd, &init, &qp), 0);
	cr_assert_eq(uroce_qp_modify(qp, &attr, UROCE_QP_STATE | UROCE_QP_ACCESS_FLAGS, NULL), 0);
	for (unsigned i = 0; i < count; i++, wr.wr_id++)
		cr_assert_eq(uroce_qp_post_recv(qp, &wr, NULL), 0);
	attr.qp_state = UROCE_QPS_ERR;
	cr_assert_eq(uroce_qp_modify(qp, &attr, UROCE_QP_STATE, NULL), 0);
	network_poll(&network);
	return qp;
}

static void take(uint64_t first, unsigned count)
{
	struct uroce_wc wc;

	for (unsigned i = 0; i < count; i++) {
		cr_assert_eq(uroce_cq_poll(network.ends[0].cq, 1, &wc), 1, "%u of %u", i, count);
		cr_assert_eq(wc.wr_id, first + i);
	}
}

Test(modify_in_use, resized_queue_loses_no_completion)
{
	struct uroce_wc wcs[64];
	struct uroce_qp *qps[3];
	struct uroce_cq *cq;
	uint32_t marks[3];

	RULE("M-5");
	network_open_connected(&network, 1, 64);
	cq = network.ends[0].cq;
	qps[0] = post_receives(100, 60);
	marks[0] = uroce_cq_mark(cq);
	cr_assert_eq(uroce_cq_resize(cq, 0), -EINVAL);
	cr_assert_eq(uroce_cq_resize(cq, 59), -EINVAL, "60 wait");
	cr_assert_eq(uroce_cq_resize(cq, 62), 0, "those that wait need no room in it");
	qps[1] = post_receives(160, 62);
	marks[1] = uroce_cq_mark(cq);
	cr_assert_eq(uroce_cq_resize(cq, 121), -EINVAL, "122 wait");
	cr_assert_eq(uroce_cq_resize(cq, 128), 0, "again, before they are taken");
	cr_assert_eq(uroce_cq_resize(cq, 256), 0, "and again");
	qps[2] = post_receives(222, 64);
	marks[2] = uroce_cq_mark(cq);
	take(100, 59);
	cr_assert_not(uroce_cq_passed(cq, marks[0]));
	take(159, 62);
	cr_assert_not(uroce_cq_passed(cq, marks[1]));
	take(221, 1);
	cr_assert(uroce_cq_passed(cq, marks[0]));
	cr_assert(uroce_cq_passed(cq, marks[1]));
	cr_assert_not(uroce_cq_passed(cq, marks[2]));
	take(222, 64);
	cr_assert(uroce_cq_passed(cq, marks[2]));
	cr_assert_eq(uroce_cq_resize(cq, 64), 0, "nothing waits");
	cr_assert_eq(uroce_cq_poll(cq, 64, wcs), 0);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(uroce_qp_destroy(qps[i]), 0);
	network_close(&network);
}

/* One call takes those of both depths, in their order. */
Test(modify_in_use, one_poll_returns_completions_from_before_and_after_resize)
{
	struct uroce_wc wcs[64];
	struct uroce_qp *qps[2];

	network_open_connected(&network, 1, 64);
	qps[0] = post_receives(0, 20);
	cr_assert_eq(uroce_cq_resize(network.ends[0].cq, 256), 0);
	qps[1] = post_receives(20, 20);
	cr_assert_eq(uroce_cq_poll(network.ends[0].cq, 64, wcs), 40);
	for (unsigned i = 0; i < 40; i++)
		cr_assert_eq(wcs[i].wr_id, i);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(uroce_qp_destroy(qps[i]), 0);
	network_close(&network);
}
