/* lifetime.c - what is in use stays, and what goes away goes whole: other threads and other processes meanwhile */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "network.h"
#include "rule.h"
#include "start.h"

TestSuite(lifetime, .init = test_eal_start, .timeout = 60);

/* Takes one completion, which is one of the QP with this context. */
static void take_of(struct uroce_cq *cq, uint64_t context)
{
	struct uroce_wc wc;

	cr_assert_eq(uroce_cq_poll(cq, 1, &wc), 1);
	cr_assert_eq(wc.qp_context, context);
}

/* Two share a CQ: what belongs to the first may be freed when its last completion has been taken, and no later. */
Test(lifetime, last_completion_of_a_queue_pair_can_be_awaited)
{
	static struct network network;
	struct uroce_qp_init_attr init = { .qp_context = 5, .max_recv_wr = 8, .max_send_wr = 1, .max_send_sge = 1 };
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_INIT };
	const uint32_t to_init = UROCE_QP_STATE | UROCE_QP_ACCESS_FLAGS;
	struct uroce_recv_wr receive = { .wr_id = 1 };
	struct end *end = &network.ends[0];
	struct uroce_qp *qps[2];
	uint32_t empty, mark;

	RULE("X-4");
	network_open_connected(&network, 1, 64);
	init.send_cq = init.recv_cq = end->cq;
	init.max_recv_sge = 1;
	empty = uroce_cq_mark(end->cq);
	cr_expect(uroce_cq_passed(end->cq, empty), "there is nothing to wait for");
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(uroce_qp_create(end->pd, &init, &qps[i]), 0);
		init.qp_context++;
		attr.qp_state = UROCE_QPS_INIT;
		cr_assert_eq(uroce_qp_modify(qps[i], &attr, to_init, NULL), 0);
		for (int k = 0; k < 2; k++)
			cr_assert_eq(uroce_qp_post_recv(qps[i], &receive, NULL), 0);
	}
	attr.qp_state = UROCE_QPS_ERR;
	cr_assert_eq(uroce_qp_modify(qps[0], &attr, UROCE_QP_STATE, NULL), 0);
	network_poll(&network);
	cr_assert_eq(uroce_qp_destroy(qps[0]), 0);
	mark = uroce_cq_mark(end->cq);
	cr_assert_eq(uroce_qp_modify(qps[1], &attr, UROCE_QP_STATE, NULL), 0);
	network_poll(&network);
	cr_expect_not(uroce_cq_passed(end->cq, mark));
	take_of(end->cq, 5);
	cr_expect_not(uroce_cq_passed(end->cq, mark));
	take_of(end->cq, 5);
	cr_expect(uroce_cq_passed(end->cq, mark), "it does not wait for those of the other one");
	cr_expect_not(uroce_cq_passed(end->cq, uroce_cq_mark(end->cq)));
	take_of(end->cq, 6);
	take_of(end->cq, 6);
	cr_expect(uroce_cq_passed(end->cq, mark));
	cr_expect(uroce_cq_passed(end->cq, empty));
	cr_assert_eq(uroce_qp_destroy(qps[1]), 0);
	network_close(&network);
}

/* TC-F-8: each of them, while something needs it; and once nothing does. */
Test(lifetime, objects_in_use_cannot_be_destroyed)
{
	static struct network network;
	struct uroce_qp_init_attr init = { .max_send_wr = 1, .max_send_sge = 1 };
	struct uroce_srq_attr attr = { .max_wr = 4, .max_sge = 1 };
	struct end *end = &network.ends[0];
	struct uroce_srq *srq;
	struct uroce_qp *qp;
	struct uroce_mr *mr;

	RULE("X-4");
	RULE("M-2");
	network_open_connected(&network, 1, 64);
	cr_assert_eq(uroce_srq_create(end->pd, &attr, &srq), 0);
	init.send_cq = init.recv_cq = end->cq;
	init.srq = srq;
	cr_assert_eq(uroce_qp_create(end->pd, &init, &qp), 0);
	cr_assert_eq(uroce_engine_destroy(network.engine), -EBUSY);
	cr_assert_eq(uroce_device_destroy(end->device), -EBUSY);
	cr_assert_eq(uroce_pd_dealloc(end->pd), -EBUSY);
	cr_assert_eq(uroce_cq_destroy(end->cq), -EBUSY);
	cr_assert_eq(uroce_srq_destroy(srq), -EBUSY);
	cr_assert_eq(uroce_qp_destroy(qp), 0);
	cr_assert_eq(uroce_srq_destroy(srq), 0);
	/* A region may go under a request: the request fails, and the region is not looked at any more. */
	cr_assert_eq(uroce_mr_reg(end->pd, end->buffer, 4096, 0, &mr), 0);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 8), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	cr_assert_eq(uroce_qp_post_send(
			     end->qp,
			     &(struct uroce_send_wr){ .opcode = UROCE_WR_RDMA_WRITE,
						      .sg_list = &(struct uroce_sge){ .addr = (uintptr_t)end->buffer,
										      .length = 8,
										      .lkey = uroce_mr_lkey(mr) },
						      .num_sge = 1,
						      .remote_addr = (uintptr_t)network.ends[1].buffer,
						      .rkey = uroce_mr_rkey(network.ends[1].mr) },
			     NULL),
		     0);
	cr_assert_eq(uroce_mr_dereg(mr), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_LOC_PROT_ERR);
	network_close(&network);
}

/* TC-F-12: a child has a copy of everything and does nothing with it; with and without another program. */
Test(lifetime, fork_in_mid_transfer_does_not_disturb_the_parent)
{
	static struct network network;

	RULE("Y-1");
	network_open_connected(&network, 1, 64);
	for (int execs = 0; execs < 2; execs++) {
		int status;
		pid_t child;

		memset(network.ends[1].buffer, 0, 300000);
		for (int i = 0; i < 4; i++)
			cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 300000), 0);
		for (int i = 0; i < 5; i++)
			network_poll(&network);
		child = fork();
		if (child == 0) {
			if (execs)
				execl("/bin/true", "true", (char *)NULL);
			_exit(0);
		}
		cr_assert_eq(waitpid(child, &status, 0), child);
		cr_assert_eq(status, 0);
		for (int i = 0; i < 4; i++)
			cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
		cr_assert_arr_eq(network.ends[1].buffer, network.ends[0].buffer, 300000);
	}
	network_close(&network);
}

/* ---- with another thread that polls the lcore ---- */

static struct network shared;
static _Atomic bool stop;
static _Atomic uint32_t wrong;

static void *poll_until_stopped(void *nothing)
{
	while (!stop)
		network_poll(&shared);
	return nothing;
}

static void expect_zero(int result)
{
	wrong += result != 0;
}

/* Connects two new QPs, end 0's completions to one CQ of the thread. */
static void connect_two(struct uroce_qp *qps[2], struct uroce_cq *cqs[2])
{
	struct uroce_qp_attr told[2];

	for (int i = 0; i < 2; i++) {
		struct uroce_qp_init_attr init = {
			.max_send_wr = 16, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1
		};

		init.send_cq = init.recv_cq = cqs[i];
		expect_zero(uroce_qp_create(shared.ends[i].pd, &init, &qps[i]));
		expect_zero(uroce_qp_query(qps[i], &told[i]));
	}
	for (int i = 0; i < 2; i++) {
		struct uroce_qp_attr attr = {
			.access_flags = UROCE_ACCESS_REMOTE_WRITE,
			.dest_qp_num = uroce_qp_num(qps[!i]),
			.rq_psn = told[!i].sq_psn,
			.timeout = 10,
			.retry_cnt = 7,
			.path = { .source = network_address(i ? "10.0.0.2" : "10.0.0.1"),
				  .dest = network_address(i ? "10.0.0.1" : "10.0.0.2") },
		};

		expect_zero(uroce_qp_connect(qps[i], &attr, NULL));
	}
}

static struct uroce_send_wr write_of(struct uroce_sge *sge, uint32_t bytes, uint8_t *to, const struct uroce_mr *mr)
{
	*sge = (struct uroce_sge){ .addr = (uintptr_t)shared.ends[0].buffer,
				   .length = bytes,
				   .lkey = uroce_mr_lkey(shared.ends[0].mr) };
	return (struct uroce_send_wr){ .opcode = UROCE_WR_RDMA_WRITE,
				       .send_flags = UROCE_SEND_SIGNALED,
				       .sg_list = sge,
				       .num_sge = 1,
				       .remote_addr = (uintptr_t)to,
				       .rkey = uroce_mr_rkey(mr) };
}

#define ROUNDS 30u
#define REQUESTS 8u

/* Connects, posts, polls, moves to ERR or not, and destroys: each request completes once, in order. */
static void *work(void *argument)
{
	uint64_t thread = (uintptr_t)argument;
	struct uroce_cq *cqs[2];
	struct uroce_qp *qps[2];

	for (int i = 0; i < 2; i++)
		expect_zero(uroce_cq_create(shared.ends[i].device, 64, &cqs[i]));
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct uroce_qp_attr err = { .qp_state = UROCE_QPS_ERR };
		struct uroce_sge sge;
		struct uroce_send_wr wr =
			write_of(&sge, 5000, shared.ends[1].buffer + 100000 * thread, shared.ends[1].mr);
		struct uroce_wc wc;

		connect_two(qps, cqs);
		for (wr.wr_id = 0; wr.wr_id < REQUESTS; wr.wr_id++)
			expect_zero(uroce_qp_post_send(qps[0], &wr, NULL));
		if (round % 3 == 0)
			expect_zero(uroce_qp_modify(qps[0], &err, UROCE_QP_STATE, NULL));
		for (uint64_t i = 0; i < REQUESTS; i++) {
			while (uroce_cq_poll(cqs[0], 1, &wc) == 0)
				;
			wrong += wc.wr_id != i || (round % 3 && wc.status != UROCE_WC_SUCCESS);
		}
		for (int i = 0; i < 2; i++)
			expect_zero(uroce_qp_destroy(qps[i]));
	}
	for (int i = 0; i < 2; i++)
		expect_zero(uroce_cq_destroy(cqs[i]));
	return NULL;
}

/* TC-F-11 */
Test(lifetime, threads_connect_post_poll_modify_and_destroy_at_once)
{
	pthread_t poller, workers[3];

	RULE("X-4");
	RULE("M-5");
	network_open(&shared, 1);
	cr_assert_eq(pthread_create(&poller, NULL, poll_until_stopped, NULL), 0);
	for (uintptr_t i = 0; i < 3; i++)
		cr_assert_eq(pthread_create(&workers[i], NULL, work, (void *)(i + 1)), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(workers[i], NULL);
	stop = true;
	pthread_join(poller, NULL);
	cr_assert_eq(wrong, 0, "%u wrong", wrong);
	network_close(&shared);
}

/* TC-D-7, TC-L-4: when the call returns, the memory may go at once, whatever was being written to it. */
Test(lifetime, deregistered_region_is_not_accessed)
{
	struct uroce_cq *cqs[2];
	pthread_t poller;
	uint32_t refused = 0;

	RULE("M-2");
	network_open(&shared, 1);
	cr_assert_eq(pthread_create(&poller, NULL, poll_until_stopped, NULL), 0);
	for (int i = 0; i < 2; i++)
		expect_zero(uroce_cq_create(shared.ends[i].device, 64, &cqs[i]));
	for (uint32_t round = 0; round < 50; round++) {
		uint8_t *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		struct uroce_qp *qps[2];
		struct uroce_send_wr wr;
		struct uroce_sge sge;
		struct uroce_mr *mr;
		struct uroce_wc wc;

		expect_zero(uroce_mr_reg(shared.ends[1].pd, memory, 1 << 20,
					 UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE, &mr));
		connect_two(qps, cqs);
		wr = write_of(&sge, 1 << 20, memory, mr);
		for (int i = 0; i < 4; i++)
			expect_zero(uroce_qp_post_send(qps[0], &wr, NULL));
		usleep(round * 20);
		expect_zero(uroce_mr_dereg(mr));
		expect_zero(munmap(memory, 1 << 20));
		for (int i = 0; i < 4; i++) {
			while (uroce_cq_poll(cqs[0], 1, &wc) == 0)
				;
			refused += wc.status == UROCE_WC_REM_ACCESS_ERR;
		}
		for (int i = 0; i < 2; i++)
			expect_zero(uroce_qp_destroy(qps[i]));
	}
	for (int i = 0; i < 2; i++)
		expect_zero(uroce_cq_destroy(cqs[i]));
	stop = true;
	pthread_join(poller, NULL);
	cr_assert_eq(wrong, 0, "%u wrong", wrong);
	cr_assert_gt(refused, 0, "none was under way");
	network_close(&shared);
}
