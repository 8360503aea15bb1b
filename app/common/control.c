/* control.c - the control connection of two programs: lines of JSON over TCP or a connection by address */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/control.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_cycles.h>

#include <uroce/device.h>

#include "common/clock.h"
#include "common/eal.h"
#include "common/pipe.h"

#define MESSAGE_MAX_BYTES (8u << 20)
#define READ_BYTES 65536u
#define DIAL_S 10.0
#define SEND_S 10.0
#define FOREVER_S 1e9
#define PAUSE_MS 1
#define TRY_AGAIN_MS 100u

/* ---- opening ---- */

/* Returns a socket bound to all addresses, IPv6 and IPv4; -1: errno has the reason. */
static int bind_to(unsigned port)
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
	if (error == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int refuse_port(const char *option, unsigned port)
{
	return app_complain(APP_EXIT_ENVIRONMENT, "cannot listen on TCP port %u: %s; choose another with %s", port,
			    strerror(errno), option);
}

int app_control_check_port(const char *option, unsigned port)
{
	int fd = bind_to(port);

	if (fd < 0)
		return refuse_port(option, port);
	close(fd);
	return APP_EXIT_OK;
}

int app_control_listen(const struct app_control_config *config, unsigned port)
{
	int fd = bind_to(port);

	if (fd >= 0 && listen(fd, 1) == 0)
		return fd;
	refuse_port(config->port_option, port);
	if (fd >= 0)
		close(fd);
	return -1;
}

static void begin(struct app_control *control, const struct app_control_config *config, int fd)
{
	int yes = 1;

	*control = (struct app_control){ .config = *config, .fd = fd };
	if (fd < 0)
		return;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

/* May a wait go on? false: its time is over, or the program has ended it. */
static bool may_wait(const struct app_control_config *config, double end)
{
	return config->rest(config->argument) && app_now_seconds() < end;
}

/* Rests until the socket has work. Returns false if the wait was ended. */
static bool wait_for(const struct app_control_config *config, int fd, short events, double seconds)
{
	double end = app_now_seconds() + seconds;
	struct pollfd waiting = { .fd = fd, .events = events };

	while (poll(&waiting, 1, PAUSE_MS) <= 0) {
		if (!may_wait(config, end))
			return false;
	}
	return true;
}

int app_control_accept(struct app_control *control, const struct app_control_config *config, int listener)
{
	int fd = wait_for(config, listener, POLLIN, FOREVER_S) ? accept(listener, NULL, NULL) : -1;

	begin(control, config, fd);
	return fd < 0 ? app_complain(-1, "cannot accept a client: %s", strerror(errno)) : 0;
}

/* Connects to one address. Returns a socket, or -1 and *error. */
static int dial(const struct addrinfo *at, const struct app_control_config *config, double end, int *error)
{
	int fd = socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at->ai_protocol);
	struct pollfd made = { .fd = fd, .events = POLLOUT };
	socklen_t bytes = sizeof(*error);

	*error = fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0 ? 0 : errno;
	while (*error == EINPROGRESS) {
		if (poll(&made, 1, PAUSE_MS) > 0)
			getsockopt(fd, SOL_SOCKET, SO_ERROR, error, &bytes);
		else if (!may_wait(config, end))
			*error = ETIMEDOUT;
	}
	if (*error == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int app_control_dial(struct app_control *control, const struct app_control_config *config, const char *host,
		     unsigned port)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM }, *list;
	struct app_wait notice = { .began = app_now_seconds(), .patience_s = DIAL_S };
	double end = app_now_seconds() + DIAL_S;
	char service[16];
	int error, fd = -1;

	begin(control, config, -1);
	snprintf(service, sizeof(service), "%u", port);
	error = getaddrinfo(host, service, &hints, &list);
	if (error)
		return app_complain(-1, "%s %s: %s", config->host_option, host, gai_strerror(error));
	do {
		for (const struct addrinfo *at = list; at && fd < 0; at = at->ai_next)
			fd = dial(at, config, end, &error);
		for (unsigned i = 0; i < TRY_AGAIN_MS && fd < 0 && may_wait(config, end); i++)
			poll(NULL, 0, PAUSE_MS);
		if (fd < 0 && may_wait(config, end))
			app_wait_report(&notice, "a server at %s, TCP port %u: %s", host, port, strerror(error));
	} while (fd < 0 && may_wait(config, end));
	freeaddrinfo(list);
	begin(control, config, fd);
	if (fd >= 0)
		return 0;
	if (!config->rest(config->argument))
		return app_complain(-1, "interrupted");
	return app_complain(-1, "no server at %s, TCP port %u: %s", host, port, strerror(error));
}

int app_control_open_pipe(struct app_control *control, const struct app_control_config *config,
			  const struct app_pipe_config *pipe, void (*when_listening)(unsigned service),
			  bool (*keep_waiting)(void))
{
	int code;

	begin(control, config, -1);
	control->pipe = app_pipe_open(pipe, when_listening, keep_waiting, &code);
	return code;
}

/* ---- sending ---- */

static json_t *fail(struct app_control *control, const char *reason)
{
	if (!control->closed)
		app_complain(APP_EXIT_FAILURE, "the peer %s", reason);
	control->closed = true;
	return NULL;
}

static int send_all(struct app_control *control, const char *data, size_t bytes)
{
	if (control->pipe && app_pipe_send(control->pipe, data, bytes) != 0)
		return fail(control, "can no longer be reached") ? 0 : -1;
	while (bytes && !control->pipe) {
		ssize_t sent = send(control->fd, data, bytes, MSG_NOSIGNAL);

		if (sent > 0) {
			data += sent;
			bytes -= (size_t)sent;
		} else if (sent >= 0 || (errno != EAGAIN && errno != EINTR) ||
			   !wait_for(&control->config, control->fd, POLLOUT, SEND_S)) {
			app_complain(APP_EXIT_FAILURE, "the peer cannot be reached over TCP: %s", strerror(errno));
			control->closed = true;
			return -1;
		}
	}
	return 0;
}

int app_control_send(struct app_control *control, json_t *message)
{
	char *text;
	int error = -1;

	if (message && !control->introduced) {
		json_object_set_new(message, "program", json_string(control->config.program));
		json_object_set_new(message, "protocol", json_integer(control->config.protocol));
	}
	control->introduced = true;
	text = message ? json_dumps(message, JSON_COMPACT) : NULL;
	json_decref(message);
	if (text && !control->closed) {
		size_t length = strlen(text);

		text[length] = '\n';
		error = send_all(control, text, length + 1);
	}
	free(text);
	return error;
}

int app_control_say(struct app_control *control, const char *type)
{
	return app_control_send(control, json_pack("{s:s}", "type", type));
}

int app_control_refuse(struct app_control *control, const char *reason)
{
	return app_control_send(control, json_pack("{s:s, s:s}", "type", "refused", "reason", reason));
}

/* ---- receiving ---- */

/* Reads received bytes into the buffer. Returns false if the connection has ended. */
static bool read_more(struct app_control *control)
{
	ssize_t got;

	if (control->room - control->filled < READ_BYTES) {
		char *larger = realloc(control->buffer, control->room + READ_BYTES);

		if (larger == NULL)
			return false;
		control->buffer = larger;
		control->room += READ_BYTES;
	}
	if (control->pipe)
		got = app_pipe_receive(control->pipe, control->buffer + control->filled,
				       control->room - control->filled);
	else
		got = recv(control->fd, control->buffer + control->filled, control->room - control->filled, 0);
	if (got > 0)
		control->filled += (size_t)got;
	return got > 0 || (got < 0 && (control->pipe || errno == EAGAIN || errno == EINTR));
}

/* The peer's first message: is it the same program, of the same version? Tells both ends if it is not. */
static bool is_known(struct app_control *control, const json_t *message)
{
	const struct app_control_config *config = &control->config;
	const char *program = json_string_value(json_object_get(message, "program"));
	json_int_t protocol = json_integer_value(json_object_get(message, "protocol"));
	char reason[160];

	if (program && strcmp(program, config->program) == 0 && protocol == config->protocol)
		return true;
	if (program && strcmp(program, config->program) == 0)
		snprintf(reason, sizeof(reason),
			 "the two ends of %s use protocol versions %ld and %d: install the same version at both ends",
			 config->program, (long)protocol, config->protocol);
	else
		snprintf(reason, sizeof(reason), "the two ends run different programs: run %s at both ends",
			 config->program);
	/* A peer that refuses has said why. */
	if (!app_control_is(message, "refused")) {
		app_control_refuse(control, reason);
		app_complain(APP_EXIT_FAILURE, "%s", reason);
	} else {
		app_control_complain(message);
	}
	control->closed = true;
	return false;
}

/* Takes the first line out of the buffer, as a message. */
static json_t *take_line(struct app_control *control, size_t length)
{
	json_t *message = json_loadb(control->buffer, length, 0, NULL);

	control->filled -= length + 1;
	control->searched = 0;
	memmove(control->buffer, control->buffer + length + 1, control->filled);
	return message;
}

/* Returns a message that has arrived, or NULL. */
static json_t *look(struct app_control *control)
{
	bool open = !control->closed && read_more(control);
	char *end = control->buffer ?
			    memchr(control->buffer + control->searched, '\n', control->filled - control->searched) :
			    NULL;
	char reason[160];
	json_t *message;

	control->searched = end ? control->searched : control->filled;
	snprintf(reason, sizeof(reason), "sent a message that is not a JSON object: run %s at both ends",
		 control->config.program);
	if (control->filled && (control->buffer[0] != '{' || control->filled > MESSAGE_MAX_BYTES))
		return fail(control, reason);
	if (end == NULL)
		return open ? NULL : fail(control, "closed the connection");
	message = take_line(control, (size_t)(end - control->buffer));
	if (!json_is_object(message)) {
		json_decref(message);
		return fail(control, reason);
	}
	control->known = control->known || is_known(control, message);
	if (control->known)
		return message;
	json_decref(message);
	return NULL;
}

json_t *app_control_next(struct app_control *control)
{
	const struct app_control_config *config = &control->config;
	json_t *message;
	uint64_t now;

	if (!config->rest(config->argument)) {
		app_complain(APP_EXIT_INTERRUPTED, "interrupted");
		control->closed = true;
		return NULL;
	}
	now = rte_rdtsc();
	if (control->look_s > 0 && now < control->next_look)
		return NULL;
	control->next_look = now + (uint64_t)(control->look_s * (double)rte_get_tsc_hz());
	message = look(control);
	while (message && config->take && config->take(config->argument, message)) {
		json_decref(message);
		message = look(control);
	}
	return message;
}

bool app_control_is(const json_t *message, const char *type)
{
	const char *text = json_string_value(json_object_get(message, "type"));

	return text && strcmp(text, type) == 0;
}

void app_control_complain(const json_t *message)
{
	const char *reason = json_string_value(json_object_get(message, "reason"));

	app_complain(APP_EXIT_FAILURE, "the peer refused: %s", reason ? reason : "no reason given");
}

json_t *app_control_expect(struct app_control *control, const char *type, double seconds)
{
	double end = app_now_seconds() + seconds;
	json_t *message = NULL;

	while (message == NULL && !control->closed) {
		message = app_control_next(control);
		if (message == NULL && seconds > 0 && !control->closed && app_now_seconds() > end) {
			app_complain(APP_EXIT_FAILURE, "the peer did not answer within %.0f s", seconds);
			return NULL;
		}
	}
	if (message == NULL || type == NULL || app_control_is(message, type))
		return message;
	app_control_complain(message);
	json_decref(message);
	return NULL;
}

/* ---- the end ---- */

bool app_control_is_over(struct app_control *control)
{
	control->closed |= !read_more(control);
	control->filled = control->searched = 0;
	return control->closed;
}

void app_control_wait_closed(struct app_control *control, double seconds)
{
	double end = app_now_seconds() + seconds;

	if (control->pipe)
		app_pipe_wait_closed(control->pipe, seconds);
	while (!control->pipe && app_now_seconds() < end && !app_control_is_over(control)) {
		struct pollfd waiting = { .fd = control->fd, .events = POLLIN };

		poll(&waiting, 1, 100);
	}
	control->closed = true;
}

void app_control_give_up(struct app_control *control)
{
	control->closed = true;
	if (control->pipe)
		app_pipe_give_up(control->pipe);
}

void app_control_close(struct app_control *control)
{
	if (control->fd >= 0)
		close(control->fd);
	app_pipe_close(control->pipe);
	free(control->buffer);
	*control = (struct app_control){ .fd = -1, .closed = true };
}
