/* side.h - the side channel, over TCP or a connection by address; waiting on it polls the lcore */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Before the peer answers on TCP it asks for our MAC, so ARP and neighbour discovery must be answered meanwhile. If a
 * call fails it complains and returns -1.
 */
#ifndef APP_PINGPONG_SIDE_H
#define APP_PINGPONG_SIDE_H

#include <stddef.h>

#define SIDE_STALL_SECONDS 30 /* time after which a silent peer is given up */

struct uroce_lcore;
struct app_pipe;

struct side {
	int fd;                /* -1 if pipe is set */
	struct app_pipe *pipe; /* NULL: TCP */
};

/* Connects to host; the server may need up to 10 s to come up. */
int side_dial(struct side *side, const char *host, unsigned port);

/* Waits for a client without a limit. */
int side_accept(struct side *side, struct uroce_lcore *lcore, unsigned port);

/* Reads exactly so many bytes. Returns 0. */
int side_read(struct uroce_lcore *lcore, const struct side *side, char *text, size_t bytes);
int side_write(const struct side *side, const char *text, size_t bytes);

void side_close(struct side *side);

#endif
