/* connect.h - measures how many connections a second are set up and ended */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client keeps a number of connections under way: each is set up by address (C-29), ended once both ends know that it
 * is established, and replaced by the next. With both ends in this process one thread is client and server and polls
 * both lcores.
 */
#ifndef APP_PERF_CONNECT_H
#define APP_PERF_CONNECT_H

#include "perf/end.h"

struct perf_connect {
	struct perf_end *client, *server; /* NULL: it is in another process */
	struct uroce_engine *engine;
	struct uroce_addr dest; /* the server's address */
	uint16_t port;
	uint32_t under_way;
	double seconds;
};

/*
 * Prints the result, and returns APP_EXIT_OK or another exit code. A server ends when nothing has arrived for ten
 * seconds.
 */
int perf_connect_run(const struct perf_connect *connect);

#endif
