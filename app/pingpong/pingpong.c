/* pingpong.c - uroce-pingpong: SENDs back and forth with ibv_rc_pingpong or with itself; every byte is checked */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The side channel is that of ibv_rc_pingpong, over TCP or a connection by address: the client sends 52 bytes of text,
 * the server answers with 52 bytes, and the client sends "done". One thread does all the work: while the program waits,
 * this thread polls the lcore, so that ARP and neighbour discovery are answered.
 *
 * A client sends a new pattern in each message, and compares the answer with it. A server looks at the first message.
 * If that is filled with 0x7b, the client is ibv_rc_pingpong, which sends back what it receives; so the server sends
 * new patterns and compares, too. Otherwise the client is uroce-pingpong, and the server echoes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uroce/uroce.h>

#include "common/clock.h"
#include "common/drops.h"
#include "common/eal.h"
#include "common/explain.h"
#include "common/objects.h"
#include "common/option.h"
#include "common/pipe.h"
#include "common/ports.h"
#include "pingpong/side.h"

#define MESSAGE_BYTES 52 /* of "LID:QPN:PSN:GID" with its NUL */
#define DONE_BYTES 5     /* of "done" with its NUL */
#define PEER_FILL 0x7b   /* what ibv_rc_pingpong fills its buffer with */
#define SEND_ID 1
#define RECV_ID 2

struct options {
	const char *host; /* NULL: this is the server */
	const char *device;
	const char *ip;
	unsigned port;
	uint32_t size, mtu, rx_depth, iterations;
	struct uroce_vlan vlan;
	const char *gateway;
	bool no_dad;
	bool by_address, dry_run;
};

struct peer {
	uint32_t qpn, psn;
	struct uroce_addr gid;
};

struct pingpong {
	struct options options;
	struct uroce_engine *engine;
	struct app_port port;
	struct uroce_lcore *lcore;
	struct app_objects objects;
	struct uroce_qp *qp;
	uint8_t *send_buffer, *recv_buffer; /* both in one region, send_buffer first */
	uint32_t psn;
	struct peer peer;

	uint32_t sent, received, posted_receives;
	bool echo; /* this is a server that sends back what it receives */
	bool send_pending;
	uint64_t checked_messages, bad_bytes;
};

/* A pattern of which every byte differs between messages, and whose first byte differs from the peer's fill. */
static uint8_t pattern_byte(uint32_t message, uint32_t offset)
{
	uint32_t x = (offset + 1) * 0x9E3779B1u ^ (message + 1) * 0x85EBCA77u;
	uint8_t byte;

	x ^= x >> 15;
	x *= 0x2C1B3C6Du;
	byte = (uint8_t)(x >> 23);
	return offset == 0 && byte == PEER_FILL ? (uint8_t)~byte : byte;
}

/* ---- the side channel ---- */

static int send_our_side(struct pingpong *pp, const struct side *side)
{
	char text[MESSAGE_BYTES];
	int at = snprintf(text, sizeof(text), "%04x:%06x:%06x:", 0, uroce_qp_num(pp->qp), pp->psn);

	for (int i = 0; i < 16; i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, "%02x", pp->port.addr.bytes[i]);
	return side_write(side, text, sizeof(text));
}

static int receive_their_side(struct pingpong *pp, const struct side *side)
{
	char text[MESSAGE_BYTES + 1] = "";
	char gid[33];
	unsigned lid;

	if (side_read(pp->lcore, side, text, MESSAGE_BYTES) != 0)
		return -1;
	if (sscanf(text, "%4x:%6x:%6x:%32[0-9a-fA-F]", &lid, &pp->peer.qpn, &pp->peer.psn, gid) != 4 ||
	    strlen(gid) != 32)
		return app_complain(-1, "the other side does not speak ibv_rc_pingpong's text: \"%.52s\"", text);
	for (int i = 0; i < 16; i++) {
		unsigned byte;

		sscanf(gid + 2 * i, "%2x", &byte);
		pp->peer.gid.bytes[i] = (uint8_t)byte;
	}
	return 0;
}

/* ---- the queue pair ---- */

static int create_objects(struct pingpong *pp)
{
	const struct options *options = &pp->options;
	struct uroce_qp_init_attr init = {
		.max_send_wr = 2,
		.max_recv_wr = options->rx_depth,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_dest_rd_atomic = 1,
	};
	struct app_objects_config config = {
		.device = pp->port.device,
		.bytes = 2 * (size_t)options->size,
		.completions = options->rx_depth + 2,
	};
	struct uroce_qp_attr attr;

	pp->send_buffer = config.memory = malloc(config.bytes);
	if (pp->send_buffer == NULL)
		return app_check("message buffers", -ENOMEM);
	pp->recv_buffer = pp->send_buffer + options->size;
	if (app_objects_open(&config, &pp->objects) != APP_EXIT_OK)
		return -1;
	init.send_cq = init.recv_cq = pp->objects.cq;
	if (app_check("queue pair", uroce_qp_create(pp->objects.pd, &init, &pp->qp)) ||
	    app_check("queue pair", uroce_qp_query(pp->qp, &attr)))
		return -1;
	pp->psn = attr.sq_psn;
	return 0;
}

static int connect_qp(struct pingpong *pp)
{
	struct uroce_qp_attr attr = {
		.path_mtu = pp->options.mtu,
		.dest_qp_num = pp->peer.qpn,
		.rq_psn = pp->peer.psn,
		.sq_psn = pp->psn,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 17,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.path = { .source = pp->port.addr, .dest = pp->peer.gid },
	};
	int error = uroce_qp_connect(pp->qp, &attr, NULL);

	if (error)
		app_complain(APP_EXIT_FAILURE, "cannot connect to QP 0x%06x: %s", pp->peer.qpn, app_reason_of(error));
	return error;
}

static int post_receives(struct pingpong *pp, uint32_t count)
{
	struct uroce_sge sge = {
		.addr = (uintptr_t)pp->recv_buffer,
		.length = pp->options.size,
		.lkey = uroce_mr_lkey(pp->objects.mr),
	};
	struct uroce_recv_wr wr = { .wr_id = RECV_ID, .sg_list = &sge, .num_sge = 1 };

	for (uint32_t i = 0; i < count; i++) {
		if (app_check("post receive", uroce_qp_post_recv(pp->qp, &wr, NULL)))
			return -1;
		pp->posted_receives++;
	}
	return 0;
}

/* Sends message number pp->sent: a new pattern, or, to echo, the message received last. */
static int post_message(struct pingpong *pp)
{
	uint8_t *data = pp->echo ? pp->recv_buffer : pp->send_buffer;
	struct uroce_sge sge = {
		.addr = (uintptr_t)data,
		.length = pp->options.size,
		.lkey = uroce_mr_lkey(pp->objects.mr),
	};
	struct uroce_send_wr wr = {
		.wr_id = SEND_ID,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = UROCE_WR_SEND,
		.send_flags = UROCE_SEND_SIGNALED,
	};

	for (uint32_t i = 0; !pp->echo && i < pp->options.size; i++)
		pp->send_buffer[i] = pattern_byte(pp->sent, i);
	pp->send_pending = true;
	return app_check("post send", uroce_qp_post_send(pp->qp, &wr, NULL));
}

/* Message number pp->received has arrived: unless this server echoes, the message must equal what was sent last. */
static void check_message(struct pingpong *pp, uint32_t bytes)
{
	bool server = pp->options.host == NULL;
	bool first = pp->received == 0;
	uint32_t expected = server ? pp->received - 1 : pp->received;
	uint64_t bad = bytes != pp->options.size;

	if (server && first)
		pp->echo = pp->options.size > 0 && pp->recv_buffer[0] != PEER_FILL;
	if (pp->echo)
		return;
	for (uint32_t i = 0; i < pp->options.size; i++)
		bad += pp->recv_buffer[i] != (server && first ? PEER_FILL : pattern_byte(expected, i));
	pp->bad_bytes += bad;
	pp->checked_messages++;
	if (bad)
		app_complain(APP_EXIT_FAILURE, "message %u: %lu wrong bytes of %u (length %u)", pp->received, bad,
			     pp->options.size, bytes);
}

static int handle_completion(struct pingpong *pp, const struct uroce_wc *wc)
{
	if (wc->status != UROCE_WC_SUCCESS) {
		char line[UROCE_EXPLAIN_BYTES];

		return app_complain(-1, "%s", app_explain(pp->qp, wc, line, sizeof(line)));
	}
	if (wc->wr_id == SEND_ID) {
		pp->sent++;
		pp->send_pending = false;
	} else {
		check_message(pp, wc->byte_len);
		pp->received++;
		pp->posted_receives--;
	}
	return 0;
}

/* Sends the next message when the last one was acknowledged and its answer has arrived. */
static int continue_exchange(struct pingpong *pp)
{
	bool server = pp->options.host == NULL;
	bool our_turn = server ? pp->received > pp->sent : pp->received == pp->sent;

	if (pp->posted_receives < pp->options.rx_depth / 2 + 1 &&
	    post_receives(pp, pp->options.rx_depth - pp->posted_receives) != 0)
		return -1;
	if (!pp->send_pending && our_turn && pp->sent < pp->options.iterations)
		return post_message(pp);
	return 0;
}

static int exchange(struct pingpong *pp)
{
	const struct options *options = &pp->options;
	double progress = app_now_seconds(), told = progress, looked = progress;
	struct app_drops drops = { 0 };

	while (pp->sent < options->iterations || pp->received < options->iterations) {
		struct uroce_wc wc[16];
		int count;

		uroce_lcore_poll(pp->lcore);
		count = uroce_cq_poll(pp->objects.cq, 16, wc);
		for (int i = 0; i < count; i++) {
			if (handle_completion(pp, &wc[i]) != 0)
				return -1;
		}
		if (continue_exchange(pp) != 0)
			return -1;
		if (count > 0) {
			progress = app_now_seconds();
			if (progress - told >= 1) {
				told = progress;
				printf("  %u of %u messages sent, %u received\n", pp->sent, options->iterations,
				       pp->received);
			}
		} else if (app_now_seconds() - (looked > progress ? looked : progress) > 1) {
			looked = app_now_seconds();
			app_drops_tell(&drops, &pp->port);
		}
		if (app_now_seconds() - progress > SIDE_STALL_SECONDS)
			return app_complain(-1, "nothing came for %d s after %u messages sent, %u received",
					    SIDE_STALL_SECONDS, pp->sent, pp->received);
	}
	return 0;
}

/* Polls for a while longer, because the peer repeats its last message if our last ACK was lost. */
static void linger(struct pingpong *pp)
{
	double end = app_now_seconds() + 0.5;

	while (app_now_seconds() < end)
		uroce_lcore_poll(pp->lcore);
}

static void print_side(const char *which, uint32_t qpn, uint32_t psn, const struct uroce_addr *addr)
{
	char text[64];

	printf("  %s address: QPN 0x%06x, PSN 0x%06x, %s\n", which, qpn, psn,
	       uroce_addr_format(addr, text, sizeof(text)));
}

static void tell_waiting(unsigned port)
{
	printf("  waiting for a client on port %u of our address\n", port);
	fflush(stdout);
}

/* Returns an exit code. */
static int open_side(struct pingpong *pp, struct side *side)
{
	const struct options *options = &pp->options;
	const struct app_pipe_config config = {
		.engine = pp->engine,
		.port = &pp->port,
		.host = options->host,
		.service = (uint16_t)options->port,
		.patience_s = 10,
	};
	int code = APP_EXIT_OK;

	if (options->by_address)
		side->pipe = app_pipe_open(&config, tell_waiting, NULL, &code);
	else if ((options->host ? side_dial(side, options->host, options->port) :
				  side_accept(side, pp->lcore, options->port)) != 0)
		code = APP_EXIT_ENVIRONMENT;
	return code;
}

/*
 * Returns an exit code. The QP is connected before the server answers, because the client sends as soon as it has the
 * answer. A client with the server's address gets an answer, too, and finds that itself.
 */
static int exchange_sides(struct pingpong *pp, const struct side *side)
{
	char done[DONE_BYTES] = "done";
	bool server = pp->options.host == NULL;
	int code;

	if ((!server && send_our_side(pp, side) != 0) || receive_their_side(pp, side) != 0)
		return APP_EXIT_FAILURE;
	code = app_check_peer("--ip", &pp->port.addr, &pp->peer.gid);
	if ((code == APP_EXIT_OK && connect_qp(pp) != 0) || (server && send_our_side(pp, side) != 0))
		return APP_EXIT_FAILURE;
	if (code)
		return code;
	if (server ? side_read(pp->lcore, side, done, DONE_BYTES) : side_write(side, done, DONE_BYTES))
		return APP_EXIT_FAILURE;
	return APP_EXIT_OK;
}

/* Returns an exit code. */
static int set_up_connection(struct pingpong *pp)
{
	struct side side = { .fd = -1 };
	int code;

	print_side(" local", uroce_qp_num(pp->qp), pp->psn, &pp->port.addr);
	code = open_side(pp, &side);
	if (code)
		return code;
	code = exchange_sides(pp, &side);
	side_close(&side);
	if (code == APP_EXIT_OK)
		print_side("remote", pp->peer.qpn, pp->peer.psn, &pp->peer.gid);
	return code;
}

static void destroy_objects(struct pingpong *pp)
{
	if (pp->qp)
		uroce_qp_destroy(pp->qp);
	app_objects_close(&pp->objects);
	free(pp->send_buffer);
}

/* Posts receives in INIT, before the peer can send. */
static int prepare_receives(struct pingpong *pp)
{
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_INIT };

	if (app_check("QP to INIT", uroce_qp_modify(pp->qp, &attr, UROCE_QP_STATE | UROCE_QP_ACCESS_FLAGS, NULL)))
		return -1;
	return post_receives(pp, pp->options.rx_depth);
}

static int run(struct pingpong *pp)
{
	double start, seconds;
	uint64_t bytes = 2ull * pp->options.size * pp->options.iterations;
	int error;

	if (create_objects(pp) != 0 || prepare_receives(pp) != 0)
		return APP_EXIT_INTERNAL;
	error = set_up_connection(pp);
	if (error)
		return error;
	start = app_now_seconds();
	error = exchange(pp);
	seconds = app_now_seconds() - start;
	if (error == 0)
		linger(pp);
	printf("%lu bytes in %.2f seconds = %.2f Mbit/s\n", bytes, seconds, (double)bytes * 8 / seconds / 1e6);
	printf("%u iterations in %.2f seconds = %.2f us an iteration\n", pp->options.iterations, seconds,
	       seconds * 1e6 / pp->options.iterations);
	printf("%lu messages checked, %lu bad bytes\n", pp->checked_messages, pp->bad_bytes);
	return error || pp->bad_bytes ? APP_EXIT_FAILURE : APP_EXIT_OK;
}

/* ---- the command line ---- */

#define AT(member) OPTION_AT(struct options, member)

static const struct options defaults = { .port = 18515,
					 .size = 4096,
					 .mtu = 1024,
					 .rx_depth = 500,
					 .iterations = 1000 };

static const struct option_row rows[] = {
	APP_PORT_ROWS(struct options),
	{ "port", 'p', OPTION_NUMBER, AT(port), 1, 65535, "N", "TCP port of the side channel" },
	{ "rdma_cm", 'R', OPTION_FLAG, AT(by_address),
	  .help = "no TCP: two uroce-pingpong, over a connection by address; HOST is the server's --ip" },
	{ "size", 's', OPTION_SIZE, AT(size), 1, 1u << 30, "N", "bytes a message" },
	{ "mtu", 'm', OPTION_MTU, AT(mtu), .value = "N", .help = "path MTU" },
	{ "rx-depth", 'r', OPTION_NUMBER, AT(rx_depth), 1, 32768, "N", "receives posted at a time" },
	{ "iters", 'n', OPTION_NUMBER, AT(iterations), 1, 1000000000, "N", "messages each way" },
	{ "dry-run", 0, OPTION_FLAG, AT(dry_run), .help = "print what would be done, and end" },
};

static const struct option_set option_set = {
	.program = "uroce-pingpong",
	OPTION_ROWS(rows),
	.usual = &defaults,
	.head = "uroce-pingpong [EAL options] -- --ip ADDR/LEN [options] [HOST]\n"
		"SENDs back and forth with ibv_rc_pingpong or another uroce-pingpong; every byte is checked.\n"
		"Without HOST it is the server. HOST is where the server listens on TCP; its RoCE address comes from\n"
		"its answer. Sizes and MTU are not negotiated: both sides must be told the same.\n\n",
	.tail = "\nA line a second tells how far it is.\n"
		"Exit: 0 every byte right, 1 failed, 2 usage, 3 environment (also: nobody listens), 130 interrupted.\n",
};

/* Returns 0 to go on, or 1 + the exit code. */
static int parse_options(struct options *options, int argc, char **argv)
{
	struct uroce_addr addr;
	int code;

	*options = defaults;
	code = app_option_parse(&option_set, argc, argv, options);
	if (code)
		return code;
	if (optind < argc)
		options->host = argv[optind++];
	if (optind < argc)
		return 1 + app_complain(APP_EXIT_USAGE, "\"%s\": only one HOST", argv[optind]);
	if (options->by_address && options->host && uroce_addr_parse(options->host, &addr, NULL) != 0)
		return 1 + app_complain(APP_EXIT_USAGE, "HOST %s: with -R it is a RoCE address, such as 10.0.0.1",
					options->host);
	if (options->ip == NULL)
		return 1 + app_complain(APP_EXIT_USAGE, "--ip ADDR/LEN is missing: our own address on the port");
	return 0;
}

static int print_plan(const struct options *options)
{
	const char *over = options->by_address ? "by address" : "over TCP";

	printf("port: %s, with %s%s\n", options->device, options->ip, app_eal_absence(options->device));
	if (options->gateway || options->vlan.id || options->vlan.priority)
		printf("gateway: %s; VLAN %u, priority %u\n", options->gateway ? options->gateway : "none",
		       options->vlan.id, options->vlan.priority);
	if (options->host)
		printf("client: meets %s %s, port %u\n", options->host, over, options->port);
	else
		printf("server: is met %s, port %u\n", over, options->port);
	printf("%u messages of %u bytes each way, path MTU %u, %u receives posted\n", options->iterations,
	       options->size, options->mtu, options->rx_depth);
	return APP_EXIT_OK;
}

/* Opens what the options ask for, and runs. */
static int open_and_run(struct pingpong *pp)
{
	struct uroce_engine_config engine_config = { .max_qps = 16, .max_mrs = 16 };
	struct app_port_config port_config = {
		.device = pp->options.device,
		.port = { .addresses = { pp->options.ip },
			  .gateways = { pp->options.gateway },
			  .vlans = { pp->options.vlan },
			  .no_dad = pp->options.no_dad },
	};
	struct uroce_engine *engine;
	int exit_code;

	if (app_check("engine", uroce_engine_create(&engine_config, &engine)))
		return APP_EXIT_INTERNAL;
	port_config.port.engine = pp->engine = engine;
	exit_code = app_port_open(&port_config, &pp->port);
	if (exit_code == APP_EXIT_OK) {
		pp->lcore = uroce_engine_lcore(engine, 0);
		exit_code = run(pp);
		destroy_objects(pp);
		app_port_close(&pp->port);
	}
	uroce_engine_destroy(engine);
	return exit_code;
}

int main(int argc, char **argv)
{
	static struct pingpong pp;
	struct app_args args;
	struct uroce_eal_config config = { .main_is_busy = true };
	int exit_code;

	if (app_eal_split(argc, argv, &args) != 0)
		return APP_EXIT_INTERNAL;
	exit_code = parse_options(&pp.options, args.own_count, args.own);
	if (exit_code)
		return exit_code - 1;
	exit_code = app_eal_choose_device(&args, &pp.options.device);
	if (exit_code)
		return exit_code;
	if (pp.options.dry_run)
		return print_plan(&pp.options);
	config.devices[0] = pp.options.device;
	/* A client takes the last cores, so that a server on the same machine uses other cores. */
	config.last_core = pp.options.host != NULL;
	app_end_when_interrupted();
	exit_code = app_eal_start(&args, &config);
	if (exit_code != APP_EXIT_OK)
		return exit_code;
	exit_code = open_and_run(&pp);
	uroce_eal_stop();
	return exit_code;
}
