/* failover.c - path migration over two pairs of ports: MACs, templates and lcores of the other path */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "drivers/fault/fault.h"
#include "network.h"
#include "rule.h"
#include "start.h"

TestSuite(failover, .init = test_eal_start, .timeout = 60);

/* The second link, and a cable cutter on the first. */
struct second {
	struct drivers_loop loop;
	struct uroce_device *devices[2];
	struct drivers_fault *faults[2];
};

static void open_second(struct network *network, struct second *second, unsigned lcores, uint32_t mtu_bytes)
{
	struct drivers_loop_config loop = {
		.name = "second", .queue_count = (uint16_t)lcores, .ring_entries = 256, .mbuf_count = 2047 * lcores
	};
	struct uroce_error error = { "" };

	cr_assert_eq(drivers_loop_open(&loop, &second->loop, &error), 0, "%s", error.text);
	for (int i = 0; i < 2; i++) {
		struct uroce_device_config device = {
			.port_id = second->loop.ports[i].port_id,
			.queue_count = (uint16_t)lcores,
			.pool = second->loop.pool,
			.addr_count = 1,
			.addrs = { network_address(network_second_link[i]) },
			.prefix_bits = { 24 },
			.mtu_bytes = mtu_bytes,
		};
		struct drivers_fault_config fault = { .seed = 1 };

		cr_assert_eq(uroce_device_create(network->engine, &device, &second->devices[i]), 0);
		cr_assert_eq(drivers_fault_attach(&network->loop.ports[i], &fault, &second->faults[i], &error), 0, "%s",
			     error.text);
	}
}

static void close_second(struct second *second)
{
	for (int i = 0; i < 2; i++) {
		drivers_fault_detach(second->faults[i]);
		cr_assert_eq(uroce_device_destroy(second->devices[i]), 0);
	}
	cr_assert_eq(drivers_loop_close(&second->loop), 0);
}

static void arm(struct network *network, const struct second *second)
{
	for (int i = 0; i < 2; i++) {
		struct uroce_qp_attr attr = network_alternate(second->devices[i], i);
		uint32_t bad = 0;

		cr_assert_eq(uroce_qp_modify(network->ends[i].qp, &attr, UROCE_QP_ALT_PATH | UROCE_QP_PATH_MIG_STATE,
					     &bad),
			     0, "%s", uroce_qp_attr_name(bad));
	}
}

static void write_and_check(struct network *network)
{
	memset(network->ends[1].buffer, 0, 100001);
	cr_assert_eq(network_post(network, UROCE_WR_RDMA_WRITE, 100001), 0);
	cr_assert_eq(network_wait(network, 0).status, UROCE_WC_SUCCESS);
	cr_assert_arr_eq(network->ends[1].buffer, network->ends[0].buffer, 100001);
	memset(network->ends[1].buffer, 0x17, 100);
	cr_assert_eq(network_post(network, UROCE_WR_RDMA_READ, 100), 0);
	cr_assert_eq(network_wait(network, 0).status, UROCE_WC_SUCCESS);
	cr_assert_eq(network->ends[0].buffer[99], 0x17);
	for (uint32_t i = 0; i < 100; i++)
		network->ends[0].buffer[i] = (uint8_t)(i * 3);
}

static uint64_t frames_of(struct uroce_device *device)
{
	struct uroce_stats stats;

	uroce_device_stats(device, &stats);
	return stats.tx_frames;
}

static void fail_over(unsigned lcores, int lcore_a, int lcore_b)
{
	static struct network network;
	struct second second;
	uint64_t before;

	network_open(&network, lcores);
	open_second(&network, &second, lcores, 4096);
	network_create_qp(&network, 0, 64, lcore_a);
	network_create_qp(&network, 1, 64, lcore_b);
	network_connect(&network, false);
	arm(&network, &second);
	write_and_check(&network);
	before = frames_of(second.devices[0]);
	cr_assert_leq(before, 2, "only the question for the peer's MAC");
	for (int i = 0; i < 2; i++)
		drivers_fault_cut(second.faults[i], true);
	write_and_check(&network);
	for (int i = 0; i < 2; i++) {
		struct uroce_event event = network_event(&network, i, UROCE_EVENT_PATH_MIG);

		cr_assert_eq(event.qp_num, uroce_qp_num(network.ends[i].qp));
		cr_assert_eq(uroce_qp_query(network.ends[i].qp, &network.ends[i].attr), 0);
		cr_assert_eq(network.ends[i].attr.path.device, second.devices[i]);
		cr_assert_eq(network.ends[i].attr.timeout, 10);
		cr_assert_eq(network.ends[i].attr.path_mig_state, UROCE_PATH_MIGRATED);
	}
	cr_assert_gt(frames_of(second.devices[0]), before + 25, "100001 bytes take 25 packets of 4096");
	cr_assert_eq(uroce_device_destroy(second.devices[0]), -EBUSY, "a path leads over it");
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(uroce_qp_destroy(network.ends[i].qp), 0);
		network.ends[i].qp = NULL;
	}
	close_second(&second);
	network_close(&network);
}

Test(failover, cut_link_triggers_migration_to_the_other_path)
{
	RULE("A-3");
	RULE("A-4");
	fail_over(1, -1, -1);
}

Test(failover, frames_of_the_new_path_reach_their_lcore)
{
	RULE("A-4");
	fail_over(2, 1, 0);
}

/* TC-I-6: what could not work later is refused now. */
Test(failover, a_useless_alternate_path_is_refused)
{
	static struct network network;
	struct second second;
	struct uroce_qp_attr attr;
	uint32_t bad = 0;

	RULE("A-1");
	network_open(&network, 1);
	open_second(&network, &second, 1, 2048);
	network_create_qp(&network, 0, 64, -1);
	network_create_qp(&network, 1, 64, -1);
	network_connect(&network, false);
	attr = network_alternate(second.devices[0], 0);
	cr_assert_eq(uroce_qp_modify(network.ends[0].qp, &attr, UROCE_QP_ALT_PATH, &bad), -EINVAL,
		     "path MTU 4096 over a port of 2048");
	cr_expect_not_null(strstr(uroce_last_error(), "ALT_PATH: path MTU 4096: port "), "%s", uroce_last_error());
	cr_assert_eq(bad, UROCE_QP_ALT_PATH);
	attr.alt_path = (struct uroce_path){ .source = network_address("10.0.0.1"),
					     .dest = network_address("10.0.0.2"),
					     .device = second.devices[0] };
	cr_assert_eq(uroce_qp_modify(network.ends[0].qp, &attr, UROCE_QP_ALT_PATH, &bad), -EINVAL,
		     "no address of that port");
	attr.alt_path.device = NULL;
	cr_assert_eq(uroce_qp_modify(network.ends[0].qp, &attr, UROCE_QP_ALT_PATH, &bad), -EINVAL, "the path in use");
	attr.alt_path.dest = network_address("10.0.0.3");
	cr_assert_eq(uroce_qp_modify(network.ends[0].qp, &attr, UROCE_QP_ALT_PATH, &bad), 0, "the QP's own port");
	close_second(&second);
	network_close(&network);
	/* A port with a prefix knows who is no neighbour. */
	network_open(&network, 1);
	open_second(&network, &second, 1, 4096);
	network_create_qp(&network, 0, 64, -1);
	network_create_qp(&network, 1, 64, -1);
	network_connect(&network, false);
	attr = network_alternate(second.devices[0], 0);
	attr.alt_path.dest = network_address("10.0.2.2");
	cr_assert_eq(uroce_qp_modify(network.ends[0].qp, &attr, UROCE_QP_ALT_PATH, &bad), -ENETUNREACH, "no route");
	attr.alt_path.dest_mac.bytes[5] = 9;
	cr_assert_eq(uroce_qp_modify(network.ends[0].qp, &attr, UROCE_QP_ALT_PATH, &bad), 0, "by a router");
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(uroce_qp_destroy(network.ends[i].qp), 0);
		network.ends[i].qp = NULL;
	}
	close_second(&second);
	network_close(&network);
}
