/* packet_socket.c - finds the sockets of a net_af_packet port, regroups them, and sets their send buffers */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/ethdev/packet_socket.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/engine/packet_socket.h"

#define SOCKETS_MAX 64u
#define GROUP_BITS 0xFFFFu
#define SENT_FRAME_BYTES 1024u /* what the kernel counts for each frame that it sends, besides its bytes */

/* Writes the descriptors of the packet sockets on the interface to fds, smallest first. Returns their number. */
static unsigned find_sockets(unsigned if_index, int fds[SOCKETS_MAX])
{
	DIR *directory = opendir("/proc/self/fd");
	const struct dirent *entry;
	unsigned count = 0;

	while (directory && count < SOCKETS_MAX && (entry = readdir(directory)) != NULL) {
		int fd = atoi(entry->d_name);
		unsigned at = count;

		if (fd <= 0 || !packet_socket_is_on(if_index, fd))
			continue;
		for (; at > 0 && fds[at - 1] > fd; at--)
			fds[at] = fds[at - 1];
		fds[at] = fd;
		count++;
	}
	if (directory)
		closedir(directory);
	return count;
}

/* ---- groups ---- */

struct ring_socket {
	int fd;
	void *map;
};

static bool is_in_group(int fd, unsigned group)
{
	unsigned told = 0;
	socklen_t bytes = sizeof(told);

	/* No group: zero. The driver's groups have flags, which make the value another one. */
	return getsockopt(fd, SOL_PACKET, PACKET_FANOUT, &told, &bytes) == 0 && told != 0 &&
	       (told & GROUP_BITS) == group;
}

/* Where the socket's ring of `bytes` bytes is mapped; NULL: it is not, or its size is another one. */
static void *find_map(int fd, size_t bytes)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long begin, end, inode;
	struct stat status;
	void *found = NULL;
	char line[512];

	while (maps && found == NULL && fstat(fd, &status) == 0 && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %*s %*s %lu", &begin, &end, &inode) == 3 && inode == status.st_ino &&
		    end - begin == bytes)
			found = (void *)begin;
	}
	if (maps)
		fclose(maps);
	return found;
}

/* Copies the settings that have to be made before the ring. */
static void copy_settings(int from, int to)
{
	static const int settings[] = { PACKET_VERSION, PACKET_LOSS, PACKET_QDISC_BYPASS, PACKET_VNET_HDR,
					PACKET_TIMESTAMP };

	for (unsigned i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		int value = 0;
		socklen_t bytes = sizeof(value);

		if (getsockopt(from, SOL_PACKET, settings[i], &value, &bytes) == 0 && value)
			setsockopt(to, SOL_PACKET, settings[i], &value, sizeof(value));
	}
}

/* Lets a new socket, with a ring like that of `old`, take the place of `old`. */
static bool take_place(int fd, const struct ring_socket *old, const struct tpacket_req *ring, size_t bytes)
{
	struct sockaddr_ll address;
	socklen_t address_bytes = sizeof(address);
	void *map;

	copy_settings(old->fd, fd);
	if (getsockname(old->fd, (struct sockaddr *)&address, &address_bytes) != 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_RX_RING, ring, sizeof(*ring)) != 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_TX_RING, ring, sizeof(*ring)) != 0)
		return false;
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return false;
	/* not mremap(): UCX puts a function of its own in its place, which ignores the last argument */
	if (syscall(SYS_mremap, map, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, old->map) != (long)old->map) {
		munmap(map, bytes);
		return false;
	}
	address.sll_protocol = htons(ETH_P_ALL);
	return bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && dup3(fd, old->fd, O_CLOEXEC) == old->fd;
}

/* *group: 0 for the first socket, which gets a number that no other group has; the others join it. */
static bool join_group(int fd, int *group)
{
	int type = PACKET_FANOUT_HASH | PACKET_FANOUT_FLAG_DEFRAG | PACKET_FANOUT_FLAG_ROLLOVER;
	int value = *group ? *group : (type | PACKET_FANOUT_FLAG_UNIQUEID) << 16;
	socklen_t bytes = sizeof(*group);

	return setsockopt(fd, SOL_PACKET, PACKET_FANOUT, &value, sizeof(value)) == 0 &&
	       getsockopt(fd, SOL_PACKET, PACKET_FANOUT, group, &bytes) == 0;
}

static int replace(const struct ring_socket *sockets, unsigned count, const struct tpacket_req *ring, size_t bytes)
{
	int group = 0;

	for (unsigned i = 0; i < count; i++) {
		int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
		bool done = fd >= 0 && take_place(fd, &sockets[i], ring, bytes) &&
			    (count == 1 || join_group(sockets[i].fd, &group));
		int error = errno;

		if (fd >= 0)
			close(fd);
		if (!done)
			return -error;
	}
	return 0;
}

int drivers_packet_socket_regroup(unsigned if_index, const struct drivers_packet_ring *ring)
{
	uint32_t frames_per_block = ring->block_bytes / ring->frame_bytes;
	const struct tpacket_req request = {
		.tp_block_size = ring->block_bytes,
		.tp_block_nr = frames_per_block ? ring->frame_count / frames_per_block : 0,
		.tp_frame_size = ring->frame_bytes,
		.tp_frame_nr = ring->frame_count,
	};
	size_t bytes = 2 * (size_t)request.tp_block_size * request.tp_block_nr; /* received frames, then sent ones */
	unsigned driver_group = ((unsigned)getpid() ^ if_index) & GROUP_BITS, count = 0;
	struct ring_socket sockets[SOCKETS_MAX];
	int fds[SOCKETS_MAX];

	for (unsigned i = 0, found = find_sockets(if_index, fds); i < found; i++) {
		if (!is_in_group(fds[i], driver_group))
			continue;
		sockets[count] = (struct ring_socket){ fds[i], find_map(fds[i], bytes) };
		if (sockets[count++].map == NULL)
			return 0;
	}
	return replace(sockets, count, &request, bytes);
}

/* ---- send buffers ---- */

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

void drivers_packet_socket_never_wait(unsigned if_index, const struct drivers_packet_ring *ring)
{
	int fds[SOCKETS_MAX];

	for (unsigned i = 0, found = find_sockets(if_index, fds); i < found; i++)
		set_send_buffer(fds[i], ring->frame_count * (ring->frame_bytes + SENT_FRAME_BYTES));
}
