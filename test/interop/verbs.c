/* verbs.c - the guest's side of a script: Soft-RoCE through libibverbs */
/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: verbs HOST PORT WORD...     HOST: where ours listens on TCP, IPv4; the words: script.h */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "script.h"

#define DEVICE "rxe0"
#define COUNTERS "/sys/class/infiniband/" DEVICE "/ports/1/hw_counters"
#define COUNTERS_MAX 32
#define IB_PORT 1
#define GID_INDEX 1 /* the IPv4 one */
#define FIRST_PSN 0xFFFFFE
#define EVERYTHING \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static struct {
	struct ibv_context *context;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	uint32_t counter_count;
	struct counter {
		char name[64];
		uint64_t start;
	} counters[COUNTERS_MAX];
} verbs;

/* The names of verbs without their prefix: the same that uroce prints. */
static const char *const statuses[] = {
	[IBV_WC_SUCCESS] = "SUCCESS",
	[IBV_WC_LOC_LEN_ERR] = "LOC_LEN_ERR",
	[IBV_WC_LOC_QP_OP_ERR] = "LOC_QP_OP_ERR",
	[IBV_WC_LOC_PROT_ERR] = "LOC_PROT_ERR",
	[IBV_WC_WR_FLUSH_ERR] = "WR_FLUSH_ERR",
	[IBV_WC_MW_BIND_ERR] = "MW_BIND_ERR",
	[IBV_WC_BAD_RESP_ERR] = "BAD_RESP_ERR",
	[IBV_WC_LOC_ACCESS_ERR] = "LOC_ACCESS_ERR",
	[IBV_WC_REM_INV_REQ_ERR] = "REM_INV_REQ_ERR",
	[IBV_WC_REM_ACCESS_ERR] = "REM_ACCESS_ERR",
	[IBV_WC_REM_OP_ERR] = "REM_OP_ERR",
	[IBV_WC_RETRY_EXC_ERR] = "RETRY_EXC_ERR",
	[IBV_WC_RNR_RETRY_EXC_ERR] = "RNR_RETRY_EXC_ERR",
	[IBV_WC_FATAL_ERR] = "FATAL_ERR",
	[IBV_WC_GENERAL_ERR] = "GENERAL_ERR",
};

static const char *const events[] = {
	[IBV_EVENT_CQ_ERR] = "CQ_ERR",
	[IBV_EVENT_QP_FATAL] = "QP_FATAL",
	[IBV_EVENT_QP_REQ_ERR] = "QP_REQ_ERR",
	[IBV_EVENT_QP_ACCESS_ERR] = "QP_ACCESS_ERR",
	[IBV_EVENT_COMM_EST] = "COMM_EST",
	[IBV_EVENT_SQ_DRAINED] = "SQ_DRAINED",
	[IBV_EVENT_QP_LAST_WQE_REACHED] = "QP_LAST_WQE_REACHED",
};

static const char *name_in(const char *const *names, size_t count, unsigned value)
{
	return value < count && names[value] ? names[value] : "UNKNOWN";
}

#define NAME_IN(table, value) name_in(table, sizeof(table) / sizeof((table)[0]), value)

/* The guest has one processor: leave it to the kernel. */
static void turn(void)
{
	usleep(500);
}

static int move_to_rts(const struct script_end *peer, const struct script_settings *settings)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qpn,
		.rq_psn = peer->psn,
		.max_dest_rd_atomic = SCRIPT_DEPTH,
		.min_rnr_timer = 20, /* 10 ms: what an emulated guest says next comes before the wait is over */
		.ah_attr = { .is_global = 1, .port_num = IB_PORT, .grh = { .sgid_index = GID_INDEX, .hop_limit = 64 } },
	};
	int error;

	memcpy(attr.ah_attr.grh.dgid.raw, peer->gid, sizeof(peer->gid));
	error = ibv_modify_qp(verbs.qp, &attr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (error)
		return error;
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.timeout = (uint8_t)settings->timeout,
		.retry_cnt = (uint8_t)settings->retry,
		.rnr_retry = (uint8_t)settings->rnr,
		.sq_psn = FIRST_PSN,
		.max_rd_atomic = SCRIPT_DEPTH,
	};
	return ibv_modify_qp(verbs.qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				     IBV_QP_MAX_QP_RD_ATOMIC);
}

static int post(const struct script_post *post)
{
	static const enum ibv_wr_opcode opcodes[SCRIPT_WORKS] = {
		[SCRIPT_SEND] = IBV_WR_SEND,
		[SCRIPT_WRITE] = IBV_WR_RDMA_WRITE,
		[SCRIPT_READ] = IBV_WR_RDMA_READ,
		[SCRIPT_FADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
		[SCRIPT_CSWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
	};
	struct ibv_sge sge = { .addr = (uintptr_t)post->local, .length = post->bytes, .lkey = verbs.mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = post->work, .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .wr_id = post->work,
				    .sg_list = &sge,
				    .num_sge = 1,
				    .opcode = opcodes[post->work],
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad_send;

	if (post->work == SCRIPT_RECV)
		return ibv_post_recv(verbs.qp, &recv, &bad_recv);
	if (post->work == SCRIPT_FADD || post->work == SCRIPT_CSWAP) {
		send.wr.atomic.remote_addr = post->remote;
		send.wr.atomic.rkey = post->rkey;
		send.wr.atomic.compare_add = post->compare_add;
		send.wr.atomic.swap = post->swap;
	} else {
		send.wr.rdma.remote_addr = post->remote;
		send.wr.rdma.rkey = post->rkey;
	}
	return ibv_post_send(verbs.qp, &send, &bad_send);
}

static bool completion(struct script_done *done)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(verbs.cq, 1, &wc) != 1)
		return false;
	*done = (struct script_done){
		.wr_id = wc.wr_id,
		.status = NAME_IN(statuses, wc.status),
		.success = wc.status == IBV_WC_SUCCESS,
		.bytes = wc.byte_len,
	};
	return true;
}

static const char *event(void)
{
	struct ibv_async_event found;

	if (ibv_get_async_event(verbs.context, &found) != 0)
		return NULL;
	ibv_ack_async_event(&found);
	return NAME_IN(events, found.event_type);
}

static void destroy(void)
{
	if (verbs.qp)
		ibv_destroy_qp(verbs.qp);
	verbs.qp = NULL;
}

/* ---- counters: of the port, so that they are taken when the program starts ---- */

static bool read_port_counter(const char *name, uint64_t *value)
{
	char path[sizeof(COUNTERS) + 64];
	unsigned long long number;
	bool found;
	FILE *file;

	snprintf(path, sizeof(path), COUNTERS "/%s", name);
	file = fopen(path, "r");
	found = file && fscanf(file, "%llu", &number) == 1;
	if (file)
		fclose(file);
	*value = found ? number : 0;
	return found;
}

static void keep_counters(void)
{
	DIR *directory = opendir(COUNTERS);
	struct dirent *entry;

	while (directory && (entry = readdir(directory)) != NULL && verbs.counter_count < COUNTERS_MAX) {
		struct counter *counter = &verbs.counters[verbs.counter_count];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(counter->name, sizeof(counter->name), "%.63s", entry->d_name);
		verbs.counter_count += read_port_counter(counter->name, &counter->start);
	}
	if (directory)
		closedir(directory);
}

static bool counter(const char *name, uint64_t *value)
{
	for (uint32_t i = 0; i < verbs.counter_count; i++) {
		if (strcmp(name, verbs.counters[i].name) == 0 && read_port_counter(name, value)) {
			*value -= verbs.counters[i].start;
			return true;
		}
	}
	return false;
}

/* ---- setting up ---- */

static struct ibv_context *open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	for (int i = 0; list && list[i]; i++) {
		if (strcmp(ibv_get_device_name(list[i]), DEVICE) == 0)
			context = ibv_open_device(list[i]);
	}
	if (context)
		fcntl(context->async_fd, F_SETFL, fcntl(context->async_fd, F_GETFL) | O_NONBLOCK);
	return context;
}

/* A QP in INIT, which takes receives. NULL, or what could not be made. */
static const char *create_objects(void)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = SCRIPT_DEPTH,
			 .max_recv_wr = SCRIPT_DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = IB_PORT, .qp_access_flags = EVERYTHING };
	struct ibv_pd *pd;

	verbs.context = open_device();
	pd = verbs.context ? ibv_alloc_pd(verbs.context) : NULL;
	if (pd == NULL)
		return DEVICE;
	verbs.mr = ibv_reg_mr(pd, script_memory, SCRIPT_MEMORY_BYTES, EVERYTHING);
	if (verbs.mr == NULL)
		return "the memory region";
	verbs.cq = ibv_create_cq(verbs.context, 4 * SCRIPT_DEPTH, NULL, NULL, 0);
	if (verbs.cq == NULL)
		return "the CQ";
	init.send_cq = init.recv_cq = verbs.cq;
	verbs.qp = ibv_create_qp(pd, &init);
	if (verbs.qp == NULL ||
	    ibv_modify_qp(verbs.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0)
		return "the QP";
	return NULL;
}

static int dial(const char *host, const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	inet_pton(AF_INET, host, &to.sin_addr);
	return connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 ? fd : -1;
}

int main(int argc, char **argv)
{
	static struct script_side side = {
		.name = "verbs",
		.turn = turn,
		.connect = move_to_rts,
		.post = post,
		.completion = completion,
		.event = event,
		.counter = counter,
		.destroy = destroy,
	};
	const char *failed = create_objects();
	union ibv_gid gid;
	int fd;

	if (failed)
		return script_complain(&side, "cannot make %s: %s", failed, strerror(errno));
	if (argc < 3 || ibv_query_gid(verbs.context, IB_PORT, GID_INDEX, &gid) != 0)
		return script_complain(&side, "usage: verbs HOST PORT WORD...");
	keep_counters();
	side.own = (struct script_end){
		.qpn = verbs.qp->qp_num,
		.psn = FIRST_PSN,
		.rkey = verbs.mr->rkey,
		.address = (uintptr_t)script_memory,
	};
	memcpy(side.own.gid, gid.raw, sizeof(side.own.gid));
	fd = dial(argv[1], argv[2]);
	if (fd < 0)
		return script_complain(&side, "nobody listens on %s port %s: %s", argv[1], argv[2], strerror(errno));
	return script_run(&side, fd, argc - 3, argv + 3);
}
