/* replicated_store.c - an example: a client keeps its blocks on two replicas; each replica may die and come back */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   replicated_store client net_memif0,role=server,socket=/tmp/a 10.0.1.2/24 10.0.1.1 \
 *                           net_memif1,role=server,socket=/tmp/b 10.0.2.2/24 10.0.2.1
 *   replicated_store replica net_memif0,role=client,socket=/tmp/a 10.0.1.1/24
 *   replicated_store replica net_memif0,role=client,socket=/tmp/b 10.0.2.1/24
 * The client writes all blocks to both replicas, and again for each line on standard input. At the end of the input it
 * verifies all blocks of each replica. The client is the memif server, so replicas can come and go. In the client each
 * replica has its own port, lcore and CQ. EAL workers poll the lcores; the main thread posts requests and takes
 * answers.
 *
 * Keep-alive detects a dead replica while no request is in flight. The client goes on with the other replica, and
 * connects to the dead one again and again until it is back. A replica keeps its blocks in memory, so it restarts
 * empty: before the client uses it again it copies all blocks from the other replica. If no replica has all blocks, the
 * client exits.
 */
#include <poll.h>
#include <unistd.h>

#include "start.h"

enum { PUT, GET, BLOCK = 4096, BLOCKS = 64, SLOTS = 16, REPLICAS = 2, PORT = 7003, NAP_US = 50 };

/*
 * A connect attempt fails after 4 tries of 67 ms, so a restarted replica is connected soon. The ACK timeout and the
 * retry count keep their defaults, because a busy replica is not dead.
 */
static const struct uroce_cm_options options = { .keepalive_ms = 200, .cm_timeout = 14, .cm_retries = 3 };

struct message { /* a request; the replica sends it back as the answer */
	uint32_t op, block;
	uint8_t data[BLOCK];
};

static int make_qp(struct uroce_cm_id *id, struct uroce_pd *domain, struct uroce_cq *completions, struct uroce_srq *srq)
{
	struct uroce_qp_init_attr init = { .send_cq = completions, .recv_cq = completions, .srq = srq };
	struct uroce_qp *qp;

	init.qp_context = (uintptr_t)id;
	init.max_send_wr = SLOTS;
	init.max_recv_wr = srq ? 0 : 1;
	init.max_send_sge = init.max_recv_sge = 1;
	return uroce_cm_qp_create(id, domain, &init, 0, &qp);
}

static void post_send(struct uroce_cm_id *id, uint64_t wr_id, struct message *message, struct uroce_mr *mr)
{
	struct uroce_sge sge = { (uintptr_t)message, sizeof(*message), uroce_mr_lkey(mr) };
	struct uroce_send_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1, .opcode = UROCE_WR_SEND };

	wr.send_flags = UROCE_SEND_SIGNALED;
	must(uroce_qp_post_send(uroce_cm_qp(id), &wr, NULL), "send", NULL);
}

/* ---- a replica: one thread, and one SRQ for all connections ---- */

static uint8_t blocks[BLOCKS][BLOCK];
static struct message slots[SLOTS]; /* each slot is posted to the SRQ, or is sent back as an answer */
static struct uroce_mr *slots_mr;
static struct uroce_srq *srq;

static void post_slot(uint64_t slot)
{
	struct uroce_sge sge = { (uintptr_t)&slots[slot], sizeof(slots[slot]), uroce_mr_lkey(slots_mr) };
	struct uroce_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 };

	must(uroce_srq_post_recv(srq, &wr, NULL), "receive", NULL);
}

/* Returns a slot to the SRQ, or handles the request in it and sends it back. */
static void handle_completion(const struct uroce_wc *wc)
{
	struct message *message = &slots[wc->wr_id];
	uint8_t *block = blocks[message->block % BLOCKS];

	if (wc->status != UROCE_WC_SUCCESS || wc->opcode == UROCE_WC_SEND) {
		post_slot(wc->wr_id);
		return;
	}
	if (message->op == PUT)
		memcpy(block, message->data, BLOCK);
	else
		memcpy(message->data, block, BLOCK);
	post_send((struct uroce_cm_id *)(uintptr_t)wc->qp_context, wc->wr_id, message, slots_mr);
}

static void be_replica(void)
{
	struct uroce_lcore *lcore = uroce_engine_lcore(engine, 0);
	struct uroce_cm_event event;
	struct uroce_cm_id *listener;
	struct uroce_wc wc;

	must(uroce_mr_reg(pd, slots, sizeof(slots), UROCE_ACCESS_LOCAL_WRITE, &slots_mr), "memory region", NULL);
	must(uroce_srq_create(pd, &(struct uroce_srq_attr){ .max_wr = SLOTS, .max_sge = 1 }, &srq), "SRQ", NULL);
	for (uint64_t slot = 0; slot < SLOTS; slot++)
		post_slot(slot);
	must(uroce_cm_listen(channel, NULL, PORT, SLOTS, 0, &listener), "listen", NULL);
	for (;;) {
		if (uroce_lcore_poll(lcore) == 0)
			uroce_lcore_wait(lcore, NULL, 0, NAP_US * 1000);
		while (uroce_cq_poll(cq, 1, &wc) == 1)
			handle_completion(&wc);
		if (uroce_cm_next(channel, &event) != 0 || event.type == UROCE_CM_ESTABLISHED ||
		    (event.type == UROCE_CM_CONNECT_REQUEST && make_qp(event.id, pd, cq, srq) == 0 &&
		     uroce_cm_accept(event.id, &options) == 0))
			continue;
		/* The client is gone. The next poll flushes the answers to it, which returns their slots to the SRQ. */
		uroce_lcore_poll(lcore);
		uroce_cm_close(event.id);
	}
}

/* ---- the client ---- */

static struct replica {
	const char *name; /* its address as text */
	enum state {
		AWAY,    /* not connected */
		STALE,   /* connected, and may lack blocks */
		COPYING, /* STALE, but all blocks are being copied to it */
		CURRENT  /* connected, and has all blocks */
	} state;
	unsigned pending; /* completions to come of the request in flight: of its SEND, and of the answer's receive */
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	struct uroce_mr *mr;
	struct uroce_cm_id *id;
	struct message request, answer;
} replicas[REPLICAS];
static uint32_t version; /* how many times all blocks were written */

static struct replica *find(enum state state)
{
	return replicas[0].state == state ? &replicas[0] : replicas[1].state == state ? &replicas[1] : NULL;
}

static void begin_to_connect(struct replica *replica)
{
	struct uroce_addr addr;

	must(uroce_addr_parse(replica->name, &addr, NULL), replica->name, "must be an address such as 10.0.0.1");
	must(uroce_cm_id_create(channel, (uintptr_t)replica, &replica->id), "connection", NULL);
	must(make_qp(replica->id, replica->pd, replica->cq, NULL), "queue pair", NULL);
	must(uroce_cm_connect(replica->id, NULL, &addr, PORT, &options), replica->name, NULL);
}

static void take_completions(struct replica *replica)
{
	struct uroce_wc wc;

	while (uroce_cq_poll(replica->cq, 1, &wc) == 1)
		replica->pending -= wc.status == UROCE_WC_SUCCESS; /* after a failure an event ends the request */
}

/* A closed QP adds no completions, so the CQ is empty when the next connection begins. */
static void handle_events(void)
{
	struct uroce_cm_event event;

	while (uroce_cm_next(channel, &event) == 0) {
		struct replica *replica = (struct replica *)(uintptr_t)event.context;
		bool was_current = replica->state == CURRENT;

		replica->state = event.type == UROCE_CM_ESTABLISHED ? STALE : AWAY;
		if (replica->state == STALE)
			continue;
		if (event.type == UROCE_CM_DISCONNECTED)
			printf("%s is dead: %s, %s request in flight\n", replica->name, strerror(-event.status),
			       replica->pending ? "one" : "no");
		must(was_current && !find(CURRENT), "the blocks are lost", "no other replica has them all");
		must(uroce_cm_close(replica->id), "close", NULL);
		take_completions(replica);
		replica->pending = 0;
		begin_to_connect(replica);
	}
}

static void post_request(struct replica *replica, uint32_t op, uint32_t block)
{
	struct uroce_sge sge = { (uintptr_t)&replica->answer, sizeof(struct message), uroce_mr_lkey(replica->mr) };
	struct uroce_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	replica->request.op = op;
	replica->request.block = block;
	replica->pending = 2;
	must(uroce_qp_post_recv(uroce_cm_qp(replica->id), &wr, NULL), "receive", NULL);
	post_send(replica->id, 0, &replica->request, replica->mr);
}

static void wait_for_answers(void)
{
	for (; replicas[0].pending || replicas[1].pending; usleep(NAP_US)) { /* echo.c shows how to sleep instead */
		take_completions(&replicas[0]);
		take_completions(&replicas[1]);
		handle_events();
	}
}

/* Writes or verifies all blocks of all replicas that are CURRENT, both replicas at the same time. */
static void do_blocks(uint32_t op)
{
	static uint8_t data[BLOCK];

	for (uint32_t block = 0; block < BLOCKS; block++) {
		for (uint32_t i = 0; i < BLOCK; i++)
			data[i] = (uint8_t)(block * 7 + version * 31 + i);
		for (struct replica *replica = replicas; replica < replicas + REPLICAS; replica++) {
			if (op == PUT)
				memcpy(replica->request.data, data, BLOCK);
			if (replica->state == CURRENT)
				post_request(replica, op, block);
		}
		wait_for_answers();
		for (struct replica *replica = replicas; replica < replicas + REPLICAS; replica++)
			must(replica->state == CURRENT && memcmp(replica->answer.data, data, BLOCK), replica->name,
			     "a block is wrong");
	}
}

/* No block is written meanwhile, so the replica has all blocks when it has all copies. */
static void copy_blocks(struct replica *to)
{
	struct replica *from = find(CURRENT);

	to->state = COPYING;
	for (uint32_t block = 0; block < BLOCKS && to->state == COPYING; block++) {
		post_request(from, GET, block);
		wait_for_answers();
		memcpy(to->request.data, from->answer.data, BLOCK);
		if (to->state == COPYING)
			post_request(to, PUT, block);
		wait_for_answers();
	}
	if (to->state != COPYING) /* it is dead again */
		return;
	to->state = CURRENT;
	printf("%s is back: %u blocks copied from %s\n", to->name, BLOCKS, from->name);
}

/* Meanwhile handles events and copies blocks. Returns false at the end of the input. */
static bool wait_for_line(void)
{
	struct pollfd news[2] = { { uroce_cm_channel_fd(channel), POLLIN, 0 }, { STDIN_FILENO, POLLIN, 0 } };
	char c = 0;

	while (c != '\n') {
		handle_events();
		while (find(STALE))
			copy_blocks(find(STALE));
		poll(news, 2, -1);
		if (news[1].revents && read(STDIN_FILENO, &c, 1) != 1)
			return false;
	}
	return true;
}

/* words: port, address and replica, twice */
static int be_client(char **words)
{
	for (uint16_t i = 0; i < REPLICAS; i++, words += 3) {
		struct replica *replica = &replicas[i];
		struct uroce_port *mine = i == 0 ? port : open_port(words[0], words[1], i);

		replica->name = words[2];
		must(uroce_pd_alloc(mine->device, &replica->pd), "protection domain", NULL);
		must(uroce_cq_create(mine->device, SLOTS, &replica->cq), "completion queue", NULL);
		must(uroce_mr_reg(replica->pd, &replica->request, 2 * sizeof(struct message), UROCE_ACCESS_LOCAL_WRITE,
				  &replica->mr),
		     "memory region", NULL);
		begin_to_connect(replica);
	}
	for (; find(AWAY); usleep(NAP_US))
		handle_events();
	exit_code = FAILED;
	replicas[0].state = replicas[1].state = CURRENT; /* neither lacks a block before the first write */
	do {
		version++;
		do_blocks(PUT);
		printf("version %u is written\n", version);
	} while (wait_for_line());
	do_blocks(GET);
	for (unsigned i = 0; i < REPLICAS; i++)
		printf("%s: %s\n", replicas[i].name,
		       replicas[i].state == CURRENT ? "all blocks verified" : "not verified");
	uroce_cm_close(replicas[0].id);
	uroce_cm_close(replicas[1].id);
	uroce_engine_stop(engine);
	return replicas[0].state == CURRENT && replicas[1].state == CURRENT ? 0 : FAILED;
}

int main(int argc, char **argv)
{
	bool is_client = argc == 8 && strcmp(argv[1], "client") == 0;

	must(!is_client && (argc != 4 || strcmp(argv[1], "replica") != 0), "usage",
	     "replicated_store replica PORT ADDRESS/LEN | client PORT ADDRESS/LEN REPLICA PORT ADDRESS/LEN REPLICA");
	start(argv[2], argv[3], is_client ? REPLICAS : 0, !is_client);
	if (is_client)
		return be_client(&argv[2]);
	be_replica();
	return 0;
}
