/* rping.c - uroce-rping: rping's exchange over connections by address, as client or server for any rping */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/eal.h"
#include "common/objects.h"
#include "common/option.h"
#include "common/ports.h"
#include "rping/end.h"

#define PORT_DEFAULT 7174
#define SIZE_DEFAULT 64
#define SIZE_MIN 32u
#define SIZE_MAX_BYTES 1048576u
#define ENDS_MAX 128u
#define SET_UP_MS 30000u
#define STALL_MS 30000u
#define LINGER_MS 500u
#define KEEPALIVE_MS 1000u /* so that a dead peer is noticed */

struct rping {
	struct rping_options options;
	struct app_port port;
	struct uroce_engine *engine;
	struct uroce_lcore *lcore;
	struct app_objects objects;
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener;
	struct rping_end *ends; /* list of ends */
	uint64_t served;
	int exit_code;
	bool over;
};

static struct rping_end *add_end(struct rping *rping, struct uroce_cm_id *id)
{
	struct rping_end *end = calloc(1, sizeof(*end));

	if (end == NULL)
		return NULL;
	end->next = rping->ends;
	rping->ends = end;
	if (rping_end_open(end, &rping->options, id, rping->objects.pd, rping->objects.cq) != 0) {
		end->failed = true;
		return NULL;
	}
	uroce_cm_set_context(id, (uintptr_t)end);
	return end;
}

static void remove_end(struct rping *rping, struct rping_end *end)
{
	struct rping_end **link = &rping->ends;

	while (*link != end)
		link = &(*link)->next;
	*link = end->next;
	rping_end_close(end);
	free(end);
}

/* ---- events ---- */

static void finish_client(struct rping *rping, int code)
{
	rping->exit_code = code;
	rping->over = true;
}

static void handle_request(struct rping *rping, const struct uroce_cm_event *event)
{
	struct uroce_cm_options options = { .keepalive_ms = KEEPALIVE_MS };
	struct rping_end *end;

	if (!rping->options.persistent && rping->ends) {
		uroce_cm_reject(event->id, NULL, 0);
		uroce_cm_id_destroy(event->id);
		return;
	}
	end = add_end(rping, event->id);
	if (end)
		end->peer = event->peer;
	if (end == NULL || app_check("accept", uroce_cm_accept(event->id, &options)) != 0)
		finish_client(rping, APP_EXIT_FAILURE);
}

/* A server's end has ended; how: a word for the reason. */
static void stop_serving(struct rping *rping, struct rping_end *end, const char *how)
{
	char text[64];

	rping->served++;
	if (!rping->options.persistent)
		finish_client(rping, end->failed ? APP_EXIT_FAILURE : APP_EXIT_OK);
	printf("%s: %lu iterations, then %s\n", uroce_addr_format(&end->peer, text, sizeof(text)), end->iterations,
	       how);
	remove_end(rping, end);
}

/*
 * Prints why our queue pair has failed, which has ended the connection. No request need have failed, because
 * keep-alives probe an idle peer, too.
 */
static void tell_failure(const struct rping *rping, struct rping_end *end)
{
	char line[UROCE_EXPLAIN_BYTES];
	struct uroce_qp_view view;

	end->failed = true;
	if (uroce_inspect_qp(rping->engine, uroce_qp_num(uroce_cm_qp(end->id)), &view) == 0)
		app_complain(APP_EXIT_FAILURE, "%s", uroce_qp_explain(&view, line, sizeof(line)));
}

static void handle_end(struct rping *rping, struct rping_end *end, const struct uroce_cm_event *event)
{
	char text[64];

	if (event->status == -ECONNABORTED && !end->ended)
		tell_failure(rping, end);
	if (rping->options.server) {
		stop_serving(rping, end, end->failed ? "failed" : uroce_cm_event_name(event->type));
		return;
	}
	if (end->failed) {
		finish_client(rping, APP_EXIT_FAILURE);
		return;
	}
	uroce_addr_format(&event->peer, text, sizeof(text));
	if (event->type == UROCE_CM_REJECTED)
		finish_client(rping, app_complain(APP_EXIT_ENVIRONMENT, "%s rejects the connection: %s (%u)", text,
						  uroce_cm_reason_name(event->reason), event->reason));
	else if (event->type == UROCE_CM_UNREACHABLE)
		finish_client(rping, app_complain(APP_EXIT_ENVIRONMENT, "%s cannot be reached: %s", text,
						  strerror(-event->status)));
	else if (!end->ended)
		finish_client(rping, app_complain(APP_EXIT_FAILURE,
						  "%s ended the connection after %lu iterations: see what it printed",
						  text, end->iterations));
	else
		finish_client(rping, APP_EXIT_OK);
}

static void handle_event(struct rping *rping, const struct uroce_cm_event *event)
{
	struct rping_end *end = (struct rping_end *)(uintptr_t)event->context;

	switch (event->type) {
	case UROCE_CM_CONNECT_REQUEST:
		handle_request(rping, event);
		break;
	case UROCE_CM_ESTABLISHED:
		end->established = true;
		if (!rping->options.server && rping_end_start(end) != 0)
			finish_client(rping, APP_EXIT_FAILURE);
		break;
	case UROCE_CM_REJECTED:
	case UROCE_CM_UNREACHABLE:
	case UROCE_CM_DISCONNECTED:
		handle_end(rping, end, event);
		break;
	case UROCE_CM_ALTERNATE:
	case UROCE_CM_UD_RESOLVED:
	case UROCE_CM_ROUTE_RESOLVED:
	case UROCE_CM_CONNECT_RESPONSE:
	case UROCE_CM_TIMEWAIT_EXIT:
	case UROCE_CM_EVENT_TYPES:
		break;
	}
}

/*
 * Completions of an end may still be polled after it was freed. Ends are told apart by QPN, because a new end may have
 * the memory of a freed one, but no new QP has the QPN of one that is in time-wait.
 */
static struct rping_end *find_end(const struct rping *rping, uint32_t qp_num)
{
	struct rping_end *end = rping->ends;

	while (end && (end->qp == NULL || uroce_qp_num(end->qp) != qp_num))
		end = end->next;
	return end;
}

/* Failures have been printed. This does not wait for a peer to confirm the end, because the peer may be gone. */
static void handle_completions(struct rping *rping)
{
	struct uroce_wc wc[16];
	int count = uroce_cq_poll(rping->objects.cq, 16, wc);

	for (int i = 0; i < count; i++) {
		struct rping_end *end = find_end(rping, wc[i].qp_num);

		if (end == NULL || rping_end_handle(end, &wc[i]) == 0)
			continue;
		end->failed = true;
		if (rping->options.server) {
			stop_serving(rping, end, "failed");
		} else {
			uroce_cm_disconnect(end->id);
			finish_client(rping, APP_EXIT_FAILURE);
		}
	}
}

/* ---- running ---- */

static void tell_progress(const struct rping *rping, uint64_t *told_ms)
{
	uint64_t iterations = 0, now = app_now_ms();

	if (now - *told_ms < 1000)
		return;
	*told_ms = now;
	for (const struct rping_end *end = rping->ends; end; end = end->next)
		iterations += end->iterations;
	if (rping->ends && !rping->options.verbose)
		printf("  %lu iterations\n", iterations);
}

static void report_wait(const struct rping *rping, struct app_wait *wait)
{
	if (rping->options.client && rping->ends && !rping->ends->established)
		app_wait_report(wait, "a server at %s, port %u", rping->options.peer, rping->options.port);
}

static uint64_t progress_of(const struct rping *rping)
{
	uint64_t progress = rping->served;

	for (const struct rping_end *end = rping->ends; end; end = end->next)
		progress += 4 * end->iterations + end->state + end->established;
	return progress;
}

static void poll_once(struct rping *rping)
{
	struct uroce_cm_event event;

	uroce_lcore_poll(rping->lcore);
	/* completions before events, so that a failure is printed before the end of its connection */
	handle_completions(rping);
	while (uroce_cm_next(rping->channel, &event) == 0)
		handle_event(rping, &event);
}

/* A server waits for clients without a limit; all other waits have one. */
static void run(struct rping *rping)
{
	uint64_t told_ms = app_now_ms(), moved_ms = told_ms, progress = 0;
	struct app_wait wait = { .began = app_now_seconds() };
	bool told_end = false;

	while (!rping->over) {
		poll_once(rping);
		if (progress_of(rping) != progress || rping->ends == NULL) {
			progress = progress_of(rping);
			moved_ms = app_now_ms();
		}
		if (!rping->options.server && rping->ends->ended && !told_end) {
			told_end = true;
			uroce_cm_disconnect(rping->ends->id);
		}
		if (app_now_ms() - moved_ms > STALL_MS)
			finish_client(rping, app_complain(APP_EXIT_FAILURE,
							  "nothing came for %u s: the peer is alive, "
							  "but says nothing",
							  STALL_MS / 1000));
		report_wait(rping, &wait);
		tell_progress(rping, &told_ms);
	}
	/* If the peer has not received our last answer it asks again, so this polls for a while longer. */
	moved_ms = app_now_ms();
	while (app_now_ms() - moved_ms < LINGER_MS)
		uroce_lcore_poll(rping->lcore);
}

static int start_server(struct rping *rping)
{
	const struct rping_options *options = &rping->options;
	struct uroce_addr addr = { { 0 } };
	char text[64];
	int error;

	if (options->peer && uroce_addr_parse(options->peer, &addr, NULL) != 0)
		return app_complain(APP_EXIT_USAGE, "-a \"%s\": must be an address such as 10.0.0.1 or fe80::1",
				    options->peer);
	error = uroce_cm_listen(rping->channel, &addr, (uint16_t)options->port, ENDS_MAX, 0, &rping->listener);
	if (error == -EADDRNOTAVAIL)
		return app_complain(APP_EXIT_USAGE, "-a %s: is not our address, which --ip tells", options->peer);
	if (error)
		return app_check("listen", error);
	printf("listening on %s port %u\n", uroce_addr_format(&rping->port.addr, text, sizeof(text)), options->port);
	return 0;
}

static int complain_unreachable(const struct rping_options *options, const struct uroce_addr *dest)
{
	static const uint8_t mapped[12] = { [10] = 0xFF, [11] = 0xFF };
	struct uroce_addr own;
	bool same_kind =
		uroce_addr_parse(options->ip, &own, NULL) == 0 &&
		(memcmp(own.bytes, mapped, sizeof(mapped)) == 0) == (memcmp(dest->bytes, mapped, sizeof(mapped)) == 0);

	if (!same_kind)
		return app_complain(APP_EXIT_USAGE, "-a %s: --ip %s is of another kind: both IPv4 or both IPv6",
				    options->peer, options->ip);
	return app_complain(APP_EXIT_USAGE, "-a %s: outside of --ip %s, and --gateway names no way to it",
			    options->peer, options->ip);
}

static int start_client(struct rping *rping)
{
	const struct rping_options *options = &rping->options;
	struct uroce_addr dest;
	struct uroce_cm_id *id;
	struct rping_end *end;
	int error;

	if (uroce_addr_parse(options->peer, &dest, NULL) != 0)
		return app_complain(APP_EXIT_USAGE, "-a \"%s\": must be an address such as 10.0.0.1 or fe80::1",
				    options->peer);
	if (app_check_peer("-a", &rping->port.addr, &dest))
		return APP_EXIT_USAGE;
	if (app_check("connection", uroce_cm_id_create(rping->channel, 0, &id)) != 0)
		return APP_EXIT_FAILURE;
	end = add_end(rping, id);
	if (end == NULL)
		return APP_EXIT_FAILURE;
	error = uroce_cm_connect(id, NULL, &dest, (uint16_t)options->port,
				 &(struct uroce_cm_options){ .keepalive_ms = KEEPALIVE_MS });
	if (error == -ENETUNREACH)
		return complain_unreachable(options, &dest);
	return app_check("connect", error);
}

static int open_objects(struct rping *rping)
{
	struct app_objects_config objects = { .device = rping->port.device, .completions = 32 * ENDS_MAX };

	if (app_objects_open(&objects, &rping->objects) != APP_EXIT_OK ||
	    app_check("channel", uroce_cm_channel_create(rping->engine, &rping->channel)))
		return APP_EXIT_FAILURE;
	return rping->options.server ? start_server(rping) : start_client(rping);
}

static void close_objects(struct rping *rping)
{
	while (rping->ends)
		remove_end(rping, rping->ends);
	if (rping->listener)
		uroce_cm_id_destroy(rping->listener);
	if (rping->channel)
		uroce_cm_channel_destroy(rping->channel);
	app_objects_close(&rping->objects);
}

static int open_and_run(struct rping *rping)
{
	struct uroce_engine_config engine_config = { .max_qps = 2 * ENDS_MAX, .max_mrs = 2 * ENDS_MAX };
	struct app_port_config port_config = {
		.device = rping->options.device,
		.port = { .addresses = { rping->options.ip },
			  .gateways = { rping->options.gateway },
			  .vlans = { rping->options.vlan },
			  .no_dad = rping->options.no_dad },
	};
	int exit_code;

	if (app_check("engine", uroce_engine_create(&engine_config, &rping->engine)))
		return APP_EXIT_INTERNAL;
	port_config.port.engine = rping->engine;
	exit_code = app_port_open(&port_config, &rping->port);
	if (exit_code == APP_EXIT_OK) {
		rping->lcore = uroce_engine_lcore(rping->engine, 0);
		exit_code = open_objects(rping);
		if (exit_code == APP_EXIT_OK) {
			run(rping);
			exit_code = rping->exit_code;
			if (exit_code == APP_EXIT_OK && !rping->options.server)
				printf("%lu iterations%s\n", rping->ends->iterations,
				       rping->options.verify ? ", every byte right" : "");
		}
		close_objects(rping);
		app_port_close(&rping->port);
	}
	uroce_engine_destroy(rping->engine);
	return exit_code;
}

/* ---- options ---- */

#define AT(member) OPTION_AT(struct rping_options, member)

static const struct rping_options defaults = { .port = PORT_DEFAULT, .size = SIZE_DEFAULT };

static const struct option_row rows[] = {
	APP_PORT_ROWS(struct rping_options),
	{ "server", 's', OPTION_FLAG, AT(server), .help = "waits for a client" },
	{ "client", 'c', OPTION_FLAG, AT(client), .help = "connects to -a" },
	{ "addr", 'a', OPTION_WORD, AT(peer), .value = "ADDR",
	  .help = "client: the server's address; server: which of our addresses", .usual = "all" },
	{ "port", 'p', OPTION_NUMBER, AT(port), 1, 65535, "N", "where the server listens" },
	{ "count", 'C', OPTION_NUMBER, AT(count), 1, 1000000000, "N", "iterations of a client",
	  .usual = "until ctrl-C" },
	{ "size", 'S', OPTION_SIZE, AT(size), SIZE_MIN, SIZE_MAX_BYTES, "N", "bytes of the buffer" },
	{ "verify", 'V', OPTION_FLAG, AT(verify), .help = "the client compares every byte" },
	{ "verbose", 'v', OPTION_FLAG, AT(verbose), .help = "print what was read" },
	{ "persistent", 'P', OPTION_FLAG, AT(persistent),
	  .help = "a server of many clients, one after the other and at once" },
	{ "dry-run", 0, OPTION_FLAG, AT(dry_run), .help = "print what would be done, and end" },
};

static const struct option_set option_set = {
	.program = "uroce-rping",
	OPTION_ROWS(rows),
	.usual = &defaults,
	.head = "uroce-rping [EAL options] -- --ip ADDR/LEN -s|-c -a ADDR [options]\n"
		"rping's exchange, with uroce-rping or rping of any RDMA host at the other end: the server READs a\n"
		"buffer of the client and WRITEs it back.\n\n",
	.tail = "\nExit: 0 all iterations were right, 1 failed, 2 usage, 3 environment (also: nobody listens),\n"
		"130 interrupted.\n",
};

/* Returns 0 to go on, or 1 + the exit code. */
static int parse_options(struct rping_options *options, int argc, char **argv)
{
	int code;

	*options = defaults;
	code = app_option_parse(&option_set, argc, argv, options);
	if (code)
		return code;
	if (optind < argc)
		return 1 + app_complain(APP_EXIT_USAGE, "\"%s\": the address is given with -a", argv[optind]);
	if (options->server == options->client)
		return 1 + app_complain(APP_EXIT_USAGE, "either -s, to be the server, or -c, to connect to one");
	if (options->client && options->peer == NULL)
		return 1 + app_complain(APP_EXIT_USAGE, "-a ADDR is missing: where the server listens");
	if (options->ip == NULL)
		return 1 + app_complain(APP_EXIT_USAGE, "--ip ADDR/LEN is missing: our own address on the port");
	return 0;
}

static int print_plan(const struct rping_options *options)
{
	printf("port: %s, with %s%s\n", options->device, options->ip, app_eal_absence(options->device));
	if (options->gateway || options->vlan.id || options->vlan.priority)
		printf("gateway: %s; VLAN %u, priority %u\n", options->gateway ? options->gateway : "none",
		       options->vlan.id, options->vlan.priority);
	if (options->server)
		printf("server: listens at %s, port %u%s\n", options->peer ? options->peer : "all addresses",
		       options->port, options->persistent ? ", for many clients" : "");
	else if (options->count)
		printf("client: connects to %s, port %u, for %lu iterations of %u bytes\n", options->peer,
		       options->port, options->count, options->size);
	else
		printf("client: connects to %s, port %u, for iterations of %u bytes until ctrl-C\n", options->peer,
		       options->port, options->size);
	return APP_EXIT_OK;
}

int main(int argc, char **argv)
{
	static struct rping rping;
	struct app_args args;
	struct uroce_eal_config config = { .main_is_busy = true };
	int exit_code;

	if (app_eal_split(argc, argv, &args) != 0)
		return APP_EXIT_INTERNAL;
	exit_code = parse_options(&rping.options, args.own_count, args.own);
	if (exit_code)
		return exit_code - 1;
	exit_code = app_eal_choose_device(&args, &rping.options.device);
	if (exit_code)
		return exit_code;
	if (rping.options.dry_run)
		return print_plan(&rping.options);
	config.devices[0] = rping.options.device;
	/* A client takes the last cores, so that a server on the same machine uses others. */
	config.last_core = !rping.options.server;
	app_end_when_interrupted();
	exit_code = app_eal_start(&args, &config);
	if (exit_code != APP_EXIT_OK)
		return exit_code;
	exit_code = open_and_run(&rping);
	uroce_eal_stop();
	return exit_code;
}
