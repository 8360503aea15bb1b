/* start.h - the beginning of each example: EAL, engine, port, protection domain, completion queue, channel */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EXAMPLES_START_H
#define EXAMPLES_START_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uroce/uroce.h>

enum { FAILED = 1, USAGE, ENVIRONMENT };

static int exit_code = USAGE; /* exit code if something fails now */
static struct uroce_engine *engine;
static struct uroce_port *port;
static struct uroce_pd *pd;
static struct uroce_cq *cq;
static struct uroce_cm_channel *channel;

/* Ends the program unless error is 0. why: the reason; NULL: that of the library or the system. */
static inline void must(int error, const char *what, const char *why)
{
	if (error == 0)
		return;
	fprintf(stderr, "%s: %s\n", what, why ? why : error == -EINVAL ? uroce_last_error() : strerror(-error));
	exit(exit_code);
}

/* lcore: index of the engine's lcore that serves the port. */
static inline struct uroce_port *open_port(const char *name, const char *address, uint16_t lcore)
{
	struct uroce_port_config config = { .engine = engine, .addresses = { address } };
	struct uroce_port *opened;
	struct uroce_error error;

	config.queue_count = 1;
	config.first_lcore = lcore;
	must(uroce_port_open(name, &config, &opened, &error), "port", error.text);
	return opened;
}

/*
 * workers: how many EAL lcores poll the engine; 0: the calling thread polls, with uroce_lcore_poll(). second: this is
 * the second of two processes on a machine, and takes the last cores.
 */
static inline void start(const char *name, const char *address, unsigned workers, bool second)
{
	struct uroce_eal_config eal = { .worker_count = workers, .main_is_busy = workers == 0, .last_core = second };
	struct uroce_engine_config lcores = { .lcore_count = workers };
	struct uroce_eal_info info;
	struct uroce_error error;

	setvbuf(stdout, NULL, _IOLBF, 0);
	exit_code = ENVIRONMENT;
	must(uroce_eal_start(&eal, &error), "EAL", error.text);
	uroce_eal_query(&info);
	if (workers) {
		lcores.lcore_ids = info.worker_ids;
		lcores.idle = UROCE_IDLE_SLEEP;
	}
	must(uroce_engine_create(&lcores, &engine), "engine", NULL);
	port = open_port(name, address, 0);
	must(uroce_pd_alloc(port->device, &pd), "protection domain", NULL);
	must(uroce_cq_create(port->device, 1024, &cq), "completion queue", NULL);
	must(uroce_cm_channel_create(engine, &channel), "channel", NULL);
	if (workers)
		must(uroce_engine_start(engine), "lcores", NULL);
}

/* Connects the id's QP to the server, or ends the program. */
static inline void connect_to(struct uroce_cm_id *id, const char *server, uint16_t service,
			      const struct uroce_cm_options *options)
{
	struct uroce_cm_event event;
	struct uroce_addr addr;

	exit_code = USAGE;
	must(uroce_addr_parse(server, &addr, NULL), server, "must be an address such as 10.0.0.1");
	exit_code = ENVIRONMENT;
	must(uroce_cm_connect(id, NULL, &addr, service, options), server, NULL);
	must(uroce_cm_wait(channel, 20000, &event), server, NULL);
	must(event.type == UROCE_CM_REJECTED, server, uroce_cm_reason_name(event.reason));
	must(event.status, server, NULL);
	exit_code = FAILED;
}

/* Ends a connection, and waits until the peer knows. Returns 0, or ends the program. */
static inline int hang_up(struct uroce_cm_id *id)
{
	struct uroce_cm_event event;

	must(uroce_cm_disconnect(id), "disconnect", NULL);
	must(uroce_cm_wait(channel, 20000, &event), "disconnect", NULL);
	must(event.status, "disconnect", NULL);
	uroce_cm_close(id);
	return 0;
}

#endif
