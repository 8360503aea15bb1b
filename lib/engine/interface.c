/* interface.c - asks the kernel for carrier, MTU and speed, and for frames that its sockets hold and dropped */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/interface.h"

#include <dirent.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "engine/packet_socket.h"

/* Keeps the sockets in the order of their numbers, which is the order in which the driver opened them. */
static void add_socket(struct engine_interface *interface, int fd)
{
	unsigned at = interface->socket_count;

	if (at == INTERFACE_SOCKETS)
		return;
	for (; at > 0 && interface->sockets[at - 1] > fd; at--)
		interface->sockets[at] = interface->sockets[at - 1];
	interface->sockets[at] = fd;
	interface->socket_count++;
}

void engine_interface_find(uint16_t port_id, struct engine_interface *interface)
{
	struct rte_eth_dev_info info;
	const struct dirent *entry;
	DIR *directory;

	memset(interface, 0, sizeof(*interface));
	if (rte_eth_dev_info_get(port_id, &info) != 0 || info.if_index == 0)
		return;
	interface->index = info.if_index;
	directory = opendir("/proc/self/fd");
	while (directory && (entry = readdir(directory)) != NULL) {
		int fd = atoi(entry->d_name);

		if (fd > 0 && packet_socket_is_on(interface->index, fd))
			add_socket(interface, fd);
	}
	if (directory)
		closedir(directory);
}

/*
 * Asks the kernel by the interface's index, because the interface may be renamed. /sys is not asked, because it may
 * belong to another network namespace. data: for questions that need data, else NULL. Returns 0; -1 if there is no such
 * interface; 1 if the kernel cannot be asked.
 */
static int ask(unsigned index, unsigned long what, void *data, struct ifreq *answer)
{
	int fd = index ? socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1, result = -1;

	*answer = (struct ifreq){ .ifr_ifindex = (int)index };
	if (fd < 0)
		return 1;
	if (ioctl(fd, SIOCGIFNAME, answer) == 0) {
		answer->ifr_data = data; /* overwrites the index, which the kernel no longer needs */
		result = ioctl(fd, what, answer) == 0 ? 0 : -1;
	}
	close(fd);
	return result;
}

bool engine_interface_is_down(unsigned index)
{
	struct ifreq answer;
	int result = ask(index, SIOCGIFFLAGS, NULL, &answer);

	return result < 0 || (result == 0 && !(answer.ifr_flags & IFF_RUNNING));
}

uint32_t engine_interface_mtu(unsigned index)
{
	struct ifreq answer;

	return ask(index, SIOCGIFMTU, NULL, &answer) == 0 ? (uint32_t)answer.ifr_mtu : UINT16_MAX;
}

/* A tap reports 10 Mbit/s unless somebody has set its speed. No link for RoCE is that slow: 10 means unknown. */
uint32_t engine_interface_mbps(unsigned index)
{
	struct ethtool_cmd told = { .cmd = ETHTOOL_GSET };
	struct ifreq answer;
	uint32_t mbps;

	if (ask(index, SIOCETHTOOL, &told, &answer) != 0)
		return 0;
	mbps = ethtool_cmd_speed(&told);
	return mbps == (uint32_t)SPEED_UNKNOWN || mbps == SPEED_10 ? 0 : mbps;
}

void engine_interface_name(unsigned index, char name[UROCE_INTERFACE_BYTES])
{
	static_assert(UROCE_INTERFACE_BYTES >= IF_NAMESIZE, "every name fits");

	if (index == 0 || if_indextoname(index, name) == NULL)
		name[0] = '\0';
}

/* Each read of the count makes the kernel count from zero again. */
uint64_t engine_interface_ring_drops(const struct engine_interface *interface, uint16_t queue)
{
	struct tpacket_stats counted;
	socklen_t bytes = sizeof(counted);

	if (queue >= interface->socket_count ||
	    getsockopt(interface->sockets[queue], SOL_PACKET, PACKET_STATISTICS, &counted, &bytes) != 0)
		return 0;
	return counted.tp_drops;
}

uint64_t engine_interface_held_bytes(const struct engine_interface *interface, uint16_t queue)
{
	int bytes = 0;

	if (queue >= interface->socket_count || ioctl(interface->sockets[queue], SIOCOUTQ, &bytes) != 0 || bytes < 0)
		return 0;
	return (uint64_t)bytes;
}
