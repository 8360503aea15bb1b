/* limits.c - what a driver has less of than was wanted, and what it needs more of: a virtio NIC and its other side */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * net_virtio_user is the driver of the NIC that virtual machines have, net_vhost the other side of it; they speak over
 * a socket. The driver puts a header of its own before each frame, in the mbuf, and refuses mbufs without room for it.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "drivers/ethdev/ethdev.h"
#include "network.h"
#include "rule.h"
#include "start.h"

#define BYTES 400000u
#define LONG_TIMEOUT 20 /* 4 s: vhost polls in a thread that shares our core */
#define SMALL_FRAME 2048u
#define LONG_FRAME 4000u

TestSuite(limits, .init = test_eal_start, .timeout = 120);

static char folder[] = "/tmp/uroce-limits-XXXXXX";
static char socket_path[64];

static void open_port(const struct drivers_ethdev_config *config, struct drivers_ethdev *port)
{
	struct uroce_error error = { "" };

	cr_assert_eq(drivers_ethdev_open(config, port, &error), 0, "%s", error.text);
}

/* The side of the host, a port itself: it has to be there before the NIC. */
static void open_host(unsigned queues, struct drivers_ethdev *port)
{
	struct drivers_ethdev_config config = { .name = "net_vhost0", .mbuf_count = 2047, .queue_count = queues };
	char arguments[128];

	cr_assert_not_null(mkdtemp(folder));
	snprintf(socket_path, sizeof(socket_path), "%s/vhost", folder);
	snprintf(arguments, sizeof(arguments), "iface=%s,queues=%u", socket_path, queues);
	if (rte_eal_hotplug_add("vdev", "net_vhost0", arguments) != 0)
		cr_skip_test("DPDK has no driver net_vhost here");
	open_port(&config, port);
}

static void make_nic(unsigned queues)
{
	char arguments[128];

	snprintf(arguments, sizeof(arguments), "path=%s,queues=%u", socket_path, queues);
	cr_assert_eq(rte_eal_hotplug_add("vdev", "net_virtio_user0", arguments), 0);
}

static void close_both(struct drivers_ethdev ports[2])
{
	for (int i = 1; i >= 0; i--)
		cr_assert_eq(drivers_ethdev_close(&ports[i]), 0, "mbufs are missing");
	unlink(socket_path);
	cr_assert_eq(rmdir(folder), 0);
}

static struct uroce_wc wait_for_one(struct network *network)
{
	uint64_t end = rte_rdtsc() + 50 * rte_get_tsc_hz();
	struct uroce_wc wc = { .wr_id = 0 };

	do {
		cr_assert_lt(rte_rdtsc(), end, "no completion came");
		network_poll(network);
	} while (uroce_cq_poll(network->ends[0].cq, 1, &wc) == 0);
	return wc;
}

/* A connection between the two ports, and bytes both ways. */
static void move_bytes(struct drivers_ethdev ports[2], uint32_t mtu_bytes)
{
	static const enum uroce_wr_opcode opcodes[2] = { UROCE_WR_RDMA_WRITE, UROCE_WR_RDMA_READ };
	struct uroce_engine_config config = { .lcore_count = 1 };
	static struct network network;

	network.timeout = LONG_TIMEOUT;
	network_mtu_bytes = mtu_bytes;
	cr_assert_eq(uroce_engine_create(&config, &network.engine), 0);
	for (int i = 0; i < 2; i++) {
		network_open_end(&network, i, 1, ports[i].port_id, ports[i].pool);
		network_create_qp(&network, i, 64, -1);
	}
	network_connect(&network, false);
	for (int i = 0; i < 2; i++) {
		memset(network.ends[1].buffer, 0, BYTES);
		memset(network.ends[0].buffer, 7 + i, BYTES);
		if (i == 1)
			memset(network.ends[1].buffer, 9, BYTES);
		cr_assert_eq(network_post(&network, opcodes[i], BYTES), 0);
		cr_assert_eq(wait_for_one(&network).status, UROCE_WC_SUCCESS);
		cr_assert_arr_eq(network.ends[1].buffer, network.ends[0].buffer, BYTES);
	}
	network_close_ends(&network);
}

Test(limits, virtio_header_fits_before_the_longest_frame)
{
	struct drivers_ethdev_config config = { .name = "net_virtio_user0", .mbuf_count = 2047 };
	struct drivers_ethdev ports[2];

	RULE("W-6");
	open_host(1, &ports[0]);
	make_nic(1);
	open_port(&config, &ports[1]);
	cr_expect_eq(ports[1].mtu_bytes, 4200);
	for (int i = 0; i < 2; i++)
		cr_assert(drivers_ethdev_link_is_up(&ports[i], 5000, NULL));
	move_bytes(ports, 4096);
	close_both(ports);
}

/* Frames that a driver can receive in pieces are neither refused nor cut. */
Test(limits, short_mbufs_receive_a_frame_in_pieces)
{
	struct drivers_ethdev_config config = { .name = "net_virtio_user0",
						.mbuf_count = 2047,
						.mbuf_bytes = SMALL_FRAME };
	struct drivers_ethdev ports[2];
	struct rte_mbuf *sent, *got = NULL;
	uint8_t whole[LONG_FRAME];
	uint64_t end;

	open_host(1, &ports[0]);
	make_nic(1);
	open_port(&config, &ports[1]);
	for (int i = 0; i < 2; i++)
		cr_assert(drivers_ethdev_link_is_up(&ports[i], 5000, NULL));
	sent = test_frame_create(ports[0].pool, 77, LONG_FRAME);
	memcpy(whole, rte_pktmbuf_mtod(sent, uint8_t *), LONG_FRAME);
	cr_assert_eq(rte_eth_tx_burst(ports[0].port_id, 0, &sent, 1), 1);
	end = rte_rdtsc() + 10 * rte_get_tsc_hz();
	while (rte_eth_rx_burst(ports[1].port_id, 0, &got, 1) == 0)
		cr_assert_lt(rte_rdtsc(), end, "no frame came");
	cr_expect_gt(got->nb_segs, 1);
	cr_expect_eq(rte_pktmbuf_pkt_len(got), LONG_FRAME);
	cr_assert_eq(rte_pktmbuf_linearize(got), -1, "it fits into one mbuf");
	for (uint32_t at = 0; at < LONG_FRAME; at++)
		cr_assert_eq(*(const uint8_t *)rte_pktmbuf_read(got, at, 1, NULL), whole[at], "byte %u", at);
	rte_pktmbuf_free(got);
	close_both(ports);
}

Test(limits, driver_with_too_few_queue_pairs_uses_all_of_them)
{
	struct drivers_ethdev_config config = { .name = "net_virtio_user0", .mbuf_count = 2047, .queue_count = 2 };
	struct drivers_ethdev ports[2];

	open_host(1, &ports[0]);
	make_nic(1);
	open_port(&config, &ports[1]);
	cr_expect_eq(ports[1].queues_offered, 1);
	cr_expect_eq(ports[1].queue_count, 1);
	for (int i = 0; i < 2; i++)
		cr_assert(drivers_ethdev_link_is_up(&ports[i], 5000, NULL));
	move_bytes(ports, 4096);
	close_both(ports);
}

Test(limits, driver_with_enough_queue_pairs_uses_the_requested_number)
{
	struct drivers_ethdev_config config = { .name = "net_virtio_user0", .mbuf_count = 4095, .queue_count = 2 };
	struct drivers_ethdev ports[2];

	open_host(2, &ports[0]);
	make_nic(2);
	open_port(&config, &ports[1]);
	cr_expect_eq(ports[1].queues_offered, 2);
	cr_expect_eq(ports[1].queue_count, 2);
	close_both(ports);
}
