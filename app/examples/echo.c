/* echo.c - an example: a server sends back what it receives, and both ends sleep while nothing comes */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   echo net_memif0,role=server 10.0.0.1/24                           the server
 *   echo net_memif0,role=client 10.0.0.2/24 10.0.0.1 "some words"     sends them ten times, and prints what comes back
 * An EAL worker polls the engine's lcore; this thread sleeps in poll(2) until an event or a completion has come.
 */
#include <poll.h>
#include <unistd.h>

#include "start.h"

enum { ROOM = 256, SLOTS = 16, TIMES = 10, PORT = 7001 };

static char slots[SLOTS][ROOM]; /* each slot is posted as a receive, is being sent back, or has the client's words */
static struct uroce_mr *mr;
static struct uroce_srq *srq;
static const char *words; /* NULL: this is the server */
static unsigned heard;
static const struct uroce_cm_options options = { .keepalive_ms = 1000 };

static void post_receive(uint64_t slot)
{
	struct uroce_sge sge = { (uintptr_t)slots[slot], ROOM, uroce_mr_lkey(mr) };
	struct uroce_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 };

	must(uroce_srq_post_recv(srq, &wr, NULL), "receive", NULL);
}

static void post_send(struct uroce_cm_id *id, uint64_t slot, uint32_t bytes)
{
	struct uroce_sge sge = { (uintptr_t)slots[slot], bytes, uroce_mr_lkey(mr) };
	struct uroce_send_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1, .opcode = UROCE_WR_SEND };

	wr.send_flags = UROCE_SEND_SIGNALED;
	must(uroce_qp_post_send(uroce_cm_qp(id), &wr, NULL), "send", NULL);
}

static int make_qp(struct uroce_cm_id *id)
{
	struct uroce_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .srq = srq, .qp_context = (uintptr_t)id };
	struct uroce_qp *qp;

	init.max_send_wr = SLOTS;
	init.max_send_sge = 1;
	return uroce_cm_qp_create(id, pd, &init, 0, &qp);
}

static void handle_completions(void)
{
	struct uroce_wc wc;

	while (uroce_cq_poll(cq, 1, &wc) == 1) {
		struct uroce_cm_id *id = (struct uroce_cm_id *)(uintptr_t)wc.qp_context;
		bool came = wc.status == UROCE_WC_SUCCESS && wc.opcode == UROCE_WC_RECV;

		if (came && words)
			printf("%u: %.*s\n", ++heard, (int)wc.byte_len, slots[wc.wr_id]);
		if (came && words && heard < TIMES)
			post_send(id, 0, (uint32_t)strlen(words));
		if (came && !words)
			post_send(id, wc.wr_id, wc.byte_len);
		else if (wc.wr_id > 0 || !words)
			post_receive(wc.wr_id);
	}
}

static void handle_event(const struct uroce_cm_event *event)
{
	char peer[46];

	if (event->type == UROCE_CM_CONNECT_REQUEST && make_qp(event->id) == 0 &&
	    uroce_cm_accept(event->id, &options) == 0)
		return;
	printf("%s: %s: %s\n", uroce_addr_format(&event->peer, peer, sizeof(peer)), uroce_cm_event_name(event->type),
	       strerror(-event->status));
	must(words != NULL, "the server has gone", strerror(-event->status));
	handle_completions(); /* the event's QP is in ERR, so all slots posted to it have completed */
	if (event->type != UROCE_CM_ESTABLISHED)
		uroce_cm_close(event->id);
}

/* A completion between the last poll and uroce_cq_arm() wakes nobody, so there is one more poll. */
static void sleep_until_news(void)
{
	struct pollfd news[2] = { { uroce_cm_channel_fd(channel), POLLIN, 0 }, { uroce_cq_fd(cq), POLLIN, 0 } };
	struct uroce_cm_event event;
	uint64_t count;

	uroce_cq_arm(cq, false);
	handle_completions();
	if (words && heard == TIMES)
		return;
	poll(news, 2, -1);
	if (news[1].revents && read(news[1].fd, &count, sizeof(count)) < 0)
		must(-errno, "completion queue", NULL);
	while (uroce_cm_next(channel, &event) == 0)
		handle_event(&event);
}

int main(int argc, char **argv)
{
	struct uroce_cm_id *id;

	must(argc != 3 && argc != 5, "usage", "echo PORT ADDRESS/LEN [SERVER WORDS]");
	words = argc == 5 ? argv[4] : NULL;
	must(words && strlen(words) > ROOM, "usage", "WORDS: at most 256 characters");
	start(argv[1], argv[2], 1, argc == 5);
	must(uroce_mr_reg(pd, slots, sizeof(slots), UROCE_ACCESS_LOCAL_WRITE, &mr), "memory region", NULL);
	must(uroce_srq_create(pd, &(struct uroce_srq_attr){ .max_wr = SLOTS, .max_sge = 1 }, &srq), "receives", NULL);
	for (uint64_t slot = argc == 5; slot < SLOTS; slot++)
		post_receive(slot);
	if (words) {
		must(uroce_cm_id_create(channel, 0, &id), "connection", NULL);
		must(make_qp(id), "queue pair", NULL);
		connect_to(id, argv[3], PORT, &options);
		memcpy(slots[0], words, strlen(words));
		post_send(id, 0, (uint32_t)strlen(words));
	} else {
		must(uroce_cm_listen(channel, NULL, PORT, SLOTS, 0, &id), "listen", NULL);
	}
	while (!words || heard < TIMES)
		sleep_until_news();
	hang_up(id);
	uroce_engine_stop(engine);
	return 0;
}
