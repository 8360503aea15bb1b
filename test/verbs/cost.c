/* cost.c - posts and polls through libibverbs and through uroce's own interface, for callgrind to count */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage: verbs-cost ROUNDS. Each round posts POSTS WRITEs of 8 bytes, waits until they are done, and takes each
 * completion by a poll of its own; then polls as often for nothing. Once through verbs, once through the same queue
 * pair's own calls. Only what the functions counted_* do is of interest (cost.py); the median of their cycles is told,
 * too, which means something on an idle machine.
 */
#include <infiniband/verbs.h>
#include <rte_cycles.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "verbs/objects.h"

#define POSTS 32
#define PATIENCE_MS 20000
#define ROUNDS_MAX 10000
/* Notes what each of the POSTS calls in `call` takes, of the time-stamp counter. */
#define CYCLES(round, kind, call)                                            \
	do {                                                                 \
		uint64_t began = rte_rdtsc();                                \
		call;                                                        \
		cycles[kind][round] = (double)(rte_rdtsc() - began) / POSTS; \
	} while (0)
#define COUNTED __attribute__((noinline, used)) /* found by its name */

static char memory[64];
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_cq *cq;
static struct ibv_qp *qp;

static void check(bool good, const char *what)
{
	if (good)
		return;
	printf("%s: %m\n", what);
	exit(1);
}

COUNTED static void counted_verbs_post(void)
{
	struct ibv_sge sge = { (uintptr_t)memory, 8, mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_RDMA_WRITE,
					.send_flags = IBV_SEND_SIGNALED,
					.wr.rdma = { (uintptr_t)memory + 8, mr->rkey } };

	for (int i = 0; i < POSTS; i++)
		check(ibv_post_send(qp, &wr, &bad) == 0, "ibv_post_send");
}

COUNTED static void counted_verbs_poll(void)
{
	struct ibv_wc wc;

	for (int i = 0; i < POSTS; i++)
		check(ibv_poll_cq(cq, 1, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "ibv_poll_cq");
}

COUNTED static void counted_verbs_empty(void)
{
	struct ibv_wc wc;

	for (int i = 0; i < POSTS; i++)
		check(ibv_poll_cq(cq, 1, &wc) == 0, "ibv_poll_cq of nothing");
}

COUNTED static void counted_own_post(struct uroce_qp *own)
{
	struct uroce_sge sge = { .addr = (uintptr_t)memory, .length = 8, .lkey = mr->lkey };
	const struct uroce_send_wr *bad;
	struct uroce_send_wr wr = { .sg_list = &sge,
				    .num_sge = 1,
				    .opcode = UROCE_WR_RDMA_WRITE,
				    .send_flags = UROCE_SEND_SIGNALED,
				    .remote_addr = (uintptr_t)memory + 8,
				    .rkey = mr->rkey };

	for (int i = 0; i < POSTS; i++)
		check(uroce_qp_post_send(own, &wr, &bad) == 0, "uroce_qp_post_send");
}

COUNTED static void counted_own_poll(struct uroce_cq *own)
{
	struct uroce_wc wc;

	for (int i = 0; i < POSTS; i++)
		check(uroce_cq_poll(own, 1, &wc) == 1 && wc.status == UROCE_WC_SUCCESS, "uroce_cq_poll");
}

COUNTED static void counted_own_empty(struct uroce_cq *own)
{
	struct uroce_wc wc;

	for (int i = 0; i < POSTS; i++)
		check(uroce_cq_poll(own, 1, &wc) == 0, "uroce_cq_poll of nothing");
}

/* Without a poll, which would take completions: the thread that has the queue pair is asked. */
static void wait_until_done(void)
{
	struct uroce_engine *engine = verb_context_of(context)->stack->engine;
	struct uroce_qp_view view;

	for (int i = 0; i < PATIENCE_MS; i++) {
		check(uroce_inspect_qp(engine, qp->qp_num, &view) == 0, "a view of the queue pair");
		if (view.sends == 0)
			return;
		usleep(1000);
	}
	check(false, "to be done");
}

/* Its own peer. */
static void connect_to_itself(void)
{
	union ibv_gid gid;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };

	check(ibv_query_gid(context, 1, 0, &gid) == 0, "a GID");
	check(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
	      "INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = gid, .hop_limit = 64 } },
	};
	check(ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
	      "RTR");
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 20;
	attr.retry_cnt = attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	check(ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				    IBV_QP_MAX_QP_RD_ATOMIC) == 0,
	      "RTS");
}

static void open_all(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = POSTS, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	pd = context ? ibv_alloc_pd(context) : NULL;
	check(pd != NULL, "a device");
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	init.send_cq = init.recv_cq = cq = ibv_create_cq(context, 2 * POSTS, NULL, NULL, 0);
	qp = mr && cq ? ibv_create_qp(pd, &init) : NULL;
	check(qp != NULL, "a queue pair");
	connect_to_itself();
}

enum kind { VERBS_POST, OWN_POST, VERBS_POLL, OWN_POLL, VERBS_EMPTY, OWN_EMPTY, KINDS };

static double cycles[KINDS][ROUNDS_MAX]; /* of each call, by round */

static int compare(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return (one > other) - (one < other);
}

static double median(double *numbers, int count)
{
	qsort(numbers, (size_t)count, sizeof(*numbers), compare);
	return numbers[count / 2];
}

static void tell_cycles(int rounds)
{
	static const char *const names[] = { "a post", "a poll that takes a completion", "a poll of nothing" };

	for (int kind = 0; kind < KINDS; kind += 2)
		printf("%s: %.0f cycles by verbs, %.0f by uroce's own interface\n", names[kind / 2],
		       median(cycles[kind], rounds), median(cycles[kind + 1], rounds));
}

int main(int argc, char **argv)
{
	int rounds = argc == 2 ? atoi(argv[1]) : 0;

	if (rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: verbs-cost ROUNDS, 1 ... %d\n", ROUNDS_MAX);
		return 2;
	}
	open_all();
	for (int i = 0; i < rounds; i++) {
		CYCLES(i, VERBS_POST, counted_verbs_post());
		wait_until_done();
		CYCLES(i, VERBS_POLL, counted_verbs_poll());
		CYCLES(i, VERBS_EMPTY, counted_verbs_empty());
		CYCLES(i, OWN_POST, counted_own_post(verb_qp_of(qp)->rc));
		wait_until_done();
		CYCLES(i, OWN_POLL, counted_own_poll(verb_cq_of(cq)->cq));
		CYCLES(i, OWN_EMPTY, counted_own_empty(verb_cq_of(cq)->cq));
	}
	printf("%d posts and polls of each kind\n", rounds * POSTS);
	tell_cycles(rounds);
	return 0;
}
