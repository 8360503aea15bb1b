/* device.c - a device of a port, with what the drivers of ports do not say */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_ethdev.h>

#include <uroce/device.h>

#include "drivers/ethdev/quirks.h"
#include "engine/device.h"
#include "engine/interface.h"

/* Zeros of a port that is not there. */
static struct engine_port_traits traits_of(uint16_t port_id)
{
	struct engine_port_traits traits = { 0 };
	struct rte_eth_dev_info info;

	if (!rte_eth_dev_is_valid_port(port_id) || rte_eth_dev_info_get(port_id, &info) != 0)
		return traits;
	traits.has_wired_queues = drivers_quirks_of(&info)->wired_queues;
	traits.mtu_bytes = drivers_quirks_mtu(port_id, &info);
	/* A packet socket's interface refuses to send longer frames. */
	if (drivers_quirks_of(&info)->is_packet_socket)
		traits.mtu_bytes = RTE_MIN(traits.mtu_bytes, engine_interface_mtu(info.if_index));
	return traits;
}

uint32_t uroce_port_mtu(uint16_t port_id)
{
	return traits_of(port_id).mtu_bytes;
}

int uroce_device_create(struct uroce_engine *engine, const struct uroce_device_config *config,
			struct uroce_device **device)
{
	struct engine_port_traits traits = traits_of(config->port_id);

	return engine_device_create(engine, config, &traits, device);
}
