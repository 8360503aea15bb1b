/* quirks.c - the table of drivers with peculiarities, and the length of frames that follows from it */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/ethdev/quirks.h"

#include <stdlib.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_ether.h>
#include <rte_kvargs.h>

#define ETHERNET_BYTES (RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN)
#define PACKET_SOCKET_BYTES 66u /* the kernel's header in each frame of the ring */

/*
 * net_af_packet silently cuts frames that do not fit into its ring. net_memif divides a frame over buffers, and then
 * (22.11) loses frames or crashes, so a frame has to fit into one buffer. net_e1000_em and net_vmxnet3 raise at most
 * their first link interrupt in an emulated machine, and while one is expected ethdev does not ask the device. The
 * other drivers have no limit of length, whatever they report.
 */
static const struct drivers_quirks quirks[] = {
	{ .driver = "net_af_packet",
	  .buffer_argument = "framesz",
	  .buffer_bytes = 2048,
	  .overhead_bytes = PACKET_SOCKET_BYTES + ETHERNET_BYTES,
	  .is_packet_socket = true,
	  .invents_speed = true,
	  .needs_all_queues = true,
	  .spreads_flows = true },
	{ .driver = "net_e1000_em", .no_link_interrupt = true, .no_rx_interrupt = true },
	{ .driver = "net_memif",
	  .buffer_argument = "bsize",
	  .buffer_bytes = 2048,
	  .overhead_bytes = ETHERNET_BYTES,
	  .has_no_network = true,
	  .wired_queues = true,
	  .invents_speed = true,
	  .unmaps_in_use = true,
	  .asks_once = true,
	  .not_started = "start the memif server first" },
	{ .driver = "net_null", .has_no_network = true, .any_length = true, .invents_speed = true },
	{ .driver = "net_pcap", .has_no_network = true, .any_length = true, .invents_speed = true },
	{ .driver = "net_ring",
	  .has_no_network = true,
	  .any_length = true,
	  .wired_queues = true,
	  .invents_speed = true },
	{ .driver = "net_tap", .spreads_flows = true, .invents_speed = true },
	{ .driver = "net_vhost", .invents_speed = true },
	{ .driver = "net_virtio", .drops_tags = true },
	{ .driver = "net_vmxnet3", .no_link_interrupt = true, .no_rx_interrupt = true },
};

static const struct drivers_quirks none;

const struct drivers_quirks *drivers_quirks_of_name(const char *name)
{
	for (unsigned i = 0; i < RTE_DIM(quirks); i++) {
		if (strncmp(name, quirks[i].driver, strlen(quirks[i].driver)) == 0)
			return &quirks[i];
	}
	return &none;
}

const struct drivers_quirks *drivers_quirks_of(const struct rte_eth_dev_info *info)
{
	for (unsigned i = 0; info->driver_name && i < RTE_DIM(quirks); i++) {
		if (strcmp(info->driver_name, quirks[i].driver) == 0)
			return &quirks[i];
	}
	return &none;
}

static struct rte_kvargs *arguments_of(const struct rte_eth_dev_info *info)
{
	const struct rte_devargs *devargs = info->device ? rte_dev_devargs(info->device) : NULL;

	return rte_kvargs_parse(devargs && devargs->args ? devargs->args : "", NULL);
}

bool drivers_quirks_is_server(const struct rte_eth_dev_info *info)
{
	struct rte_kvargs *arguments = arguments_of(info);
	const char *role = rte_kvargs_get(arguments, "role");
	bool server = role && (strcmp(role, "server") == 0 || strcmp(role, "master") == 0);

	rte_kvargs_free(arguments);
	return server;
}

uint32_t drivers_quirks_argument(const struct rte_eth_dev_info *info, const char *key)
{
	struct rte_kvargs *arguments = arguments_of(info);
	const char *text = rte_kvargs_get(arguments, key);
	uint32_t value = text ? (uint32_t)strtoul(text, NULL, 0) : 0;

	rte_kvargs_free(arguments);
	return value;
}

uint32_t drivers_quirks_mtu(uint16_t port_id, const struct rte_eth_dev_info *info)
{
	const struct drivers_quirks *driver = drivers_quirks_of(info);
	uint16_t told_bytes = 0;
	uint32_t bytes;

	if (driver->any_length)
		return 0;
	if (driver->buffer_argument == NULL) {
		rte_eth_dev_get_mtu(port_id, &told_bytes);
		return told_bytes;
	}
	bytes = drivers_quirks_argument(info, driver->buffer_argument);
	bytes = bytes ? bytes : driver->buffer_bytes;
	return bytes > driver->overhead_bytes ? bytes - driver->overhead_bytes : 1; /* not 0, which means no limit */
}
