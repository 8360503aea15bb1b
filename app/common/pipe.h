/* pipe.h - bytes to and from another process over a connection by address, instead of TCP */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. app_pipe_open()
 *   2. app_pipe_send(), app_pipe_receive()
 *   3. app_pipe_close(), while the port is still open
 * The bytes go as SENDs of a queue pair of its own. All calls come from one thread; when that is the one that polls the
 * lcores, they are polled in calls that wait, which app_pipe_receive() does not. All that fails is complained about.
 */
#ifndef APP_COMMON_PIPE_H
#define APP_COMMON_PIPE_H

#include <sys/types.h>

#include <uroce/uroce.h>

#include "common/ports.h"

struct app_pipe_config {
	struct uroce_engine *engine;
	const struct app_port *port;
	const char *host;    /* an address; NULL: accepts */
	uint16_t service;    /* the port number of the server */
	uint8_t timeout;     /* ACK timer code; 0: 14, 67 ms */
	unsigned patience_s; /* so long a server that is not there yet is tried; accepting has no limit */
};

struct app_pipe;

/*
 * NULL, and *code is what to exit with. when_listening, or NULL, is called as soon as clients can come;
 * keep_waiting, or NULL: waiting ends when it says false.
 */
struct app_pipe *app_pipe_open(const struct app_pipe_config *config, void (*when_listening)(unsigned service),
			       bool (*keep_waiting)(void), int *code);

/* All of it, or -1: the connection is over. */
int app_pipe_send(struct app_pipe *pipe, const void *data, size_t bytes);

/* What has come, at most room bytes; 0: the connection is over; -EAGAIN: nothing yet. */
ssize_t app_pipe_receive(struct app_pipe *pipe, void *data, size_t room);

/* Waits until the peer has closed it, so many seconds. */
void app_pipe_wait_closed(struct app_pipe *pipe, double seconds);
/* Tells the peer, and waits a little until that knows. */
void app_pipe_close(struct app_pipe *pipe);

#endif
