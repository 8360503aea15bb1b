/* control.h - the control connection of two programs, by which they agree on parameters: over TCP, or by address */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. app_control_listen() and app_control_accept(), or app_control_dial(), or app_control_open_pipe()
 *   2. app_control_send(), app_control_next(), app_control_expect()
 *   3. app_control_close()
 * A message is a JSON object in one line of text, with a "type". The first message in each direction also names the
 * "program" and its "protocol"; those of another program or protocol are refused. A peer is not trusted: see fields.h.
 * All failures are complained about.
 */
#ifndef APP_COMMON_CONTROL_H
#define APP_COMMON_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct app_pipe_config;

struct app_control_config {
	const char *program;
	int protocol; /* raised whenever two programs could misunderstand each other */
	const char *port_option, *host_option;
	/* Called again and again by calls that wait: the program's own work. Returns false to end the wait. */
	bool (*rest)(void *argument);
	/* Takes a message that may arrive at any time, and returns true. NULL: there are none. */
	bool (*take)(void *argument, const json_t *message);
	void *argument;
};

struct app_control {
	struct app_control_config config;
	int fd;                /* -1: there is none */
	struct app_pipe *pipe; /* used instead of fd; NULL: TCP */
	bool closed;           /* by the peer, or after an error */
	bool introduced;       /* this end has sent its first message */
	bool known;            /* the peer's first message was right */
	double look_s;         /* time between two looks for messages in app_control_next(); 0: each time */
	uint64_t next_look;    /* TSC */
	char *buffer;
	size_t filled, searched, room;
};

/* Checks whether the port is free. option: which sets it. Returns APP_EXIT_OK, or the exit code after a complaint. */
int app_control_check_port(const char *option, unsigned port);

/* Returns a listening socket, or -1. */
int app_control_listen(const struct app_control_config *config, unsigned port);

/* Waits for a client without a limit. Returns 0 or -1. */
int app_control_accept(struct app_control *control, const struct app_control_config *config, int listener);

/* Tries for ten seconds, because the server may start a little later. Returns 0 or -1. */
int app_control_dial(struct app_control *control, const struct app_control_config *config, const char *host,
		     unsigned port);

/*
 * Accepts or connects by address. when_listening and keep_waiting: see app_pipe_open(). Returns APP_EXIT_OK, or the
 * exit code.
 */
int app_control_open_pipe(struct app_control *control, const struct app_control_config *config,
			  const struct app_pipe_config *pipe, void (*when_listening)(unsigned service),
			  bool (*keep_waiting)(void));

/* Sends the message and drops the reference to it. Returns 0 or -1. */
int app_control_send(struct app_control *control, json_t *message);

/* Send a message that has only a type, and a refusal with a reason. Return 0 or -1. */
int app_control_say(struct app_control *control, const char *type);
int app_control_refuse(struct app_control *control, const char *reason);

/* Rests once, and returns a message that has arrived, or NULL. */
json_t *app_control_next(struct app_control *control);

/* Waits up to `seconds` (0: without a limit) for a message of this type (NULL: any). Returns NULL after a complaint. */
json_t *app_control_expect(struct app_control *control, const char *type, double seconds);

bool app_control_is(const json_t *message, const char *type);

/* Complains that the peer refuses, or that it has sent something unexpected. */
void app_control_complain(const json_t *message);

/* Returns whether the peer has closed the connection. Received bytes are dropped. */
bool app_control_is_over(struct app_control *control);

/* Waits until the peer has closed the connection; over TCP without a rest. */
void app_control_wait_closed(struct app_control *control, double seconds);

/* Nothing more is sent or waited for. */
void app_control_give_up(struct app_control *control);
void app_control_close(struct app_control *control);

#endif
