/* mapping.c - whether a range of addresses is mapped, as the kernel lists it in /proc/self/maps */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* PROCMAP_QUERY of Linux 6.11 (include/uapi/linux/fs.h), which the headers of Debian 12 do not have. */
struct query {
	uint64_t size, flags, addr;
	uint64_t start, end, permissions, page_bytes, offset, inode;
	uint32_t major, minor, name_bytes, build_id_bytes;
	uint64_t name, build_id;
};

#define QUERY _IOWR('f', 17, struct query)
#define QUERY_READABLE 1u
#define QUERY_WRITABLE 2u

/* Asks the kernel for one mapping after the other. Returns 0, -EFAULT, or -ENOTTY if the kernel is too old. */
static int query(int fd, uintptr_t at, uintptr_t end, bool writable)
{
	while (at < end) {
		struct query asked = {
			.size = sizeof(asked),
			.flags = QUERY_READABLE | (writable ? QUERY_WRITABLE : 0),
			.addr = at,
		};

		if (ioctl(fd, QUERY, &asked) != 0)
			return errno == ENOENT ? -EFAULT : -ENOTTY;
		at = asked.end;
	}
	return 0;
}

/* Reads the lines of all mappings, which are in the order of their addresses. Returns 0 or -EFAULT. */
static int read_lines(int fd, uintptr_t at, uintptr_t end, bool writable)
{
	FILE *lines = fdopen(fd, "r");
	char *line = NULL;
	size_t room = 0;

	while (lines && at < end && getline(&line, &room, lines) > 0) {
		uintptr_t from, to;
		char read, write;

		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %c%c", &from, &to, &read, &write) != 4 || to <= at)
			continue;
		if (from > at || read != 'r' || (writable && write != 'w'))
			break;
		at = to;
	}
	free(line);
	if (lines == NULL) {
		close(fd);
		return 0;
	}
	fclose(lines);
	return at < end ? -EFAULT : 0;
}

int engine_mapping_check(const void *addr, size_t bytes, bool writable)
{
	uintptr_t at = (uintptr_t)addr, end = at + bytes;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	int result;

	if (fd < 0)
		return 0;
	result = query(fd, at, end, writable);
	if (result == -ENOTTY)
		return read_lines(fd, at, end, writable);
	close(fd);
	return result;
}
