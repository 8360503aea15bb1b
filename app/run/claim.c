/* claim.c - a lock on a file for each address */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/exit.h"

#define TEXT_BYTES 96
#define ADDR_BYTES 46
#define RANGE_MAX 65536u /* addresses of one range */

/* 0; -EWOULDBLOCK: another program has it. */
static int lock(const char *name)
{
	static const char *const folders[] = { "/run/lock", "/tmp" };
	int fd = -1, error;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && fd < 0; i++) {
		char path[TEXT_BYTES * 2];

		snprintf(path, sizeof(path), "%s/%s", folders[i], name);
		fd = open(path, O_RDWR); /* of whomever it is: a sticky folder refuses O_CREAT for another's file */
		if (fd < 0)
			fd = open(path, O_RDWR | O_CREAT, 0666);
		if (fd >= 0)
			fchmod(fd, 0666); /* in spite of the umask; fails for another's, where it is done already */
	}
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0; /* the descriptor stays open, and the program inherits it */
	error = -errno;
	close(fd);
	return error;
}

static int claim(const struct uroce_addr *address)
{
	char name[TEXT_BYTES], text[ADDR_BYTES];
	struct stat namespace = { 0 };

	stat("/proc/self/ns/net", &namespace);
	uroce_addr_format(address, text, sizeof(text));
	for (char *at = text; *at; at++)
		*at = *at == ':' ? '_' : *at;
	snprintf(name, sizeof(name), "uroce-%lu-%s", (unsigned long)namespace.st_ino, text);
	return lock(name);
}

/* The next one; IPv4 addresses are the last four bytes. */
static void move_on(struct uroce_addr *address)
{
	for (int i = 15; i >= 0 && ++address->bytes[i] == 0; i--)
		;
}

static int refuse(const char *text)
{
	return app_complain(APP_EXIT_USAGE,
			    "--ip %s: an address like 10.0.0.1/24 or fd00::1/64, or a range of at most %u, like "
			    "10.0.0.1-10.0.0.9/24",
			    text, RANGE_MAX);
}

/* "FIRST-LAST/LEN" into its parts. false: it is not so. */
static bool split(const char *text, struct uroce_addr *first, struct uroce_addr *last, char *length, size_t room)
{
	char copy[TEXT_BYTES], *slash, *dash;

	if (strlen(text) >= sizeof(copy))
		return false;
	strcpy(copy, text);
	slash = strchr(copy, '/');
	dash = strchr(copy, '-');
	if (slash)
		*slash = '\0';
	if (dash)
		*dash = '\0';
	snprintf(length, room, "%s", slash ? slash + 1 : "");
	return uroce_addr_parse(copy, first, NULL) == 0 && uroce_addr_parse(dash ? dash + 1 : copy, last, NULL) == 0;
}

int claim_address(const char *text, char *out, size_t room, struct uroce_addr *address)
{
	struct uroce_addr last;
	char length[8], one[ADDR_BYTES];
	int error = -EWOULDBLOCK;

	if (!split(text, address, &last, length, sizeof(length)))
		return refuse(text);
	for (uint32_t tried = 0; tried < RANGE_MAX; tried++, move_on(address)) {
		error = claim(address);
		if (error != -EWOULDBLOCK || memcmp(address, &last, sizeof(last)) == 0)
			break;
	}
	if (error == -EWOULDBLOCK && memcmp(address, &last, sizeof(last)) != 0)
		return refuse(text);
	if (error == -EWOULDBLOCK)
		return app_complain(APP_EXIT_ENVIRONMENT,
				    "--ip %s: other programs have it; name another one, or a longer range", text);
	if (error)
		return app_complain(APP_EXIT_ENVIRONMENT, "--ip %s: no file in /run/lock or /tmp can be locked (%s)",
				    text, strerror(-error));
	uroce_addr_format(address, one, sizeof(one));
	snprintf(out, room, "%s%s%s", one, *length ? "/" : "", length);
	return uroce_addr_parse(out, address, NULL) == 0 ? APP_EXIT_OK : refuse(text);
}
