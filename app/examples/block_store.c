/* block_store.c - an example: a server that keeps blocks, clients that write and read them; peers may die */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   block_store net_memif0,role=server 10.0.0.1/24                    the server
 *   block_store net_memif0,role=client 10.0.0.2/24 10.0.0.1 1000      writes a thousand blocks and reads them again
 * A request is a SEND. The server READs what a client wants to put, WRITEs what it wants to get, and then sends the
 * request back; its clients share its receives. One thread turns the lcore and does everything else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uroce/uroce.h>

enum { PUT, GET, BLOCK = 4096, BLOCKS = 1024, SLOTS = 64, PORT = 7000, KEEPALIVE_MS = 500, WAIT_MS = 10000 };

struct request {
	uint32_t op, block, rkey, reserved;
	uint64_t addr;
};

static struct uroce_engine *engine;
static struct uroce_pd *pd;
static struct uroce_cq *cq;
static struct uroce_srq *srq;
static struct uroce_mr *mr;
static struct uroce_cm_channel *channel;
static struct {
	struct request slots[SLOTS];
	uint8_t blocks[BLOCKS][BLOCK];
} memory; /* all that moves */

static void must(const char *what, int error, const char *more)
{
	if (error == 0)
		return;
	fprintf(stderr, "%s: %s %s\n", what, strerror(-error), more);
	exit(1);
}

static void post_receive(uint64_t slot)
{
	struct uroce_sge sge = { (uintptr_t)&memory.slots[slot], sizeof(struct request), uroce_mr_lkey(mr) };
	struct uroce_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 };

	must("post receive", uroce_srq_post_recv(srq, &wr, NULL), uroce_refusal());
}

/* About the request in a slot; one at a time, so that each slot has one completion to come. */
static void post(struct uroce_cm_id *id, enum uroce_wr_opcode opcode, uint64_t slot, void *data, uint32_t bytes)
{
	struct uroce_sge sge = { (uintptr_t)data, bytes, uroce_mr_lkey(mr) };
	struct uroce_send_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1, .opcode = opcode };

	wr.send_flags = UROCE_SEND_SIGNALED;
	wr.remote_addr = memory.slots[slot].addr;
	wr.rkey = memory.slots[slot].rkey;
	must("post send", uroce_qp_post_send(uroce_cm_qp(id), &wr, NULL), uroce_refusal());
}

static void make_qp(struct uroce_cm_id *id)
{
	struct uroce_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .srq = srq, .qp_context = (uintptr_t)id };
	struct uroce_qp *qp;

	init.max_send_wr = SLOTS;
	init.max_send_sge = 1;
	init.max_dest_rd_atomic = 16;
	must("queue pair", uroce_cm_qp_create(id, pd, &init, UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_WRITE, &qp),
	     uroce_refusal());
}

/* A request goes round: received, carried out, answered. What fails is free again: its connection has ended. */
static void serve(const struct uroce_wc *wc)
{
	struct uroce_cm_id *id = (struct uroce_cm_id *)(uintptr_t)wc->qp_context;
	struct request *request = &memory.slots[wc->wr_id];

	if (wc->status != UROCE_WC_SUCCESS || wc->opcode == UROCE_WC_SEND)
		post_receive(wc->wr_id);
	else if (wc->opcode == UROCE_WC_RECV)
		post(id, request->op == PUT ? UROCE_WR_RDMA_READ : UROCE_WR_RDMA_WRITE, wc->wr_id,
		     memory.blocks[request->block % BLOCKS], BLOCK);
	else
		post(id, UROCE_WR_SEND, wc->wr_id, request, sizeof(*request));
}

static void turn(void)
{
	struct uroce_wc wc;

	while (uroce_lcore_poll(uroce_engine_lcore(engine, 0)) > 0 || uroce_cq_poll(cq, 0, NULL) > 0)
		while (uroce_cq_poll(cq, 1, &wc) == 1)
			serve(&wc);
}

static void be_server(void)
{
	struct uroce_cm_options options = { .keepalive_ms = KEEPALIVE_MS };
	struct uroce_cm_event event;
	struct uroce_cm_id *listener;

	must("listen", uroce_cm_listen(channel, NULL, PORT, SLOTS, 0, &listener), uroce_refusal());
	for (;;) {
		turn();
		if (uroce_cm_next(channel, &event) != 0)
			continue;
		printf("%s: %s\n", uroce_cm_event_name(event.type), strerror(-event.status));
		if (event.type == UROCE_CM_REQUEST) {
			make_qp(event.id);
			uroce_cm_accept(event.id, &options);
		} else if (event.type != UROCE_CM_ESTABLISHED) { /* it has ended: the QP gives back what it had */
			struct uroce_qp *qp = uroce_cm_qp(event.id);

			turn();
			uroce_cm_id_destroy(event.id);
			uroce_qp_destroy(qp);
		}
	}
}

/* One request, and its answer. */
static void ask(struct uroce_cm_id *id, uint32_t op, uint32_t block)
{
	struct uroce_wc wc = { .opcode = UROCE_WC_SEND };
	char line[UROCE_EXPLAIN_BYTES];

	memory.slots[0] = (struct request){ op, block, uroce_mr_rkey(mr), 0, (uintptr_t)memory.blocks[op] };
	post(id, UROCE_WR_SEND, 0, &memory.slots[0], sizeof(struct request));
	while (wc.opcode != UROCE_WC_RECV) {
		uroce_lcore_poll(uroce_engine_lcore(engine, 0));
		if (uroce_cq_poll(cq, 1, &wc) == 1)
			must("request", wc.status, wc.status ? uroce_wc_explain(&wc, line, sizeof(line)) : "");
	}
	post_receive(wc.wr_id);
}

static void be_client(const char *server, uint32_t count)
{
	struct uroce_cm_event event;
	struct uroce_addr addr;
	struct uroce_cm_id *id;

	must("address", uroce_addr_parse(server, &addr, NULL), server);
	must("connection", uroce_cm_id_create(channel, 0, &id), "");
	make_qp(id);
	must("connect", uroce_cm_connect(id, NULL, &addr, PORT, NULL), uroce_refusal());
	must(server, uroce_cm_wait(channel, WAIT_MS, &event), "");
	must(server, event.status, uroce_cm_event_name(event.type));
	for (uint32_t i = 0; i < count; i++) {
		memset(memory.blocks[PUT], (int)(i * 7 + 1), BLOCK);
		ask(id, PUT, i);
		ask(id, GET, i);
		must("block", memcmp(memory.blocks[PUT], memory.blocks[GET], BLOCK), "came back differently");
	}
	printf("%u blocks written and read again\n", count);
}

int main(int argc, char **argv)
{
	struct uroce_eal_config eal = { .main_is_busy = true, .last_core = argc > 3 };
	struct uroce_engine_config config = { 0 };
	struct uroce_port_config ports = { .addresses = { argc > 2 ? argv[2] : NULL } };
	struct uroce_srq_attr receives = { .max_wr = SLOTS, .max_sge = 1 };
	struct uroce_error error = { "" };
	struct uroce_port *port;

	if (argc != 3 && argc != 5)
		must("block_store PORT ADDRESS/LEN [SERVER COUNT]", -22, "");
	must("EAL", uroce_eal_start(&eal, &error), error.text);
	must("engine", uroce_engine_create(&config, &engine), "");
	ports.engine = engine;
	must("port", uroce_port_open(argv[1], &ports, &port, &error), error.text);
	must("domain", uroce_pd_alloc(port->device, &pd), "");
	must("memory", uroce_mr_reg(pd, &memory, sizeof(memory), 7, &mr), uroce_refusal());
	must("queue", uroce_cq_create(port->device, 4096, &cq), uroce_refusal());
	must("receives", uroce_srq_create(pd, &receives, &srq), uroce_refusal());
	must("channel", uroce_cm_channel_create(engine, &channel), "");
	for (uint64_t slot = argc == 5; slot < SLOTS; slot++)
		post_receive(slot);
	if (argc == 3)
		be_server();
	be_client(argv[3], (uint32_t)atoi(argv[4]));
	return 0;
}
