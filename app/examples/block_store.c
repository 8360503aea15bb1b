/* block_store.c - an example: a server that keeps blocks for clients, which write and read them, and may die */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   block_store net_memif0,role=server 10.0.0.1/24                    the server
 *   block_store net_memif0,role=client 10.0.0.2/24 10.0.0.1 1000      writes a thousand blocks and reads them again
 * A request is a SEND into one of the server's slots, which all clients share. To put a block the server READs it from
 * the client, to get one it WRITEs it to the client; then it sends the request back as the answer. One thread does it
 * all.
 */
#include "start.h"

enum { PUT, GET, BLOCK = 4096, BLOCKS = 1024, SLOTS = 64, PORT = 7000, KEEPALIVE_MS = 500 };
enum { PEERS_MAY = UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_WRITE };

static struct {
	struct request {
		uint32_t op, block;
		uint64_t rkey, addr; /* key and address of the client's block */
	} slots[SLOTS];
	uint8_t blocks[BLOCKS][BLOCK];
} memory; /* all memory that is registered */
static struct uroce_mr *mr;
static struct uroce_srq *srq;
static const struct uroce_cm_options options = { .keepalive_ms = KEEPALIVE_MS };

static void post_receive(uint64_t slot)
{
	struct uroce_sge sge = { (uintptr_t)&memory.slots[slot], sizeof(struct request), uroce_mr_lkey(mr) };
	struct uroce_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 };

	must(uroce_srq_post_recv(srq, &wr, NULL), "receive", NULL);
}

/* Each slot waits for one completion at a time, so no queue can overflow. */
static void post(struct uroce_cm_id *id, enum uroce_wr_opcode opcode, uint64_t slot, void *data, uint32_t bytes)
{
	struct uroce_sge sge = { (uintptr_t)data, bytes, uroce_mr_lkey(mr) };
	struct uroce_send_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1, .opcode = opcode };

	wr.send_flags = UROCE_SEND_SIGNALED;
	wr.remote_addr = memory.slots[slot].addr;
	wr.rkey = (uint32_t)memory.slots[slot].rkey;
	must(uroce_qp_post_send(uroce_cm_qp(id), &wr, NULL), "send", NULL);
}

static int make_qp(struct uroce_cm_id *id)
{
	struct uroce_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .srq = srq, .qp_context = (uintptr_t)id };
	struct uroce_qp *qp;

	init.max_send_wr = SLOTS;
	init.max_send_sge = 1;
	init.max_dest_rd_atomic = 16;
	return uroce_cm_qp_create(id, pd, &init, PEERS_MAY, &qp);
}

static bool poll_once(struct uroce_wc *wc)
{
	uroce_lcore_poll(uroce_engine_lcore(engine, 0));
	return uroce_cq_poll(cq, 1, wc) == 1;
}

/*
 * Handles a completion: a request has arrived, has been carried out, or has been answered. If the completion is a
 * failure, the request's connection has ended, and with it the request.
 */
static void serve(void)
{
	struct uroce_wc wc = { 0 };
	bool completed = poll_once(&wc);
	struct uroce_cm_id *id = (struct uroce_cm_id *)(uintptr_t)wc.qp_context;
	struct request *request = &memory.slots[wc.wr_id];

	if (!completed)
		return;
	if (wc.status != UROCE_WC_SUCCESS || wc.opcode == UROCE_WC_SEND)
		post_receive(wc.wr_id);
	else if (wc.opcode == UROCE_WC_RECV)
		post(id, request->op == PUT ? UROCE_WR_RDMA_READ : UROCE_WR_RDMA_WRITE, wc.wr_id,
		     memory.blocks[request->block % BLOCKS], BLOCK);
	else
		post(id, UROCE_WR_SEND, wc.wr_id, request, sizeof(*request));
}

/*
 * A client has connected or has gone. When it has gone, the QP is in ERR, and each of its slots completes once or
 * twice.
 */
static void handle_event(const struct uroce_cm_event *event)
{
	struct uroce_srq_attr receives;
	char peer[46];

	if (event->type == UROCE_CM_CONNECT_REQUEST && make_qp(event->id) == 0 &&
	    uroce_cm_accept(event->id, &options) == 0)
		return;
	for (unsigned i = 0; i < 2 * SLOTS; i++)
		serve();
	uroce_srq_query(srq, &receives);
	printf("%s: %s: %s, %u of %u slots are free\n", uroce_addr_format(&event->peer, peer, sizeof(peer)),
	       uroce_cm_event_name(event->type), strerror(-event->status), receives.count, SLOTS);
	if (event->type != UROCE_CM_ESTABLISHED)
		uroce_cm_close(event->id);
}

/* Sends a request and waits for the answer. */
static void ask(struct uroce_cm_id *id, uint32_t op, uint32_t block)
{
	struct uroce_wc wc = { .opcode = UROCE_WC_SEND };
	struct uroce_cm_event event;
	char line[UROCE_EXPLAIN_BYTES];

	memory.slots[0] = (struct request){ op, block, uroce_mr_rkey(mr), (uintptr_t)memory.blocks[op] };
	post(id, UROCE_WR_SEND, 0, &memory.slots[0], sizeof(struct request));
	while (wc.opcode != UROCE_WC_RECV) {
		if (poll_once(&wc) && wc.status != UROCE_WC_SUCCESS)
			must(wc.status, "request", uroce_wc_explain(&wc, line, sizeof(line)));
		if (uroce_cm_next(channel, &event) == 0)
			must(1, "the server has gone", strerror(-event.status));
	}
	post_receive(wc.wr_id);
}

static int be_client(struct uroce_cm_id *id, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		memset(memory.blocks[PUT], (int)(i * 7 + 1), BLOCK);
		ask(id, PUT, i);
		ask(id, GET, i);
		must(memcmp(memory.blocks[PUT], memory.blocks[GET], BLOCK), "a block", "came back differently");
	}
	printf("%u blocks written and read again\n", count);
	return hang_up(id);
}

int main(int argc, char **argv)
{
	struct uroce_cm_event event;
	struct uroce_cm_id *id;

	must(argc != 3 && argc != 5, "usage", "block_store PORT ADDRESS/LEN [SERVER COUNT]");
	start(argv[1], argv[2], 0, argc == 5);
	must(uroce_mr_reg(pd, &memory, sizeof(memory), UROCE_ACCESS_LOCAL_WRITE | PEERS_MAY, &mr), "region", NULL);
	must(uroce_srq_create(pd, &(struct uroce_srq_attr){ .max_wr = SLOTS, .max_sge = 1 }, &srq), "receives", NULL);
	for (uint64_t slot = argc == 5; slot < SLOTS; slot++) /* the client's first slot is for its request */
		post_receive(slot);
	if (argc == 5) {
		must(uroce_cm_id_create(channel, 0, &id), "connection", NULL);
		must(make_qp(id), "queue pair", NULL);
		connect_to(id, argv[3], PORT, &options);
		return be_client(id, (uint32_t)strtoul(argv[4], NULL, 10));
	}
	must(uroce_cm_listen(channel, NULL, PORT, SLOTS, 0, &id), "listen", NULL);
	for (;; serve()) {
		if (uroce_cm_next(channel, &event) == 0)
			handle_event(&event);
	}
}
