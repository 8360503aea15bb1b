/* side.c - the side channel over TCP or a connection by address */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
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
#include "common/tcp.h"
#include "pingpong/side.h"

#define DIAL_S 10

/* Reads what has arrived. Returns 0 if the other side has closed the channel, -EAGAIN if nothing has arrived yet. */
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
		if (got == 0)
			return app_complain(-1, "the other side closed the connection (%zu of %zu bytes came)", at,
					    bytes);
		if (got > 0)
			at += (size_t)got;
		if (got < 0 && app_now_seconds() > end)
			return app_complain(-1, "the other side said nothing for %d s", SIDE_STALL_SECONDS);
	}
	return 0;
}

int side_write(const struct side *side, const char *text, size_t bytes)
{
	if (side->pipe ? app_pipe_send(side->pipe, text, bytes) == 0 :
			 send(side->fd, text, bytes, MSG_NOSIGNAL) == (ssize_t)bytes)
		return 0;
	return app_complain(-1, "could not write to the other side: %s",
			    side->pipe ? "the connection is over" : strerror(errno));
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
	const char *why;
	bool unknown;

	side->fd = app_tcp_dial(host, port, DIAL_S, NULL, NULL, &why, &unknown);
	if (side->fd >= 0)
		return 0;
	return unknown ? app_complain(-1, "host %s: %s", host, why) :
			 app_complain(-1, "nobody listens on %s port %u: %s", host, port, why);
}

int side_accept(struct side *side, struct uroce_lcore *lcore, unsigned port)
{
	int listener = app_tcp_listen(port), fd = -1;

	if (listener < 0)
		return app_complain(-1, "cannot listen on TCP port %u: %s; choose another with -p", port,
				    strerror(errno));
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
