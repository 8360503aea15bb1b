/* control.h - messages between two uroce-perf: JSON over TCP or a connection by address */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message is a JSON object behind its length (32 bits, big-endian). No call blocks for long, because ARP, neighbour
 * discovery and the peer's requests have to be answered meanwhile. All failures are complained about.
 */
#ifndef APP_PERF_CONTROL_H
#define APP_PERF_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#define PERF_CONTROL_MESSAGE_MAX (8u << 20)

struct uroce_lcore;
struct app_pipe_config;

struct perf_control {
	int fd;
	struct app_pipe *pipe; /* used instead of fd; NULL: TCP */
	bool closed;           /* by the peer, or after an error */
	struct uroce_lcore *lcore;
	char *buffer;
	size_t filled, room;
};

/* Waits for a client without a limit. 0 or -1. */
int perf_control_accept(struct perf_control *link, struct uroce_lcore *lcore, unsigned tcp_port);

/* Tries for ten seconds, since the server may start a little later. Returns 0 or -1. */
int perf_control_connect(struct perf_control *link, struct uroce_lcore *lcore, const char *host, unsigned tcp_port);

/* Accepts or connects by address. Returns APP_EXIT_OK, or the exit code after a complaint. */
int perf_control_open_pipe(struct perf_control *link, struct uroce_lcore *lcore, const struct app_pipe_config *config);

/* Sends message and drops the reference to it. Returns 0 or -1. */
int perf_control_send(struct perf_control *link, json_t *message);

/* Returns a message that has arrived, or NULL; does not wait. */
json_t *perf_control_poll(struct perf_control *link);

/* Waits until the peer has closed the connection; over TCP without polling the lcore. */
void perf_control_wait_closed(struct perf_control *link, double seconds);

/* Nothing more is sent or waited for. */
void perf_control_give_up(struct perf_control *link);
void perf_control_close(struct perf_control *link);

#endif
