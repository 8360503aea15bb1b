/* refusals.c - each refusal of a public call leaves its sentence with uroce_last_error() */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include <uroce/frame.h>
#include <uroce/inspect.h>

#include "engine/device_state.h"
#include "engine/engine.h"
#include "engine/lcore_state.h"
#include "engine/pd.h"
#include "network.h"
#include "refusals.h"
#include "start.h"

TestSuite(refusals, .init = test_eal_start, .timeout = 60);

static struct network network;

static struct uroce_qp_init_attr usual_init(void)
{
	return (struct uroce_qp_init_attr){
		.send_cq = network.ends[0].cq,
		.recv_cq = network.ends[0].cq,
		.max_send_wr = 2,
		.max_recv_wr = 2,
		.max_send_sge = 1,
		.max_recv_sge = 1,
	};
}

Test(refusals, a_queue_that_is_resized)
{
	struct uroce_recv_wr receive = { .wr_id = 1 };
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_INIT };
	struct uroce_qp *qp;
	struct uroce_cq *cq;

	network_open_ends(&network);
	qp = network.ends[0].qp;
	cq = network.ends[0].cq;
	cr_assert_eq(uroce_qp_modify(qp, &attr, UROCE_QP_STATE | UROCE_QP_ACCESS_FLAGS, NULL), 0);
	cr_assert_eq(uroce_qp_post_recv(qp, &receive, NULL), 0);
	attr.qp_state = UROCE_QPS_ERR;
	cr_assert_eq(uroce_qp_modify(qp, &attr, UROCE_QP_STATE, NULL), 0);
	network_poll(&network);
	EXPECT(-EINVAL, "depth 0: 1 completions are queued; poll them first", uroce_cq_resize(cq, 0));
	network_close(&network);
}

/* ---- what is there before any queue pair ---- */

Test(refusals, invalid_texts)
{
	static const uint8_t junk[64];
	struct uroce_frame_view view;
	struct uroce_addr addr;

	EXPECT(-EINVAL,
	       "'10.0.0.256' is not an address: use a form such as 10.0.0.1, 10.0.0.1/24, fe80::1 or fe80::1/64",
	       uroce_addr_parse("10.0.0.256", &addr, NULL));
	EXPECT(-EINVAL,
	       "'10.0.0.1/33' is not an address: use a form such as 10.0.0.1, 10.0.0.1/24, fe80::1 or fe80::1/64",
	       uroce_addr_parse("10.0.0.1/33", &addr, NULL));
	EXPECT(-EINVAL, "name swift: unknown ICRC implementation; * remains in use", uroce_icrc_choose("swift"));
	EXPECT(-ENOENT, "name rx_missed: no counter has this name, see uroce_counter_name()",
	       uroce_counter_find("rx_missed"));
	EXPECT(-EINVAL, "kept_bytes 65: must not exceed frame_bytes 64, which is at most 65536",
	       uroce_frame_parse(junk, 65, 64, &view));
	EXPECT(-EPROTO, "frame of 64 bytes: not a RoCEv2 packet, or its headers are truncated",
	       uroce_frame_parse(junk, 64, 64, &view));
}

Test(refusals, engines_and_devices)
{
	static const unsigned mains[] = { 0 };
	struct uroce_engine_config config = { .max_qps = UINT32_MAX };
	struct uroce_device_config device = { .addr_count = 9 };
	struct uroce_engine *engine;
	struct uroce_device *none;

	EXPECT(-EINVAL, "max_qps 4294967295: 1 ... *", uroce_engine_create(&config, &engine));
	config = (struct uroce_engine_config){ .lcore_ids = mains, .lcore_count = 1 };
	EXPECT(-EINVAL, "lcore_ids: each entry must be an EAL worker lcore and must be listed only once",
	       uroce_engine_create(&config, &engine));
	network_open_ends(&network);
	EXPECT(-EINVAL, "lcore_ids NULL: the application must poll the lcores with uroce_lcore_poll()",
	       uroce_engine_start(network.engine));
	EXPECT(-EBUSY, "engine: it still has the device of port *; destroy the device first",
	       uroce_engine_destroy(network.engine));
	EXPECT(-EINVAL, "addr_count 9: 1 ... 8", uroce_device_create(network.engine, &device, &none));
	device.addr_count = 1;
	device.mtu_bytes = 300;
	EXPECT(-EINVAL, "mtu_bytes 300: use 256, 512, 1024, 2048 or 4096",
	       uroce_device_create(network.engine, &device, &none));
	device.mtu_bytes = 1024;
	EXPECT(-EINVAL, "pool NULL: the mbufs must have room for a path MTU of 1024 bytes and * bytes of headers",
	       uroce_device_create(network.engine, &device, &none));
	device.gateways[0] = network_address("10.0.0.1");
	EXPECT(-EINVAL,
	       "gateway 10.0.0.1, VLAN 0:0 of address *: the gateway must be another address of the same network or of "
	       "fe80::/10, the VLAN 0 to 4094, and its priority 0 to 7",
	       uroce_device_create(network.engine, &device, &none));
	device = (struct uroce_device_config){ .addr_count = 1, .pool = network.loop.pool, .port_id = 31 };
	EXPECT(-ENODEV, "port_id 31: there is no such port", uroce_device_create(network.engine, &device, &none));
	EXPECT(-EBUSY, "device: * protection domains, CQs and paths still use it; destroy them first",
	       uroce_device_destroy(network.ends[0].device));
	network_close(&network);
}

Test(refusals, objects_in_use)
{
	struct uroce_srq_attr attr = { .max_wr = 2, .max_sge = 1 };
	struct uroce_qp_init_attr init;
	struct uroce_cm_channel *channel;
	struct uroce_srq *srq;
	struct uroce_qp *qp;

	network_open_ends(&network);
	EXPECT(-EBUSY, "pd: * regions, windows and queues still use it; destroy them first",
	       uroce_pd_dealloc(network.ends[0].pd));
	EXPECT(-EBUSY, "cq: 2 send and receive queues use it; destroy their QPs first",
	       uroce_cq_destroy(network.ends[0].cq));
	init = usual_init();
	cr_assert_eq(uroce_srq_create(network.ends[0].pd, &attr, &srq), 0);
	init.srq = srq;
	cr_assert_eq(uroce_qp_create(network.ends[0].pd, &init, &qp), 0);
	EXPECT(-EBUSY, "srq: 1 QPs use it; destroy them first", uroce_srq_destroy(srq));
	EXPECT(-EINVAL, "the QP receives from its SRQ: post to the SRQ with uroce_srq_post_recv()",
	       uroce_qp_post_recv(qp, &(struct uroce_recv_wr){ .wr_id = 1 }, NULL));
	cr_assert_eq(uroce_qp_destroy(qp), 0);
	cr_assert_eq(uroce_srq_destroy(srq), 0);
	cr_assert_eq(uroce_cm_channel_create(network.engine, &channel), 0);
	for (int i = 0; i < 2; i++)
		network_close_end(&network, i);
	EXPECT(-EBUSY, "engine: 1 event channels still use it; destroy them first",
	       uroce_engine_destroy(network.engine));
	cr_assert_eq(uroce_cm_channel_destroy(channel), 0);
	cr_assert_eq(uroce_engine_destroy(network.engine), 0);
	cr_assert_eq(drivers_loop_close(&network.loop), 0);
}

Test(refusals, inspection_of_missing_objects)
{
	struct uroce_lcore_view lcore;
	struct uroce_port_view port;
	struct uroce_mr_view mr;
	struct uroce_qp_view qp;
	uint32_t place = 0;

	network_open_ends(&network);
	network_poll(&network);
	EXPECT(-ENOENT, "qp_num 0: no QP has this number", uroce_inspect_qp(network.engine, 0, &qp));
	EXPECT(-ENOENT, "port_id 31: no device of the engine uses this port",
	       uroce_inspect_port(network.engine, 31, &port));
	EXPECT(-ENOENT, "port_id 31: no device of the engine uses this port",
	       uroce_inspect_mrs(network.engine, 31, &place, &mr, 1));
	EXPECT(-ENOENT, "lcore 9: the engine has no lcore with this index",
	       uroce_inspect_lcore(network.engine, 9, &lcore));
	network_close(&network);
}

Test(refusals, unpolled_lcore)
{
	struct uroce_lcore_view lcore;

	network_open(&network, 1);
	EXPECT(-ETIMEDOUT, "lcore 0: it was not polled for 1 s", uroce_inspect_lcore(network.engine, 0, &lcore));
	network_close(&network);
}

static void *call_from_elsewhere(void *argument)
{
	struct uroce_qp_attr attr;

	(void)argument;
	EXPECT(-EAGAIN, "lcore 0: 256 calls are already queued; retry after the lcore has been polled",
	       uroce_qp_query(network.ends[0].qp, &attr));
	return NULL;
}

/* Its thread has it, and does not poll: calls of others stay where they are. */
Test(refusals, full_mailbox_of_an_lcore)
{
	struct uroce_lcore *lcore;
	pthread_t thread;
	void *call = &network;

	network_open_ends(&network);
	network_poll(&network);
	lcore = uroce_engine_lcore(network.engine, 0);
	while (rte_ring_enqueue(lcore->mailbox, call) == 0)
		;
	cr_assert_eq(pthread_create(&thread, NULL, call_from_elsewhere, NULL), 0);
	pthread_join(thread, NULL);
	while (rte_ring_dequeue(lcore->mailbox, &call) == 0)
		;
	network_close(&network);
}

/* A port that has not been started, and one that has fewer queues. */
Test(refusals, ports_that_are_not_ready)
{
	struct uroce_device_config device = { .addr_count = 1,
					      .addrs = { network_address("10.0.0.1") },
					      .mtu_bytes = 1024 };
	const struct uroce_engine_config two = { .lcore_count = 2 };
	struct uroce_engine *wide;
	struct uroce_device *none;
	uint16_t port_id;

	network_open_ends(&network);
	cr_assert_eq(uroce_engine_create(&two, &wide), 0);
	for (int i = 0; i < 2; i++)
		network_close_end(&network, i);
	port_id = network.loop.ports[0].port_id;
	device.port_id = port_id;
	device.pool = network.loop.pool;
	device.queue_count = 2;
	EXPECT(-EINVAL, "queue_count 2: the port has only 1 receive and 1 transmit queues",
	       uroce_device_create(wide, &device, &none));
	cr_assert_eq(uroce_engine_destroy(wide), 0);
	device.queue_count = 1;
	cr_assert_eq(rte_eth_dev_stop(port_id), 0);
	EXPECT(-ENETDOWN, "port_id *: configure and start the port first",
	       uroce_device_create(network.engine, &device, &none));
	cr_assert_eq(rte_eth_dev_start(port_id), 0);
	cr_assert_eq(uroce_engine_destroy(network.engine), 0);
	cr_assert_eq(drivers_loop_close(&network.loop), 0);
}

/* From now on the kernel gives no descriptor. */
static void use_up_descriptors(struct rlimit *before)
{
	struct rlimit none;
	int next = dup(STDIN_FILENO);

	cr_assert_geq(next, 0);
	close(next);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, before), 0);
	none = *before;
	none.rlim_cur = (rlim_t)next;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
}

Test(refusals, descriptors_that_the_kernel_does_not_give)
{
	struct uroce_cm_channel *channel;
	struct rlimit before;

	network_open_ends(&network);
	use_up_descriptors(&before);
	EXPECT(-EMFILE, "cannot create the file descriptor for device events: Too many open files",
	       uroce_event_fd(network.ends[0].device));
	EXPECT(-EMFILE, "cannot create the file descriptor of the completion queue: Too many open files",
	       uroce_cq_fd(network.ends[0].cq));
	EXPECT(-EMFILE, "cannot create the file descriptor of the event channel: Too many open files",
	       uroce_cm_channel_create(network.engine, &channel));
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	network_close(&network);
}

static _Atomic bool is_over;

static void wake_up(int number)
{
	(void)number;
}

/* Has the lcore, so that the other thread sleeps while it waits, and interrupts it now and then. */
static void *poll_and_interrupt(void *waiter)
{
	while (!is_over) {
		uroce_lcore_poll(uroce_engine_lcore(network.engine, 0));
		usleep(1000);
		if (lcore_is_ours(uroce_engine_lcore(network.engine, 0)))
			pthread_kill(*(pthread_t *)waiter, SIGUSR1);
	}
	return NULL;
}

Test(refusals, a_wait_that_is_interrupted)
{
	struct sigaction action = { .sa_handler = wake_up };
	struct uroce_cm_channel *channel;
	struct uroce_cm_event event;
	pthread_t self = pthread_self(), thread;
	struct uroce_lcore *lcore;

	network_open_ends(&network);
	lcore = uroce_engine_lcore(network.engine, 0);
	cr_assert_eq(uroce_cm_channel_create(network.engine, &channel), 0);
	sigaction(SIGUSR1, &action, NULL);
	cr_assert_eq(pthread_create(&thread, NULL, poll_and_interrupt, &self), 0);
	while (!lcore_is_owned(lcore) || lcore_is_ours(lcore))
		usleep(100);
	EXPECT(-EINTR, "cannot wait for events: Interrupted system call", uroce_cm_wait(channel, 10000, &event));
	is_over = true;
	pthread_join(thread, NULL);
	network_poll(&network);
	cr_assert_eq(uroce_cm_channel_destroy(channel), 0);
	network_close(&network);
}

/* ---- memory ---- */

Test(refusals, regions_in_use_and_deregistered)
{
	struct end *end = &network.ends[0];
	struct uroce_mw_bind bind = { .length_bytes = 8, .access = UROCE_ACCESS_REMOTE_READ };
	struct uroce_mw *mw;

	network_open_ends(&network);
	network_connect(&network, false);
	cr_assert_eq(uroce_mw_alloc(end->pd, UROCE_MW_TYPE_1, &mw), 0);
	bind.mr = end->mr;
	bind.addr = (uintptr_t)end->buffer;
	cr_assert_eq(uroce_mw_bind(end->qp, mw, &bind, 1, UROCE_SEND_SIGNALED), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	EXPECT(-EBUSY, "mr: memory windows are bound to it; invalidate or deallocate them first",
	       uroce_mr_dereg(end->mr));
	cr_assert_eq(uroce_mw_dealloc(mw), 0);
	end->mr->key ^= 1; /* as if somebody had written over it */
	EXPECT(-ENOENT, "mr: the region with key 0x* no longer exists", uroce_mr_dereg(end->mr));
	end->mr->key ^= 1;
	network_close(&network);
}

Test(refusals, regions_and_windows)
{
	struct end *end = &network.ends[0];
	struct uroce_mr *mr;
	struct uroce_mw *mw;

	network_open_ends(&network);
	EXPECT(-EINVAL,
	       "addr (nil), bytes 8, va 0x0, access 0x0: the range must not wrap around, and the access flags must be "
	       "a valid combination",
	       uroce_mr_reg(end->pd, NULL, 8, 0, &mr));
	EXPECT(-EINVAL, "pd: it belongs to a different device than the region",
	       uroce_mr_rereg(end->mr, network.ends[1].pd, end->buffer, 8, 0, 0));
	EXPECT(-EINVAL, "type 7: use UROCE_MW_TYPE_1 or UROCE_MW_TYPE_2",
	       uroce_mw_alloc(end->pd, (enum uroce_mw_type)7, &mw));
	cr_assert_eq(uroce_mw_alloc(end->pd, UROCE_MW_TYPE_1, &mw), 0);
	EXPECT(-EINVAL, "state RESET: send requests can be posted only in RTS, SQD and ERR",
	       uroce_mw_bind(end->qp, mw, &(struct uroce_mw_bind){ 0 }, 1, 0));
	network_connect(&network, false);
	EXPECT(-EINVAL, "mw, bind: must not be NULL; BIND_MW requires a memory window and its bind information",
	       uroce_qp_post_send(end->qp, &(struct uroce_send_wr){ .opcode = UROCE_WR_BIND_MW }, NULL));
	EXPECT(-EINVAL,
	       "mw, rkey 0x00000000: uroce_mw_bind() requires a type 1 window; BIND_MW requires a type 2 window and "
	       "the key returned by uroce_mw_next_rkey()",
	       uroce_qp_post_send(end->qp,
				  &(struct uroce_send_wr){
					  .opcode = UROCE_WR_BIND_MW, .mw = mw, .bind = &(struct uroce_mw_bind){ 0 } },
				  NULL));
	cr_assert_eq(uroce_mw_dealloc(mw), 0);
	network_close(&network);
}

static void use_up_windows(struct uroce_pd *pd)
{
	static struct uroce_mw *windows[5000];
	uint32_t count = 0;

	while (uroce_mw_alloc(pd, UROCE_MW_TYPE_1, &windows[count]) == 0)
		cr_assert_lt(++count, 5000);
	EXPECT(-ENOMEM, "max_mrs 4096: the device already has this number of regions and windows",
	       uroce_mw_alloc(pd, UROCE_MW_TYPE_1, &windows[count]));
	while (count)
		cr_assert_eq(uroce_mw_dealloc(windows[--count]), 0);
}

Test(refusals, exhausted_tables)
{
	static struct uroce_qp *qps[64];
	struct uroce_qp_init_attr init;
	uint32_t count = 0;

	network_max_qps = 16;
	network_open_ends(&network);
	init = usual_init();
	while (uroce_qp_create(network.ends[0].pd, &init, &qps[count]) == 0)
		cr_assert_lt(++count, 64);
	cr_expect_eq(count + 2, 16); /* each end has one */
	EXPECT(-ENOSPC, "max_qps 16: all QPs are in use", uroce_qp_create(network.ends[0].pd, &init, &qps[count]));
	network.engine->config.max_qps = 64; /* for which the table of 32 places was not made */
	while (uroce_qp_create(network.ends[0].pd, &init, &qps[count]) == 0)
		cr_assert_lt(++count, 64);
	EXPECT(-ENOSPC, "lcore 1: no free QPN (all in use or in time-wait)",
	       uroce_qp_create(network.ends[0].pd, &init, &qps[count]));
	while (count)
		cr_assert_eq(uroce_qp_destroy(qps[--count]), 0);
	use_up_windows(network.ends[0].pd);
	network_close(&network);
}

/* ---- queue pairs ---- */

Test(refusals, invalid_queue_pairs)
{
	struct uroce_pd *pd;
	struct uroce_qp_init_attr init = { .max_send_sge = 1, .max_recv_sge = 1 };
	struct uroce_srq_attr shared = { .max_wr = 1, .max_sge = 17 };
	struct uroce_engine *stranger;
	struct uroce_srq *srq;
	struct uroce_cq *cq;
	struct uroce_qp *qp;

	network_open_ends(&network);
	pd = network.ends[0].pd;
	EXPECT(-EINVAL, "depth 0: 1 ... 1048576", uroce_cq_create(network.ends[0].device, 0, &cq));
	EXPECT(-EINVAL, "max_sge 17: 1 ... 16", uroce_srq_create(pd, &shared, &srq));
	EXPECT(-EINVAL, "send_cq: NULL", uroce_qp_create(pd, &init, &qp));
	init.send_cq = init.recv_cq = network.ends[1].cq;
	EXPECT(-EINVAL, "send_cq: the CQ must belong to the same device as the PD", uroce_qp_create(pd, &init, &qp));
	init.send_cq = init.recv_cq = network.ends[0].cq;
	EXPECT(-EINVAL, "max_send_wr 0: 1 ... 32768", uroce_qp_create(pd, &init, &qp));
	init.max_send_wr = 1;
	cr_assert_eq(uroce_engine_create(&(struct uroce_engine_config){ 0 }, &stranger), 0);
	init.lcore = uroce_engine_lcore(stranger, 0);
	EXPECT(-EINVAL, "lcore 0: it does not serve the device; use NULL to have an lcore chosen",
	       uroce_qp_create(pd, &init, &qp));
	cr_assert_eq(uroce_engine_destroy(stranger), 0);
	shared.max_sge = 1;
	cr_assert_eq(uroce_srq_create(network.ends[1].pd, &shared, &srq), 0);
	init.srq = srq;
	EXPECT(-EINVAL, "srq: it must belong to the same PD as the QP", uroce_qp_create(pd, &init, &qp));
	EXPECT(-EINVAL, "limit 2: 0 ... 1", uroce_srq_arm(srq, 2));
	EXPECT(-EINVAL, "num_sge 2: must be 0 to 1, the limit of the queue",
	       uroce_srq_post_recv(srq, &(struct uroce_recv_wr){ .num_sge = 2 }, NULL));
	cr_assert_eq(uroce_srq_post_recv(srq, &(struct uroce_recv_wr){ .num_sge = 0 }, NULL), 0);
	EXPECT(-ENOMEM, "max_wr 1: the shared receive queue is full; each message received frees one entry",
	       uroce_srq_post_recv(srq, &(struct uroce_recv_wr){ .num_sge = 0 }, NULL));
	cr_assert_eq(uroce_srq_destroy(srq), 0);
	network_close(&network);
}

/* Of 64 receives that are flushed a CQ of 4 has no room for all. */
Test(refusals, overflowed_queues)
{
	struct uroce_qp_init_attr init;
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_ERR };
	struct uroce_qp *qp, *other;

	network_open(&network, 1);
	for (int i = 0; i < 2; i++)
		network_create_qp(&network, i, 4, -1);
	network_connect(&network, false);
	qp = network.ends[0].qp;
	while (uroce_qp_post_recv(qp, &(struct uroce_recv_wr){ .wr_id = 1 }, NULL) == 0)
		;
	cr_assert_eq(uroce_qp_modify(qp, &attr, UROCE_QP_STATE, NULL), 0);
	for (int i = 0; i < 1000; i++)
		network_poll(&network);
	init = usual_init();
	EXPECT(-EINVAL, "send_cq: this CQ has overflowed", uroce_qp_create(network.ends[0].pd, &init, &other));
	attr.qp_state = UROCE_QPS_RESET;
	cr_assert_eq(uroce_qp_modify(qp, &attr, UROCE_QP_STATE, NULL), 0);
	attr.qp_state = UROCE_QPS_INIT;
	EXPECT(-EINVAL, "STATE: a CQ of the QP has overflowed; create a new CQ and QP",
	       uroce_qp_modify(qp, &attr, UROCE_QP_STATE | UROCE_QP_PKEY, NULL));
	network_close(&network);
}

static struct uroce_qp_attr path_attr(const char *source, const char *dest)
{
	return (struct uroce_qp_attr){
		.dest_qp_num = 77,
		.path = { .source = network_address(source), .dest = network_address(dest) },
	};
}

Test(refusals, attributes_and_paths)
{
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_RTS };
	struct uroce_qp *qp;

	network_open_ends(&network);
	qp = network.ends[0].qp;
	EXPECT(-EINVAL,
	       "STATE: the value is out of range, missing, or not allowed in the transition from RESET to RTS; see "
	       "uroce/qp.h",
	       uroce_qp_modify(qp, &attr, UROCE_QP_STATE, NULL));
	attr = path_attr("10.0.0.9", "10.0.0.2");
	EXPECT(-EINVAL, "PATH: source 10.0.0.9 is not an address of port *", uroce_qp_connect(qp, &attr, NULL));
	attr = path_attr("10.0.0.1", "fe80::2");
	EXPECT(-EINVAL,
	       "PATH: from 10.0.0.1 to fe80::2 with VLAN 0, priority 0: the addresses must both be IPv4 or both IPv6, "
	       "the VLAN 0 to 4094, and the priority 0 to 7",
	       uroce_qp_connect(qp, &attr, NULL));
	network_connect(&network, false);
	attr.qp_state = UROCE_QPS_RESET;
	cr_assert_eq(uroce_qp_modify(qp, &attr, UROCE_QP_STATE, NULL), 0);
	attr = path_attr("10.0.0.1", "10.0.0.2");
	EXPECT(-EAGAIN, "STATE RTR: the QP was reset and stays in time-wait for another * ms",
	       uroce_qp_connect(qp, &attr, NULL));
	network_close(&network);
}

Test(refusals, several_paths_where_source_ports_choose_queues)
{
	struct uroce_qp_attr attr = path_attr("10.0.0.1", "10.0.0.2");

	attr.sack_window = 256, attr.paths = 8;
	network_open(&network, 2);
	network_create_qp(&network, 0, 16, 0);
	network.ends[0].device->queues_are_wired = false; /* as with a NIC */
	EXPECT(-EINVAL,
	       "PATHS: port * has 2 queues and selects a queue by UDP source port; multipath requires a port with one "
	       "queue",
	       uroce_qp_connect(network.ends[0].qp, &attr, NULL));
	network.ends[0].device->queues_are_wired = true;
	cr_expect_eq(uroce_qp_connect(network.ends[0].qp, &attr, NULL), 0, "%s", uroce_last_error());
	network_close(&network);
}

static _Atomic bool done;

static void *poll_until_done(void *lcore)
{
	while (!done)
		uroce_lcore_poll(lcore);
	return NULL;
}

/* The owner of the queue pair is another thread, whose sentence has to come over, and whose own one stays. */
Test(refusals, refusal_from_another_thread)
{
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_RTS };
	struct uroce_lcore *lcore;
	pthread_t thread;

	network_open_ends(&network);
	lcore = uroce_engine_lcore(network.engine, 0);
	cr_assert_eq(pthread_create(&thread, NULL, poll_until_done, lcore), 0);
	while (!lcore_is_owned(lcore) || lcore_is_ours(lcore))
		usleep(100);
	EXPECT(-EINVAL,
	       "STATE: the value is out of range, missing, or not allowed in the transition from RESET to RTS; see "
	       "uroce/qp.h",
	       uroce_qp_modify(network.ends[0].qp, &attr, UROCE_QP_STATE, NULL));
	done = true;
	pthread_join(thread, NULL);
	network_poll(&network);
	network_close(&network);
}
