/* two_paths.c - an example: a connection gets an alternate path, migrates to it, and loses nothing */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   two_paths
 * Both ends are in this process, on two links. The client migrates because this program tells it to; it would also
 * migrate if the first link were cut and its retries were spent. To migrate back, an end loads another alternate path
 * in the same way.
 */
#include "start.h"

enum { CLIENT, SERVER, PORT = 7002, MESSAGES = 1000, WAIT_MS = 10000, ROUNDS_MAX = 100 };

static struct end {
	struct uroce_cm_id *id;
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	struct uroce_mr *mr;
	uint32_t number;
} ends[2];

static void make_qp(struct end *end, struct uroce_cm_id *id, struct uroce_device *device)
{
	struct uroce_qp_init_attr init = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 };
	struct uroce_qp *qp;

	end->id = id;
	must(uroce_pd_alloc(device, &end->pd), "protection domain", NULL);
	must(uroce_cq_create(device, 16, &end->cq), "completion queue", NULL);
	must(uroce_mr_reg(end->pd, &end->number, 4, UROCE_ACCESS_LOCAL_WRITE, &end->mr), "memory region", NULL);
	init.send_cq = init.recv_cq = end->cq;
	must(uroce_cm_qp_create(id, end->pd, &init, 0, &qp), "queue pair", NULL);
}

static void wait_for(enum uroce_cm_event_type type, struct uroce_cm_event *event)
{
	must(uroce_cm_wait(channel, WAIT_MS, event), uroce_cm_event_name(type), NULL);
	must(event->type != type, uroce_cm_event_name(event->type), strerror(-event->status));
	must(event->status, uroce_cm_event_name(type), NULL);
}

static void wait_for_both(enum uroce_cm_event_type type)
{
	struct uroce_cm_event event;

	wait_for(type, &event);
	wait_for(type, &event);
}

static void wait_for_completion(struct end *end)
{
	char line[UROCE_EXPLAIN_BYTES];
	struct uroce_wc wc;

	while (uroce_cq_poll(end->cq, 1, &wc) == 0)
		uroce_lcore_poll(uroce_engine_lcore(engine, 0));
	must(wc.status, "message", wc.status ? uroce_wc_explain(&wc, line, sizeof(line)) : NULL);
}

/* Sends a message with the next number. */
static void send_number(uint32_t number)
{
	struct uroce_sge to = { (uintptr_t)&ends[SERVER].number, 4, uroce_mr_lkey(ends[SERVER].mr) };
	struct uroce_sge from = { (uintptr_t)&ends[CLIENT].number, 4, uroce_mr_lkey(ends[CLIENT].mr) };
	struct uroce_recv_wr receive = { .sg_list = &to, .num_sge = 1 };
	struct uroce_send_wr send = { .sg_list = &from, .num_sge = 1, .opcode = UROCE_WR_SEND };

	send.send_flags = UROCE_SEND_SIGNALED;
	ends[CLIENT].number = number;
	must(uroce_qp_post_recv(uroce_cm_qp(ends[SERVER].id), &receive, NULL), "receive", NULL);
	must(uroce_qp_post_send(uroce_cm_qp(ends[CLIENT].id), &send, NULL), "send", NULL);
	wait_for_completion(&ends[SERVER]);
	must(ends[SERVER].number != number, "message", "another one came");
	wait_for_completion(&ends[CLIENT]);
}

static void send_numbers(uint32_t first)
{
	struct uroce_qp_attr attr;
	char from[46], to[46];

	for (uint32_t i = 0; i < MESSAGES; i++)
		send_number(first + i);
	must(uroce_qp_query(uroce_cm_qp(ends[CLIENT].id), &attr), "queue pair", NULL);
	printf("%u messages from %s to %s, in order\n", MESSAGES,
	       uroce_addr_format(&attr.path.source, from, sizeof(from)),
	       uroce_addr_format(&attr.path.dest, to, sizeof(to)));
}

/*
 * Both ends have loaded the path. An end learns from the next packets of its peer that the peer has loaded the path,
 * too.
 */
static void wait_until_armed(void)
{
	struct uroce_qp_attr attr = { .path_mig_state = UROCE_PATH_REARM };

	for (uint32_t i = 0; i < ROUNDS_MAX && attr.path_mig_state != UROCE_PATH_ARMED; i++) {
		send_number(i);
		must(uroce_qp_query(uroce_cm_qp(ends[CLIENT].id), &attr), "queue pair", NULL);
	}
	must(attr.path_mig_state != UROCE_PATH_ARMED, "alternate path", "the peer has none");
}

int main(void)
{
	struct uroce_qp_attr migrate = { .path_mig_state = UROCE_PATH_MIGRATED };
	struct uroce_path second = { .hop_limit = 64 };
	struct uroce_cm_event request;
	struct uroce_cm_id *listener, *id;
	struct uroce_port *peer;
	struct uroce_addr dest;

	start("loop", "10.0.0.1/24", 0, false);
	peer = open_port("loop", "10.0.0.2/24", 0);
	second.device = open_port("loop", "10.0.1.1/24", 0)->device;
	open_port("loop", "10.0.1.2/24", 0);
	uroce_addr_parse("10.0.0.2", &dest, NULL);
	uroce_addr_parse("10.0.1.1", &second.source, NULL);
	uroce_addr_parse("10.0.1.2", &second.dest, NULL);

	must(uroce_cm_listen(channel, &dest, PORT, 1, 0, &listener), "listen", NULL);
	must(uroce_cm_id_create(channel, 0, &id), "connection", NULL);
	make_qp(&ends[CLIENT], id, port->device);
	must(uroce_cm_connect(id, NULL, &dest, PORT, NULL), "connect", NULL);
	wait_for(UROCE_CM_CONNECT_REQUEST, &request);
	make_qp(&ends[SERVER], request.id, peer->device);
	must(uroce_cm_accept(request.id, NULL), "accept", NULL);
	wait_for_both(UROCE_CM_ESTABLISHED);
	exit_code = FAILED;
	send_numbers(0);

	must(uroce_cm_load_alternate(id, &second, 0), "alternate path", NULL);
	wait_for_both(UROCE_CM_ALTERNATE);
	wait_until_armed();
	must(uroce_qp_modify(uroce_cm_qp(id), &migrate, UROCE_QP_PATH_MIG_STATE, NULL), "migrate", NULL);
	send_numbers(MESSAGES);
	return 0;
}
