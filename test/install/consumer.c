/* consumer.c - the smallest program over an installed library: EAL, a port pair of its own, one device */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>

#include <uroce/uroce.h>

/* The archive must not mind a program that has these names for itself, and must not call them. */
#define OURS(name)       \
	int name(void);  \
	int name(void)   \
	{                \
		abort(); \
	}
OURS(rc_qp_init)
OURS(wire_packet_parse)
OURS(engine_port_flush)

int main(int argc, char **argv)
{
	struct rte_ring *ring;
	struct uroce_engine_config config = { 0 };
	struct uroce_device_config port = { .addr_count = 1 };
	struct uroce_device_info info;
	struct uroce_engine *engine;
	struct uroce_device *device;
	struct rte_eth_conf plain = { 0 };
	int id;

	if (rte_eal_init(argc, argv) < 0)
		return 3;
	ring = rte_ring_create("consumer", 64, 0, 0);
	id = rte_eth_from_rings("consumer", &ring, 1, &ring, 1, 0);
	port.pool = rte_pktmbuf_pool_create("consumer", 255, 0, 0, 4608, 0);
	port.port_id = (uint16_t)id;
	if (id < 0 || !port.pool || rte_eth_dev_configure(port.port_id, 1, 1, &plain) ||
	    rte_eth_rx_queue_setup(port.port_id, 0, 64, 0, NULL, port.pool) ||
	    rte_eth_tx_queue_setup(port.port_id, 0, 64, 0, NULL) || rte_eth_dev_start(port.port_id))
		return 3;
	if (uroce_addr_parse("192.0.2.1", &port.addrs[0], NULL) || uroce_engine_create(&config, &engine) ||
	    uroce_device_create(engine, &port, &device))
		return 1;
	uroce_lcore_poll(uroce_engine_lcore(engine, 0));
	uroce_device_query(device, &info);
	printf("uroce %s: port %u, path MTU up to %u\n", uroce_version(), info.port_id, info.mtu_bytes);
	return uroce_device_destroy(device) || uroce_engine_destroy(engine);
}
