/* port.c - a port from its name: every kind of name, refusals in a sentence, everything given back */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>

#include <uroce/uroce.h>

#include "engine/packet_socket.h"
#include "start.h"

/* Its driver (22.11) leaves an abstract socket bound when it goes. */
#define MEMIF "net_memif%d,role=server,socket-abstract=no,socket=/tmp/uroce-port-%d"

TestSuite(port, .init = test_eal_start, .timeout = 60);

static struct uroce_engine *create_engine(void)
{
	struct uroce_engine_config config = { .lcore_count = 1 };
	struct uroce_engine *engine;

	cr_assert_eq(uroce_engine_create(&config, &engine), 0);
	return engine;
}

static struct uroce_port *open_port(const char *name, const struct uroce_port_config *config)
{
	struct uroce_error error = { "" };
	struct uroce_port *port;
	int result = uroce_port_open(name, config, &port, &error);

	cr_assert_eq(result, 0, "%s: %d %s", name, result, error.text);
	return port;
}

/* The sentence has all these words, and is one line. */
static void expect_refused(const char *name, const struct uroce_port_config *config, int code, const char *const *words)
{
	struct uroce_error error = { "" };
	struct uroce_port *port = (struct uroce_port *)(uintptr_t)1;

	cr_expect_eq(uroce_port_open(name, config, &port, &error), code, "%s: %s", name, error.text);
	cr_expect_null(port);
	cr_expect_null(strchr(error.text, '\n'));
	for (; *words; words++)
		cr_expect_not_null(strstr(error.text, *words), "'%s' lacks '%s'", error.text, *words);
	cr_expect_eq(uroce_port_open(name, config, &port, NULL), code, "%s without an error to fill", name);
}
#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

Test(port, loop_ports_pair_in_opening_order)
{
	struct uroce_port_config config = { .engine = create_engine(), .addresses = { "10.0.0.1/24" } };
	struct uroce_port *ports[4];
	struct rte_mbuf *frame;

	for (int i = 0; i < 4; i++)
		ports[i] = open_port("loop", &config);
	cr_expect_str_eq(ports[0]->driver, "net_ring");
	cr_expect_eq(ports[0]->mtu_bytes, 4096);
	for (int i = 0; i < 4; i += 2) {
		cr_expect_eq(ports[i]->pool, ports[i + 1]->pool);
		frame = test_frame_create(ports[i]->pool, 7, 64);
		cr_assert_eq(rte_eth_tx_burst(ports[i]->port_id, 0, &frame, 1), 1);
		cr_assert_eq(rte_eth_rx_burst(ports[i + 1]->port_id, 0, &frame, 1), 1);
		rte_pktmbuf_free(frame);
	}
	cr_expect_neq(ports[0]->pool, ports[2]->pool);
	for (int i = 0; i < 4; i++)
		cr_expect_eq(uroce_port_close(ports[i]), 0);
	cr_expect_eq(rte_eth_dev_count_avail(), 0);
	cr_expect_eq(uroce_engine_destroy(config.engine), 0);
}

Test(port, unpaired_loop_end_leaves_no_port)
{
	struct uroce_port_config config = { .engine = create_engine(), .addresses = { "10.0.0.1/24" } };
	struct uroce_port *first, *second;

	cr_expect_eq(uroce_port_close(open_port("loop", &config)), 0);
	cr_expect_eq(rte_eth_dev_count_avail(), 0);
	first = open_port("loop", &config);
	config.queue_count = 2;
	expect_refused("loop", &config, -EINVAL, WORDS("1 rx/tx queue pairs", "2"));
	config.queue_count = 1;
	second = open_port("loop", &config);
	cr_expect_eq(first->pool, second->pool);
	cr_expect_eq(uroce_port_close(first), 0);
	first = open_port("loop", &config);
	cr_expect_neq(first->pool, second->pool, "a wire that has lost an end gets no new one");
	cr_expect_eq(uroce_port_close(first), 0);
	cr_expect_eq(uroce_port_close(second), 0);
	cr_expect_eq(uroce_engine_destroy(config.engine), 0);
}

Test(port, port_used_by_a_device_stays_open)
{
	struct uroce_port_config config = { .engine = create_engine(), .addresses = { "fe80::1/64", "10.0.0.1/24" } };
	struct uroce_port *port = open_port("loop", &config);
	struct uroce_device_info info;
	struct uroce_pd *pd;

	uroce_device_query(port->device, &info);
	cr_expect_eq(info.addr_count, 2);
	cr_expect_eq(info.port_id, port->port_id);
	cr_expect_str_eq(info.interface, "", "a loop has none");
	cr_expect_eq(info.port_mtu_bytes, 0, "a frame of any length passes");
	cr_expect_eq(info.link_mbps, 0, "nobody knows what a loop carries, whatever its driver says");
	cr_assert_eq(uroce_pd_alloc(port->device, &pd), 0);
	cr_expect_eq(uroce_port_close(port), -EBUSY);
	cr_expect_eq(uroce_pd_dealloc(pd), 0);
	cr_expect_eq(uroce_port_close(port), 0);
	cr_expect_eq(uroce_engine_destroy(config.engine), 0);
}

Test(port, created_virtual_device_is_removed_but_not_the_users)
{
	struct uroce_port_config config = { .engine = create_engine(), .addresses = { "10.0.0.1/24" } };
	struct uroce_port *port;
	char text[100];
	uint16_t id;

	for (int i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), MEMIF, 0, (int)getpid());
		port = open_port(text, &config);
		cr_expect_str_eq(port->name, "net_memif0");
		cr_expect_eq(port->mtu_bytes, 4096, "its buffer holds a frame of the largest path MTU");
		cr_expect_eq(uroce_port_close(port), 0);
		cr_expect_neq(rte_eth_dev_get_port_by_name("net_memif0", &id), 0);
	}
	snprintf(text, sizeof(text), MEMIF ",bsize=2048", 0, (int)getpid());
	port = open_port(text, &config);
	cr_expect_eq(port->mtu_bytes, 1024);
	cr_expect_eq(uroce_port_close(port), 0);
	cr_assert_eq(rte_eal_hotplug_add("vdev", "net_null5", ""), 0);
	port = open_port("net_null5", &config);
	cr_expect_eq(uroce_port_close(port), 0);
	cr_expect_eq(rte_eal_hotplug_remove("vdev", "net_null5"), 0, "it is the user's");
	cr_expect_eq(uroce_engine_destroy(config.engine), 0);
}

/* As a NIC that EAL was told of: closing its port leaves the device plugged, and without one. */
Test(port, device_of_the_user_can_be_opened_repeatedly)
{
	struct uroce_port_config config = { .engine = create_engine(), .addresses = { "10.0.0.1/24" } };

	cr_assert_eq(rte_eal_hotplug_add("vdev", "net_null5", "size=100"), 0);
	for (int time = 0; time < 3; time++)
		cr_assert_eq(uroce_port_close(open_port("net_null5", &config)), 0);
	cr_assert_eq(uroce_engine_destroy(config.engine), 0);
}

/* Both ends of a loop, and a driver that offers as many queues as it is asked for. */
Test(port, queues_default_to_the_lcores_of_the_engine)
{
	struct uroce_engine_config three = { .lcore_count = 3 };
	struct uroce_port_config config = { .addresses = { "10.0.0.1/24" } };
	struct uroce_port *first, *second;

	cr_assert_eq(uroce_engine_create(&three, &config.engine), 0);
	first = open_port("loop", &config);
	cr_expect_eq(first->queue_count, 3);
	config.addresses[0] = "10.0.0.2/24";
	second = open_port("loop", &config);
	cr_expect_eq(second->queue_count, 3);
	cr_expect_eq(uroce_port_close(first), 0);
	cr_expect_eq(uroce_port_close(second), 0);
	config.queue_count = 1;
	first = open_port("loop", &config);
	cr_expect_eq(first->queue_count, 1);
	cr_expect_eq(uroce_port_close(first), 0);
	cr_expect_eq(uroce_engine_destroy(config.engine), 0);
}

Test(port, port_without_an_engine_is_only_set_up)
{
	struct uroce_port_config config = { .queue_count = 1 };
	struct uroce_port *port = open_port("net_null0", &config);

	cr_expect_null(port->device);
	cr_expect_eq(port->queue_count, 1);
	cr_expect_not_null(port->pool);
	cr_expect(rte_eth_dev_is_valid_port(port->port_id));
	cr_expect_eq(uroce_port_close(port), 0);
}

Test(port, invalid_port_is_refused_with_a_message)
{
	struct uroce_port_config config = { .engine = create_engine(), .addresses = { "10.0.0.1/24" } }, bad = config;
	char longest[600], memif[100];

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	expect_refused("", &config, -EINVAL, WORDS("not a port name"));
	expect_refused(longest, &config, -EINVAL, WORDS("not a port name", "at most"));
	expect_refused("eth99", &config, -ENODEV, WORDS("eth99", "ip link"));
	expect_refused("net_nothing0", &config, -ENODEV, WORDS("net_nothing0", "no driver for that name"));
	expect_refused("net_memif0,role=nobody", &config, -ENODEV, WORDS("net_memif0", "role"));
	expect_refused("ffff:00:1f.0", &config, -ENODEV, WORDS("ffff:00:1f.0", "lspci"));
	bad.addresses[0] = NULL;
	expect_refused("loop", &bad, -EINVAL, WORDS("no address", "10.0.0.1/24"));
	bad.addresses[0] = "10.0.0.256/24";
	expect_refused("net_null0", &bad, -EINVAL, WORDS("10.0.0.256/24"));
	bad = config;
	bad.mtu_bytes = 4096;
	snprintf(memif, sizeof(memif), MEMIF ",bsize=2048", 0, (int)getpid());
	expect_refused(memif, &bad, -EMSGSIZE, WORDS("4096", "2030", "1024", "bsize"));
	bad.mtu_bytes = 300;
	expect_refused("net_null0", &bad, -EINVAL, WORDS("300"));
	bad = config;
	bad.queue_count = 2;
	expect_refused("loop", &bad, -ENOSPC, WORDS("2 rx/tx queue pairs but only 1 lcores", "1 lcores"));
	cr_expect_eq(rte_eth_dev_count_avail(), 0, "nothing is left open");
	cr_expect_eq(uroce_port_close(open_port("loop", &config)), 0);
	cr_expect_eq(uroce_engine_destroy(config.engine), 0);
}

/* ---- checking ---- */

/* The check gives the code and the sentence that opening the port gives. */
static void expect_check_refused(const char *name, const struct uroce_port_config *config, int code)
{
	struct uroce_error checked = { "" }, opened = { "" };
	struct uroce_port *port;

	cr_expect_eq(uroce_port_open(name, config, &port, &opened), code, "%s: %s", name, opened.text);
	cr_expect_eq(uroce_port_check(name, config, &checked), code, "%s: %s", name, checked.text);
	cr_expect_str_eq(checked.text, opened.text);
	cr_expect_eq(uroce_port_check(name, config, NULL), code, "%s without an error to fill", name);
}

Test(port, check_refuses_names_addresses_and_numbers_as_open_does)
{
	static const char *const names[] = { "", "eth99", "net_nothing0", "ffff:00:1f.0" };
	static const char *const addresses[] = { NULL, "10.0.0.256/24", "10.0.0.0/24", "127.0.0.1/8" };
	struct uroce_port_config config = { .engine = create_engine(), .addresses = { "10.0.0.1/24" } }, bad = config;
	struct uroce_error error = { "" };

	for (unsigned i = 0; i < RTE_DIM(names); i++)
		expect_check_refused(names[i], &config, i == 0 ? -EINVAL : -ENODEV);
	for (unsigned i = 0; i < RTE_DIM(addresses); i++) {
		bad.addresses[0] = addresses[i];
		expect_check_refused("loop", &bad, -EINVAL);
		expect_check_refused("net_null0", &bad, -EINVAL);
	}
	bad = config;
	bad.gateways[0] = "10.0.0";
	expect_check_refused("loop", &bad, -EINVAL);
	bad = config;
	bad.mtu_bytes = 300;
	expect_check_refused("loop", &bad, -EINVAL);
	expect_check_refused("net_null0", &bad, -EINVAL);
	bad = config;
	bad.queue_count = 2;
	cr_expect_eq(uroce_port_check("loop", &bad, &error), -ENOSPC);
	cr_expect_str_eq(
		error.text,
		"port loop has 2 rx/tx queue pairs but only 1 lcores serve it, so frames would be lost: use qpairs=1");
	bad.queue_count = 65;
	expect_check_refused("loop", &bad, -EINVAL);
	bad.queue_count = 0;
	bad.record_path = "/dev/null/records";
	expect_check_refused("loop", &bad, -ENOTDIR);
	cr_expect_eq(rte_eth_dev_count_avail(), 0, "nothing is left open");
	cr_expect_eq(uroce_engine_destroy(config.engine), 0);
}

Test(port, check_accepts_a_valid_port_and_changes_nothing)
{
	struct uroce_port_config config = { .engine = create_engine(), .addresses = { "10.0.0.1/24" } },
				 before = config;
	struct uroce_error error = { "as before" };
	char memif[100], path[64];
	const char *const names[] = { "loop", "net_null0", memif };

	snprintf(memif, sizeof(memif), MEMIF, 0, (int)getpid());
	snprintf(path, sizeof(path), "/tmp/uroce-port-%d", (int)getpid());
	for (unsigned i = 0; i < RTE_DIM(names); i++) {
		cr_expect_eq(uroce_port_check(names[i], &config, &error), 0, "%s: %s", names[i], error.text);
		cr_expect_eq(uroce_port_check(names[i], &config, NULL), 0);
		cr_expect_str_eq(error.text, "as before");
		cr_expect_eq(memcmp(&config, &before, sizeof(config)), 0);
		cr_expect_eq(rte_eth_dev_count_avail(), 0, "%s is open", names[i]);
		cr_expect_neq(access(path, F_OK), 0, "%s exists", path);
		cr_expect_eq(uroce_port_close(open_port(names[i], &config)), 0);
	}
	cr_expect_eq(uroce_engine_destroy(config.engine), 0);
}

/* The user's arguments are not replaced by ours when EAL has got none of them to work. */
Test(port, failed_device_of_the_user_is_not_recreated_with_defaults)
{
	struct uroce_port_config config = { .engine = create_engine(), .addresses = { "10.0.0.1/24" } };
	char text[100];

	cr_assert_neq(rte_eal_hotplug_add("vdev", "net_memif3", "role=nobody"), 0);
	expect_refused("net_memif3", &config, -ENODEV, WORDS("net_memif3"));
	snprintf(text, sizeof(text), MEMIF, 3, (int)getpid());
	cr_expect_eq(uroce_port_close(open_port(text, &config)), 0);
	cr_expect_eq(uroce_engine_destroy(config.engine), 0);
}

Test(port, kernel_interface_name_suffices)
{
	struct uroce_port_config config = { .addresses = { "10.0.0.1/24" } };
	struct uroce_port *ports[2];

	if (geteuid() != 0 || unshare(CLONE_NEWNET) != 0)
		cr_skip_test("needs root for a network namespace");
	if (system("ip link add ua mtu 9000 type veth peer name ub mtu 9000 && ip link set ua up && ip link set ub up"))
		cr_skip_test("needs iproute2 and veth");
	config.engine = create_engine();
	config.mbuf_count = 2047;
	ports[0] = open_port("ua", &config);
	ports[1] = open_port("ub,qdisc_bypass=0", &config);
	cr_expect_str_eq(ports[0]->driver, "net_af_packet");
	cr_expect_eq(ports[0]->mtu_bytes, 4096);
	cr_expect_eq(uroce_port_close(ports[0]), 0);
	cr_expect_eq(uroce_port_close(ports[1]), 0);
	cr_expect_eq(uroce_engine_destroy(config.engine), 0);
}

static void make_veth(void)
{
	if (geteuid() != 0 || unshare(CLONE_NEWNET) != 0)
		cr_skip_test("needs root for a network namespace");
	if (system("ip link add ua type veth peer name ub && ip link set ua up && ip link set ub up"))
		cr_skip_test("needs iproute2 and veth");
}

/* ---- addresses ---- */

Test(port, addresses_of_no_host_are_refused)
{
	static const char *const addresses[] = { "192.0.2.0/24", "192.0.2.255/24", "224.0.0.9/24", "127.0.0.9/8",
						 "0.0.0.0/24",   "ff02::9/64",     "::1/64" };
	struct uroce_port_config config = { .engine = create_engine() };

	for (unsigned i = 0; i < RTE_DIM(addresses); i++) {
		config.addresses[0] = addresses[i];
		expect_refused("loop", &config, -EINVAL, WORDS(addresses[i], "host address"));
	}
	cr_expect_eq(uroce_engine_destroy(config.engine), 0);
}

Test(port, kernel_address_is_refused_on_a_packet_socket)
{
	struct uroce_port_config config = { .addresses = { "192.0.2.1/24" }, .mbuf_count = 2047 };

	make_veth();
	if (system("ip address add 192.0.2.1/24 dev ua && ip address add fd00::1/64 dev ua nodad") != 0)
		cr_skip_test("needs iproute2");
	config.engine = create_engine();
	expect_refused("ua", &config, -EADDRINUSE, WORDS("192.0.2.1", "interface ua"));
	config.addresses[0] = "fd00::1/64";
	expect_refused("ua", &config, -EADDRINUSE, WORDS("fd00::1", "interface ua"));
	config.addresses[0] = "192.0.2.2/24";
	cr_expect_eq(uroce_port_close(open_port("ua", &config)), 0);
	cr_expect_eq(uroce_engine_destroy(config.engine), 0);
}

Test(port, check_finds_an_address_of_the_kernel_as_open_does)
{
	struct uroce_port_config config = { .addresses = { "192.0.2.1/24" }, .mbuf_count = 2047 };

	make_veth();
	if (system("ip address add 192.0.2.1/24 dev ua") != 0)
		cr_skip_test("needs iproute2");
	config.engine = create_engine();
	expect_check_refused("ua", &config, -EADDRINUSE);
	config.addresses[0] = "192.0.2.2/24";
	for (int i = 0; i < 2; i++)
		cr_expect_eq(uroce_port_check("ua", &config, NULL), 0, "a check keeps no address");
	cr_expect_eq(rte_eth_dev_count_avail(), 0, "nothing is left open");
	cr_expect_eq(uroce_port_close(open_port("ua", &config)), 0);
	cr_expect_eq(uroce_engine_destroy(config.engine), 0);
}

/* ---- fanout groups of packet sockets ---- */

/* Number and flags of the group that all packet sockets of the process on the interface are in; 0: none. */
static unsigned group_of_sockets(const char *interface, unsigned expected_sockets)
{
	unsigned count = 0, group = 0;

	for (int fd = 3; fd < 1024; fd++) {
		unsigned told = 0;
		socklen_t bytes = sizeof(told);

		if (!packet_socket_is_on(if_nametoindex(interface), fd))
			continue;
		cr_assert_eq(getsockopt(fd, SOL_PACKET, PACKET_FANOUT, &told, &bytes), 0);
		cr_assert(count++ == 0 || told == group, "all sockets are in one group");
		group = told;
	}
	cr_assert_eq(count, expected_sockets);
	return group;
}

/* The group number that the driver chooses. */
static int driver_group(const char *interface)
{
	return (getpid() ^ (int)if_nametoindex(interface)) & 0xffff;
}

/* Another program's socket on ub is in the group. */
static int take_group(int group)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));

	address.sll_ifindex = (int)if_nametoindex("ub");
	cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	cr_assert_eq(setsockopt(fd, SOL_PACKET, PACKET_FANOUT, &group, sizeof(group)), 0);
	return fd;
}

Test(port, single_queue_packet_socket_joins_no_fanout_group)
{
	struct uroce_port_config config = { .addresses = { "10.0.0.1/24" }, .mbuf_count = 2047 };
	struct uroce_port *port;

	make_veth();
	config.engine = create_engine();
	port = open_port("ua", &config);
	cr_expect_eq(group_of_sockets("ua", 1), 0);
	cr_expect_eq(uroce_port_close(port), 0);
	cr_expect_eq(uroce_engine_destroy(config.engine), 0);
}

Test(port, packet_sockets_of_several_queues_have_their_own_group)
{
	struct uroce_engine_config lcores = { .lcore_count = 2 };
	struct uroce_port_config config = { .addresses = { "10.0.0.1/24" }, .mbuf_count = 4095 };
	struct uroce_port *port;
	unsigned group;

	make_veth();
	cr_assert_eq(uroce_engine_create(&lcores, &config.engine), 0);
	port = open_port("ua,qpairs=2", &config);
	group = group_of_sockets("ua", 2);
	cr_expect_neq(group, 0);
	cr_expect_neq(group & 0xffff, (unsigned)driver_group("ua"),
		      "which a process in another pid namespace would share");
	cr_expect_eq(uroce_port_close(port), 0);
	cr_expect_eq(uroce_engine_destroy(config.engine), 0);
}

static void *close_soon(void *fd)
{
	usleep(100000);
	close(*(int *)fd);
	return NULL;
}

Test(port, port_opens_when_another_process_leaves_the_group)
{
	struct uroce_port_config config = { .addresses = { "10.0.0.1/24" }, .mbuf_count = 2047 };
	pthread_t thread;
	int other;

	make_veth();
	other = take_group(driver_group("ua"));
	config.engine = create_engine();
	cr_assert_eq(pthread_create(&thread, NULL, close_soon, &other), 0);
	cr_expect_eq(uroce_port_close(open_port("ua", &config)), 0);
	cr_expect_eq(pthread_join(thread, NULL), 0);
	cr_expect_eq(uroce_engine_destroy(config.engine), 0);
}

/* A program of DPDK's stays in its group. */
Test(port, socket_group_in_use_is_refused_with_a_remedy)
{
	struct uroce_port_config config = { .addresses = { "10.0.0.1/24" }, .mbuf_count = 2047 };
	int other;

	make_veth();
	other = take_group(driver_group("ua"));
	config.engine = create_engine();
	expect_refused("ua", &config, -ENODEV, WORDS("net_af_packet_ua", "group number", "again"));
	cr_expect_eq(close(other), 0);
	cr_expect_eq(uroce_engine_destroy(config.engine), 0);
}
