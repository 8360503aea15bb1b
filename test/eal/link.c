/* link.c - a port that goes down: told as an event, and left at once by QPs that have another path */
/* SPDX-License-Identifier: BSD-3-Clause */
/* The first one needs root and /dev/net/tun for a port that knows its link; in a network namespace of its own. */
#include <criterion/criterion.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_ethdev.h>

#include "drivers/ethdev/ethdev.h"
#include "engine/qp.h"
#include "network.h"
#include "rule.h"
#include "start.h"

#define INTERFACE "dtap7"

TestSuite(link, .init = test_eal_start, .timeout = 60);

static void set_interface(bool up)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq request = { .ifr_name = INTERFACE };

	cr_assert_geq(fd, 0);
	cr_assert_eq(ioctl(fd, SIOCGIFFLAGS, &request), 0);
	request.ifr_flags = (short)(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
	cr_assert_eq(ioctl(fd, SIOCSIFFLAGS, &request), 0);
	close(fd);
}

static struct uroce_event wait_event(struct network *network, struct uroce_device *device)
{
	struct uroce_event event = { .type = UROCE_EVENT_TYPES };
	uint64_t end = rte_rdtsc() + 5 * rte_get_tsc_hz();

	while (rte_rdtsc() < end) {
		network_poll(network);
		if (uroce_event_poll(device, &event))
			return event;
	}
	cr_assert(false, "no event within five seconds");
	return event;
}

Test(link, port_down_triggers_migration_before_retries_are_spent)
{
	static struct network network;
	struct drivers_ethdev_config config = { .name = "net_tap7", .mbuf_count = 2047 };
	struct uroce_device_config device = { .addr_count = 1, .addrs = { network_address("10.0.7.1") } };
	struct uroce_qp_attr attr = { .timeout = 20, .retry_cnt = 7, .rnr_retry = 7, .dest_qp_num = 77 };
	struct uroce_error error = { "" };
	struct drivers_ethdev tap;
	struct uroce_device *tapped;

	RULE("A-5");
	RULE("V-1");
	if (geteuid() != 0 || access("/dev/net/tun", R_OK | W_OK) != 0 || unshare(CLONE_NEWNET) != 0)
		cr_skip_test("needs root and /dev/net/tun");
	network_open(&network, 1);
	cr_assert_eq(rte_eal_hotplug_add("vdev", "net_tap7", "iface=" INTERFACE), 0);
	cr_assert_eq(drivers_ethdev_open(&config, &tap, &error), 0, "%s", error.text);
	device.port_id = tap.port_id;
	device.pool = tap.pool;
	device.mtu_bytes = 1024;
	cr_assert_eq(uroce_device_create(network.engine, &device, &tapped), 0);
	cr_assert(drivers_ethdev_link_is_up(&tap, 5000, NULL));
	network_create_qp(&network, 0, 64, -1);
	attr.path = (struct uroce_path){ .source = network_address("10.0.7.1"),
					 .dest = network_address("10.0.7.2"),
					 .dest_mac = { { 2, 0, 0, 0, 0, 9 } },
					 .device = tapped };
	attr.path_mtu = 1024;
	cr_assert_eq(uroce_qp_connect(network.ends[0].qp, &attr, NULL), 0);
	attr.alt_path =
		(struct uroce_path){ .source = network_address("10.0.0.1"), .dest = network_address("10.0.0.2") };
	attr.alt_pkey = 0xFFFF;
	attr.path_mig_state = UROCE_PATH_REARM;
	cr_assert_eq(uroce_qp_modify(network.ends[0].qp, &attr, UROCE_QP_ALT_PATH | UROCE_QP_PATH_MIG_STATE, NULL), 0);
	/* There is no peer behind the tap whose packet would arm it. */
	qp_core(network.ends[0].qp)->migration.state = UROCE_PATH_ARMED;
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 8), 0);
	for (int i = 0; i < 100; i++)
		network_poll(&network);
	set_interface(false);
	cr_assert_eq(wait_event(&network, tapped).type, UROCE_EVENT_PORT_ERR);
	cr_assert_eq(wait_event(&network, network.ends[0].device).type, UROCE_EVENT_PATH_MIG);
	cr_assert_eq(network_counter(&network, 0, "local_ack_timeout_err"), 0, "4.3 s are far from over");
	set_interface(true);
	cr_assert_eq(wait_event(&network, tapped).type, UROCE_EVENT_PORT_ACTIVE);
	cr_assert_eq(uroce_qp_destroy(network.ends[0].qp), 0);
	network.ends[0].qp = NULL;
	cr_assert_eq(uroce_device_destroy(tapped), 0);
	cr_assert_eq(drivers_ethdev_close(&tap), 0);
	network_close(&network);
}

/* A ring's driver has no interrupt for its link, and no interface of the kernel that could be looked at. */
Test(link, link_of_a_driver_without_interrupt_is_polled)
{
	static struct network network;

	RULE("V-1");
	network_open(&network, 1);
	cr_assert_eq(rte_eth_dev_set_link_down(network.loop.ports[0].port_id), 0);
	cr_assert_eq(wait_event(&network, network.ends[0].device).type, UROCE_EVENT_PORT_ERR);
	cr_assert_eq(rte_eth_dev_set_link_up(network.loop.ports[0].port_id), 0);
	cr_assert_eq(wait_event(&network, network.ends[0].device).type, UROCE_EVENT_PORT_ACTIVE);
	network_close(&network);
}
