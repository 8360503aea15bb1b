/* tcp.c - a TCP connection, by which two programs tell each other their queue pairs */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/eal.h"

#define TRY_AGAIN_MS 100u
#define LOOK_MS 1

int app_tcp_listen(unsigned port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	struct sockaddr_in any4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), no = 0, yes = 1, error;
	bool ipv6 = fd >= 0;

	/* The kernel may have no IPv6. */
	if (!ipv6)
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (ipv6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
	error = bind(fd, ipv6 ? (struct sockaddr *)&any : (struct sockaddr *)&any4, ipv6 ? sizeof(any) : sizeof(any4));
	if (error == 0 && listen(fd, 1) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

struct wait {
	double end;
	bool (*rest)(void *argument); /* NULL: there is nothing else to do */
	void *argument;
};

/* May the wait go on? false: the time is over, or the caller's rest() has ended the wait. */
static bool keep_waiting(const struct wait *wait)
{
	return (wait->rest == NULL || wait->rest(wait->argument)) && app_now_seconds() < wait->end;
}

/* Connects to one address. Returns a blocking socket, or -1 and *error. */
static int dial(const struct addrinfo *at, const struct wait *wait, int *error)
{
	int fd = socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at->ai_protocol);
	struct pollfd made = { .fd = fd, .events = POLLOUT };
	socklen_t bytes = sizeof(*error);

	*error = fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0 ? 0 : errno;
	while (*error == EINPROGRESS) {
		if (poll(&made, 1, LOOK_MS) > 0)
			getsockopt(fd, SOL_SOCKET, SO_ERROR, error, &bytes);
		else if (!keep_waiting(wait))
			*error = ETIMEDOUT;
	}
	if (*error == 0 && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int app_tcp_dial(const char *host, unsigned port, double seconds, bool (*rest)(void *argument), void *argument,
		 const char **why, bool *unknown)
{
	const struct wait wait = { app_now_seconds() + seconds, rest, argument };
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM }, *list;
	char service[16];
	int error, fd = -1;
	struct app_wait notice = { .patience_s = seconds };

	snprintf(service, sizeof(service), "%u", port);
	error = getaddrinfo(host, service, &hints, &list);
	*unknown = error != 0;
	if (error) {
		*why = gai_strerror(error);
		return -1;
	}
	notice.began = app_now_seconds();
	do {
		for (const struct addrinfo *at = list; at && fd < 0; at = at->ai_next)
			fd = dial(at, &wait, &error);
		for (unsigned i = 0; i < TRY_AGAIN_MS && fd < 0 && keep_waiting(&wait); i++)
			poll(NULL, 0, 1);
		if (fd < 0 && keep_waiting(&wait))
			app_wait_report(&notice, "a server at %s, TCP port %u: %s", host, port, strerror(error));
	} while (fd < 0 && keep_waiting(&wait));
	freeaddrinfo(list);
	*why = strerror(error);
	return fd;
}
