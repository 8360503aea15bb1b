/* packet_socket.c - finds the sockets of a net_af_packet port and sets their send buffers */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/ethdev/packet_socket.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include <sys/socket.h>

#include "lib/engine/packet_socket.h"

/*
 * SO_SNDBUFFORCE, for more than the limit, needs CAP_NET_ADMIN. The kernel doubles the value, and treats a buffer as
 * full when half of it is in use.
 */
static void set_send_buffer(int fd, uint32_t bytes)
{
	int value = bytes < INT_MAX / 2 ? (int)bytes : INT_MAX / 2;

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &value, sizeof(value)) != 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &value, sizeof(value));
}

void drivers_packet_socket_never_wait(unsigned if_index, uint32_t ring_bytes)
{
	DIR *directory = opendir("/proc/self/fd");
	const struct dirent *entry;

	if (directory == NULL)
		return;
	while ((entry = readdir(directory)) != NULL) {
		int fd = atoi(entry->d_name);

		if (fd > 0 && packet_socket_is_on(if_index, fd))
			set_send_buffer(fd, ring_bytes);
	}
	closedir(directory);
}
