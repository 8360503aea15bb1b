/* mate.c - our side of connections with Linux: ucmatose's exchange, refusals, peers that vanish */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage: interop-mate EAL-OPTIONS -- IP/LEN serve PORT CONNECTIONS MESSAGES SIZE [own]
 *                                           call ADDR PORT CONNECTIONS MESSAGES SIZE [own]
 *                                           refuse PORT TIMES WORDS     each REQUEST is refused with the words
 *                                           ask ADDR PORT               connects once, and prints what becomes of it
 *                                           desert PORT TIMES           each is accepted and left at once, before the
 *                                                                       client can say that it is ready
 * serve and call speak ucmatose's exchange: when all are connected the server sends on each, the client answers when
 * it has everything, and then ends the connections. MESSAGES 0: they are only made and taken down. own: the queue pairs
 * are made and moved here, as a program of rdma_cm with queue pairs of its own does, along routes that are asked for.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <uroce/uroce.h>

#include "common/eal.h"
#include "common/ports.h"
#include "start.h"

#define MATES_MAX 256u
#define LIMIT_S 150
#define ANSWERS 4 /* READs, at a time */
#define ROUTE_MS 10000u

struct mate {
	struct uroce_cm_id *id;
	struct uroce_qp *qp;
	uint32_t received, sent;
	bool established, ended;
};

static struct {
	struct app_port port;
	struct uroce_engine *engine;
	struct uroce_lcore *lcore;
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	struct uroce_mr *mr;
	uint8_t *memory;
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener;
	struct mate mates[MATES_MAX];
	uint32_t count, wanted, messages, bytes;
	uint16_t port_number;
	uint32_t established, received, sent, ended, refused;
	bool server, over, own;
	int failed;
	time_t limit;
} all;

static int fail(const char *what, int error)
{
	if (error == 0)
		return 0;
	printf("%s: %s\n", what, strerror(-error));
	return all.failed = 1;
}

static int post_receives(struct mate *mate)
{
	struct uroce_sge sge = { (uintptr_t)all.memory, all.bytes, uroce_mr_lkey(all.mr) };
	struct uroce_recv_wr wr = { .wr_id = (uintptr_t)mate, .sg_list = &sge, .num_sge = 1 };
	int error = 0;

	for (uint32_t i = 0; i < all.messages && error == 0; i++)
		error = fail("post receive", uroce_qp_post_recv(mate->qp, &wr, NULL));
	return error;
}

static int post_sends(struct mate *mate)
{
	struct uroce_sge sge = { (uintptr_t)all.memory + all.bytes, all.bytes, uroce_mr_lkey(all.mr) };
	struct uroce_send_wr wr = {
		.wr_id = (uintptr_t)mate,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = UROCE_WR_SEND,
		.send_flags = UROCE_SEND_SIGNALED,
	};
	int error = 0;

	for (uint32_t i = 0; i < all.messages && error == 0; i++)
		error = fail("post send", uroce_qp_post_send(mate->qp, &wr, NULL));
	return error;
}

/* Modifies a queue pair of our own as its connection wants it. */
static int move(const struct mate *mate, enum uroce_qp_state state)
{
	struct uroce_qp_attr attr;
	uint32_t mask;

	if (fail("attributes", uroce_cm_qp_attr(mate->id, state, &attr, &mask)))
		return 1;
	if (attr.max_dest_rd_atomic > ANSWERS)
		attr.max_dest_rd_atomic = ANSWERS;
	return fail("modify", uroce_qp_modify(mate->qp, &attr, mask, NULL));
}

static int make_qp(struct mate *mate, const struct uroce_qp_init_attr *init)
{
	if (!all.own)
		return fail("queue pair", uroce_cm_qp_create(mate->id, all.pd, init, 0, &mate->qp));
	return fail("queue pair", uroce_qp_create(all.pd, init, &mate->qp)) || move(mate, UROCE_QPS_INIT);
}

static struct uroce_cm_options options_of(const struct mate *mate)
{
	struct uroce_cm_options options = { .max_dest_rd_atomic = ANSWERS };

	options.qp_num = all.own ? uroce_qp_num(mate->qp) : 0;
	return options;
}

static struct mate *add_mate(struct uroce_cm_id *id)
{
	struct mate *mate = &all.mates[all.count];
	struct uroce_qp_init_attr init = {
		.send_cq = all.cq,
		.recv_cq = all.cq,
		.max_send_wr = all.messages ? all.messages : 1,
		.max_recv_wr = all.messages ? all.messages : 1,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_dest_rd_atomic = ANSWERS,
	};

	mate->id = id;
	if (all.count == MATES_MAX || make_qp(mate, &init))
		return NULL;
	all.count++;
	uroce_cm_set_context(id, (uintptr_t)mate);
	return post_receives(mate) ? NULL : mate;
}

static void take_request(const struct uroce_cm_event *event)
{
	const struct mate *mate = add_mate(event->id);
	struct uroce_cm_options options;

	if (mate == NULL || (all.own && move(mate, UROCE_QPS_RTR)))
		return;
	options = options_of(mate);
	fail("accept", uroce_cm_accept(event->id, &options));
}

static void take_established(struct mate *mate, bool active)
{
	if (all.own && ((active && move(mate, UROCE_QPS_RTR)) || move(mate, UROCE_QPS_RTS)))
		return;
	if (active && fail("establish", uroce_cm_establish(mate->id)))
		return;
	mate->established = true;
	all.established++;
}

/* The way is known: a queue pair of the device that it begins at is connected along it. */
static void take_route(const struct uroce_cm_event *event)
{
	const struct mate *mate = fail("route", event->status) ? NULL : add_mate(event->id);
	struct uroce_cm_options options;

	if (mate == NULL)
		return;
	options = options_of(mate);
	fail("connect", uroce_cm_connect(event->id, NULL, NULL, all.port_number, &options));
}

static void print_words(const struct uroce_cm_event *event)
{
	printf("%s reason=%u status=%d \"%.*s\"\n", uroce_cm_event_name(event->type), event->reason, event->status,
	       (int)strnlen((const char *)event->private_data, event->private_bytes),
	       (const char *)event->private_data);
}

static void take_end(const struct uroce_cm_event *event)
{
	const struct uroce_qp_attr error = { .qp_state = UROCE_QPS_ERR };
	struct mate *mate = (struct mate *)(uintptr_t)event->context;

	if (event->type != UROCE_CM_DISCONNECTED) {
		print_words(event);
		all.over = true;
		return;
	}
	all.ended++;
	mate->ended = true;
	if (all.own)
		fail("to ERR", uroce_qp_modify(mate->qp, &error, UROCE_QP_STATE, NULL));
}

static void take_event(const struct uroce_cm_event *event)
{
	struct mate *mate = (struct mate *)(uintptr_t)event->context;

	switch (event->type) {
	case UROCE_CM_CONNECT_REQUEST:
		take_request(event);
		break;
	case UROCE_CM_ESTABLISHED:
		take_established(mate, false);
		break;
	case UROCE_CM_CONNECT_RESPONSE:
		take_established(mate, true);
		break;
	case UROCE_CM_ROUTE_RESOLVED:
		take_route(event);
		break;
	case UROCE_CM_REJECTED:
	case UROCE_CM_UNREACHABLE:
	case UROCE_CM_DISCONNECTED:
		take_end(event);
		break;
	case UROCE_CM_ALTERNATE:
	case UROCE_CM_UD_RESOLVED:
	case UROCE_CM_TIMEWAIT_EXIT:
	case UROCE_CM_EVENT_TYPES:
		break;
	}
}

static void take_completion(const struct uroce_wc *wc)
{
	char line[UROCE_EXPLAIN_BYTES];

	if (wc->status == UROCE_WC_WR_FLUSH_ERR)
		return;
	if (wc->status != UROCE_WC_SUCCESS) {
		printf("%s\n", uroce_wc_explain(wc, line, sizeof(line)));
		all.failed = 1;
	} else if (wc->opcode == UROCE_WC_RECV) {
		all.received++;
		if (wc->byte_len != all.bytes)
			all.failed = 1;
	} else {
		all.sent++;
	}
}

static void poll_once(void)
{
	struct uroce_cm_event event;
	struct uroce_wc wc[16];
	int count;

	uroce_lcore_poll(all.lcore);
	while (uroce_cm_next(all.channel, &event) == 0)
		take_event(&event);
	count = uroce_cq_poll(all.cq, 16, wc);
	for (int i = 0; i < count; i++)
		take_completion(&wc[i]);
}

/* Polls until a number is reached. false: something failed, or it takes too long. */
static bool until(const char *what, const uint32_t *number, uint32_t wanted)
{
	while (*number < wanted && !all.failed && !all.over) {
		poll_once();
		if (time(NULL) > all.limit) {
			printf("%s: %u of %u in %d s\n", what, *number, wanted, LIMIT_S);
			all.failed = 1;
		}
	}
	return !all.failed && !all.over;
}

static void send_on_all(void)
{
	for (uint32_t i = 0; i < all.count; i++)
		post_sends(&all.mates[i]);
}

static void hang_up_all(void)
{
	for (uint32_t i = 0; i < all.count; i++) {
		if (!all.mates[i].ended)
			uroce_cm_disconnect(all.mates[i].id);
	}
}

/* What both do when all are connected. */
static void exchange(void)
{
	uint32_t total = all.wanted * all.messages;

	if (!until("established", &all.established, all.wanted))
		return;
	if (all.server)
		send_on_all();
	if (all.server && !until("sent", &all.sent, total))
		return;
	if (!until("received", &all.received, total))
		return;
	if (!all.server)
		send_on_all();
	if (!until("sent", &all.sent, total))
		return;
	if (all.server) /* ucmatose's server ends them */
		hang_up_all();
	if (until("ended", &all.ended, all.wanted))
		printf("%u connections, %u messages each way, all done\n", all.wanted, total);
}

static int listen_at(const char *port)
{
	int error =
		fail("listen", uroce_cm_listen(all.channel, NULL, (uint16_t)atoi(port), MATES_MAX, 0, &all.listener));

	if (error == 0)
		printf("listening on port %s\n", port);
	return error;
}

static int connect_to(const char *text, const char *port)
{
	struct uroce_addr addr;
	struct uroce_cm_id *id;

	all.port_number = (uint16_t)atoi(port);
	if (uroce_addr_parse(text, &addr, NULL) != 0 || fail("id", uroce_cm_id_create(all.channel, 0, &id)))
		return 1;
	if (all.own)
		return fail("route", uroce_cm_route(id, NULL, &addr, ROUTE_MS));
	return add_mate(id) == NULL || fail("connect", uroce_cm_connect(id, NULL, &addr, all.port_number, NULL));
}

static void set_sizes(char **words)
{
	all.wanted = (uint32_t)atoi(words[0]);
	all.messages = (uint32_t)atoi(words[1]);
	all.bytes = (uint32_t)atoi(words[2]);
	all.own = words[3] && strcmp(words[3], "own") == 0;
}

/* Refuses so many, then stays a while: a refusal that was lost has to be given again. */
static void refuse(const char *times, const char *words)
{
	struct uroce_cm_event event;
	time_t end = atoi(times) ? 0 : time(NULL) + 8; /* nobody is expected */

	while (time(NULL) < all.limit && (end == 0 || time(NULL) < end)) {
		uroce_lcore_poll(all.lcore);
		if (uroce_cm_next(all.channel, &event) != 0)
			continue;
		fail("reject", uroce_cm_reject(event.id, words, (uint32_t)strlen(words) + 1));
		uroce_cm_id_destroy(event.id);
		if (++all.refused == (uint32_t)atoi(times))
			end = time(NULL) + 3;
	}
	printf("refused %u times\n", all.refused);
}

static void desert(const char *times)
{
	struct uroce_cm_event event;

	while (time(NULL) < all.limit && all.refused < (uint32_t)atoi(times)) {
		uroce_lcore_poll(all.lcore);
		if (uroce_cm_next(all.channel, &event) != 0 || event.type != UROCE_CM_CONNECT_REQUEST)
			continue;
		take_request(&event);
		uroce_cm_id_destroy(event.id);
		all.mates[all.count - 1].id = NULL;
		all.refused++;
	}
	printf("left %u times\n", all.refused);
}

static int run(char **words)
{
	all.memory = calloc(2, 65536);
	all.limit = time(NULL) + LIMIT_S;
	all.bytes = 64;
	all.server = strcmp(words[0], "serve") == 0;
	if (fail("memory", uroce_mr_reg(all.pd, all.memory, 131072, UROCE_ACCESS_LOCAL_WRITE, &all.mr)))
		return 1;
	if (all.server) {
		set_sizes(words + 2);
		if (listen_at(words[1]) == 0)
			exchange();
	} else if (strcmp(words[0], "call") == 0) {
		set_sizes(words + 3);
		for (uint32_t i = 0; i < all.wanted && !all.failed; i++)
			connect_to(words[1], words[2]);
		exchange();
	} else if (strcmp(words[0], "refuse") == 0) {
		if (listen_at(words[1]) == 0)
			refuse(words[2], words[3]);
	} else if (strcmp(words[0], "desert") == 0) {
		if (listen_at(words[1]) == 0)
			desert(words[2]);
	} else {
		all.wanted = 1;
		if (connect_to(words[1], words[2]) == 0 && until("established", &all.established, 1))
			printf("established\n");
	}
	return all.failed;
}

static void clean_up(void)
{
	time_t end = time(NULL) + 1;

	while (time(NULL) <= end) /* what the peer still asks is answered */
		poll_once();
	for (uint32_t i = 0; i < all.count; i++) {
		if (all.mates[i].id)
			uroce_cm_id_destroy(all.mates[i].id);
		uroce_qp_destroy(all.mates[i].qp);
	}
	if (all.listener)
		uroce_cm_id_destroy(all.listener);
	for (end = time(NULL) + 1; time(NULL) <= end;)
		uroce_lcore_poll(all.lcore);
	uroce_cm_channel_destroy(all.channel);
	uroce_mr_dereg(all.mr);
	uroce_cq_destroy(all.cq);
	uroce_pd_dealloc(all.pd);
	free(all.memory);
}

static int open_and_run(const char *device, char **words)
{
	struct uroce_engine_config engine_config = { .max_qps = 2 * MATES_MAX, .max_mrs = 16 };
	struct app_port_config port_config = { .device = device, .port = { .addresses = { words[0] } } };
	int exit_code;

	if (uroce_engine_create(&engine_config, &all.engine) != 0)
		return APP_EXIT_INTERNAL;
	port_config.port.engine = all.engine;
	exit_code = app_port_open(&port_config, &all.port);
	if (exit_code == APP_EXIT_OK) {
		all.lcore = uroce_engine_lcore(all.engine, 0);
		exit_code = APP_EXIT_INTERNAL;
		if (uroce_pd_alloc(all.port.device, &all.pd) == 0 &&
		    uroce_cq_create(all.port.device, 65536, &all.cq) == 0 &&
		    uroce_cm_channel_create(all.engine, &all.channel) == 0) {
			exit_code = run(words + 1);
			clean_up();
		}
		app_port_close(&all.port);
	}
	uroce_engine_destroy(all.engine);
	return exit_code;
}

int main(int argc, char **argv)
{
	return start(argc, argv, 4, "see the head of test/interop/mate.c", open_and_run);
}
