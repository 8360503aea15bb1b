/* device.c - creates and destroys a device: a port with addresses, its queues on lcores, its tables */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_ether.h>

#include "engine/device.h"
#include "engine/device_state.h"
#include "engine/engine.h"
#include "engine/lcore_state.h"
#include "engine/link.h"
#include "engine/log.h"
#include "engine/mailbox.h"
#include "engine/numa_alloc.h"
#include "engine/port.h"
#include "engine/port_state.h"
#include "engine/route.h"
#include "engine/run_queue.h"
#include "engine/rx_interrupt.h"
#include "rc/codes.h"

/* the longest headers, pad and ICRC together */
#define FRAME_HEADERS_BYTES (WIRE_ENCAP_MAX_BYTES + WIRE_HEADERS_MAX_BYTES + 3 + WIRE_ICRC_BYTES)

/* Does a frame of the largest path MTU fit into one mbuf of the pool? If so no frame fails later for want of room. */
static bool pool_fits(struct rte_mempool *pool, uint32_t mtu_bytes)
{
	return pool && rte_pktmbuf_data_room_size(pool) >= RTE_PKTMBUF_HEADROOM + FRAME_HEADERS_BYTES + mtu_bytes;
}

static int refuse_route(const struct uroce_device_config *config, uint32_t index)
{
	char gateway[INET6_ADDRSTRLEN], own[INET6_ADDRSTRLEN];

	uroce_addr_format(&config->gateways[index], gateway, sizeof(gateway));
	uroce_addr_format(&config->addrs[index], own, sizeof(own));
	return engine_refuse(-EINVAL,
			     "gateway %s, VLAN %u:%u of address %s: the gateway must be another address of the same "
			     "network or of fe80::/10, the VLAN 0 to 4094, and its priority 0 to 7",
			     gateway, config->vlans[index].id, config->vlans[index].priority, own);
}

/* Is each address that of a host? */
static int check_addrs(const struct uroce_device_config *config)
{
	char text[64], length[8] = "";

	for (uint32_t i = 0; i < config->addr_count; i++) {
		const char *why = uroce_addr_unusable(&config->addrs[i], config->prefix_bits[i]);

		if (why == NULL)
			continue;
		if (config->prefix_bits[i])
			snprintf(length, sizeof(length), "/%u", config->prefix_bits[i]);
		return engine_refuse(-EINVAL, "%s%s is %s: use a host address, such as 10.0.0.1/24",
				     uroce_addr_format(&config->addrs[i], text, sizeof(text)), length, why);
	}
	return 0;
}

/* Checks the configuration and fills in defaults. */
static int check_config(const struct uroce_engine *engine, const struct uroce_device_config *config)
{
	int wrong;

	if (engine_check_range("addr_count", config->addr_count, 1, LIMIT_PORT_ADDRS) ||
	    engine_check_range("queue_count", config->queue_count, 0, engine->lcore_count) ||
	    engine_check_range("first_lcore", config->first_lcore, 0, engine->lcore_count - 1))
		return -EINVAL;
	wrong = engine_route_find_wrong(config);
	if (wrong >= 0)
		return refuse_route(config, (uint32_t)wrong);
	if (!mtu_is_valid(config->mtu_bytes))
		return engine_refuse(-EINVAL, "mtu_bytes %u: use 256, 512, 1024, 2048 or 4096", config->mtu_bytes);
	if (!pool_fits(config->pool, config->mtu_bytes))
		return engine_refuse(
			-EINVAL, "pool %s: the mbufs must have room for a path MTU of %u bytes and %u bytes of headers",
			config->pool ? config->pool->name : "NULL", config->mtu_bytes, FRAME_HEADERS_BYTES);
	return 0;
}

/* ethdev gives a stopped port the receive function of ports that do not exist. */
static bool port_is_started(uint16_t port_id)
{
	for (uint16_t other = 0; other < RTE_MAX_ETHPORTS; other++) {
		if (!rte_eth_dev_is_valid_port(other))
			return rte_eth_fp_ops[port_id].rx_pkt_burst != rte_eth_fp_ops[other].rx_pkt_burst;
	}
	return true; /* there is no invalid port to compare with: it is taken for started */
}

static int refuse_port(uint16_t port_id)
{
	return engine_refuse(-ENODEV, "port_id %u: there is no such port", port_id);
}

static int refuse_memory(uint16_t port_id)
{
	return engine_refuse(-ENOMEM, "no memory for the device of port %u; use a smaller max_mrs or max_qps", port_id);
}

/* Is the port set up as the device needs it? Returns 0 or a negative errno, as uroce_device_create(). */
static int check_port(const struct uroce_device_config *config, const struct engine_port_traits *traits)
{
	struct rte_eth_dev_info info;

	if (rte_eth_dev_info_get(config->port_id, &info) != 0)
		return refuse_port(config->port_id);
	if (!port_is_started(config->port_id))
		return engine_refuse(-ENETDOWN, "port_id %u: configure and start the port first", config->port_id);
	if (info.nb_rx_queues < config->queue_count || info.nb_tx_queues < config->queue_count)
		return engine_refuse(-EINVAL, "queue_count %u: the port has only %u receive and %u transmit queues",
				     config->queue_count, info.nb_rx_queues, info.nb_tx_queues);
	if (rte_eth_dev_get_vlan_offload(config->port_id) & RTE_ETH_VLAN_STRIP_OFFLOAD)
		return engine_refuse(-EINVAL,
				     "port_id %u: the port strips VLAN tags; configure it without VLAN stripping",
				     config->port_id);
	if (traits->mtu_bytes == 0 || config->mtu_bytes + UROCE_PACKET_BYTES <= traits->mtu_bytes)
		return 0;
	return engine_refuse(-EMSGSIZE,
			     "mtu_bytes %u: IP packets have %u bytes of additional headers, and port %u supports IP "
			     "packets of up to %u bytes",
			     config->mtu_bytes, UROCE_PACKET_BYTES, config->port_id, traits->mtu_bytes);
}

/* Chooses the MAC: the configured one, else the port's, else (net_ring ports have none) a random local one. */
static int choose_mac(struct uroce_device *device)
{
	static const struct uroce_mac none;
	struct rte_ether_addr own;

	device->mac = device->config.mac;
	if (memcmp(&device->mac, &none, sizeof(none)) != 0)
		return 0;
	if (rte_eth_macaddr_get(device->port_id, &own) == 0 && !rte_is_zero_ether_addr(&own)) {
		memcpy(device->mac.bytes, own.addr_bytes, sizeof(device->mac.bytes));
		return 0;
	}
	if (getrandom(device->mac.bytes, sizeof(device->mac.bytes), 0) != sizeof(device->mac.bytes))
		return engine_refuse_random();
	device->mac.bytes[0] = (uint8_t)((device->mac.bytes[0] & 0xFC) | 0x02);
	return 0;
}

static int create_tables(struct uroce_device *device)
{
	uint32_t mrs = device->engine->config.max_mrs;
	struct rc_mr_entry *entries;
	struct rc_permute24 space;

	if (getrandom(&space, sizeof(space), 0) != sizeof(space))
		return engine_refuse_random();
	device->mrs_bytes = (uint64_t)mrs * sizeof(*entries);
	entries = engine_numa_alloc(device->mrs_bytes, device->numa_node);
	if (entries == NULL)
		return refuse_memory(device->port_id);
	rc_mr_table_init(&device->mrs, entries, mrs, &space);
	device->events = engine_numa_create_ring(EVENT_RING, 1, sizeof(struct uroce_event), device->numa_node);
	return device->events ? 0 : refuse_memory(device->port_id);
}

static void free_device(struct uroce_device *device)
{
	engine_numa_free(device->mrs.entries, device->mrs_bytes);
	engine_numa_free_ring(device->events, sizeof(struct uroce_event));
	if (atomic_load(&device->event_fd) >= 0)
		close(atomic_load(&device->event_fd));
	engine_slab_free(&device->slab);
	free(device);
}

static struct uroce_lcore *lcore_of_queue(const struct uroce_device *device, unsigned queue)
{
	return device->engine->lcores[(device->config.first_lcore + queue) % device->engine->lcore_count];
}

static void free_port(struct engine_port *port)
{
	if (port == NULL)
		return;
	engine_rx_interrupt_close(port->device->port_id, port->queue, port->rx_interrupt);
	engine_run_queue_free(&port->run_queue);
	engine_numa_free(port, sizeof(*port));
}

static struct engine_port *create_port(struct uroce_device *device, uint16_t queue)
{
	struct engine_port *port = engine_numa_alloc(sizeof(*port), device->numa_node);

	if (port == NULL)
		return NULL;
	port->device = device;
	port->lcore = lcore_of_queue(device, queue);
	port->queue = queue;
	port->rx_interrupt = engine_rx_interrupt_open(device->port_id, queue);
	if (engine_run_queue_init(&port->run_queue, device->engine, device->numa_node) == 0)
		return port;
	free_port(port);
	return NULL;
}

static int detach_queues(struct uroce_device *device, unsigned count)
{
	for (unsigned queue = 0; queue < count; queue++) {
		struct engine_port *port = engine_find_port(lcore_of_queue(device, queue), device);
		int error;

		if (port == NULL)
			continue; /* an earlier call, which failed half-way, has detached the port already */
		error = engine_mailbox_call(port->lcore, engine_port_detach, port);
		if (error)
			return error; /* the lcore still uses the port, so nothing may be freed */
		free_port(port);
	}
	return 0;
}

static int attach_queues(struct uroce_device *device)
{
	for (uint16_t queue = 0; queue < device->config.queue_count; queue++) {
		struct engine_port *port = create_port(device, queue);
		int error = port ? engine_mailbox_call(port->lcore, engine_port_attach, port) :
				   refuse_memory(device->port_id);

		if (error) {
			free_port(port);
			detach_queues(device, queue);
			return error;
		}
	}
	return 0;
}

/*
 * Replaces `old` in the engine's list of devices by `entering`; NULL stands for a free slot. Returns 0, -ENOSPC or
 * -EBUSY.
 */
static int list_device(struct uroce_engine *engine, const struct uroce_device *old, struct uroce_device *entering)
{
	int error = -ENOSPC;

	pthread_mutex_lock(&engine->lock);
	for (unsigned i = 0; entering && i < ENGINE_DEVICES; i++) {
		if (engine->devices[i] && engine->devices[i]->port_id == entering->port_id)
			error = -EBUSY; /* two devices would poll the same queues */
	}
	for (unsigned i = 0; i < ENGINE_DEVICES && error == -ENOSPC; i++) {
		if (engine->devices[i] == old) {
			engine->devices[i] = entering;
			error = 0;
		}
	}
	pthread_mutex_unlock(&engine->lock);
	if (error == -EBUSY)
		engine_refuse(error, "port_id %u: the port already has a device", entering->port_id);
	else if (error)
		engine_refuse(error, "the engine already has %u devices, the maximum; destroy one first",
			      ENGINE_DEVICES);
	return error;
}

static int enter_device(struct uroce_engine *engine, struct uroce_device *device)
{
	int error = list_device(engine, NULL, device);

	if (error)
		return error;
	error = attach_queues(device);
	if (error)
		list_device(engine, device, NULL);
	return error;
}

int engine_device_create(struct uroce_engine *engine, const struct uroce_device_config *given,
			 const struct engine_port_traits *traits, struct uroce_device **result)
{
	struct uroce_device_config config = *given;
	char name[RTE_ETH_NAME_MAX_LEN] = "";
	struct uroce_device *device;
	int error;

	config.queue_count = given->queue_count ? given->queue_count : 1;
	config.mtu_bytes = given->mtu_bytes ? given->mtu_bytes : LIMIT_MTU_BYTES;
	error = check_config(engine, &config);
	if (error)
		return error;
	if (!rte_eth_dev_is_valid_port(config.port_id))
		return refuse_port(config.port_id);
	error = check_addrs(&config);
	if (error == 0)
		error = check_port(&config, traits);
	if (error)
		return error;
	device = calloc(1, sizeof(*device));
	if (device == NULL)
		return refuse_memory(config.port_id);
	device->engine = engine;
	device->config = config;
	device->port_id = config.port_id;
	device->numa_node = rte_eth_dev_socket_id(config.port_id);
	device->queues_are_wired = traits->has_wired_queues;
	device->next_pd = 1;
	atomic_init(&device->event_fd, -1);
	engine_neigh_init(&device->neigh);
	engine_pings_init(&device->pings);
	rte_spinlock_init(&device->defence_lock);
	engine_slab_init(&device->slab, device->numa_node);
	error = choose_mac(device);
	if (error == 0)
		error = create_tables(device);
	if (error == 0) {
		engine_link_watch(device);
		error = enter_device(engine, device);
		if (error)
			engine_link_forget(device);
	}
	if (error) {
		free_device(device);
		return error;
	}
	rte_eth_dev_get_name_by_port(device->port_id, name);
	engine_log(UROCE_LOG_INFO, "port %s: device created, %u queues, path MTU up to %u", name,
		   device->config.queue_count, device->config.mtu_bytes);
	*result = device;
	return 0;
}

int uroce_device_destroy(struct uroce_device *device)
{
	int error;

	if (atomic_load(&device->users) > 0)
		return engine_refuse(-EBUSY,
				     "device: %u protection domains, CQs and paths still use it; destroy them first",
				     (unsigned)atomic_load(&device->users));
	error = detach_queues(device, device->config.queue_count);
	if (error)
		return error;
	engine_link_forget(device);
	list_device(device->engine, device, NULL);
	engine_log(UROCE_LOG_INFO, "port %u: its device was destroyed", device->port_id);
	free_device(device);
	return 0;
}

struct uroce_lcore *engine_device_pick_lcore(struct uroce_device *device, struct uroce_lcore *wish)
{
	struct uroce_lcore *lcore =
		wish ? wish : lcore_of_queue(device, device->next_queue++ % device->config.queue_count);

	return engine_find_port(lcore, device) ? lcore : NULL;
}
