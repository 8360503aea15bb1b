/* device.c - creates a device of a port, with the traits that only its driver's name tells */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_ethdev.h>

#include <uroce/device.h>

#include "drivers/ethdev/quirks.h"
#include "engine/device.h"
#include "engine/device_state.h"
#include "engine/engine.h"
#include "engine/interface.h"

/* Returns zeros for a port that does not exist. */
static struct engine_port_traits traits_of(uint16_t port_id)
{
	struct engine_port_traits traits = { 0 };
	struct rte_eth_dev_info info;

	if (!rte_eth_dev_is_valid_port(port_id) || rte_eth_dev_info_get(port_id, &info) != 0)
		return traits;
	traits.has_wired_queues = drivers_quirks_of(&info)->wired_queues;
	traits.mtu_bytes = drivers_quirks_mtu(port_id, &info);
	/* The interface under a packet socket refuses to send longer frames. */
	if (drivers_quirks_of(&info)->is_packet_socket)
		traits.mtu_bytes = RTE_MIN(traits.mtu_bytes, engine_interface_mtu(info.if_index));
	return traits;
}

uint32_t uroce_port_mtu(uint16_t port_id)
{
	return traits_of(port_id).mtu_bytes;
}

uint32_t uroce_port_link_mbps(uint16_t port_id)
{
	struct rte_eth_dev_info info;
	struct rte_eth_link link;

	if (!rte_eth_dev_is_valid_port(port_id) || rte_eth_dev_info_get(port_id, &info) != 0)
		return 0;
	if (info.if_index)
		return engine_interface_mbps(info.if_index);
	if (drivers_quirks_of(&info)->invents_speed || rte_eth_link_get_nowait(port_id, &link) != 0)
		return 0;
	return link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed;
}

int uroce_device_create(struct uroce_engine *engine, const struct uroce_device_config *config,
			struct uroce_device **device)
{
	struct engine_port_traits traits = traits_of(config->port_id);

	return engine_device_create(engine, config, &traits, device);
}

void uroce_device_query(const struct uroce_device *device, struct uroce_device_info *info)
{
	*info = (struct uroce_device_info){
		.port_id = device->port_id,
		.mac = device->mac,
		.addr_count = device->config.addr_count,
		.mtu_bytes = device->config.mtu_bytes,
		.port_mtu_bytes = uroce_port_mtu(device->port_id),
		.link_mbps = uroce_port_link_mbps(device->port_id),
		.max_sge = LIMIT_SGE,
		.max_inline_bytes = LIMIT_INLINE_BYTES,
		.max_rd_atomic = LIMIT_RD_ATOMIC,
		.max_queue_depth = LIMIT_QUEUE_DEPTH,
		.max_cq_depth = LIMIT_CQ_DEPTH,
		.max_qps = device->engine->config.max_qps,
		.max_mrs = device->engine->config.max_mrs,
	};
	engine_interface_name(device->interface.index, info->interface);
	memcpy(info->addrs, device->config.addrs, sizeof(info->addrs));
	memcpy(info->prefix_bits, device->config.prefix_bits, sizeof(info->prefix_bits));
	memcpy(info->gateways, device->config.gateways, sizeof(info->gateways));
	memcpy(info->vlans, device->config.vlans, sizeof(info->vlans));
}
