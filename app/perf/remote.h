/* remote.h - runs cases between two processes: the client says what to do, the server does its half */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of common/control.h:
 *   case -> ready        the parameters and the client's QPs; the server's QPs. Or -> refused, with the reason
 *   go -> going          both are connected: begin
 *   check -> checked     in either direction: are these messages right in your memory? (write --verify)
 *   stop -> stopped      what each end has done; the server answers when it is done, too
 *   bye -> bye           the client has no more cases, the server polls its port no more
 */
#ifndef APP_PERF_REMOTE_H
#define APP_PERF_REMOTE_H

#include "common/control.h"
#include "perf/end.h"

#define PERF_PORT_OPTION "-p" /* the option of the TCP port, for complaints */

struct perf_remote {
	struct app_control link;
	struct perf_end *end;
	json_t *first; /* server: the client's first message, until it is handled */
	bool open;     /* neither end has said bye */
};

/* Returns APP_EXIT_OK, or the exit code after a complaint. */
int perf_remote_open(struct perf_remote *remote, struct uroce_engine *engine, struct perf_end *end,
		     const struct perf_options *options);

/*
 * Parts from the other process. The client's port must go away while nobody polls the server's, because net_memif
 * (22.11) crashes a poller whose peer vanishes. So the client parts, closes its port, then the connection; the server's
 * call returns when the client has closed the connection, and then the server closes its port. A connection by address
 * needs the port, so both close it first.
 */
void perf_remote_part(struct perf_remote *remote);
void perf_remote_close(struct perf_remote *remote);

/* For the client: runs a case. Returns 0, or -1: further cases make no sense. */
int perf_remote_run(struct perf_remote *remote, const struct perf_case *test, struct perf_result *result);

/* For the server: serves cases until the client says bye, and adds what failed to *failures. Returns 0 or -1. */
int perf_remote_serve(struct perf_remote *remote, uint64_t *failures);

#endif
