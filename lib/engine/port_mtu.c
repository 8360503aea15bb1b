/* port_mtu.c - the longest IP packet that passes a port whole, which not every driver says */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_kvargs.h>

#include <uroce/device.h>

#define AF_PACKET_FRAME_BYTES 2048u /* its framesz, unless told otherwise */
#define MEMIF_FRAME_BYTES 2048u     /* its bsize, unless told otherwise */
#define ETHERNET_BYTES (RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN)
#define AF_PACKET_HEADER_BYTES (66u + ETHERNET_BYTES) /* the kernel's own in each of its frames, too */

/* The MTU of a kernel interface; UINT16_MAX when it does not say. */
static uint32_t interface_mtu(const char *interface)
{
	unsigned mtu_bytes = UINT16_MAX;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/net/%s/mtu", interface);
	file = fopen(path, "r");
	if (file == NULL)
		return UINT16_MAX;
	if (fscanf(file, "%u", &mtu_bytes) != 1)
		mtu_bytes = UINT16_MAX;
	fclose(file);
	return mtu_bytes;
}

/* What an IP packet may have in one of the driver's own buffers, and on the interface below if there is one. */
static uint32_t buffer_mtu(struct rte_kvargs *arguments, const char *key, uint32_t usual_bytes, uint32_t overhead_bytes)
{
	const char *given = rte_kvargs_get(arguments, key), *interface = rte_kvargs_get(arguments, "iface");
	uint32_t bytes = given ? (uint32_t)strtoul(given, NULL, 0) : usual_bytes;
	uint32_t interface_bytes = interface ? interface_mtu(interface) : UINT16_MAX;

	bytes = bytes > overhead_bytes ? bytes - overhead_bytes : 1; /* 0 is no limit */
	return RTE_MIN(bytes, interface_bytes);
}

/*
 * Virtual drivers report an MTU that says nothing. net_af_packet cuts frames that do not fit its ring without a word,
 * and its interface refuses to send longer ones. net_memif divides a frame over buffers, and then (22.11) loses
 * frames or crashes: one buffer has to do.
 */
uint32_t uroce_port_mtu(uint16_t port_id)
{
	struct rte_eth_dev_info info;
	const struct rte_devargs *devargs;
	struct rte_kvargs *arguments;
	const char *driver;
	uint32_t mtu_bytes = 0;
	uint16_t told_bytes = 0;

	if (rte_eth_dev_info_get(port_id, &info) != 0)
		return 0;
	driver = info.driver_name ? info.driver_name : "";
	devargs = info.device ? rte_dev_devargs(info.device) : NULL;
	arguments = rte_kvargs_parse(devargs && devargs->args ? devargs->args : "", NULL);
	if (strcmp(driver, "net_memif") == 0) {
		mtu_bytes = buffer_mtu(arguments, "bsize", MEMIF_FRAME_BYTES, ETHERNET_BYTES);
	} else if (strcmp(driver, "net_af_packet") == 0) {
		mtu_bytes = buffer_mtu(arguments, "framesz", AF_PACKET_FRAME_BYTES, AF_PACKET_HEADER_BYTES);
	} else if (strcmp(driver, "net_ring") != 0 && strcmp(driver, "net_null") != 0 &&
		   strcmp(driver, "net_pcap") != 0) {
		rte_eth_dev_get_mtu(port_id, &told_bytes);
		mtu_bytes = told_bytes;
	}
	rte_kvargs_free(arguments);
	return mtu_bytes;
}
