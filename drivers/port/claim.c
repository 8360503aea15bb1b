/* claim.c - claims an address by a socket name, and finds who holds it */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/port/claim.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ADDR_BYTES 46
#define PROGRAM_CHARS "16"
#define UNKNOWN "another program"

static_assert(sizeof("uroce  vlan 4094 held by  (process 4194304)") + 39 + 16 <=
		      sizeof(((struct sockaddr_un *)0)->sun_path),
	      "the longest name fits");

/* A name that begins with a zero byte is no file. */
struct name {
	struct sockaddr_un address;
	socklen_t bytes;
};

/* The name is "uroce ADDRESS [vlan ID]", or begins so and ends with the holder. */
static void make_name(const struct uroce_addr *addr, uint16_t vlan_id, const char *holder, struct name *name)
{
	char text[ADDR_BYTES], vlan[16] = "";
	int length;

	if (vlan_id)
		snprintf(vlan, sizeof(vlan), " vlan %u", vlan_id);
	name->address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	length = snprintf(name->address.sun_path + 1, sizeof(name->address.sun_path) - 1, "uroce %s%s%s%s",
			  uroce_addr_format(addr, text, sizeof(text)), vlan, holder ? " held by " : "",
			  holder ? holder : "");
	name->bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* Returns the descriptor of a socket with this name, or a negative errno. */
static int bind_name(const struct name *name)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), error;

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&name->address, name->bytes) == 0)
		return fd;
	error = -errno;
	close(fd);
	return error;
}

/* Has a descriptor of this process the name? */
static bool is_ours(const struct name *name)
{
	DIR *directory = opendir("/proc/self/fd");
	const struct dirent *entry;
	bool found = false;

	while (directory && !found && (entry = readdir(directory)) != NULL) {
		struct sockaddr_un address;
		socklen_t bytes = sizeof(address);

		found = getsockname(atoi(entry->d_name), (struct sockaddr *)&address, &bytes) == 0 &&
			bytes == name->bytes && memcmp(&address, &name->address, bytes) == 0;
	}
	if (directory)
		closedir(directory);
	return found;
}

/* The kernel lists the names of all sockets of the network namespace, with '@' for the zero byte. */
static void find_holder(const struct name *claim, char *holder)
{
	FILE *list = fopen("/proc/self/net/unix", "r");
	char line[256], wanted[sizeof(claim->address.sun_path) + 16];

	snprintf(holder, DRIVERS_CLAIM_HOLDER_BYTES, UNKNOWN);
	snprintf(wanted, sizeof(wanted), "@%s held by ", claim->address.sun_path + 1);
	while (list && fgets(line, sizeof(line), list)) {
		char *found = strstr(line, wanted);

		if (found == NULL)
			continue;
		found += strlen(wanted);
		snprintf(holder, DRIVERS_CLAIM_HOLDER_BYTES, "%.*s", (int)strcspn(found, "\n"), found);
		break;
	}
	if (list)
		fclose(list);
}

int drivers_claim_take(const struct uroce_addr *addr, uint16_t vlan_id, bool share, const char *program,
		       struct drivers_claim *claim, char holder[DRIVERS_CLAIM_HOLDER_BYTES])
{
	struct name name, holder_name;
	int fd;

	*claim = (struct drivers_claim){ { -1, -1 } };
	make_name(addr, vlan_id, NULL, &name);
	fd = bind_name(&name);
	if (fd == -EADDRINUSE && share && is_ours(&name))
		return 0;
	if (fd == -EADDRINUSE)
		find_holder(&name, holder);
	if (fd < 0)
		return fd;
	claim->fds[0] = fd;
	snprintf(holder, DRIVERS_CLAIM_HOLDER_BYTES, "%." PROGRAM_CHARS "s (process %d)", program, (int)getpid());
	make_name(addr, vlan_id, holder, &holder_name);
	claim->fds[1] = bind_name(&holder_name); /* without it others do not know who holds the address */
	return 0;
}

void drivers_claim_bequeath(const struct drivers_claim *claim)
{
	for (unsigned i = 0; i < 2; i++) {
		if (claim->fds[i] >= 0)
			fcntl(claim->fds[i], F_SETFD, 0);
	}
}

void drivers_claim_release(struct drivers_claim *claim)
{
	for (unsigned i = 0; i < 2; i++) {
		if (claim->fds[i] >= 0)
			close(claim->fds[i]);
		claim->fds[i] = -1;
	}
}
