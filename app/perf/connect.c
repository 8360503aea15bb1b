/* connect.c - measures how fast connections are set up and ended */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/eal.h"
#include "common/histogram.h"
#include "perf/connect.h"

#define CQ_DEPTH 65536u
#define BACKLOG 65536u
#define SERVER_IDLE_NS 10000000000ull
#define DRAIN_NS 30000000000ull
#define SECOND_NS 1000000000ull
#define EVENTS_MOST 64u /* handled between two polls: a peer without resources refuses at once, and is asked again */

struct run {
	const struct perf_connect *connect;
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener;
	struct uroce_cq *cqs[2]; /* client, server */
	uint32_t under_way, accepted;
	uint64_t made, ended, failed;
	uint64_t now_ns, heard_ns;
	struct app_histogram times_ns;       /* from connect to established */
	struct uroce_cm_event first_failure; /* of the client; id NULL: there was none */
	bool stopping;
};

static int make_qp(struct uroce_cm_id *id, const struct perf_end *end, struct uroce_cq *cq)
{
	struct uroce_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.max_send_wr = 1,
		.max_recv_wr = 1,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_dest_rd_atomic = 1,
	};
	struct uroce_qp *qp;

	return app_check("queue pair", uroce_cm_qp_create(id, end->pd, &init, 0, &qp));
}

/* The context of a client's id is the time when it began. */
static int begin_one(struct run *run)
{
	const struct perf_connect *connect = run->connect;
	struct uroce_cm_id *id;

	if (app_check("connection", uroce_cm_id_create(run->channel, run->now_ns, &id)) ||
	    make_qp(id, connect->client, run->cqs[0]) ||
	    app_check("connect", uroce_cm_connect(id, NULL, &connect->dest, connect->port, NULL)))
		return APP_EXIT_FAILURE;
	run->under_way++;
	return 0;
}

/* Ids of the server have no context. */
static int handle_event(struct run *run, const struct uroce_cm_event *event)
{
	bool client = event->context != 0;

	run->heard_ns = run->now_ns;
	switch (event->type) {
	case UROCE_CM_CONNECT_REQUEST:
		run->accepted++;
		if (make_qp(event->id, run->connect->server, run->cqs[1]))
			return APP_EXIT_FAILURE;
		if (uroce_cm_accept(event->id, NULL) != 0) { /* fails when the client has given up */
			run->failed++;
			uroce_cm_close(event->id);
		}
		return 0;
	case UROCE_CM_ESTABLISHED:
		if (client) {
			run->made++;
			app_histogram_record(&run->times_ns, run->now_ns - event->context);
			return app_check("disconnect", uroce_cm_disconnect(event->id));
		}
		return 0;
	case UROCE_CM_REJECTED:
	case UROCE_CM_UNREACHABLE:
		run->failed++;
		if (run->first_failure.id == NULL)
			run->first_failure = *event;
		/* fall through */
	case UROCE_CM_DISCONNECTED:
		uroce_cm_close(event->id);
		run->ended += client;
		run->under_way -= client;
		return client && !run->stopping ? begin_one(run) : 0;
	case UROCE_CM_ALTERNATE:
	case UROCE_CM_UD_RESOLVED:
	case UROCE_CM_ROUTE_RESOLVED:
	case UROCE_CM_CONNECT_RESPONSE:
	case UROCE_CM_TIMEWAIT_EXIT:
	case UROCE_CM_EVENT_TYPES:
		break;
	}
	return 0;
}

static int poll_once(struct run *run)
{
	const struct perf_connect *connect = run->connect;
	struct uroce_cm_event event;

	run->now_ns = app_now_ns();
	if (connect->client)
		uroce_lcore_poll(connect->client->lcore);
	if (connect->server && (!connect->client || connect->server->lcore != connect->client->lcore))
		uroce_lcore_poll(connect->server->lcore);
	for (uint32_t i = 0; i < EVENTS_MOST && uroce_cm_next(run->channel, &event) == 0; i++) {
		int code = handle_event(run, &event);

		if (code)
			return code;
	}
	return 0;
}

static void report(const struct run *run, double seconds)
{
	struct uroce_cm_usage usage;
	const struct app_histogram *times = &run->times_ns;

	printf("connections: %.0f per second, %lu in %.1f s, %u in progress, %lu failed\n", (double)run->made / seconds,
	       run->made, seconds, run->connect->under_way, run->failed);
	if (run->first_failure.id) {
		const struct uroce_cm_event *first = &run->first_failure;

		printf("first failure: %s%s\n", first->type == UROCE_CM_REJECTED ? "rejected: " : "",
		       first->type == UROCE_CM_REJECTED ? uroce_cm_reason_name(first->reason) :
							  strerror(-first->status));
	}
	if (times->count)
		printf("setup time: %.1f us p50, %.1f us p99, %.1f us max\n",
		       (double)app_histogram_percentile(times, 0.5) / 1e3,
		       (double)app_histogram_percentile(times, 0.99) / 1e3, (double)times->max / 1e3);
	if (uroce_cm_usage(run->connect->engine, &usage) == 0)
		printf("remaining: %u connections, %u half open, %u timers\n", usage.connections, usage.half_open,
		       usage.timers);
}

static int be_client(struct run *run)
{
	uint64_t began_ns = app_now_ns(), told_ns = began_ns, told = 0, end_ns;
	double seconds;

	run->now_ns = began_ns;
	end_ns = began_ns + (uint64_t)(run->connect->seconds * 1e9);
	for (uint32_t i = 0; i < run->connect->under_way; i++) {
		if (begin_one(run))
			return APP_EXIT_FAILURE;
	}
	while (run->now_ns < end_ns) {
		if (poll_once(run))
			return APP_EXIT_FAILURE;
		if (run->now_ns - told_ns >= SECOND_NS) {
			printf("  %lu connections\n", run->made - told);
			told = run->made;
			told_ns = run->now_ns;
		}
	}
	seconds = (double)(run->now_ns - began_ns) / 1e9;
	told = run->made;
	run->stopping = true;
	while (run->under_way && run->now_ns < end_ns + DRAIN_NS) {
		if (poll_once(run))
			return APP_EXIT_FAILURE;
	}
	/* Handles the last events of a server in this process. */
	for (end_ns = run->now_ns + SECOND_NS / 10; run->now_ns < end_ns;) {
		if (poll_once(run))
			return APP_EXIT_FAILURE;
	}
	run->made = told;
	report(run, seconds);
	return run->failed ? APP_EXIT_FAILURE : APP_EXIT_OK;
}

static int be_server(struct run *run)
{
	run->now_ns = run->heard_ns = app_now_ns();
	printf("listening on port %u\n", run->connect->port);
	while (run->accepted == 0 || run->now_ns - run->heard_ns < SERVER_IDLE_NS) {
		if (poll_once(run))
			return APP_EXIT_FAILURE;
	}
	printf("%u accepted, %lu failed\n", run->accepted, run->failed);
	return run->failed ? APP_EXIT_FAILURE : APP_EXIT_OK;
}

static int open_run(struct run *run)
{
	const struct perf_connect *connect = run->connect;
	const struct perf_end *ends[2] = { connect->client, connect->server };

	for (int i = 0; i < 2; i++) {
		if (ends[i] &&
		    app_check("completion queue", uroce_cq_create(ends[i]->port->device, CQ_DEPTH, &run->cqs[i])))
			return APP_EXIT_FAILURE;
	}
	if (app_check("channel", uroce_cm_channel_create(connect->engine, &run->channel)))
		return APP_EXIT_FAILURE;
	if (connect->server)
		return app_check("listen", uroce_cm_listen(run->channel, &connect->server->port->addr, connect->port,
							   BACKLOG, 0, &run->listener));
	return 0;
}

int perf_connect_run(const struct perf_connect *connect)
{
	struct run run = { .connect = connect };
	int code = open_run(&run);

	if (code == 0)
		code = connect->client ? be_client(&run) : be_server(&run);
	if (run.listener)
		uroce_cm_id_destroy(run.listener);
	if (run.channel)
		uroce_cm_channel_destroy(run.channel);
	for (int i = 0; i < 2; i++) {
		if (run.cqs[i])
			uroce_cq_destroy(run.cqs[i]);
	}
	return code;
}
