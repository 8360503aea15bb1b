/* connect.h - how many connections a second are made and taken down again */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client keeps so many connections under way: each is set up by address (C-29), ended as soon as both know it, and
 * replaced by the next. With both ends in this process one thread is client, server and both lcores' owner.
 */
#ifndef APP_PERF_CONNECT_H
#define APP_PERF_CONNECT_H

#include "perf/end.h"

struct perf_connect {
	struct perf_end *client, *server; /* NULL: it is in another process */
	struct uroce_engine *engine;
	struct uroce_addr dest; /* of the server */
	uint16_t port;
	uint32_t under_way;
	double seconds;
};

/* An exit code; what was measured has been printed. A server ends when nothing has come for ten seconds. */
int perf_connect_run(const struct perf_connect *connect);

#endif
