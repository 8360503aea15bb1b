/* packet_socket.h - finds a driver's packet sockets among the descriptors of the process */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PACKET_SOCKET_H
#define ENGINE_PACKET_SOCKET_H

#include <stdbool.h>

#include <linux/if_packet.h>
#include <sys/socket.h>

/* Does the descriptor belong to a packet socket on the interface? */
static inline bool packet_socket_is_on(unsigned if_index, int fd)
{
	struct sockaddr_ll address = { 0 };
	socklen_t bytes = sizeof(address);

	return getsockname(fd, (struct sockaddr *)&address, &bytes) == 0 && bytes >= sizeof(address.sll_family) &&
	       address.sll_family == AF_PACKET && (unsigned)address.sll_ifindex == if_index;
}

#endif
