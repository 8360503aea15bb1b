/* ports.c - both ends in one process, on ports that are real: without mbufs, without a link, without a peer */
/* SPDX-License-Identifier: BSD-3-Clause */
/* memif needs nothing; af_packet needs root, and makes a veth pair in a network namespace of its own. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "drivers/ethdev/ethdev.h"
#include "network.h"
#include "rule.h"
#include "start.h"

#define BYTES 400000u
#define POOL_FREED_S 0.2
#define NO_TIMEOUT 22 /* 17 s: a machine that stops this thread for a while is not taken for a lost frame */
#define NOTICE_US 200000
#define SHORT_TIMEOUT 8 /* 1 ms */
#define LONG_TIMEOUT 18 /* 1 s, and four of them */

TestSuite(ports, .init = test_eal_start, .timeout = 120);

struct wire {
	struct network network;
	struct drivers_ethdev ports[2];
	char folder[32];
};

/* Two devices over these ports, and a connection. */
static void open_wire(struct wire *wire, const char *driver, const char *const arguments[2], uint8_t timeout)
{
	struct uroce_engine_config config = { .lcore_count = 1 };
	struct uroce_error error = { "" };

	memset(&wire->network, 0, sizeof(wire->network));
	wire->network.timeout = timeout;
	network_mtu_bytes = 1024;
	cr_assert_eq(uroce_engine_create(&config, &wire->network.engine), 0);
	for (int i = 0; i < 2; i++) {
		char name[32];
		struct drivers_ethdev_config port = { .name = name, .mbuf_count = 2047 };

		snprintf(name, sizeof(name), "%s%d", driver, i);
		cr_assert_eq(rte_eal_hotplug_add("vdev", name, arguments[i]), 0, "%s", name);
		cr_assert_eq(drivers_ethdev_open(&port, &wire->ports[i], &error), 0, "%s", error.text);
		network_open_end(&wire->network, i, 1, wire->ports[i].port_id, wire->ports[i].pool);
		network_create_qp(&wire->network, i, 64, -1);
	}
	network_connect(&wire->network, false);
}

static void wait_for_links(struct wire *wire)
{
	for (int i = 0; i < 2; i++)
		cr_assert(drivers_ethdev_link_is_up(&wire->ports[i], 5000, NULL));
}

/* A memif's other end takes notice in a thread of EAL's, which must not meet its own closing. */
static void close_port(struct wire *wire, int index)
{
	if (wire->ports[index].pool)
		cr_assert_eq(drivers_ethdev_close(&wire->ports[index]), 0, "mbufs are missing");
	wire->ports[index].pool = NULL;
	usleep(NOTICE_US);
}

static void close_wire(struct wire *wire)
{
	network_close_ends(&wire->network);
	close_port(wire, 1);
	close_port(wire, 0);
}

static void open_memif(struct wire *wire, uint8_t timeout)
{
	char server[128], client[128];
	const char *const arguments[2] = { server, client };

	strcpy(wire->folder, "/tmp/uroce-ports-XXXXXX");
	cr_assert_not_null(mkdtemp(wire->folder));
	snprintf(server, sizeof(server), "role=server,socket=%s/memif,socket-abstract=no", wire->folder);
	snprintf(client, sizeof(client), "role=client,socket=%s/memif,socket-abstract=no", wire->folder);
	open_wire(wire, "net_memif", arguments, timeout);
}

static void close_memif(struct wire *wire)
{
	uint64_t end = rte_rdtsc() + 10 * rte_get_tsc_hz();
	char path[64];

	network_close_ends(&wire->network);
	close_port(wire, 1);
	while (drivers_ethdev_link_is_up(&wire->ports[0], 0, NULL) && rte_rdtsc() < end)
		usleep(1000);
	close_port(wire, 0);
	snprintf(path, sizeof(path), "%s/memif", wire->folder);
	unlink(path);
	cr_assert_eq(rmdir(wire->folder), 0);
}

static void make_veth(void)
{
	if (geteuid() != 0 || unshare(CLONE_NEWNET) != 0)
		cr_skip_test("needs root for a network namespace");
	if (system("ip link add ua type veth peer name ub && ip link set ua addrgenmode none up && "
		   "ip link set ub addrgenmode none up") != 0)
		cr_skip_test("needs iproute2 and veth");
}

static void open_veth(struct wire *wire)
{
	static const char *const arguments[2] = { "iface=ua", "iface=ub" };

	make_veth();
	open_wire(wire, "net_af_packet", arguments, NO_TIMEOUT);
	wait_for_links(wire);
}

/* As network_wait(), but polls are no measure where frames pass through a kernel or another thread. */
static struct uroce_wc wait_for_one(struct wire *wire)
{
	uint64_t end = rte_rdtsc() + 50 * rte_get_tsc_hz();
	struct uroce_wc wc = { .wr_id = 0 };

	do {
		cr_assert_lt(rte_rdtsc(), end, "no completion came");
		network_poll(&wire->network);
	} while (uroce_cq_poll(wire->network.ends[0].cq, 1, &wc) == 0);
	return wc;
}

static void post_both_ways(struct wire *wire)
{
	memset(wire->network.ends[1].buffer, 0, BYTES);
	cr_assert_eq(network_post(&wire->network, UROCE_WR_RDMA_WRITE, BYTES), 0);
	cr_assert_eq(network_post(&wire->network, UROCE_WR_RDMA_READ, BYTES), 0);
}

static void expect_done(struct wire *wire)
{
	for (int i = 0; i < 2; i++)
		cr_assert_eq(wait_for_one(wire).status, UROCE_WC_SUCCESS);
	cr_assert_arr_eq(wire->network.ends[1].buffer, wire->network.ends[0].buffer, BYTES);
}

static void poll_for(struct wire *wire, double seconds)
{
	uint64_t end = rte_rdtsc() + (uint64_t)(seconds * (double)rte_get_tsc_hz());

	while (rte_rdtsc() < end)
		network_poll(&wire->network);
}

static struct rte_mbuf *held[4096];
static uint32_t held_count;
static struct rte_mempool *starved; /* NULL: none */

/* At each look at a port, in the middle of a poll, what has come free meanwhile is gone. */
static uint16_t take_all(uint16_t port, uint16_t queue, struct rte_mbuf **burst, uint16_t count, uint16_t max,
			 void *nothing)
{
	(void)port, (void)queue, (void)burst, (void)max, (void)nothing;
	while (starved && held_count < RTE_DIM(held) && (held[held_count] = rte_pktmbuf_alloc(starved)) != NULL)
		held_count++;
	return count;
}

/* Somebody holds every mbuf of one end, or of the other: nothing comes in or goes out there. */
static void starve(struct wire *wire, int end)
{
	post_both_ways(wire);
	for (int i = 0; i < 3; i++)
		network_poll(&wire->network);
	starved = wire->ports[end].pool;
	poll_for(wire, POOL_FREED_S);
	starved = NULL;
	cr_assert_gt(held_count, 0);
	cr_assert_eq(network_counter(&wire->network, 0, "local_ack_timeout_err"), 0);
	rte_pktmbuf_free_bulk(held, held_count);
	held_count = 0;
	expect_done(wire);
}

static void starve_each(struct wire *wire)
{
	for (int end = 0; end < 2; end++)
		cr_assert_not_null(rte_eth_add_rx_callback(wire->ports[end].port_id, 0, take_all, NULL));
	post_both_ways(wire);
	expect_done(wire);
	for (int round = 0; round < 2; round++) {
		for (int end = 0; end < 2; end++)
			starve(wire, end);
	}
	cr_assert_gt(network_counter(&wire->network, 0, "tx_no_mbuf"), 0);
	cr_assert_eq(network_counter(&wire->network, 0, "req_cqe_error"), 0);
}

/* TC-E-25 */
Test(ports, empty_memif_pool_delays_traffic)
{
	static struct wire wire;

	RULE("S-15");
	open_memif(&wire, NO_TIMEOUT);
	wait_for_links(&wire);
	starve_each(&wire);
	close_memif(&wire);
}

/* TC-E-25 */
Test(ports, empty_af_packet_pool_delays_traffic)
{
	static struct wire wire;

	RULE("S-15");
	open_veth(&wire);
	starve_each(&wire);
	close_wire(&wire);
}

/* The driver decides about frames that its interface refuses; no mbuf is lost or freed twice. */
Test(ports, interface_down_under_load_loses_no_mbuf)
{
	static struct wire wire;

	RULE("T-2");
	open_veth(&wire);
	for (int round = 0; round < 10; round++) {
		post_both_ways(&wire);
		for (int i = 0; i < round; i++)
			network_poll(&wire.network);
		cr_assert_eq(system(round % 2 ? "ip link set ub down" : "ip link set ua down"), 0);
		poll_for(&wire, 0.02);
		cr_assert_eq(system("ip link set ua up && ip link set ub up"), 0);
		expect_done(&wire);
	}
	cr_assert_eq(network_counter(&wire.network, 0, "req_cqe_error"), 0);
	close_wire(&wire);
}

/* The driver (22.11) calls its link up all the time. */
Test(ports, disconnected_cable_is_reported_as_link_down)
{
	static struct wire wire;

	RULE("A-5");
	open_veth(&wire);
	cr_assert_eq(system("ip link set ub down"), 0);
	network_event(&wire.network, 0, UROCE_EVENT_PORT_ERR);
	cr_expect_not(drivers_ethdev_link_is_up(&wire.ports[0], 0, NULL));
	cr_assert_eq(system("ip link set ub up"), 0);
	network_event(&wire.network, 0, UROCE_EVENT_PORT_ACTIVE);
	cr_expect(drivers_ethdev_link_is_up(&wire.ports[0], 0, NULL));
	post_both_ways(&wire);
	expect_done(&wire);
	cr_expect_eq(network_counter(&wire.network, 0, "tx_held"), 0, "nothing was to be sent");
	close_wire(&wire);
}

/* An interface in operational state DORMANT has a carrier and carries frames, and the kernel calls it not running. */
Test(ports, frames_delivered_by_a_link_reported_down_are_not_held)
{
	static struct wire wire;
	uint64_t end;

	RULE("T-2");
	open_veth(&wire);
	cr_assert_eq(system("ip link set ua mode dormant && ip link set ub down && sleep 0.05 && ip link set ub up"),
		     0);
	network_event(&wire.network, 0, UROCE_EVENT_PORT_ERR);
	end = rte_rdtsc() + rte_get_tsc_hz(); /* frames count as held after 0.2 s */
	while (rte_rdtsc() < end) {
		post_both_ways(&wire);
		expect_done(&wire);
	}
	cr_expect_eq(network_counter(&wire.network, 0, "tx_held"), 0, "%lu",
		     network_counter(&wire.network, 0, "tx_held"));
	close_wire(&wire);
}

/* Also in a network namespace whose interfaces /sys does not show, and behind a ring with room for more. */
Test(ports, interface_mtu_bounds_the_port_mtu)
{
	static const char *const arguments[2] = { "iface=ua,framesz=4608,blocksz=36864,framecnt=64",
						  "iface=ub,framesz=4608,blocksz=36864,framecnt=64" };
	static struct wire wire;

	make_veth();
	open_wire(&wire, "net_af_packet", arguments, NO_TIMEOUT);
	cr_expect_eq(uroce_port_mtu(wire.ports[0].port_id), 1500, "%u", uroce_port_mtu(wire.ports[0].port_id));
	cr_assert_eq(system("ip link set ua mtu 1400"), 0);
	cr_expect_eq(uroce_port_mtu(wire.ports[0].port_id), 1400, "%u", uroce_port_mtu(wire.ports[0].port_id));
	close_wire(&wire);
}

/* What the kernel says of an interface; a tap's speed is what its user has set. */
static void set_speed(const char *interface, uint32_t mbps)
{
	struct ethtool_cmd command = { .cmd = ETHTOOL_GSET };
	struct ifreq request = { .ifr_data = (void *)&command };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	strcpy(request.ifr_name, interface);
	cr_assert_eq(ioctl(fd, SIOCETHTOOL, &request), 0);
	command.cmd = ETHTOOL_SSET;
	ethtool_cmd_speed_set(&command, mbps);
	cr_assert_eq(ioctl(fd, SIOCETHTOOL, &request), 0);
	close(fd);
}

Test(ports, interface_name_and_speed_match_the_kernel)
{
	static const char *const arguments[2] = { "iface=ut", "iface=ub" };
	static struct wire wire;
	struct uroce_device_info info;

	make_veth();
	if (system("ip tuntap add ut mode tap && ip link set ut addrgenmode none up mtu 1400") != 0)
		cr_skip_test("needs /dev/net/tun");
	set_speed("ut", 2500);
	open_wire(&wire, "net_af_packet", arguments, NO_TIMEOUT);
	uroce_device_query(wire.network.ends[0].device, &info);
	cr_expect_str_eq(info.interface, "ut");
	cr_expect_eq(info.port_mtu_bytes, 1400, "%u", info.port_mtu_bytes);
	cr_expect_eq(info.link_mbps, 2500, "%u", info.link_mbps);
	set_speed("ut", 100000);
	cr_expect_eq(uroce_port_link_mbps(info.port_id), 100000, "%u", uroce_port_link_mbps(info.port_id));
	set_speed("ut", (uint32_t)SPEED_UNKNOWN);
	cr_expect_eq(uroce_port_link_mbps(info.port_id), 0, "%u", uroce_port_link_mbps(info.port_id));
	uroce_device_query(wire.network.ends[1].device, &info);
	cr_expect_str_eq(info.interface, "ub");
	cr_expect_eq(uroce_port_link_mbps(RTE_MAX_ETHPORTS), 0);
	close_wire(&wire);
}

/* Experimental frames that nobody of ours understands, by a socket on the other interface. */
static void flood(const char *interface, uint32_t frames)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(interface) };
	unsigned char frame[64] = { [0 ... 5] = 0xFF, [6] = 2, [12] = 0x88, [13] = 0xB5 };
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	cr_assert_geq(fd, 0);
	for (uint32_t i = 0; i < frames; i++)
		cr_assert_eq(sendto(fd, frame, sizeof(frame), 0, (struct sockaddr *)&to, sizeof(to)), sizeof(frame));
	close(fd);
}

/* A burst larger than the ring of the port's socket (512 frames) arrives while no thread polls. */
Test(ports, each_arriving_frame_is_counted_including_ring_overflow)
{
	static struct wire wire;
	uint64_t full, other;

	RULE("W-5");
	open_veth(&wire);
	poll_for(&wire, 0.1);
	full = network_counter(&wire.network, 0, "drop_ring_full");
	other = network_counter(&wire.network, 0, "drop_not_roce");
	flood("ub", 3000);
	poll_for(&wire, 0.2);
	full = network_counter(&wire.network, 0, "drop_ring_full") - full;
	other = network_counter(&wire.network, 0, "drop_not_roce") - other;
	cr_expect_gt(full, 2000);
	cr_expect_eq(full + other, 3000, "%lu without room and %lu dropped", full, other);
	close_wire(&wire);
}

/* A link that is still coming up loses what is sent: that is one loss, not one a packet that shows it. */
Test(ports, new_link_costs_at_most_one_retry)
{
	static struct wire wire;

	RULE("T-5");
	open_memif(&wire, LONG_TIMEOUT);
	for (int i = 0; i < 16; i++)
		post_both_ways(&wire);
	for (int i = 0; i < 16; i++)
		expect_done(&wire);
	cr_expect_leq(network_counter(&wire.network, 0, "local_ack_timeout_err") +
			      network_counter(&wire.network, 0, "packet_seq_err") +
			      network_counter(&wire.network, 0, "implied_nak_seq_err"),
		      1);
	cr_assert_eq(network_counter(&wire.network, 0, "req_cqe_error"), 0);
	close_memif(&wire);
}

/* The next event that is not about the link, which is asked for 20 times a second. */
static struct uroce_event event_of_qps(struct network *network)
{
	struct uroce_event event = { .type = UROCE_EVENT_PORT_ACTIVE };
	uint64_t until = rte_rdtsc() + 5 * rte_get_tsc_hz();

	while ((event.type == UROCE_EVENT_PORT_ACTIVE || event.type == UROCE_EVENT_PORT_ERR) && rte_rdtsc() < until) {
		network_poll(network);
		uroce_event_poll(network->ends[0].device, &event);
	}
	return event;
}

/* The other end of a memif is gone for good, with more under way than the port takes. */
Test(ports, requests_to_a_memif_without_a_peer_fail)
{
	static struct wire wire;
	struct network *network = &wire.network;
	struct uroce_event event;

	RULE("T-4");
	open_memif(&wire, SHORT_TIMEOUT);
	wait_for_links(&wire);
	post_both_ways(&wire);
	expect_done(&wire);
	for (int i = 0; i < 8; i++)
		post_both_ways(&wire);
	for (int i = 0; i < 3; i++)
		network_poll(network);
	network_close_end(network, 1);
	close_port(&wire, 1);
	for (int i = 0; i < 16; i++)
		cr_assert_eq(wait_for_one(&wire).status, i ? UROCE_WC_WR_FLUSH_ERR : UROCE_WC_RETRY_EXC_ERR);
	event = event_of_qps(network);
	cr_assert_eq(event.type, UROCE_EVENT_QP_FATAL, "%s", uroce_event_name(event.type));
	cr_assert_eq(event.qp_num, uroce_qp_num(network->ends[0].qp));
	close_memif(&wire);
}

/* ---- ports that cannot work ---- */

static void expect_refused(struct uroce_engine *engine, const struct uroce_device_config *config, int error)
{
	struct uroce_device *device = NULL;
	int result = uroce_device_create(engine, config, &device);

	cr_expect_eq(result, error, "%s, not %s", strerror(-result), strerror(-error));
	if (result == 0)
		cr_assert_eq(uroce_device_destroy(device), 0);
}

/* Polling it would print a backtrace a frame. */
Test(ports, a_port_that_is_not_configured_or_not_started_is_refused)
{
	struct uroce_engine_config config = { .lcore_count = 1 };
	struct uroce_device_config device = { .addr_count = 1, .addrs = { network_address("10.0.0.1") } };
	struct drivers_loop_config wires = { .queue_count = 1 };
	struct uroce_error error = { "" };
	struct uroce_engine *engine;
	struct drivers_loop loop;

	cr_assert_eq(drivers_loop_open(&wires, &loop, &error), 0, "%s", error.text);
	cr_assert_eq(uroce_engine_create(&config, &engine), 0);
	device.pool = loop.pool;
	device.port_id = loop.ports[0].port_id;
	expect_refused(engine, &device, 0);
	cr_assert_eq(rte_eth_dev_stop(device.port_id), 0);
	expect_refused(engine, &device, -ENETDOWN);
	cr_assert_eq(rte_eth_dev_start(device.port_id), 0);
	expect_refused(engine, &device, 0);
	cr_assert_eq(rte_eal_hotplug_add("vdev", "net_null7", ""), 0);
	cr_assert_eq(rte_eth_dev_get_port_by_name("net_null7", &device.port_id), 0);
	expect_refused(engine, &device, -ENETDOWN);
	cr_assert_eq(rte_eth_dev_close(device.port_id), 0);
	cr_assert_eq(uroce_engine_destroy(engine), 0);
	cr_assert_eq(drivers_loop_close(&loop), 0);
}

/* A memif with buffers of 2048 bytes, as it has by itself, crashes (22.11) when it is given longer frames. */
Test(ports, port_with_buffers_below_the_mtu_is_refused)
{
	struct uroce_engine_config config = { .lcore_count = 1 };
	struct uroce_device_config device = { .addr_count = 1, .addrs = { network_address("10.0.0.1") } };
	struct drivers_ethdev_config wanted = { .name = "net_memif7", .mbuf_count = 2047 };
	struct uroce_error error = { "" };
	struct uroce_engine *engine;
	struct drivers_ethdev port;

	cr_assert_eq(rte_eal_hotplug_add("vdev", "net_memif7", "role=server,socket=uroce-ports-7"), 0);
	cr_assert_eq(drivers_ethdev_open(&wanted, &port, &error), 0, "%s", error.text);
	cr_assert_eq(uroce_engine_create(&config, &engine), 0);
	device.port_id = port.port_id;
	device.pool = port.pool;
	expect_refused(engine, &device, -EMSGSIZE);
	device.mtu_bytes = 2048;
	expect_refused(engine, &device, -EMSGSIZE);
	cr_expect_not_null(strstr(uroce_last_error(), "mtu_bytes 2048: IP packets have "), "%s", uroce_last_error());
	device.mtu_bytes = 1024;
	expect_refused(engine, &device, 0);
	cr_assert_eq(uroce_engine_destroy(engine), 0);
	cr_assert_eq(drivers_ethdev_close(&port), 0);
}
