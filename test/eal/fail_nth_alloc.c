/* fail_nth_alloc.c - the n-th allocation fails, the n-th mbuf, the n-th frame: nothing is lost or left behind */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "network.h"
#include "rule.h"
#include "start.h"

TestSuite(fail_nth_alloc, .init = test_eal_start, .timeout = 60);

/* 17 s: a machine that stops this thread for a while is not taken for a lost frame. */
#define NO_TIMEOUT 22

/* ---- what fails ---- */

static uint64_t calls, failing; /* counted from 1; 0: none fails */
static bool all_fail;

static bool fails_now(void)
{
	return ++calls == failing || all_fail;
}

/* The port takes nothing. It frees nothing either, so the caller keeps what it has. */
static uint16_t tx_callback(uint16_t port_id, uint16_t queue, struct rte_mbuf **frames, uint16_t count, void *argument)
{
	(void)port_id;
	(void)queue;
	(void)frames;
	(void)argument;
	return fails_now() ? 0 : count;
}

/* A pool of mbufs on a stack, for one thread. */
struct stack {
	uint32_t count;
	void *objects[];
};

static int stack_alloc(struct rte_mempool *pool)
{
	pool->pool_data = calloc(1, sizeof(struct stack) + pool->size * sizeof(void *));
	return pool->pool_data ? 0 : -ENOMEM;
}

static void stack_free(struct rte_mempool *pool)
{
	free(pool->pool_data);
}

static int stack_enqueue(struct rte_mempool *pool, void *const *objects, unsigned count)
{
	struct stack *stack = pool->pool_data;

	memcpy(&stack->objects[stack->count], objects, count * sizeof(void *));
	stack->count += count;
	return 0;
}

static int stack_dequeue(struct rte_mempool *pool, void **objects, unsigned count)
{
	struct stack *stack = pool->pool_data;

	if (fails_now() || stack->count < count)
		return -ENOBUFS;
	stack->count -= count;
	memcpy(objects, &stack->objects[stack->count], count * sizeof(void *));
	return 0;
}

static unsigned stack_count(const struct rte_mempool *pool)
{
	return ((const struct stack *)pool->pool_data)->count;
}

static const struct rte_mempool_ops stack_ops = {
	.name = "nth",
	.alloc = stack_alloc,
	.free = stack_free,
	.enqueue = stack_enqueue,
	.dequeue = stack_dequeue,
	.get_count = stack_count,
};

RTE_MEMPOOL_REGISTER_OPS(stack_ops)

/* Our own objects are linked so that their allocations come here (see meson.build). */
static int64_t balance; /* allocations that are not freed */
static bool counting;

void *__real_calloc(size_t count, size_t bytes);
void *__real_malloc(size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__real_mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void __real_free(void *memory);
int __real_munmap(void *memory, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void __wrap_free(void *memory);
int __wrap_munmap(void *memory, size_t bytes);

static void *count_one(void *memory)
{
	balance += counting && memory;
	return memory;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return counting && fails_now() ? NULL : count_one(__real_calloc(count, bytes));
}

void *__wrap_malloc(size_t bytes)
{
	return counting && fails_now() ? NULL : count_one(__real_malloc(bytes));
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
	return counting && fails_now() ? NULL : count_one(__real_aligned_alloc(alignment, bytes));
}

void *__wrap_mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	return counting && fails_now() ? MAP_FAILED :
					 count_one(__real_mmap64(at, bytes, protection, flags, fd, offset));
}

void __wrap_free(void *memory)
{
	balance -= counting && memory;
	__real_free(memory);
}

int __wrap_munmap(void *memory, size_t bytes)
{
	balance -= counting && memory;
	return __real_munmap(memory, bytes);
}

/* ---- the exchange ---- */

static void exchange(struct network *network)
{
	struct uroce_recv_wr receive = { .wr_id = 1 };
	struct uroce_sge sge = {
		.addr = (uintptr_t)network->ends[1].buffer + 65536,
		.length = 65536,
		.lkey = uroce_mr_lkey(network->ends[1].mr),
	};
	uint64_t counter, original;

	receive.sg_list = &sge;
	receive.num_sge = 1;
	memset(network->ends[1].buffer, 0, 65536);
	memcpy(&counter, network->ends[1].buffer + 8192, 8);
	cr_assert_eq(uroce_qp_post_recv(network->ends[1].qp, &receive, NULL), 0);
	cr_assert_eq(network_post(network, UROCE_WR_RDMA_WRITE, 10000), 0);
	cr_assert_eq(network_post(network, UROCE_WR_SEND, 9000), 0);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(network_wait(network, 0).status, UROCE_WC_SUCCESS, "N = %lu", failing);
	cr_assert_eq(network_wait(network, 1).byte_len, 9000);
	cr_assert_arr_eq(network->ends[1].buffer, network->ends[0].buffer, 10000);
	cr_assert_arr_eq(network->ends[1].buffer + 65536, network->ends[0].buffer, 9000);
	memcpy(&original, network->ends[1].buffer, 8);
	cr_assert_eq(network_post(network, UROCE_WR_ATOMIC_FETCH_AND_ADD, 8), 0);
	cr_assert_eq(network_wait(network, 0).status, UROCE_WC_SUCCESS);
	memcpy(&counter, network->ends[1].buffer, 8);
	cr_assert_eq(counter, original + 3, "N = %lu: executed twice or not at all", failing);
	cr_assert_eq(network_post(network, UROCE_WR_RDMA_READ, 10000), 0);
	cr_assert_eq(network_wait(network, 0).status, UROCE_WC_SUCCESS);
	cr_assert_arr_eq(network->ends[0].buffer, network->ends[1].buffer, 10000);
}

/* Runs exchanges until the N-th call has come, which fails: N = 1 ... 12, more calls than one exchange makes. */
static void for_each_n(struct network *network)
{
	for (uint64_t n = 1; n <= 12; n++) {
		uint64_t exchanges = 0;

		failing = n;
		calls = 0;
		do {
			exchange(network);
			cr_assert_leq(++exchanges, 200, "call %lu never comes", n);
		} while (calls < n);
	}
	failing = 0;
}

Test(fail_nth_alloc, port_that_rejects_one_burst_loses_nothing)
{
	static struct network network;

	RULE("S-15");
	network_open(&network, 1);
	network_create_qp(&network, 0, 64, -1);
	network_create_qp(&network, 1, 64, -1);
	network.timeout = NO_TIMEOUT;
	network_connect(&network, false);
	for (int i = 0; i < 2; i++)
		cr_assert_not_null(rte_eth_add_tx_callback(network.loop.ports[i].port_id, 0, tx_callback, NULL));
	for_each_n(&network);
	cr_assert_eq(network_counter(&network, 0, "local_ack_timeout_err"), 0, "what waits is sent, not sent again");
	network_close(&network);
}

static void create_pools(struct rte_mempool *pools[2])
{
	for (int i = 0; i < 2; i++) {
		pools[i] = rte_pktmbuf_pool_create_by_ops(i ? "nth-1" : "nth-0", 1023, 0, 0, 4480, -1, "nth");
		cr_assert_not_null(pools[i]);
	}
}

/* They have all their mbufs again. */
static void free_pools(struct rte_mempool *const pools[2])
{
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(rte_mempool_in_use_count(pools[i]), 0);
		rte_mempool_free(pools[i]);
	}
}

Test(fail_nth_alloc, a_pool_that_is_empty_once_loses_nothing)
{
	static struct network network;
	struct rte_mempool *pools[2];

	RULE("S-15");
	create_pools(pools);
	network_open_on(&network, 1, pools);
	network_create_qp(&network, 0, 64, -1);
	network_create_qp(&network, 1, 64, -1);
	network.timeout = NO_TIMEOUT;
	network_connect(&network, false);
	for_each_n(&network);
	cr_assert_eq(network_counter(&network, 0, "local_ack_timeout_err"), 0);
	network_close(&network);
	free_pools(pools);
}

/* TC-E-25: neither the pool nor the port has room for some hundred ACK timeouts. Longer: full_port.c. */
static void check_none_for_a_while(struct network *network, const char *counter)
{
	uint64_t before = network_counter(network, 0, "local_ack_timeout_err");
	struct uroce_wc wc;

	all_fail = true;
	for (int i = 0; i < 2; i++)
		cr_assert_eq(network_post(network, i ? UROCE_WR_RDMA_READ : UROCE_WR_RDMA_WRITE, 1 << 20), 0);
	for (uint64_t end = rte_get_timer_cycles() + rte_get_timer_hz() / 5; rte_get_timer_cycles() < end;)
		network_poll(network);
	cr_assert_eq(uroce_cq_poll(network->ends[0].cq, 1, &wc), 0);
	/* The port had some mbufs left; what left on those was not answered. Its resend waits, and is not counted. */
	cr_assert_leq(network_counter(network, 0, "local_ack_timeout_err") - before, 1);
	all_fail = false;
	for (int i = 0; i < 2; i++)
		cr_assert_eq(network_wait(network, 0).status, UROCE_WC_SUCCESS);
	if (counter)
		cr_assert_gt(network_counter(network, 0, counter), 0);
}

/* TC-E-25 */
Test(fail_nth_alloc, long_lack_of_room_costs_no_retry)
{
	static struct network network;
	struct rte_mempool *pools[2];

	RULE("S-15");
	RULE("T-1");
	create_pools(pools);
	for (int full = 0; full < 2; full++) {
		network_open_on(&network, 1, full ? NULL : pools);
		network_create_qp(&network, 0, 64, -1);
		network_create_qp(&network, 1, 64, -1);
		network_connect(&network, false);
		cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 8), 0);
		cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
		if (full)
			cr_assert_not_null(
				rte_eth_add_tx_callback(network.loop.ports[0].port_id, 0, tx_callback, NULL));
		check_none_for_a_while(&network, full ? NULL : "tx_no_mbuf");
		network_close(&network);
	}
	free_pools(pools);
}

/* ---- control calls ---- */

struct made {
	struct uroce_engine *engine;
	struct uroce_device *device;
	struct uroce_pd *pd;
	struct uroce_mr *mr;
	struct uroce_mw *mw;
	struct uroce_cq *cq;
	struct uroce_srq *srq;
	struct uroce_qp *qp;
};

/* Makes one of each, as far as it gets. 0 or the first error. */
static int make(struct made *made, const struct drivers_loop *loop, uint8_t *memory)
{
	struct uroce_engine_config engine = { .max_qps = 16 };
	struct uroce_device_config device = {
		.port_id = loop->ports[0].port_id,
		.pool = loop->pool,
		.addr_count = 1,
		.addrs = { network_address("10.0.0.1") },
	};
	struct uroce_srq_attr srq = { .max_wr = 16, .max_sge = 2 };
	struct uroce_qp_init_attr qp = { .max_send_wr = 16, .max_send_sge = 2 };
	int error = uroce_engine_create(&engine, &made->engine);

	if (error == 0)
		error = uroce_device_create(made->engine, &device, &made->device);
	if (error == 0)
		error = uroce_pd_alloc(made->device, &made->pd);
	if (error == 0)
		error = uroce_mr_reg(made->pd, memory, 4096, UROCE_ACCESS_LOCAL_WRITE, &made->mr);
	if (error == 0)
		error = uroce_mw_alloc(made->pd, UROCE_MW_TYPE_2, &made->mw);
	if (error == 0)
		error = uroce_cq_create(made->device, 16, &made->cq);
	if (error == 0)
		error = uroce_srq_create(made->pd, &srq, &made->srq);
	qp.send_cq = qp.recv_cq = made->cq;
	qp.srq = made->srq;
	return error ? error : uroce_qp_create(made->pd, &qp, &made->qp);
}

static void take_apart(struct made *made)
{
	if (made->qp)
		cr_assert_eq(uroce_qp_destroy(made->qp), 0);
	if (made->srq)
		cr_assert_eq(uroce_srq_destroy(made->srq), 0);
	if (made->cq)
		cr_assert_eq(uroce_cq_destroy(made->cq), 0);
	if (made->mw)
		cr_assert_eq(uroce_mw_dealloc(made->mw), 0);
	if (made->mr)
		cr_assert_eq(uroce_mr_dereg(made->mr), 0);
	if (made->pd)
		cr_assert_eq(uroce_pd_dealloc(made->pd), 0);
	if (made->device)
		cr_assert_eq(uroce_device_destroy(made->device), 0);
	if (made->engine)
		cr_assert_eq(uroce_engine_destroy(made->engine), 0);
}

Test(fail_nth_alloc, failed_allocation_is_reported_and_leaks_nothing)
{
	static uint8_t memory[4096];
	struct drivers_loop_config config = { .mbuf_count = 2047, .ring_entries = 256 };
	struct uroce_error text = { "" };
	struct drivers_loop loop;
	uint64_t n = 0;
	int error;

	cr_assert_eq(drivers_loop_open(&config, &loop, &text), 0, "%s", text.text);
	do {
		struct made made = { NULL };

		failing = ++n;
		calls = 0;
		counting = true;
		uroce_counter_find("of no such name"); /* another refusal */
		error = make(&made, &loop, memory);
		failing = 0;
		take_apart(&made);
		counting = false;
		cr_assert(error == 0 || error == -ENOMEM, "N = %lu: %d", n, error);
		cr_assert(error == 0 || strstr(uroce_last_error(), "no memory for "), "N = %lu: '%s'", n,
			  uroce_last_error());
		cr_assert_eq(balance, 0, "N = %lu: %ld allocations are left", n, balance);
	} while (error);
	cr_assert_gt(n, 12, "each object takes at least one");
	cr_assert_eq(drivers_loop_close(&loop), 0);
}
