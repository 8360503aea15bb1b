/* inside.c - calls between ibv_start_poll() and ibv_end_poll(), and between ibv_wr_start() and ibv_wr_complete() */
/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: verbs-inside. A line for each call; a call that waits for a lock of its own thread ends in SIGALRM. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "need.h"

#define BYTES 4096

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static bool failed;

static void expect(const char *what, bool good)
{
	printf("%s: %s\n", what, good ? "as it should be" : "WRONG");
	failed |= !good;
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	need("ibv_get_device_list", list && list[0]);
	context = ibv_open_device(list[0]);
	need("ibv_open_device", context != NULL);
	pd = ibv_alloc_pd(context);
	mr = ibv_reg_mr(pd, calloc(1, BYTES), BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	need("ibv_reg_mr", mr != NULL);
}

static struct ibv_cq_ex *create_queue(bool single_threaded)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = 64,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = single_threaded ? IBV_CREATE_CQ_ATTR_SINGLE_THREADED : 0,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(context, &init);

	need("ibv_create_cq_ex", cq != NULL);
	return cq;
}

static struct ibv_qp *create_qp(struct ibv_cq_ex *cq)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = ibv_cq_ex_to_cq(cq),
		.recv_cq = ibv_cq_ex_to_cq(cq),
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	const int mask = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS;
	struct ibv_qp *qp = ibv_create_qp_ex(context, &init);

	need("ibv_create_qp_ex", qp != NULL);
	need("to INIT", ibv_modify_qp(qp, &attr, mask) == 0);
	return qp;
}

static struct ibv_qp *create_pair(struct ibv_cq_ex *cq)
{
	struct ibv_qp *one = create_qp(cq), *other = create_qp(cq);

	need_connected(one, other->qp_num);
	need_connected(other, one->qp_num);
	return one;
}

static int post(struct ibv_qp *qp, uint64_t wr_id)
{
	struct ibv_sge sge = { .addr = (uintptr_t)mr->addr, .length = 8, .lkey = mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)mr->addr + 64, .rkey = mr->rkey },
	};

	return ibv_post_send(qp, &wr, &bad);
}

/* Begins a walk over at least one completion. */
static void walk(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr none = { 0 };

	while (ibv_start_poll(cq, &none) == ENOENT)
		;
}

static struct ibv_qp *gone;

static void *destroy(void *unused)
{
	(void)unused;
	return (void *)(intptr_t)ibv_destroy_qp(gone);
}

static void try_walk(bool single_threaded)
{
	struct ibv_cq_ex *ex = create_queue(single_threaded);
	struct ibv_cq *cq = ibv_cq_ex_to_cq(ex);
	struct ibv_qp *first = create_pair(ex), *second = create_pair(ex), *third = create_pair(ex);
	struct ibv_poll_cq_attr none = { 0 };
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct ibv_wc wc;
	pthread_t other;
	void *result;
	int polled;

	printf("in a walk, %s\n", single_threaded ? "single-threaded" : "with a lock");
	need("ibv_post_send", post(first, 1) == 0);
	walk(ex);
	expect("the first completion", ex->wr_id == 1 && ex->status == IBV_WC_SUCCESS);
	expect("ibv_start_poll() is refused", ibv_start_poll(ex, &none) == EBUSY);
	expect("ibv_post_send()", post(second, 2) == 0 && post(third, 3) == 0);
	while (ibv_next_poll(ex) == ENOENT)
		;
	expect("ibv_next_poll()", ex->wr_id == 2 || ex->wr_id == 3);
	expect("ibv_destroy_qp()", ibv_destroy_qp(first) == 0);
	expect("ibv_modify_qp() to RESET", ibv_modify_qp(second, &reset, IBV_QP_STATE) == 0);
	expect("ibv_resize_cq()", ibv_resize_cq(cq, 128) == 0);
	expect("ibv_resize_cq() once more", ibv_resize_cq(cq, 256) == 0);
	expect("ibv_req_notify_cq()", ibv_req_notify_cq(cq, 0) == 0);
	while ((polled = ibv_poll_cq(cq, 1, &wc)) == 0 && ex->wr_id == 2)
		;
	expect("ibv_poll_cq()", polled == 0 ? ex->wr_id == 3 : wc.wr_id == 3);
	if (!single_threaded) { /* a thread that the walk waits for */
		gone = third;
		need("pthread_create", pthread_create(&other, NULL, destroy, NULL) == 0);
		pthread_join(other, &result);
		expect("ibv_destroy_qp() by another thread", result == NULL);
	}
	ibv_end_poll(ex);
	ibv_end_poll(ex); /* without a walk it does nothing */
	expect("a walk that finds nothing", ibv_start_poll(ex, &none) == ENOENT);
}

static void add(struct ibv_qp_ex *ex, uint64_t wr_id)
{
	ex->wr_id = wr_id;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, mr->rkey, (uintptr_t)mr->addr + 64);
	ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)mr->addr, 8);
}

static uint64_t next_of(struct ibv_cq_ex *cq)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(ibv_cq_ex_to_cq(cq), 1, &wc) == 0)
		;
	return wc.status == IBV_WC_SUCCESS ? wc.wr_id : 0;
}

static void try_batch(void)
{
	struct ibv_cq_ex *cq = create_queue(false);
	struct ibv_qp *qp = create_pair(cq), *doomed = create_pair(cq);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp), *other = ibv_qp_to_qp_ex(doomed);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS }, reset = { .qp_state = IBV_QPS_RESET };
	struct ibv_qp_init_attr init;

	printf("in a batch\n");
	expect("ibv_wr_complete() without ibv_wr_start()", ibv_wr_complete(ex) == EINVAL);
	ibv_wr_start(ex);
	add(ex, 1);
	expect("ibv_post_send() of the same queue pair", post(qp, 2) == 0 && next_of(cq) == 2);
	expect("ibv_query_qp()", ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) == 0);
	expect("ibv_wr_complete()", ibv_wr_complete(ex) == 0 && next_of(cq) == 1);
	ibv_wr_start(ex);
	add(ex, 3);
	ibv_wr_start(ex);
	add(ex, 4);
	expect("ibv_wr_start() twice drops the first batch", ibv_wr_complete(ex) == 0 && next_of(cq) == 4);
	ibv_wr_start(ex);
	add(ex, 5);
	ibv_wr_abort(ex);
	expect("ibv_post_send() after ibv_wr_abort()", post(qp, 6) == 0 && next_of(cq) == 6);
	ibv_wr_start(ex);
	add(ex, 7);
	expect("ibv_modify_qp() to RESET", ibv_modify_qp(qp, &reset, IBV_QP_STATE) == 0);
	expect("ibv_wr_complete() is refused then", ibv_wr_complete(ex) == EINVAL);
	ibv_wr_start(other);
	add(other, 8);
	expect("ibv_destroy_qp()", ibv_destroy_qp(doomed) == 0);
}

static void try_limits(void)
{
	struct ibv_cq *cq = ibv_cq_ex_to_cq(create_queue(false));
	struct ibv_qp_init_attr init = { .send_cq = cq,
					 .recv_cq = cq,
					 .qp_type = IBV_QPT_UD,
					 .cap = { .max_send_wr = 1,
						  .max_recv_wr = 1,
						  .max_send_sge = 1,
						  .max_recv_sge = 1,
						  .max_inline_data = 512 } };
	struct ibv_ah_attr to = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } };
	struct ibv_pd *domain = ibv_alloc_pd(context);
	struct ibv_ah *ah;

	printf("limits and users\n");
	expect("512 bytes inline of a datagram", ibv_create_qp(pd, &init) && init.cap.max_inline_data == 512);
	init.cap.max_inline_data = 513;
	expect("513 are refused", ibv_create_qp(pd, &init) == NULL && errno == EINVAL);
	need("ibv_query_gid", ibv_query_gid(context, 1, 0, &to.grh.dgid) == 0);
	ah = ibv_create_ah(domain, &to);
	expect("a domain with an address handle stays", ah && ibv_dealloc_pd(domain) == EBUSY);
	expect("without it, it goes", ibv_destroy_ah(ah) == 0 && ibv_dealloc_pd(domain) == 0);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(60);
	open_device();
	try_walk(false);
	try_walk(true);
	try_batch();
	try_limits();
	return failed;
}
