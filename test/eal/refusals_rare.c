/* refusals_rare.c - refusals that take a second link, or a kernel, CPU or port that says no */
/* SPDX-License-Identifier: BSD-3-Clause */
/* What no machine says when it is asked is put into its mouth: functions are linked in the place of others. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_launch.h>

#include <uroce/uroce.h>

#include "calls.h"
#include "cm/cm.h"
#include "engine/engine.h"
#include "refusals.h"
#include "wire/icrc.h"

static void start_two_lcores(void)
{
	char *arguments[] = { (char *)"eal",      (char *)"--no-huge", (char *)"--no-shconf",
			      (char *)"--no-pci", (char *)"-m",        (char *)"64",
			      (char *)"--lcores", (char *)"0@0,1@0",   NULL };

	cr_assert_geq(rte_eal_init(8, arguments), 0, "EAL does not start");
}

TestSuite(refusals_rare, .init = start_two_lcores, .timeout = 60);

static struct network network;

/* ---- what says no, while it shall ---- */

static bool no_random, no_such_cpu, strips_tags, has_ended;

ssize_t __real_getrandom(void *buffer, size_t bytes, unsigned flags);
ssize_t __wrap_getrandom(void *buffer, size_t bytes, unsigned flags);
ssize_t __wrap_getrandom(void *buffer, size_t bytes, unsigned flags)
{
	if (!no_random)
		return __real_getrandom(buffer, bytes, flags);
	errno = ENOSYS;
	return -1;
}

bool __real_wire_icrc_choose(enum wire_icrc_impl impl);
bool __wrap_wire_icrc_choose(enum wire_icrc_impl impl);
bool __wrap_wire_icrc_choose(enum wire_icrc_impl impl)
{
	return no_such_cpu ? false : __real_wire_icrc_choose(impl);
}

int __real_rte_eth_dev_get_vlan_offload(uint16_t port_id);
int __wrap_rte_eth_dev_get_vlan_offload(uint16_t port_id);
int __wrap_rte_eth_dev_get_vlan_offload(uint16_t port_id)
{
	return strips_tags ? RTE_ETH_VLAN_STRIP_OFFLOAD : __real_rte_eth_dev_get_vlan_offload(port_id);
}

int __real_cm_accept(struct cm *cm, uint32_t connection, const struct cm_accept *accept, uint64_t now_ns);
int __wrap_cm_accept(struct cm *cm, uint32_t connection, const struct cm_accept *accept, uint64_t now_ns);
int __wrap_cm_accept(struct cm *cm, uint32_t connection, const struct cm_accept *accept, uint64_t now_ns)
{
	return has_ended ? -ENOTCONN : __real_cm_accept(cm, connection, accept, now_ns);
}

/* ---- engines and devices ---- */

Test(refusals_rare, unsupported_by_the_machine)
{
	struct uroce_qp_init_attr init;
	struct uroce_qp *qp;

	network_open(&network, 1);
	network_create_qp(&network, 0, 64, -1);
	init = (struct uroce_qp_init_attr){ .send_cq = network.ends[0].cq,
					    .recv_cq = network.ends[0].cq,
					    .max_send_wr = 1,
					    .max_send_sge = 1,
					    .max_recv_sge = 1 };
	no_random = true;
	EXPECT(-EIO, "the kernel returns no random numbers: *", uroce_qp_create(network.ends[0].pd, &init, &qp));
	no_random = false;
	no_such_cpu = true;
	EXPECT(-ENOTSUP, "name *: this CPU lacks the required instructions", uroce_icrc_choose(uroce_icrc()));
	no_such_cpu = false;
	cr_expect_eq(uroce_icrc_choose(uroce_icrc()), 0);
	network_close(&network);
}

Test(refusals_rare, invalid_devices)
{
	struct uroce_device_config device = { .addr_count = 1, .mtu_bytes = 1024 };
	struct uroce_device *none;

	network_open(&network, 1);
	device.port_id = network.loop.ports[0].port_id;
	device.pool = network.loop.pool;
	EXPECT(-EINVAL, ":: is an unspecified address: use a host address, such as 10.0.0.1/24",
	       uroce_device_create(network.engine, &device, &none));
	device.addrs[0] = network_address("10.0.0.9");
	EXPECT(-EBUSY, "port_id *: the port already has a device", uroce_device_create(network.engine, &device, &none));
	network_close(&network);
}

static atomic_bool spins;

static int spin(void *nothing)
{
	(void)nothing;
	while (atomic_load(&spins))
		;
	return 0;
}

Test(refusals_rare, missing_memory)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	void *unreadable = mmap(NULL, 4096, PROT_NONE, flags, -1, 0);
	void *read_only = mmap(NULL, 4096, PROT_READ, flags, -1, 0);
	struct uroce_mr *mr;

	network_open(&network, 1);
	EXPECT(-EFAULT, "addr 0x*, bytes 4096: a part of the memory is not mapped or not readable",
	       uroce_mr_reg(network.ends[0].pd, unreadable, 4096, 0, &mr));
	EXPECT(-EFAULT,
	       "addr 0x*, bytes 4096, access 0x1: a part of the memory is mapped read-only; register it without write "
	       "access",
	       uroce_mr_reg(network.ends[0].pd, read_only, 4096, UROCE_ACCESS_LOCAL_WRITE, &mr));
	cr_assert_eq(uroce_mr_reg(network.ends[0].pd, read_only, 4096, UROCE_ACCESS_REMOTE_READ, &mr), 0);
	EXPECT(-EFAULT, "addr 0x*, bytes 4096: a part of the memory is not mapped or not readable",
	       uroce_mr_rereg(mr, network.ends[0].pd, unreadable, 4096, (uintptr_t)unreadable, 0));
	cr_assert_eq(uroce_mr_dereg(mr), 0);
	network_close(&network);
}

Test(refusals_rare, lcore_in_use)
{
	const unsigned worker = 1;
	struct uroce_engine_config config = { .lcore_ids = &worker, .lcore_count = 1 };
	struct uroce_engine *engine;

	cr_assert_eq(uroce_engine_create(&config, &engine), 0);
	atomic_store(&spins, true);
	cr_assert_eq(rte_eal_remote_launch(spin, NULL, worker), 0);
	EXPECT(-EBUSY, "lcore_ids: lcore 1 is already running a function", uroce_engine_start(engine));
	atomic_store(&spins, false);
	rte_eal_mp_wait_lcore();
	cr_expect_eq(uroce_engine_start(engine), 0);
	cr_expect_eq(uroce_engine_destroy(engine), 0);
}

Test(refusals_rare, too_many_devices_and_stripped_tags)
{
	struct uroce_engine_config config = { .lcore_count = 1 };
	struct uroce_device_config given;
	struct uroce_engine *engine;
	struct uroce_device *device;

	network_open(&network, 1);
	given = (struct uroce_device_config){ .port_id = network.loop.ports[0].port_id,
					      .pool = network.loop.pool,
					      .addr_count = 1,
					      .addrs = { network_address("10.0.0.1") } };
	cr_assert_eq(uroce_engine_create(&config, &engine), 0);
	strips_tags = true;
	EXPECT(-EINVAL, "port_id *: the port strips VLAN tags; configure it without VLAN stripping",
	       uroce_device_create(engine, &given, &device));
	strips_tags = false;
	for (unsigned i = 0; i < ENGINE_DEVICES; i++)
		engine->devices[i] = network.ends[1].device; /* of another engine: nobody polls it here */
	EXPECT(-ENOSPC, "the engine already has * devices, the maximum; destroy one first",
	       uroce_device_create(engine, &given, &device));
	memset(engine->devices, 0, sizeof(engine->devices));
	cr_expect_eq(uroce_engine_destroy(engine), 0);
	network_close(&network);
}

/* ---- a second link, of one queue, at the lcore named, with a prefix ---- */

struct second {
	struct drivers_loop loop;
	struct uroce_device *devices[2];
};

static void open_second(struct second *second, uint16_t first_lcore)
{
	struct drivers_loop_config loop = {
		.name = "second", .queue_count = 1, .ring_entries = 256, .mbuf_count = 2047
	};
	struct uroce_error error = { "" };

	cr_assert_eq(drivers_loop_open(&loop, &second->loop, &error), 0, "%s", error.text);
	for (int i = 0; i < 2; i++) {
		struct uroce_device_config device = {
			.port_id = second->loop.ports[i].port_id,
			.first_lcore = first_lcore,
			.pool = second->loop.pool,
			.addr_count = 1,
			.addrs = { network_address(network_second_link[i]) },
			.prefix_bits = { 24 },
		};

		cr_assert_eq(uroce_device_create(network.engine, &device, &second->devices[i]), 0);
	}
}

static void close_second(struct second *second)
{
	for (int i = 0; i < 2; i++)
		cr_assert_eq(uroce_device_destroy(second->devices[i]), 0);
	cr_assert_eq(drivers_loop_close(&second->loop), 0);
}

static void connect_both(unsigned lcores)
{
	network_open(&network, lcores);
	for (int i = 0; i < 2; i++)
		network_create_qp(&network, i, 64, 0);
}

static void destroy_both(void)
{
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(uroce_qp_destroy(network.ends[i].qp), 0);
		network.ends[i].qp = NULL;
	}
}

Test(refusals_rare, path_over_a_port_of_another_lcore)
{
	struct second second;
	struct uroce_qp_attr attr;

	connect_both(2);
	open_second(&second, 1);
	network_connect(&network, false);
	attr = network_alternate(second.devices[0], 0);
	EXPECT(-EINVAL, "ALT_PATH: port * has no queue on the queue pair's lcore",
	       uroce_qp_modify(network.ends[0].qp, &attr, UROCE_QP_ALT_PATH, NULL));
	destroy_both();
	close_second(&second);
	network_close(&network);
}

Test(refusals_rare, path_armed_before_the_peer_followed)
{
	const uint32_t mask = UROCE_QP_ALT_PATH | UROCE_QP_PATH_MIG_STATE;
	struct second second;
	struct uroce_qp_attr attr = { .path_mig_state = UROCE_PATH_MIGRATED };

	connect_both(1);
	open_second(&second, 0);
	network_connect(&network, false);
	for (int i = 0; i < 2; i++) {
		struct uroce_qp_attr load = network_alternate(second.devices[i], i);

		cr_assert_eq(uroce_qp_modify(network.ends[i].qp, &load, mask, NULL), 0, "%s", uroce_last_error());
	}
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 8), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	cr_assert_eq(uroce_qp_modify(network.ends[0].qp, &attr, UROCE_QP_PATH_MIG_STATE, NULL), 0);
	attr = (struct uroce_qp_attr){ .alt_path = { .source = network_address("10.0.0.1"),
						     .dest = network_address("10.0.0.2"),
						     .device = network.ends[0].device },
				       .alt_pkey = 0xFFFF,
				       .path_mig_state = UROCE_PATH_REARM };
	EXPECT(-EAGAIN,
	       "PATH_MIG_STATE REARM: no packet from the peer has arrived over the new path yet; exchange a message "
	       "first",
	       uroce_qp_modify(network.ends[0].qp, &attr, mask, NULL));
	destroy_both();
	close_second(&second);
	network_close(&network);
}

/* ---- connections ---- */

Test(refusals_rare, devices_and_neighbours_of_an_id)
{
	struct uroce_addr own, source = network_address(network_second_link[0]), far = network_address("10.9.9.9");
	struct uroce_cm_channel *channel;
	struct uroce_qp_init_attr init;
	struct uroce_cm_id *id;
	struct second second;
	struct uroce_qp *qp;

	calls_open(&network, 1, &channel);
	open_second(&second, 0);
	own = network_address("10.0.0.1");
	init = calls_qp_init(&network, 1);
	cr_assert_eq(uroce_cm_id_create(channel, 0, &id), 0);
	EXPECT(-ENETUNREACH, "dest 10.9.9.9: it is outside the network of 10.0.1.1, which has no gateway",
	       uroce_cm_route(id, &source, &far, 0));
	cr_assert_eq(uroce_cm_bind(id, &own, 0), 0);
	EXPECT(-EINVAL, "pd: it belongs to a different device than the id; see uroce_cm_device()",
	       uroce_cm_qp_create(id, network.ends[1].pd, &init, 0, &qp));
	cr_assert_eq(uroce_cm_id_destroy(id), 0);
	close_second(&second);
	calls_close(&network, channel, NULL);
}

Test(refusals_rare, request_that_ends_during_accept)
{
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener, *id;
	struct uroce_qp_init_attr init;
	struct uroce_cm_event event;
	struct uroce_qp *qp;

	calls_open(&network, 1, &channel);
	cr_assert_eq(uroce_cm_listen(channel, NULL, CALLS_PORT, 1, 0, &listener), 0);
	id = calls_dial(&network, channel, "10.0.0.2", NULL);
	event = calls_wait(channel, UROCE_CM_CONNECT_REQUEST);
	init = calls_qp_init(&network, 1);
	cr_assert_eq(uroce_cm_qp_create(event.id, network.ends[1].pd, &init, 0, &qp), 0);
	has_ended = true;
	EXPECT(-ENOTCONN, "id: the peer withdrew its connection request before the request was accepted",
	       uroce_cm_accept(event.id, NULL));
	has_ended = false;
	calls_hang_up(event.id);
	calls_hang_up(id);
	calls_close(&network, channel, listener);
}
