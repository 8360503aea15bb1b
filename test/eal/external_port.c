/* external_port.c - path MTU of a port that the application has opened itself */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <uroce/uroce.h>

#include "start.h"

TestSuite(external_port, .init = test_eal_start, .timeout = 30);

/* A port of the driver, started with one queue. */
static uint16_t open_port(const char *name, const char *arguments, struct rte_mempool *pool)
{
	const struct rte_eth_conf none = { 0 };
	uint16_t port_id;

	cr_assert(rte_eal_hotplug_add("vdev", name, arguments) == 0, "%s", name);
	cr_assert(rte_eth_dev_get_port_by_name(name, &port_id) == 0);
	cr_assert(rte_eth_dev_configure(port_id, 1, 1, &none) == 0);
	cr_assert(rte_eth_rx_queue_setup(port_id, 0, 64, 0, NULL, pool) == 0);
	cr_assert(rte_eth_tx_queue_setup(port_id, 0, 64, 0, NULL) == 0);
	cr_assert(rte_eth_dev_start(port_id) == 0);
	return port_id;
}

static int create_device(uint16_t port_id, uint32_t mtu_bytes, struct rte_mempool *pool)
{
	struct uroce_device_config config = {
		.port_id = port_id, .addr_count = 1, .mtu_bytes = mtu_bytes, .pool = pool
	};
	struct uroce_engine_config zeros = { 0 };
	struct uroce_engine *engine;
	struct uroce_device *device;
	int result;

	cr_assert(uroce_addr_parse("10.0.0.1", &config.addrs[0], NULL) == 0);
	cr_assert(uroce_engine_create(&zeros, &engine) == 0);
	result = uroce_device_create(engine, &config, &device);
	if (result == 0)
		uroce_device_destroy(device);
	uroce_engine_destroy(engine);
	return result;
}

/* A buffer of net_memif has 2048 bytes, Ethernet's with a VLAN tag among them; net_null takes frames of any length. */
Test(external_port, port_mtu_is_limited_by_buffers_of_a_driver_without_mtu)
{
	struct rte_mempool *pool;
	char arguments[100];
	uint16_t port_id;

	pool = rte_pktmbuf_pool_create("alone", 511, 0, 0, 8192, SOCKET_ID_ANY);
	cr_assert(pool != NULL);
	snprintf(arguments, sizeof(arguments), "role=server,socket-abstract=no,socket=/tmp/uroce-alone-%d",
		 (int)getpid());
	port_id = open_port("net_memif0", arguments, pool);
	cr_expect(uroce_port_mtu(port_id) == 2048 - 14 - 4, "%u", uroce_port_mtu(port_id));
	cr_expect(create_device(port_id, 2048, pool) == -EMSGSIZE);
	cr_expect(create_device(port_id, 1024, pool) == 0, "%s", uroce_last_error());
	rte_eth_dev_stop(port_id);
	rte_eth_dev_close(port_id);
	port_id = open_port("net_null0", "", pool);
	cr_expect(uroce_port_mtu(port_id) == 0, "%u", uroce_port_mtu(port_id));
	cr_expect(create_device(port_id, 4096, pool) == 0, "%s", uroce_last_error());
	rte_eth_dev_close(port_id);
	cr_expect(uroce_port_mtu(port_id) == 0, "no port any more");
}
