/* pipe.h - bytes to and from another process over a connection by address, in the place of TCP */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. app_pipe_open()
 *   2. app_pipe_send(), app_pipe_receive()
 *   3. app_pipe_close(), while the port is still open
 * The bytes travel as SENDs on a queue pair of the pipe. All calls come from one thread. If that thread polls the
 * lcores, calls that wait poll them; app_pipe_receive() does not wait. Failures are complained about.
 */
#ifndef APP_COMMON_PIPE_H
#define APP_COMMON_PIPE_H

#include <sys/types.h>

#include <uroce/uroce.h>

#include "common/ports.h"

struct app_pipe_config {
	struct uroce_engine *engine;
	const struct app_port *port;
	const char *host;    /* the server's address; NULL: this is the server */
	uint16_t service;    /* port number of the server */
	uint8_t timeout;     /* ACK timer code; 0: that of <uroce/cm.h> */
	unsigned patience_s; /* for how long a client tries to reach the server; a server waits without a limit */
};

struct app_pipe;

/*
 * Returns NULL after a failure, with the exit code in *code. when_listening (may be NULL) is called once clients can
 * connect. keep_waiting (may be NULL) is asked during the wait, and returns false to end it.
 */
struct app_pipe *app_pipe_open(const struct app_pipe_config *config, void (*when_listening)(unsigned service),
			       bool (*keep_waiting)(void), int *code);

/* Sends all bytes, or returns -1: the connection has ended. */
int app_pipe_send(struct app_pipe *pipe, const void *data, size_t bytes);

/* Reads received bytes, at most room. Returns 0 if the connection has ended, -EAGAIN if nothing was received yet. */
ssize_t app_pipe_receive(struct app_pipe *pipe, void *data, size_t room);

/* Waits up to `seconds` until the peer has closed the connection. */
void app_pipe_wait_closed(struct app_pipe *pipe, double seconds);
/* Tells the peer that the connection ends, and waits briefly for the peer's answer. */
/* app_pipe_close() will not wait for the other end any more. */
void app_pipe_give_up(struct app_pipe *pipe);
void app_pipe_close(struct app_pipe *pipe);

#endif
