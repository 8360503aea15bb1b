/* remote.h - cases between two processes: the client says what, the server does its half */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages, each with a type:
 *   hello -> hello       once: the protocol's number
 *   case -> ready        the parameters and the client's QPs, the server's QPs; or -> refused, with the reason
 *   go -> going          both are connected: begin
 *   check -> checked     either way: are these messages right in your memory? (write --verify)
 *   stop -> stopped      what each end did; the server answers when it is done, too
 *   bye -> bye           the client has no more cases, the server polls its port no more
 */
#ifndef APP_PERF_REMOTE_H
#define APP_PERF_REMOTE_H

#include "perf/end.h"
#include "perf/control.h"

struct perf_remote {
	struct perf_control link;
	struct perf_end *end;
	uint64_t next_look; /* at the socket, TSC */
	bool open;          /* both have said hello, none has said bye */
};

/* APP_EXIT_OK, or what to exit with after a complaint. */
int perf_remote_open(struct perf_remote *remote, struct uroce_engine *engine, struct perf_end *end,
		     const struct perf_options *options);

/*
 * The end of it: the client's port goes away while nobody polls the server's (net_memif of 22.11 crashes a poller
 * whose peer vanishes). The client parts, closes its port, then the connection; the server parts, which takes until
 * the client has closed the connection, then closes its port. A connection by address needs the port: there both
 * close it first.
 */
void perf_remote_part(struct perf_remote *remote);
void perf_remote_close(struct perf_remote *remote);

/* The client runs a case. 0, or -1 when there is no point in going on. */
int perf_remote_run(struct perf_remote *remote, const struct perf_case *test, struct perf_result *result);

/* The server serves cases until the client says bye; adds what failed to *failures. 0 or -1. */
int perf_remote_serve(struct perf_remote *remote, uint64_t *failures);

#endif
