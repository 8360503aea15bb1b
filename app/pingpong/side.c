/* side.c - the side channel over TCP or a connection by address */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <uroce/uroce.h>

#include "common/clock.h"
#include "common/eal.h"
#include "common/pipe.h"
#include "pingpong/side.h"

/* What is there; 0: the other side has closed it; -EAGAIN: nothing yet. */
static ssize_t read_some(const struct side *side, char *text, size_t bytes)
{
	struct pollfd waiting = { .fd = side->fd, .events = POLLIN };
	ssize_t got;

	if (side->pipe)
		return app_pipe_receive(side->pipe, text, bytes);
	if (poll(&waiting, 1, 0) <= 0)
		return -EAGAIN;
	got = read(side->fd, text, bytes);
	return got < 0 ? 0 : got;
}

int side_read(struct uroce_lcore *lcore, const struct side *side, char *text, size_t bytes)
{
	double end = app_now_seconds() + SIDE_STALL_SECONDS;
	size_t at = 0;

	while (at < bytes) {
		ssize_t got;

		uroce_lcore_poll(lcore);
		got = read_some(side, text + at, bytes - at);
		if (got == 0) {
			app_complain(APP_EXIT_FAILURE, "the other side closed the connection (%zu of %zu bytes came)",
				     at, bytes);
			return -1;
		}
		if (got > 0)
			at += (size_t)got;
		if (got < 0 && app_now_seconds() > end) {
			app_complain(APP_EXIT_FAILURE, "the other side said nothing for %d s", SIDE_STALL_SECONDS);
			return -1;
		}
	}
	return 0;
}

int side_write(const struct side *side, const char *text, size_t bytes)
{
	if (side->pipe ? app_pipe_send(side->pipe, text, bytes) == 0 :
			 send(side->fd, text, bytes, MSG_NOSIGNAL) == (ssize_t)bytes)
		return 0;
	app_complain(APP_EXIT_FAILURE, "could not write to the other side: %s",
		     side->pipe ? "the connection is over" : strerror(errno));
	return -1;
}

void side_close(struct side *side)
{
	if (side->fd >= 0)
		close(side->fd);
	app_pipe_close(side->pipe);
	*side = (struct side){ .fd = -1 };
}

int side_dial(struct side *side, const char *host, unsigned port)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list, *at;
	double end = app_now_seconds() + 10;
	char service[16];
	int error, fd = -1;

	snprintf(service, sizeof(service), "%u", port);
	error = getaddrinfo(host, service, &hints, &list);
	if (error) {
		app_complain(APP_EXIT_FAILURE, "host %s: %s", host, gai_strerror(error));
		return -1;
	}
	/* The server may need a moment to come up. */
	while (fd < 0 && app_now_seconds() < end) {
		for (at = list; at && fd < 0; at = at->ai_next) {
			fd = socket(at->ai_family, at->ai_socktype, at->ai_protocol);
			if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
				close(fd);
				fd = -1;
			}
		}
		if (fd < 0)
			usleep(100000);
	}
	freeaddrinfo(list);
	if (fd < 0)
		app_complain(APP_EXIT_FAILURE, "nobody listens on %s port %u: %s", host, port, strerror(errno));
	side->fd = fd;
	return fd < 0 ? -1 : 0;
}

static int listen_on(unsigned port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	int fd = socket(AF_INET6, SOCK_STREAM, 0), no = 0, yes = 1;
	struct sockaddr_in any4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	bool ipv6 = fd >= 0;

	if (!ipv6)
		fd = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (ipv6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
	if (bind(fd, ipv6 ? (struct sockaddr *)&any : (struct sockaddr *)&any4, ipv6 ? sizeof(any) : sizeof(any4)) !=
		    0 ||
	    listen(fd, 1) != 0) {
		app_complain(APP_EXIT_FAILURE, "cannot listen on TCP port %u: %s; choose another with -p", port,
			     strerror(errno));
		close(fd);
		return -1;
	}
	return fd;
}

int side_accept(struct side *side, struct uroce_lcore *lcore, unsigned port)
{
	int listener = listen_on(port), fd = -1;

	if (listener < 0)
		return -1;
	printf("  waiting for a client on TCP port %u\n", port);
	fflush(stdout);
	while (fd < 0) {
		struct pollfd waiting = { .fd = listener, .events = POLLIN };

		uroce_lcore_poll(lcore);
		if (poll(&waiting, 1, 0) > 0)
			fd = accept(listener, NULL, NULL);
	}
	close(listener);
	side->fd = fd;
	return 0;
}
