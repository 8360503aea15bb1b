/* engine.c - two devices on loop ports through the public interface: transfer, hand-over, errors, clearing up */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mempool.h>

#include <uroce/uroce.h>

#include "drivers/fault/fault.h"
#include "drivers/loop/loop.h"
#include "rule.h"
#include "start.h"

#define BUFFER_BYTES (1u << 20)
#define TURNS_MAX 2000000u

TestSuite(engine, .init = test_eal_start, .timeout = 60);

struct end {
	struct uroce_device *device;
	struct uroce_pd *pd;
	struct uroce_mr *mr;
	struct uroce_cq *cq;
	struct uroce_qp *qp;
	uint8_t *buffer;
	struct uroce_qp_attr attr;
};

struct setup {
	struct drivers_loop loop;
	struct uroce_engine *engine;
	struct end ends[2];
	unsigned pool_free;
};

static struct uroce_addr address(const char *text)
{
	struct uroce_addr addr;

	cr_assert_eq(uroce_addr_parse(text, &addr, NULL), 0);
	return addr;
}

static const char *address_of(int end, bool ipv6)
{
	static const char *const texts[2][2] = { { "10.0.0.1", "fe80::1" }, { "10.0.0.2", "fe80::2" } };

	return texts[end][ipv6];
}

static void open_setup(struct setup *setup, unsigned lcores)
{
	struct uroce_engine_config config = { .lcore_count = lcores };
	struct drivers_loop_config loop = { .queue_count = (uint16_t)lcores };
	struct drivers_error error = { "" };

	memset(setup, 0, sizeof(*setup));
	cr_assert_eq(drivers_loop_open(&loop, &setup->loop, &error), 0, "%s", error.text);
	setup->pool_free = rte_mempool_avail_count(setup->loop.pool);
	cr_assert_eq(uroce_engine_create(&config, &setup->engine), 0);
	for (int i = 0; i < 2; i++) {
		struct end *end = &setup->ends[i];
		struct uroce_device_config device = {
			.port_id = setup->loop.ports[i].port_id,
			.queue_count = (uint16_t)lcores,
			.pool = setup->loop.pool,
			.addr_count = 2,
			.addrs = { address(address_of(i, false)), address(address_of(i, true)) },
		};

		cr_assert_eq(uroce_device_create(setup->engine, &device, &end->device), 0);
		cr_assert_eq(uroce_pd_alloc(end->device, &end->pd), 0);
		end->buffer = malloc(BUFFER_BYTES);
		for (uint32_t b = 0; b < BUFFER_BYTES; b++)
			end->buffer[b] = (uint8_t)(b * 13 + (b >> 9) + (uint32_t)i);
		cr_assert_eq(uroce_mr_reg(end->pd, end->buffer, BUFFER_BYTES, 0xF, &end->mr), 0);
	}
}

static void create_qp(struct setup *setup, int index, uint32_t cq_depth, int lcore)
{
	struct end *end = &setup->ends[index];
	struct uroce_qp_init_attr init = {
		.max_send_wr = 64,
		.max_recv_wr = 64,
		.max_send_sge = 2,
		.max_recv_sge = 2,
		.max_dest_rd_atomic = 8,
		.qp_context = 77,
		.lcore = lcore,
	};

	cr_assert_eq(uroce_cq_create(end->device, cq_depth, &end->cq), 0);
	init.send_cq = init.recv_cq = end->cq;
	cr_assert_eq(uroce_qp_create(end->pd, &init, &end->qp), 0);
	cr_assert_eq(uroce_qp_query(end->qp, &end->attr), 0);
}

static void connect_qps(struct setup *setup, bool ipv6)
{
	for (int i = 0; i < 2; i++) {
		struct uroce_qp_attr attr = {
			.access_flags =
				UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_ATOMIC,
			.dest_qp_num = uroce_qp_num(setup->ends[!i].qp),
			.rq_psn = setup->ends[!i].attr.sq_psn,
			.sq_psn = setup->ends[i].attr.sq_psn,
			.max_rd_atomic = 8,
			.max_dest_rd_atomic = 8,
			.timeout = 8,
			.retry_cnt = 3,
			.rnr_retry = 7,
			.min_rnr_timer = 1,
			.path = { .source = address(address_of(i, ipv6)), .dest = address(address_of(!i, ipv6)) },
		};
		uint32_t bad = 0;

		cr_assert_eq(uroce_qp_connect(setup->ends[i].qp, &attr, &bad), 0, "%s", uroce_qp_attr_name(bad));
	}
}

static void turn(struct setup *setup)
{
	for (unsigned i = 0; i < uroce_engine_lcore_count(setup->engine); i++)
		uroce_lcore_poll(uroce_engine_lcore(setup->engine, i));
}

/* Turns until a completion comes. */
static struct uroce_wc wait_completion(struct setup *setup, int end)
{
	struct uroce_wc wc = { .wr_id = 0 };

	for (uint32_t i = 0; i < TURNS_MAX; i++) {
		turn(setup);
		if (uroce_cq_poll(setup->ends[end].cq, 1, &wc) == 1)
			return wc;
	}
	cr_assert(false, "no completion came");
	return wc;
}

static int post(struct setup *setup, enum uroce_wr_opcode opcode, uint32_t bytes)
{
	struct uroce_sge sge = {
		.addr = (uintptr_t)setup->ends[0].buffer,
		.length = bytes,
		.lkey = uroce_mr_lkey(setup->ends[0].mr),
	};
	struct uroce_send_wr wr = {
		.wr_id = 5,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = UROCE_SEND_SIGNALED,
		.remote_addr = (uintptr_t)setup->ends[1].buffer,
		.rkey = uroce_mr_rkey(setup->ends[1].mr),
		.compare_add = 3,
	};

	return uroce_qp_post_send(setup->ends[0].qp, &wr, NULL);
}

static uint64_t counter(struct setup *setup, int end, const char *name)
{
	struct uroce_stats stats;

	uroce_device_stats(setup->ends[end].device, &stats);
	cr_assert_geq(uroce_counter_find(name), 0);
	return stats.values[uroce_counter_find(name)];
}

/* Everything goes back; the pool is as full as before. */
static void close_setup(struct setup *setup)
{
	for (int i = 0; i < 2; i++) {
		struct end *end = &setup->ends[i];

		if (end->qp) {
			cr_assert_eq(uroce_cq_destroy(end->cq), -EBUSY);
			cr_assert_eq(uroce_qp_destroy(end->qp), 0);
			cr_assert_eq(uroce_cq_destroy(end->cq), 0);
		}
		cr_assert_eq(uroce_pd_dealloc(end->pd), -EBUSY);
		cr_assert_eq(uroce_mr_dereg(end->mr), 0);
		cr_assert_eq(uroce_pd_dealloc(end->pd), 0);
	}
	/* frames still on the wire come in and are dropped */
	for (int i = 0; i < 100; i++)
		turn(setup);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(uroce_device_destroy(setup->ends[i].device), 0);
		free(setup->ends[i].buffer);
	}
	cr_assert_eq(uroce_engine_destroy(setup->engine), 0);
	cr_assert_eq(rte_mempool_avail_count(setup->loop.pool), setup->pool_free, "mbufs are missing");
	cr_assert_eq(drivers_loop_close(&setup->loop), 0);
}

static void transfer(bool ipv6, unsigned lcores, int lcore_a, int lcore_b)
{
	static struct setup setup;

	open_setup(&setup, lcores);
	create_qp(&setup, 0, 64, lcore_a);
	create_qp(&setup, 1, 64, lcore_b);
	connect_qps(&setup, ipv6);
	cr_assert_eq(post(&setup, UROCE_WR_RDMA_WRITE, 100001), 0);
	cr_assert_eq(wait_completion(&setup, 0).status, UROCE_WC_SUCCESS);
	cr_assert_arr_eq(setup.ends[1].buffer, setup.ends[0].buffer, 100001);
	memset(setup.ends[1].buffer, 0x42, 5000);
	cr_assert_eq(post(&setup, UROCE_WR_RDMA_READ, 5000), 0);
	cr_assert_eq(wait_completion(&setup, 0).status, UROCE_WC_SUCCESS);
	cr_assert_arr_eq(setup.ends[0].buffer, setup.ends[1].buffer, 5000);
	cr_assert_eq(counter(&setup, 1, "rx_write_requests"), 1);
	cr_assert_eq(counter(&setup, 1, "rx_read_requests"), 1);
	close_setup(&setup);
}

Test(engine, write_and_read_over_ipv4_with_resolved_macs)
{
	RULE("W-1");
	RULE("W-8");
	transfer(false, 1, -1, -1);
}

Test(engine, write_and_read_over_link_local_ipv6)
{
	RULE("W-1");
	transfer(true, 1, -1, -1);
}

Test(engine, frames_that_arrive_at_another_lcore_are_handed_over)
{
	/* A sends on queue 1, so B's lcore 1 receives what belongs to lcore 0. */
	transfer(false, 2, 1, 0);
}

Test(engine, receiver_not_ready_is_waited_for)
{
	static struct setup setup;
	struct uroce_sge sge;
	struct uroce_recv_wr wr = { .wr_id = 9, .sg_list = &sge, .num_sge = 1 };
	struct uroce_wc wc;

	RULE("R-7");
	open_setup(&setup, 1);
	create_qp(&setup, 0, 64, -1);
	create_qp(&setup, 1, 64, -1);
	connect_qps(&setup, false);
	cr_assert_eq(post(&setup, UROCE_WR_SEND, 3000), 0);
	for (int i = 0; i < 1000; i++)
		turn(&setup);
	cr_assert_gt(counter(&setup, 1, "out_of_buffer"), 0);
	sge = (struct uroce_sge){ (uintptr_t)setup.ends[1].buffer, 4096, uroce_mr_lkey(setup.ends[1].mr) };
	cr_assert_eq(uroce_qp_post_recv(setup.ends[1].qp, &wr, NULL), 0);
	wc = wait_completion(&setup, 1);
	cr_assert_eq(wc.wr_id, 9);
	cr_assert_eq(wc.byte_len, 3000);
	cr_assert_eq(wc.qp_context, 77);
	cr_assert_eq(wait_completion(&setup, 0).status, UROCE_WC_SUCCESS);
	close_setup(&setup);
}

Test(engine, a_dead_peer_ends_in_retry_exceeded_with_its_cause)
{
	static struct setup setup;
	struct uroce_event event;
	struct uroce_wc wc;

	RULE("T-4");
	open_setup(&setup, 1);
	create_qp(&setup, 0, 64, -1);
	create_qp(&setup, 1, 64, -1);
	connect_qps(&setup, false);
	cr_assert_eq(post(&setup, UROCE_WR_RDMA_WRITE, 8), 0);
	cr_assert_eq(wait_completion(&setup, 0).status, UROCE_WC_SUCCESS);
	cr_assert_eq(uroce_qp_destroy(setup.ends[1].qp), 0);
	cr_assert_eq(uroce_cq_destroy(setup.ends[1].cq), 0);
	setup.ends[1].qp = NULL;
	cr_assert_eq(post(&setup, UROCE_WR_RDMA_WRITE, 8), 0);
	wc = wait_completion(&setup, 0);
	cr_assert_eq(wc.status, UROCE_WC_RETRY_EXC_ERR);
	cr_assert_eq(wc.vendor_err, UROCE_CAUSE_TIMEOUT);
	cr_assert_eq(wc.retries, 3);
	cr_assert_eq(counter(&setup, 1, "drop_unknown_qpn"), 4, "sent once and three times again");
	cr_assert(uroce_event_poll(setup.ends[0].device, &event));
	cr_assert_eq(event.type, UROCE_EVENT_QP_FATAL);
	cr_assert_not(uroce_event_poll(setup.ends[0].device, &event));
	close_setup(&setup);
}

Test(engine, a_full_cq_raises_an_event_and_ends_the_qp)
{
	static struct setup setup;
	struct uroce_event event;
	struct uroce_wc wc[8];

	RULE("E-5");
	open_setup(&setup, 1);
	create_qp(&setup, 0, 1, -1);
	create_qp(&setup, 1, 64, -1);
	connect_qps(&setup, false);
	for (int i = 0; i < 8; i++)
		cr_assert_eq(post(&setup, UROCE_WR_RDMA_WRITE, 8), 0);
	for (int i = 0; i < 10000; i++)
		turn(&setup);
	cr_assert(uroce_event_poll(setup.ends[0].device, &event));
	cr_assert_eq(event.type, UROCE_EVENT_CQ_ERR);
	cr_assert_eq(event.cq, setup.ends[0].cq);
	cr_assert_geq(uroce_cq_poll(setup.ends[0].cq, 8, wc), 1);
	cr_assert_eq(wc[0].status, UROCE_WC_SUCCESS, "what is in the CQ stays readable");
	cr_assert_eq(uroce_qp_query(setup.ends[0].qp, &setup.ends[0].attr), 0);
	cr_assert_eq(setup.ends[0].attr.qp_state, UROCE_QPS_ERR);
	close_setup(&setup);
}

Test(engine, a_qp_with_work_under_way_is_destroyed_without_a_trace)
{
	static struct setup setup;

	RULE("X-4");
	open_setup(&setup, 1);
	for (int round = 0; round < 50; round++) {
		create_qp(&setup, 0, 64, -1);
		create_qp(&setup, 1, 64, -1);
		connect_qps(&setup, false);
		for (int i = 0; i < 20; i++)
			cr_assert_eq(post(&setup, UROCE_WR_RDMA_WRITE, 65536), 0);
		for (int i = 0; i < round; i++)
			turn(&setup);
		for (int i = 0; i < 2; i++) {
			cr_assert_eq(uroce_qp_destroy(setup.ends[i].qp), 0);
			cr_assert_eq(uroce_cq_destroy(setup.ends[i].cq), 0);
			setup.ends[i].qp = NULL;
		}
	}
	close_setup(&setup);
}

Test(engine, a_bad_link_costs_time_but_no_byte)
{
	static struct setup setup;
	struct drivers_fault *faults[2];
	struct drivers_fault_counts counts;
	struct drivers_error error = { "" };

	RULE("T-2");
	open_setup(&setup, 1);
	for (int i = 0; i < 2; i++) {
		struct drivers_fault_config config = {
			.loss = 0.02,
			.duplicate = 0.02,
			.reorder = 0.02,
			.corrupt = 0.02,
			.seed = 7 + (uint64_t)i,
			.pool = setup.loop.pool,
		};

		cr_assert_eq(drivers_fault_attach(&setup.loop.ports[i], &config, &faults[i], &error), 0, "%s",
			     error.text);
	}
	create_qp(&setup, 0, 64, -1);
	create_qp(&setup, 1, 64, -1);
	connect_qps(&setup, false);
	for (int i = 0; i < 20; i++) {
		memset(setup.ends[1].buffer, 0, 300000);
		cr_assert_eq(post(&setup, UROCE_WR_RDMA_WRITE, 300000), 0);
		cr_assert_eq(wait_completion(&setup, 0).status, UROCE_WC_SUCCESS);
		cr_assert_arr_eq(setup.ends[1].buffer, setup.ends[0].buffer, 300000);
	}
	drivers_fault_counts(faults[1], &counts);
	cr_assert_gt(counts.lost, 0);
	cr_assert_leq(counter(&setup, 1, "rx_icrc_encapsulated"), 2 * counts.corrupted, "damaged ones may be doubled");
	cr_assert_gt(counter(&setup, 0, "retransmitted_packets"), 0);
	for (int i = 0; i < 2; i++)
		drivers_fault_detach(faults[i]);
	close_setup(&setup);
}

Test(engine, wrong_configurations_are_refused_and_change_nothing)
{
	static const unsigned main_lcore[] = { 0 }, far[] = { 100000 };
	static struct setup setup;
	struct uroce_engine_config config = { .lcore_ids = main_lcore, .lcore_count = 1 };
	struct uroce_device_config device;
	struct uroce_engine *engine;
	struct uroce_device *second;

	open_setup(&setup, 1);
	cr_assert_eq(uroce_engine_create(&config, &engine), -EINVAL, "the main lcore is no worker");
	config.lcore_ids = far;
	cr_assert_eq(uroce_engine_create(&config, &engine), -EINVAL);
	config = (struct uroce_engine_config){ .lcore_count = 2 };
	cr_assert_eq(uroce_engine_create(&config, &engine), 0);
	device = (struct uroce_device_config){
		.port_id = setup.loop.ports[0].port_id,
		.queue_count = 2,
		.pool = setup.loop.pool,
		.addr_count = 1,
		.addrs = { address("10.0.0.9") },
	};
	cr_assert_eq(uroce_device_create(engine, &device, &second), -EINVAL, "the port has one queue");
	cr_assert_eq(uroce_engine_destroy(engine), 0);
	device.queue_count = 1;
	cr_assert_eq(uroce_device_create(setup.engine, &device, &second), -EBUSY, "the port has a device");
	device.port_id = 30000;
	cr_assert_eq(uroce_device_create(setup.engine, &device, &second), -ENODEV);
	device.port_id = setup.loop.ports[0].port_id;
	device.mtu_bytes = 1000;
	cr_assert_eq(uroce_device_create(setup.engine, &device, &second), -EINVAL);
	close_setup(&setup);
}
