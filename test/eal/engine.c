/* engine.c - two devices on loop ports through the public interface: transfer, hand-over, errors, clearing up */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include <uroce/uroce.h>

#include "drivers/fault/fault.h"
#include "engine/clock.h"
#include "engine/qp.h"
#include "network.h"
#include "rule.h"
#include "start.h"

TestSuite(engine, .init = test_eal_start, .timeout = 60);

static void transfer(bool ipv6, unsigned lcores, int lcore_a, int lcore_b)
{
	static struct network setup;

	network_open(&setup, lcores);
	network_create_qp(&setup, 0, 64, lcore_a);
	network_create_qp(&setup, 1, 64, lcore_b);
	network_connect(&setup, ipv6);
	cr_assert_eq(network_post(&setup, UROCE_WR_RDMA_WRITE, 100001), 0);
	cr_assert_eq(network_wait(&setup, 0).status, UROCE_WC_SUCCESS);
	cr_assert_arr_eq(setup.ends[1].buffer, setup.ends[0].buffer, 100001);
	memset(setup.ends[1].buffer, 0x42, 5000);
	cr_assert_eq(network_post(&setup, UROCE_WR_RDMA_READ, 5000), 0);
	cr_assert_eq(network_wait(&setup, 0).status, UROCE_WC_SUCCESS);
	cr_assert_arr_eq(setup.ends[0].buffer, setup.ends[1].buffer, 5000);
	cr_assert_eq(network_counter(&setup, 1, "rx_write_requests"), 1);
	cr_assert_eq(network_counter(&setup, 1, "rx_read_requests"), 1);
	network_close(&setup);
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
	static struct network setup;
	struct uroce_sge sge;
	struct uroce_recv_wr wr = { .wr_id = 9, .sg_list = &sge, .num_sge = 1 };
	struct uroce_wc wc;

	RULE("R-7");
	network_open_connected(&setup, 1, 64);
	cr_assert_eq(network_post(&setup, UROCE_WR_SEND, 3000), 0);
	for (int i = 0; i < 1000; i++)
		network_poll(&setup);
	cr_assert_gt(network_counter(&setup, 1, "out_of_buffer"), 0);
	sge = (struct uroce_sge){ (uintptr_t)setup.ends[1].buffer, 4096, uroce_mr_lkey(setup.ends[1].mr) };
	cr_assert_eq(uroce_qp_post_recv(setup.ends[1].qp, &wr, NULL), 0);
	wc = network_wait(&setup, 1);
	cr_assert_eq(wc.wr_id, 9);
	cr_assert_eq(wc.byte_len, 3000);
	cr_assert_eq(wc.qp_context, 77);
	cr_assert_eq(network_wait(&setup, 0).status, UROCE_WC_SUCCESS);
	network_close(&setup);
}

/* TC-F-6 */
/* The wheel fires: all is acknowledged without a completion, and nothing was sent again. */
Test(engine, idle_requester_solicits_acks_of_unsignaled_requests_later)
{
	static struct network setup;
	const struct rc_sendwin *win;
	uint64_t end_ns;

	RULE("Q-5");
	network_open(&setup, 1);
	setup.timeout = 20; /* 4 s: a test that does not run for a while loses nothing */
	network_create_qp(&setup, 0, 64, -1);
	network_create_qp(&setup, 1, 64, -1);
	network_connect(&setup, false);
	cr_assert_eq(network_post(&setup, UROCE_WR_RDMA_WRITE, 64), 0); /* a round trip is measured */
	cr_assert_eq(network_wait(&setup, 0).status, UROCE_WC_SUCCESS);
	for (int i = 0; i < 3; i++) {
		struct uroce_sge sge = { (uintptr_t)setup.ends[0].buffer, 64, uroce_mr_lkey(setup.ends[0].mr) };
		struct uroce_send_wr wr = { .opcode = UROCE_WR_RDMA_WRITE,
					    .sg_list = &sge,
					    .num_sge = 1,
					    .remote_addr = (uintptr_t)setup.ends[1].buffer,
					    .rkey = uroce_mr_rkey(setup.ends[1].mr) };

		cr_assert_eq(uroce_qp_post_send(setup.ends[0].qp, &wr, NULL), 0);
		network_poll(&setup);
	}
	win = &qp_core(setup.ends[0].qp)->win;
	end_ns = engine_now_ns() + 20000000000ull;
	while (win->snd_una.v != win->snd_max.v && engine_now_ns() < end_ns)
		network_poll(&setup);
	cr_assert_eq(win->snd_una.v, win->snd_max.v);
	cr_assert_geq(network_counter(&setup, 0, "deferred_ackreqs"), 1);
	cr_assert_geq(network_counter(&setup, 1, "duplicate_request"), 1);
	cr_assert_eq(network_counter(&setup, 1, "rx_write_requests"), 4);
	cr_assert_eq(network_counter(&setup, 0, "retransmitted_packets"), 0);
	network_close(&setup);
}

Test(engine, a_dead_peer_ends_in_retry_exceeded_with_its_cause)
{
	static struct network setup;
	struct uroce_event event;
	struct uroce_wc wc;

	RULE("T-4");
	network_open_connected(&setup, 1, 64);
	cr_assert_eq(network_post(&setup, UROCE_WR_RDMA_WRITE, 8), 0);
	cr_assert_eq(network_wait(&setup, 0).status, UROCE_WC_SUCCESS);
	cr_assert_eq(uroce_qp_destroy(setup.ends[1].qp), 0);
	cr_assert_eq(uroce_cq_destroy(setup.ends[1].cq), 0);
	setup.ends[1].qp = NULL;
	setup.ends[1].cq = NULL;
	cr_assert_eq(network_post(&setup, UROCE_WR_RDMA_WRITE, 8), 0);
	wc = network_wait(&setup, 0);
	cr_assert_eq(wc.status, UROCE_WC_RETRY_EXC_ERR);
	cr_assert_eq(wc.vendor_err, UROCE_CAUSE_TIMEOUT);
	cr_assert_eq(wc.retries, 3);
	cr_assert_eq(network_counter(&setup, 1, "drop_unknown_qpn"), 4 + network_counter(&setup, 0, "early_probes"),
		     "sent once and three times again, and whenever it was asked for early");
	cr_assert(uroce_event_poll(setup.ends[0].device, &event));
	cr_assert_eq(event.type, UROCE_EVENT_QP_FATAL);
	cr_assert_not(uroce_event_poll(setup.ends[0].device, &event));
	network_close(&setup);
}

/* TC-C-7 */
Test(engine, a_full_cq_raises_an_event_and_ends_the_qp)
{
	static struct network setup;
	struct uroce_event event;
	struct uroce_wc wc[8];

	RULE("E-5");
	network_open(&setup, 1);
	network_create_qp(&setup, 0, 1, -1);
	network_create_qp(&setup, 1, 64, -1);
	network_connect(&setup, false);
	for (int i = 0; i < 8; i++)
		cr_assert_eq(network_post(&setup, UROCE_WR_RDMA_WRITE, 8), 0);
	for (int i = 0; i < 10000; i++)
		network_poll(&setup);
	cr_assert(uroce_event_poll(setup.ends[0].device, &event));
	cr_assert_eq(event.type, UROCE_EVENT_CQ_ERR);
	cr_assert_eq(event.cq, setup.ends[0].cq);
	cr_assert_geq(uroce_cq_poll(setup.ends[0].cq, 8, wc), 1);
	cr_assert_eq(wc[0].status, UROCE_WC_SUCCESS, "what is in the CQ stays readable");
	cr_assert_eq(uroce_qp_query(setup.ends[0].qp, &setup.ends[0].attr), 0);
	cr_assert_eq(setup.ends[0].attr.qp_state, UROCE_QPS_ERR);
	network_close(&setup);
}

/* TC-F-6 */
Test(engine, destroying_a_busy_qp_leaves_no_resources)
{
	static struct network setup;

	RULE("X-4");
	network_open(&setup, 1);
	for (int round = 0; round < 50; round++) {
		network_create_qp(&setup, 0, 64, -1);
		network_create_qp(&setup, 1, 64, -1);
		network_connect(&setup, false);
		for (int i = 0; i < 20; i++)
			cr_assert_eq(network_post(&setup, UROCE_WR_RDMA_WRITE, 65536), 0);
		for (int i = 0; i < round; i++)
			network_poll(&setup);
		for (int i = 0; i < 2; i++) {
			cr_assert_eq(uroce_qp_destroy(setup.ends[i].qp), 0);
			cr_assert_eq(uroce_cq_destroy(setup.ends[i].cq), 0);
			setup.ends[i].qp = NULL;
			setup.ends[i].cq = NULL;
		}
	}
	network_close(&setup);
}

static void cross_a_bad_link(void)
{
	static struct network setup;
	struct drivers_fault *faults[2];
	struct drivers_fault_counts counts;
	struct uroce_error error = { "" };

	network_open(&setup, 1);
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
	network_create_qp(&setup, 0, 64, -1);
	network_create_qp(&setup, 1, 64, -1);
	network_connect(&setup, false);
	for (int i = 0; i < 20; i++) {
		memset(setup.ends[1].buffer, 0, 300000);
		cr_assert_eq(network_post(&setup, UROCE_WR_RDMA_WRITE, 300000), 0);
		cr_assert_eq(network_wait(&setup, 0).status, UROCE_WC_SUCCESS);
		cr_assert_arr_eq(setup.ends[1].buffer, setup.ends[0].buffer, 300000);
	}
	drivers_fault_counts(faults[1], &counts);
	cr_assert_gt(counts.lost, 0);
	cr_assert_leq(network_counter(&setup, 1, "rx_icrc_encapsulated"), 2 * counts.corrupted,
		      "damaged ones may be doubled");
	cr_assert_gt(network_counter(&setup, 0, "retransmitted_packets"), 0);
	cr_assert_eq(network_counter(&setup, 1, "rx_kept") > 0, network_sack_window > 0);
	for (int i = 0; i < 2; i++)
		drivers_fault_detach(faults[i]);
	network_close(&setup);
}

Test(engine, lossy_link_corrupts_no_byte)
{
	RULE("T-2");
	RULE("W-3");
	cross_a_bad_link();
}

Test(engine, lossy_link_corrupts_no_byte_when_icrc_is_checked_first)
{
	RULE("T-2");
	RULE("W-3");
	network_checks_first = true;
	cross_a_bad_link();
}

/* Packets after a loss are kept. */
Test(engine, lossy_link_corrupts_no_byte_with_sacks)
{
	RULE("S-21");
	RULE("T-7");
	network_sack_window = 1024;
	cross_a_bad_link();
}

Test(engine, invalid_configurations_are_refused_and_change_nothing)
{
	static const unsigned main_lcore[] = { 0 }, far[] = { 100000 };
	static struct network setup;
	struct uroce_engine_config config = { .lcore_ids = main_lcore, .lcore_count = 1 };
	struct uroce_device_config device;
	struct uroce_engine *engine;
	struct uroce_device *second;

	network_open(&setup, 1);
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
		.addrs = { network_address("10.0.0.9") },
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
	network_close(&setup);
}
