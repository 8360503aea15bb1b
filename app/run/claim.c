/* claim.c - claims an address by a socket name, which only one program of a network namespace can have */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/claim.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/exit.h"

#define TEXT_BYTES 96
#define ADDR_BYTES 46
#define RANGE_MAX 65536u /* most addresses in a range */

/*
 * Returns 0, -EADDRINUSE if another program of the network namespace has the name, or another negative errno. A socket
 * name that begins with a zero byte is no file: the kernel frees the name when the last descriptor is closed, in
 * whichever process and for whatever reason.
 */
static int claim(const struct uroce_addr *address)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	char text[ADDR_BYTES];
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0), error, length;

	if (fd < 0)
		return -errno;
	uroce_addr_format(address, text, sizeof(text));
	length = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "uroce-run %s", text);
	if (bind(fd, (struct sockaddr *)&name,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 0)
		return 0; /* the descriptor stays open and is inherited by the program */
	error = -errno;
	close(fd);
	return error;
}

/* Advances to the next address; IPv4 addresses are the last four bytes. */
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

/* Splits "FIRST-LAST/LEN". Returns false if the text does not have this form. */
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
	int error = -EADDRINUSE;

	if (!split(text, address, &last, length, sizeof(length)))
		return refuse(text);
	for (uint32_t tried = 0; tried < RANGE_MAX; tried++, move_on(address)) {
		error = claim(address);
		if (error != -EADDRINUSE || memcmp(address, &last, sizeof(last)) == 0)
			break;
	}
	if (error == -EADDRINUSE && memcmp(address, &last, sizeof(last)) != 0)
		return refuse(text);
	if (error == -EADDRINUSE)
		return app_complain(APP_EXIT_ENVIRONMENT,
				    "--ip %s: other programs have it; name another one, or a longer range", text);
	if (error)
		return app_complain(APP_EXIT_ENVIRONMENT, "--ip %s: whether it is free cannot be found out (%s)", text,
				    strerror(-error));
	uroce_addr_format(address, one, sizeof(one));
	snprintf(out, room, "%s%s%s", one, *length ? "/" : "", length);
	return uroce_addr_parse(out, address, NULL) == 0 ? APP_EXIT_OK : refuse(text);
}
