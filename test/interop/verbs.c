/* verbs.c - the guest's side of a script: Soft-RoCE through libibverbs */
/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: verbs HOST PORT     where ours listens on TCP, IPv4; it tells the scripts (script.h) */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "script.h"

/* In the guest of `make interop`; `make verbs-test` builds it for uroce's own. */
#ifndef DEVICE
#define DEVICE "rxe0"
#define GID_INDEX_IPV6 0
#define GID_INDEX_IPV4 1
#endif
#define COUNTERS "/sys/class/infiniband/" DEVICE "/ports/1/hw_counters"
#define COUNTERS_MAX 32
#define IB_PORT 1
#define GIDS_MAX 16
#define FIRST_PSN 0xFFFFFE
#define EVERYTHING \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
#define OF_REGION (EVERYTHING | IBV_ACCESS_MW_BIND)
#define OF_WINDOW (EVERYTHING & ~IBV_ACCESS_LOCAL_WRITE)

static struct {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	/* of one script */
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qps[SCRIPT_QPS_MAX];
	uint32_t qp_count;
	struct ibv_mw *window;
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

static const char *const opcode_names[] = {
	[IBV_WC_SEND] = "SEND",
	[IBV_WC_RDMA_WRITE] = "RDMA_WRITE",
	[IBV_WC_RDMA_READ] = "RDMA_READ",
	[IBV_WC_COMP_SWAP] = "COMP_SWAP",
	[IBV_WC_FETCH_ADD] = "FETCH_ADD",
	[IBV_WC_BIND_MW] = "BIND_MW",
	[IBV_WC_LOCAL_INV] = "LOCAL_INV",
	[IBV_WC_RECV] = "RECV",
	[IBV_WC_RECV_RDMA_WITH_IMM] = "RECV_RDMA_WITH_IMM",
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
static void poll_once(void)
{
	usleep(500);
}

/* The GID of a global address of an interface "NAME.VLAN". Linux lists it where it likes. */
static uint8_t vlan_gid_index(uint32_t family)
{
	static const uint8_t mapped[12] = { [10] = 0xFF, [11] = 0xFF };

	for (uint32_t i = 0; i < GIDS_MAX; i++) {
		struct ibv_gid_entry entry;
		char name[IF_NAMESIZE] = "";

		if (ibv_query_gid_ex(verbs.context, IB_PORT, i, &entry, 0) == 0 &&
		    if_indextoname(entry.ndev_ifindex, name) && strchr(name, '.') && entry.gid.raw[0] != 0xFE &&
		    (memcmp(entry.gid.raw, mapped, sizeof(mapped)) == 0) == (family == 4))
			return (uint8_t)i;
	}
	return GIDS_MAX; /* libibverbs refuses it */
}

static uint8_t gid_index(const struct script_settings *settings)
{
	if (settings->vlan)
		return vlan_gid_index(settings->family);
	return settings->family == 6 ? GID_INDEX_IPV6 : GID_INDEX_IPV4;
}

static enum ibv_mtu mtu_code(uint32_t bytes)
{
	uint32_t code = IBV_MTU_256;

	while (bytes > 256) {
		bytes /= 2;
		code++;
	}
	return (enum ibv_mtu)code;
}

static int move_to_rts(struct ibv_qp *qp, const struct script_end *peer, const struct script_settings *settings)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_code(settings->mtu),
		.dest_qp_num = peer->qpn,
		.rq_psn = peer->psn,
		.max_dest_rd_atomic = SCRIPT_READS,
		.min_rnr_timer = 20, /* 10 ms: what an emulated guest says next comes before the wait is over */
		.ah_attr = { .is_global = 1,
			     .port_num = IB_PORT,
			     .grh = { .sgid_index = gid_index(settings), .hop_limit = 64 } },
	};
	int error;

	memcpy(attr.ah_attr.grh.dgid.raw, peer->gid, sizeof(peer->gid));
	error = ibv_modify_qp(qp, &attr,
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
		.max_rd_atomic = SCRIPT_READS,
	};
	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				     IBV_QP_MAX_QP_RD_ATOMIC);
}

static int connect_all(const struct script_end *peers, const struct script_settings *settings)
{
	int error = 0;

	for (uint32_t q = 0; q < settings->qps && error == 0; q++)
		error = move_to_rts(verbs.qps[q], &peers[q], settings);
	return error;
}

/* Their own fields, which share a union. */
static void fill_in(struct ibv_send_wr *send, const struct script_post *post)
{
	switch (post->work) {
	case SCRIPT_FADD:
	case SCRIPT_CSWAP:
		send->wr.atomic.remote_addr = post->remote;
		send->wr.atomic.rkey = post->rkey;
		send->wr.atomic.compare_add = post->compare_add;
		send->wr.atomic.swap = post->swap;
		break;
	case SCRIPT_BIND:
		send->num_sge = 0;
		send->bind_mw.mw = verbs.window;
		send->bind_mw.rkey = ibv_inc_rkey(verbs.window->rkey);
		send->bind_mw.bind_info.mr = verbs.mr;
		send->bind_mw.bind_info.addr = (uintptr_t)post->local;
		send->bind_mw.bind_info.length = post->bytes;
		send->bind_mw.bind_info.mw_access_flags = OF_WINDOW;
		break;
	case SCRIPT_INV:
		send->num_sge = 0;
		send->invalidate_rkey = verbs.window->rkey;
		break;
	case SCRIPT_SENDINV:
		send->invalidate_rkey = post->rkey;
		break;
	default:
		send->imm_data = htonl(SCRIPT_IMM);
		send->wr.rdma.remote_addr = post->remote;
		send->wr.rdma.rkey = post->rkey;
	}
}

static int post_send(const struct script_post *post, struct ibv_sge *sge)
{
	static const enum ibv_wr_opcode opcodes[SCRIPT_WORKS] = {
		[SCRIPT_SEND] = IBV_WR_SEND,
		[SCRIPT_SENDIMM] = IBV_WR_SEND_WITH_IMM,
		[SCRIPT_SENDINV] = IBV_WR_SEND_WITH_INV,
		[SCRIPT_WRITE] = IBV_WR_RDMA_WRITE,
		[SCRIPT_WRITEIMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
		[SCRIPT_READ] = IBV_WR_RDMA_READ,
		[SCRIPT_FADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
		[SCRIPT_CSWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
		[SCRIPT_BIND] = IBV_WR_BIND_MW,
		[SCRIPT_INV] = IBV_WR_LOCAL_INV,
	};
	struct ibv_send_wr send = { .wr_id = post->wr_id,
				    .sg_list = sge,
				    .num_sge = post->bytes ? 1 : 0,
				    .opcode = opcodes[post->work],
				    .send_flags = IBV_SEND_SIGNALED | (post->fence ? IBV_SEND_FENCE : 0) },
			   *bad;
	int error;

	if (post->work == SCRIPT_AWRITE || post->work == SCRIPT_FLUSH)
		return EOPNOTSUPP;
	if (post->work == SCRIPT_BIND && verbs.window == NULL)
		verbs.window = ibv_alloc_mw(verbs.pd, IBV_MW_TYPE_2);
	if ((post->work == SCRIPT_BIND || post->work == SCRIPT_INV) && verbs.window == NULL)
		return ENOMEM;
	fill_in(&send, post);
	error = ibv_post_send(verbs.qps[post->qp], &send, &bad);
	if (error == 0 && post->work == SCRIPT_BIND)
		verbs.window->rkey = send.bind_mw.rkey;
	return error;
}

static int post(const struct script_post *post)
{
	struct ibv_sge sge = { .addr = (uintptr_t)post->local,
			       .length = post->bytes,
			       .lkey = verbs.mr->lkey ^ (post->bad_lkey ? 0x5A : 0) };
	struct ibv_recv_wr recv = { .wr_id = post->wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (post->work != SCRIPT_RECV)
		return post_send(post, &sge);
	return verbs.srq ? ibv_post_srq_recv(verbs.srq, &recv, &bad) : ibv_post_recv(verbs.qps[post->qp], &recv, &bad);
}

static uint32_t qp_index(uint32_t qpn)
{
	uint32_t q = 0;

	while (q + 1 < verbs.qp_count && (verbs.qps[q] == NULL || verbs.qps[q]->qp_num != qpn))
		q++;
	return q;
}

static bool completion(struct script_done *done)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(verbs.cq, 1, &wc) != 1)
		return false;
	*done = (struct script_done){
		.wr_id = wc.wr_id,
		.qp = qp_index(wc.qp_num),
		.status = NAME_IN(statuses, wc.status),
		.success = wc.status == IBV_WC_SUCCESS,
		.opcode = NAME_IN(opcode_names, wc.opcode),
		.bytes = wc.byte_len,
		.has_imm = wc.wc_flags & IBV_WC_WITH_IMM,
		.imm = ntohl(wc.imm_data),
		.has_invalidated = wc.wc_flags & IBV_WC_WITH_INV,
		.invalidated = wc.invalidated_rkey,
	};
	return true;
}

static uint32_t window_key(void)
{
	return verbs.window ? verbs.window->rkey : 0;
}

static int modify(uint32_t qp, const char *state)
{
	struct ibv_qp_attr attr = { .qp_state = strcmp(state, "SQD") == 0 ? IBV_QPS_SQD :
						strcmp(state, "RTS") == 0 ? IBV_QPS_RTS :
									    IBV_QPS_ERR };

	return ibv_modify_qp(verbs.qps[qp], &attr, IBV_QP_STATE);
}

static const char *event(void)
{
	struct ibv_async_event found;

	if (ibv_get_async_event(verbs.context, &found) != 0)
		return NULL;
	ibv_ack_async_event(&found);
	return NAME_IN(events, found.event_type);
}

static void destroy_qps(void)
{
	for (uint32_t q = 0; q < verbs.qp_count; q++) {
		if (verbs.qps[q])
			ibv_destroy_qp(verbs.qps[q]);
		verbs.qps[q] = NULL;
	}
}

/* A bound window holds its QP: this kernel would wait for it in vain. */
static void destroy(void)
{
	if (verbs.window)
		ibv_dealloc_mw(verbs.window);
	destroy_qps();
	if (verbs.srq)
		ibv_destroy_srq(verbs.srq);
	if (verbs.cq)
		ibv_destroy_cq(verbs.cq);
	verbs.window = NULL;
	verbs.srq = NULL;
	verbs.cq = NULL;
}

/* ---- counters: of the port, so that they are taken when a script starts ---- */

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

	verbs.counter_count = 0;
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

/* What all scripts share. NULL, or what could not be made. */
static const char *open_all(void)
{
	verbs.context = open_device();
	verbs.pd = verbs.context ? ibv_alloc_pd(verbs.context) : NULL;
	if (verbs.pd == NULL)
		return DEVICE;
	verbs.mr = ibv_reg_mr(verbs.pd, script_memory, SCRIPT_MEMORY_BYTES, OF_REGION);
	return verbs.mr ? NULL : "the memory region";
}

/* A QP in INIT, which takes receives. */
static struct ibv_qp *create_qp(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = verbs.cq,
		.recv_cq = verbs.cq,
		.srq = verbs.srq,
		.cap = { .max_send_wr = SCRIPT_SENDS,
			 .max_recv_wr = SCRIPT_RECVS,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = IB_PORT, .qp_access_flags = EVERYTHING };
	struct ibv_qp *qp = ibv_create_qp(verbs.pd, &init);

	if (qp && ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0)
		return qp;
	if (qp)
		ibv_destroy_qp(qp);
	return NULL;
}

static int create(const struct script_settings *settings, struct script_end *own)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = settings->qps * SCRIPT_RECVS, .max_sge = 1 } };
	union ibv_gid gid;

	keep_counters();
	verbs.cq = ibv_create_cq(verbs.context, SCRIPT_CQ_DEPTH, NULL, NULL, 0);
	if (verbs.cq && settings->srq)
		verbs.srq = ibv_create_srq(verbs.pd, &srq);
	if (verbs.cq == NULL || (settings->srq && verbs.srq == NULL) ||
	    ibv_query_gid(verbs.context, IB_PORT, gid_index(settings), &gid) != 0)
		return errno;
	verbs.qp_count = settings->qps;
	for (uint32_t q = 0; q < settings->qps; q++) {
		verbs.qps[q] = create_qp();
		if (verbs.qps[q] == NULL)
			return errno;
		own[q] = (struct script_end){
			.qpn = verbs.qps[q]->qp_num,
			.psn = FIRST_PSN,
			.rkey = verbs.mr->rkey,
			.address = (uintptr_t)script_memory,
		};
		memcpy(own[q].gid, gid.raw, sizeof(own[q].gid));
	}
	return 0;
}

static int dial(const char *host, const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	inet_pton(AF_INET, host, &to.sin_addr);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	return connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 ? fd : -1;
}

int main(int argc, char **argv)
{
	static const struct script_side side = {
		.name = "verbs",
		.poll = poll_once,
		.create = create,
		.connect = connect_all,
		.post = post,
		.completion = completion,
		.event = event,
		.counter = counter,
		.modify = modify,
		.window_key = window_key,
		.destroy_qps = destroy_qps,
		.destroy = destroy,
	};
	const char *failed = open_all();
	int fd;

	if (failed)
		return script_complain(&side, "cannot make %s: %s", failed, strerror(errno));
	if (argc != 3)
		return script_complain(&side, "usage: verbs HOST PORT");
	fd = dial(argv[1], argv[2]);
	if (fd < 0)
		return script_complain(&side, "nobody listens on %s port %s: %s", argv[1], argv[2], strerror(errno));
	return script_run(&side, fd, NULL);
}
