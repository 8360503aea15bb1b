/* control.c - messages between two uroce-perf: JSON over TCP or a connection by address */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <uroce/device.h>

#include "common/clock.h"
#include "common/eal.h"
#include "common/pipe.h"
#include "common/tcp.h"
#include "perf/control.h"
#include "perf/report.h"

#define CONNECT_S 10.0
#define SEND_S 10.0
#define IDLE_MS 1 /* pause between two polls while nothing happens */
#define LENGTH_BYTES 4u
#define READ_BYTES 65536u
/* The answer to a peer that speaks another protocol, as perftest's tools do. */
#define STRANGER "is no uroce-perf, which has to run at both ends: "

/* Polls the lcore, and pauses while neither the lcore nor the socket has work. true: the socket has work. */
static bool poll_until(struct uroce_lcore *lcore, int fd, short events)
{
	struct pollfd waiting = { .fd = fd, .events = events };
	unsigned work = uroce_lcore_poll(lcore);

	return poll(&waiting, 1, work ? 0 : IDLE_MS) > 0;
}

static int begin(struct perf_control *link, struct uroce_lcore *lcore, int fd)
{
	int yes = 1;

	memset(link, 0, sizeof(*link));
	link->lcore = lcore;
	link->fd = fd;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	return 0;
}

int perf_control_accept(struct perf_control *link, struct uroce_lcore *lcore, unsigned tcp_port)
{
	int listener = app_tcp_listen(tcp_port), fd;

	if (listener < 0)
		return app_complain(-1, "cannot listen on TCP port %u: %s; choose another with -p", tcp_port,
				    strerror(errno));
	perf_report_waiting(tcp_port);
	while (!poll_until(lcore, listener, POLLIN))
		;
	fd = accept(listener, NULL, NULL);
	close(listener);
	if (fd < 0)
		return app_complain(-1, "accepting a client: %s", strerror(errno));
	return begin(link, lcore, fd);
}

static bool poll_lcore(void *lcore)
{
	uroce_lcore_poll(lcore);
	return true;
}

int perf_control_connect(struct perf_control *link, struct uroce_lcore *lcore, const char *host, unsigned tcp_port)
{
	const char *why;
	bool unknown;
	int fd = app_tcp_dial(host, tcp_port, CONNECT_S, poll_lcore, lcore, &why, &unknown);

	if (fd >= 0)
		return begin(link, lcore, fd);
	return unknown ? app_complain(-1, "HOST %s: %s", host, why) :
			 app_complain(-1, "no server at %s, TCP port %u: %s", host, tcp_port, why);
}

int perf_control_open_pipe(struct perf_control *link, struct uroce_lcore *lcore, const struct app_pipe_config *config)
{
	int code;

	memset(link, 0, sizeof(*link));
	link->fd = -1;
	link->lcore = lcore;
	link->pipe = app_pipe_open(config, perf_report_waiting_by_address, NULL, &code);
	return code;
}

static json_t *fail(struct perf_control *link, const char *reason)
{
	if (!link->closed)
		app_complain(APP_EXIT_FAILURE, "the other side %s", reason);
	link->closed = true;
	return NULL;
}

static int send_all(struct perf_control *link, const char *data, size_t bytes)
{
	double end = app_now_seconds() + SEND_S;

	if (link->pipe && app_pipe_send(link->pipe, data, bytes) != 0)
		return fail(link, "is not to be reached any more") ? 0 : -1;
	while (bytes && !link->pipe) {
		ssize_t sent = send(link->fd, data, bytes, MSG_NOSIGNAL);

		if (sent > 0) {
			data += sent;
			bytes -= (size_t)sent;
		} else if (sent < 0 && (errno == EAGAIN || errno == EINTR) && app_now_seconds() < end) {
			poll_until(link->lcore, link->fd, POLLOUT);
		} else {
			app_complain(APP_EXIT_FAILURE, "the other side is not to be reached over TCP: %s",
				     strerror(errno));
			link->closed = true;
			return -1;
		}
	}
	return 0;
}

int perf_control_send(struct perf_control *link, json_t *message)
{
	char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
	uint32_t length;
	int error = -1;

	json_decref(message);
	if (text && !link->closed) {
		length = htonl((uint32_t)strlen(text));
		error = send_all(link, (const char *)&length, LENGTH_BYTES);
		if (error == 0)
			error = send_all(link, text, strlen(text));
	}
	free(text);
	return error;
}

/* Reads what has arrived. Returns false if the connection has ended. */
static bool read_more(struct perf_control *link)
{
	ssize_t got;

	if (link->room - link->filled < READ_BYTES) {
		char *larger = realloc(link->buffer, link->room + READ_BYTES);

		if (larger == NULL)
			return false;
		link->buffer = larger;
		link->room += READ_BYTES;
	}
	if (link->pipe)
		got = app_pipe_receive(link->pipe, link->buffer + link->filled, link->room - link->filled);
	else
		got = recv(link->fd, link->buffer + link->filled, link->room - link->filled, 0);
	if (got > 0)
		link->filled += (size_t)got;
	return got > 0 || (got < 0 && (link->pipe || errno == EAGAIN || errno == EINTR));
}

json_t *perf_control_poll(struct perf_control *link)
{
	bool open = !link->closed && read_more(link);
	uint32_t length = 0;
	json_error_t error;
	json_t *message;

	if (link->filled >= LENGTH_BYTES) {
		memcpy(&length, link->buffer, LENGTH_BYTES);
		length = ntohl(length);
		if (length > PERF_CONTROL_MESSAGE_MAX)
			return fail(link, STRANGER "its message is too long");
	}
	if (link->filled < LENGTH_BYTES || link->filled - LENGTH_BYTES < length)
		return open ? NULL : fail(link, "closed the connection");
	message = json_loadb(link->buffer + LENGTH_BYTES, length, 0, &error);
	link->filled -= LENGTH_BYTES + length;
	memmove(link->buffer, link->buffer + LENGTH_BYTES + length, link->filled);
	if (!json_is_object(message)) {
		json_decref(message);
		return fail(link, STRANGER "its message is not a JSON object");
	}
	return message;
}

void perf_control_wait_closed(struct perf_control *link, double seconds)
{
	double end = app_now_seconds() + seconds;
	char byte;

	if (link->pipe)
		app_pipe_wait_closed(link->pipe, seconds);
	while (!link->pipe && app_now_seconds() < end) {
		struct pollfd waiting = { .fd = link->fd, .events = POLLIN };
		ssize_t got;

		poll(&waiting, 1, 100);
		got = recv(link->fd, &byte, 1, 0);
		if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
			break;
	}
	link->closed = true;
}

void perf_control_give_up(struct perf_control *link)
{
	link->closed = true;
	if (link->pipe)
		app_pipe_give_up(link->pipe);
}

void perf_control_close(struct perf_control *link)
{
	if (link->fd >= 0)
		close(link->fd);
	app_pipe_close(link->pipe);
	free(link->buffer);
	memset(link, 0, sizeof(*link));
	link->fd = -1;
}
