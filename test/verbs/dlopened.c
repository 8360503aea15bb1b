/* dlopened.c - a program that finds libibverbs as NCCL does, by dlopen() and dlvsym(); or is linked to it (LINKED) */
/* SPDX-License-Identifier: BSD-3-Clause */
/* Two queue pairs of one device, each other's peers, and a WRITE whose bytes arrive. Prints what it has done. */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 100000u

static void fail(const char *what)
{
	printf("%s: %m\n", what);
	exit(1);
}

#ifdef LINKED
#define CALL(name) (name)
#else
#define CALL(name) ((__typeof__(&name))find(#name))
static void *library;

static void *find(const char *name)
{
	void *found = dlvsym(library, name, "IBVERBS_1.1");

	if (found == NULL)
		fail(name);
	return found;
}
#endif

static struct ibv_context *open_first(void)
{
	int count = 0;
	struct ibv_device **list = CALL(ibv_get_device_list)(&count);
	struct ibv_context *context = list && count ? CALL(ibv_open_device)(list[0]) : NULL;

	if (context == NULL)
		fail("no device");
	printf("%d device, %s\n", count, CALL(ibv_get_device_name)(list[0]));
	return context;
}

static struct ibv_qp *create(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	struct ibv_qp *qp = CALL(ibv_create_qp)(pd, &init);

	if (qp == NULL ||
	    CALL(ibv_modify_qp)(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		fail("a queue pair");
	return qp;
}

static void connect_to(struct ibv_qp *qp, uint32_t peer, const union ibv_gid *gid)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.rq_psn = 77,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = *gid, .hop_limit = 64 } },
	};

	if (CALL(ibv_modify_qp)(qp, &attr,
				IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		fail("RTR");
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = 77;
	attr.timeout = 14;
	attr.retry_cnt = attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	if (CALL(ibv_modify_qp)(qp, &attr,
				IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					IBV_QP_MAX_QP_RD_ATOMIC))
		fail("RTS");
}

static void move(struct ibv_qp *qp, struct ibv_cq *cq, struct ibv_pd *pd)
{
	uint8_t *memory = calloc(2, BYTES);
	/* By its symbol: the header's ibv_reg_mr() is a macro, which would link another one. */
	struct ibv_mr *(*reg_mr)(struct ibv_pd *, void *, size_t, int) = CALL(ibv_reg_mr);
	struct ibv_mr *mr = reg_mr(pd, memory, 2 * BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct ibv_sge sge = { .addr = (uintptr_t)memory, .length = BYTES, .lkey = mr ? mr->lkey : 0 };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)memory + BYTES, .rkey = mr ? mr->rkey : 0 },
	};
	struct ibv_wc wc;

	if (mr == NULL)
		fail("a region");
	for (uint32_t i = 0; i < BYTES; i++)
		memory[i] = (uint8_t)(i * 7 + i / 256);
	if (ibv_post_send(qp, &wr, &bad))
		fail("a request");
	while (ibv_poll_cq(cq, 1, &wc) == 0)
		;
	if (wc.status != IBV_WC_SUCCESS || memcmp(memory, memory + BYTES, BYTES) != 0)
		fail("the bytes");
	printf("%u bytes arrived\n", BYTES);
	free(memory);
}

int main(void)
{
	struct ibv_context *context;
	struct ibv_qp *qps[2];
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	union ibv_gid gid;

#ifndef LINKED
	library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		fail("libibverbs.so.1");
#endif
	context = open_first();
	pd = CALL(ibv_alloc_pd)(context);
	cq = CALL(ibv_create_cq)(context, 16, NULL, NULL, 0);
	if (pd == NULL || cq == NULL || CALL(ibv_query_gid)(context, 1, 0, &gid))
		fail("a domain, a completion queue, an address");
	for (int i = 0; i < 2; i++)
		qps[i] = create(pd, cq);
	for (int i = 0; i < 2; i++)
		connect_to(qps[i], qps[1 - i]->qp_num, &gid);
	move(qps[0], cq, pd);
	return 0;
}
