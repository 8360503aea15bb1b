/* figures.c - regions made and unmade without growth; one channel for many completion queues, no wake-up lost */
/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: verbs-figures CYCLES ARMS. Exit 1: memory grew, or a wake-up did not come within 5 s. */
#include <infiniband/verbs.h>
#include <malloc.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define GIB (1ull << 30)
#define CQS 16
#define PATIENCE_MS 5000
#define GROWTH_KIB 256 /* of the heap, whatever the cycles */

static struct {
	struct ibv_context *context;
	struct ibv_pd *pd;
	union ibv_gid gid;
} verbs;

static void fail(const char *what)
{
	printf("%s: %m\n", what);
	exit(1);
}

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void open_first(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	verbs.context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	verbs.pd = verbs.context ? ibv_alloc_pd(verbs.context) : NULL;
	if (verbs.pd == NULL || ibv_query_gid(verbs.context, 1, 0, &verbs.gid) != 0)
		fail("no device");
}

static size_t heap_kib(void)
{
	struct mallinfo2 heap = mallinfo2();

	return (heap.uordblks + heap.hblkhd) / 1024;
}

static void register_often(unsigned cycles)
{
	void *memory = mmap(NULL, GIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before = heap_kib(), after;
	double began = now_us();

	if (memory == MAP_FAILED)
		fail("1 GiB");
	for (unsigned i = 0; i < cycles; i++) {
		struct ibv_mr *mr = ibv_reg_mr(verbs.pd, memory, GIB, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

		if (mr == NULL || ibv_dereg_mr(mr) != 0)
			fail("a region");
	}
	after = heap_kib();
	printf("1 GiB registered and deregistered: %.2f us, %u times, heap %zu KiB before, %zu KiB after\n",
	       (now_us() - began) / cycles, cycles, before, after);
	if (after > before + GROWTH_KIB)
		fail("memory grew");
}

/* ---- wake-ups ---- */

static struct ibv_qp *create(struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
	struct ibv_qp *qp = ibv_create_qp(verbs.pd, &init);

	if (qp == NULL ||
	    ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0)
		fail("a queue pair");
	/* Its own peer. */
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = verbs.gid, .hop_limit = 64 } },
	};
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
		fail("RTR");
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 16;
	attr.retry_cnt = attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				  IBV_QP_MAX_QP_RD_ATOMIC) != 0)
		fail("RTS");
	return qp;
}

static void take_event(struct ibv_comp_channel *channel, unsigned done)
{
	struct pollfd waiting = { .fd = channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	if (poll(&waiting, 1, PATIENCE_MS) != 1) {
		printf("the wake-up behind %u others did not come within %u ms\n", done, PATIENCE_MS);
		exit(1);
	}
	if (ibv_get_cq_event(channel, &cq, &context) != 0)
		fail("an event");
	ibv_ack_cq_events(cq, 1);
	while (ibv_poll_cq(cq, 1, &wc) == 1) {
		if (wc.status != IBV_WC_SUCCESS)
			fail(ibv_wc_status_str(wc.status));
	}
	if (ibv_req_notify_cq(cq, 0) != 0)
		fail("to arm");
}

/* Each round wakes the reader once for each queue: a WRITE of nothing completes on it. */
static void arm_often(unsigned arms)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(verbs.context);
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_cq *cqs[CQS];
	struct ibv_qp *qps[CQS];
	double began;
	unsigned done = 0;

	if (channel == NULL)
		fail("a channel");
	for (int i = 0; i < CQS; i++) {
		cqs[i] = ibv_create_cq(verbs.context, 16, NULL, channel, 0);
		if (cqs[i] == NULL || ibv_req_notify_cq(cqs[i], 0) != 0)
			fail("a completion queue");
		qps[i] = create(cqs[i]);
	}
	began = now_us();
	while (done < arms) {
		for (int i = 0; i < CQS; i++) {
			if (ibv_post_send(qps[i], &wr, &bad) != 0)
				fail("a request");
		}
		for (int i = 0; i < CQS; i++)
			take_event(channel, done++);
	}
	printf("%u queues on one channel: %u arms, as many wake-ups, %.1f us each\n", CQS, done,
	       (now_us() - began) / done);
	for (int i = 0; i < CQS; i++) {
		if (ibv_destroy_qp(qps[i]) != 0 || ibv_destroy_cq(cqs[i]) != 0)
			fail("to destroy");
	}
	if (ibv_destroy_comp_channel(channel) != 0)
		fail("to destroy the channel");
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: verbs-figures CYCLES ARMS\n");
		return 2;
	}
	open_first();
	register_often((unsigned)atoi(argv[1]));
	arm_often((unsigned)atoi(argv[2]));
	return 0;
}
