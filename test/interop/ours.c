/* ours.c - our side of a script: uroce, with the lcore polled while it waits */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage: interop-ours EAL-OPTIONS -- IPV4 IPV6 PORT FILE [IPV4 IPV6 VLAN], addresses with /LEN
 * Waits for verbs on TCP port PORT. FILE: script.h. The last two addresses are in the VLAN, with a priority.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <uroce/uroce.h>

#include "common/control.h"
#include "common/eal.h"
#include "common/ports.h"
#include "start.h"
#include "script.h"

#define EVERYTHING \
	(UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC)
#define OF_REGION (EVERYTHING | UROCE_ACCESS_MW_BIND)
#define OF_WINDOW (EVERYTHING & ~UROCE_ACCESS_LOCAL_WRITE)
#define VLAN_PRIORITY 3

static struct {
	struct app_port port;
	struct uroce_addr addrs[4]; /* IPv4, IPv6, the same in the VLAN */
	struct uroce_lcore *lcore;
	struct uroce_pd *pd;
	struct uroce_mr *mr;
	/* of one script */
	struct uroce_cq *cq;
	struct uroce_srq *srq;
	struct uroce_qp *qps[SCRIPT_QPS_MAX];
	uint32_t qp_nums[SCRIPT_QPS_MAX], qp_count;
	struct uroce_mw *window;
	struct uroce_stats start;
} ours;

static void poll_once(void)
{
	uroce_lcore_poll(ours.lcore);
}

static const struct uroce_addr *own_addr(const struct script_settings *settings)
{
	return &ours.addrs[2 * (settings->vlan != 0) + (settings->family == 6)];
}

static int connect_qp(struct uroce_qp *qp, const struct script_end *peer, const struct script_settings *settings)
{
	struct uroce_qp_attr attr;
	int error = uroce_qp_query(qp, &attr);

	attr.access_flags = EVERYTHING;
	attr.path_mtu = settings->mtu;
	attr.dest_qp_num = peer->qpn;
	attr.rq_psn = peer->psn;
	attr.max_rd_atomic = attr.max_dest_rd_atomic = SCRIPT_READS;
	attr.min_rnr_timer = 12;
	attr.timeout = (uint8_t)settings->timeout;
	attr.retry_cnt = (uint8_t)settings->retry;
	attr.rnr_retry = (uint8_t)settings->rnr;
	if (settings->no_repair)
		attr.read_repair = UROCE_READ_REPAIR_OFF;
	attr.path.source = *own_addr(settings);
	memcpy(attr.path.dest.bytes, peer->gid, sizeof(peer->gid));
	return error ? -error : -uroce_qp_connect(qp, &attr, NULL);
}

static int connect_all(const struct script_end *peers, const struct script_settings *settings)
{
	int error = 0;

	for (uint32_t q = 0; q < settings->qps && error == 0; q++)
		error = connect_qp(ours.qps[q], &peers[q], settings);
	return error;
}

static int post_send(const struct script_post *post, const struct uroce_sge *sge)
{
	static const enum uroce_wr_opcode opcodes[SCRIPT_WORKS] = {
		[SCRIPT_SEND] = UROCE_WR_SEND,
		[SCRIPT_SENDIMM] = UROCE_WR_SEND_WITH_IMM,
		[SCRIPT_SENDINV] = UROCE_WR_SEND_WITH_INV,
		[SCRIPT_WRITE] = UROCE_WR_RDMA_WRITE,
		[SCRIPT_WRITEIMM] = UROCE_WR_RDMA_WRITE_WITH_IMM,
		[SCRIPT_READ] = UROCE_WR_RDMA_READ,
		[SCRIPT_FADD] = UROCE_WR_ATOMIC_FETCH_AND_ADD,
		[SCRIPT_CSWAP] = UROCE_WR_ATOMIC_CMP_AND_SWP,
		[SCRIPT_AWRITE] = UROCE_WR_ATOMIC_WRITE,
		[SCRIPT_FLUSH] = UROCE_WR_FLUSH,
		[SCRIPT_BIND] = UROCE_WR_BIND_MW,
		[SCRIPT_INV] = UROCE_WR_LOCAL_INV,
	};
	struct uroce_mw_bind bind = {
		.mr = ours.mr,
		.addr = (uintptr_t)post->local,
		.length_bytes = post->bytes,
		.access = OF_WINDOW,
	};
	struct uroce_send_wr send = {
		.wr_id = post->wr_id,
		.sg_list = sge,
		.num_sge = post->bytes ? 1 : 0,
		.opcode = opcodes[post->work],
		.send_flags = UROCE_SEND_SIGNALED | (post->fence ? UROCE_SEND_FENCE : 0),
		.imm_data = htonl(SCRIPT_IMM),
		.remote_addr = post->remote,
		.rkey = post->rkey,
		.compare_add = post->compare_add,
		.swap = post->swap,
	};

	if (post->work == SCRIPT_FLUSH) {
		send.num_sge = 0;
		send.flush = UROCE_FLUSH_GLOBAL;
		send.flush_bytes = post->bytes;
	}
	if (post->work == SCRIPT_BIND || post->work == SCRIPT_INV) {
		if (ours.window == NULL && uroce_mw_alloc(ours.pd, UROCE_MW_TYPE_2, &ours.window) != 0)
			return ENOMEM;
		send.num_sge = 0;
	}
	if (post->work == SCRIPT_BIND) {
		send.bind = &bind;
		send.mw = ours.window;
		send.rkey = uroce_mw_next_rkey(ours.window);
	}
	if (post->work == SCRIPT_INV)
		send.rkey = uroce_mw_rkey(ours.window);
	return -uroce_qp_post_send(ours.qps[post->qp], &send, NULL);
}

static int post(const struct script_post *post)
{
	struct uroce_sge sge = {
		.addr = (uintptr_t)post->local,
		.length = post->bytes,
		.lkey = uroce_mr_lkey(ours.mr) ^ (post->bad_lkey ? 0x5A : 0),
	};
	struct uroce_recv_wr recv = { .wr_id = post->wr_id, .sg_list = &sge, .num_sge = 1 };

	if (post->work != SCRIPT_RECV)
		return post_send(post, &sge);
	return ours.srq ? -uroce_srq_post_recv(ours.srq, &recv, NULL) :
			  -uroce_qp_post_recv(ours.qps[post->qp], &recv, NULL);
}

static uint32_t qp_index(uint32_t qp_num)
{
	uint32_t q = 0;

	while (q + 1 < ours.qp_count && ours.qp_nums[q] != qp_num)
		q++;
	return q;
}

static bool completion(struct script_done *done)
{
	struct uroce_wc wc;

	if (uroce_cq_poll(ours.cq, 1, &wc) != 1)
		return false;
	*done = (struct script_done){
		.wr_id = wc.wr_id,
		.qp = qp_index(wc.qp_num),
		.status = uroce_wc_status_name(wc.status),
		.success = wc.status == UROCE_WC_SUCCESS,
		.retries = wc.status == UROCE_WC_SUCCESS ? 0 : wc.retries,
		.opcode = uroce_wc_opcode_name(wc.opcode),
		.bytes = wc.byte_len,
		.has_imm = wc.wc_flags & UROCE_WC_WITH_IMM,
		.imm = ntohl(wc.imm_data),
		.has_invalidated = wc.wc_flags & UROCE_WC_WITH_INV,
		.invalidated = wc.invalidated_rkey,
	};
	return true;
}

static uint32_t window_key(void)
{
	return ours.window ? uroce_mw_rkey(ours.window) : 0;
}

static int modify(uint32_t qp, const char *state)
{
	struct uroce_qp_attr attr = { .qp_state = strcmp(state, "SQD") == 0 ? UROCE_QPS_SQD :
						  strcmp(state, "RTS") == 0 ? UROCE_QPS_RTS :
									      UROCE_QPS_ERR };

	return -uroce_qp_modify(ours.qps[qp], &attr, UROCE_QP_STATE, NULL);
}

/* That the connection is in use says nothing here. */
static const char *event(void)
{
	struct uroce_event found;

	while (uroce_event_poll(ours.port.device, &found)) {
		if (found.type != UROCE_EVENT_COMM_EST)
			return uroce_event_name(found.type);
	}
	return NULL;
}

/* Of the device: all QPs, also when they are gone, and what reached no QP. */
static bool counter(const char *name, uint64_t *value)
{
	int index = uroce_counter_find(name);
	struct uroce_stats stats;

	if (index < 0)
		return false;
	uroce_device_stats(ours.port.device, &stats);
	*value = stats.values[index] - ours.start.values[index];
	return true;
}

static void destroy_qps(void)
{
	for (uint32_t q = 0; q < ours.qp_count; q++) {
		if (ours.qps[q])
			uroce_qp_destroy(ours.qps[q]);
		ours.qps[q] = NULL;
	}
}

static void destroy(void)
{
	destroy_qps();
	if (ours.window)
		uroce_mw_dealloc(ours.window);
	if (ours.srq)
		uroce_srq_destroy(ours.srq);
	if (ours.cq)
		uroce_cq_destroy(ours.cq);
	ours.window = NULL;
	ours.srq = NULL;
	ours.cq = NULL;
}

static int create_qp(uint32_t q, const struct script_settings *settings, struct script_end *own)
{
	struct uroce_qp_init_attr init = {
		.send_cq = ours.cq,
		.recv_cq = ours.cq,
		.srq = ours.srq,
		.max_send_wr = SCRIPT_SENDS,
		.max_recv_wr = SCRIPT_RECVS,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_dest_rd_atomic = SCRIPT_READS,
	};
	struct uroce_qp_attr attr;
	int error = uroce_qp_create(ours.pd, &init, &ours.qps[q]);

	if (error == 0)
		error = uroce_qp_query(ours.qps[q], &attr);
	if (error)
		return error;
	ours.qp_nums[q] = uroce_qp_num(ours.qps[q]);
	*own = (struct script_end){
		.qpn = ours.qp_nums[q],
		.psn = attr.sq_psn,
		.rkey = uroce_mr_rkey(ours.mr),
		.address = (uintptr_t)script_memory,
	};
	memcpy(own->gid, own_addr(settings)->bytes, sizeof(own->gid));
	return 0;
}

static int create(const struct script_settings *settings, struct script_end *own)
{
	struct uroce_srq_attr srq = { .max_wr = settings->qps * SCRIPT_RECVS, .max_sge = 1 };
	int error = uroce_cq_create(ours.port.device, SCRIPT_CQ_DEPTH, &ours.cq);

	uroce_device_stats(ours.port.device, &ours.start);
	while (event())
		; /* of the script before */
	if (error == 0 && settings->srq)
		error = uroce_srq_create(ours.pd, &srq, &ours.srq);
	ours.qp_count = settings->qps;
	for (uint32_t q = 0; q < settings->qps && error == 0; q++)
		error = create_qp(q, settings, &own[q]);
	return -error;
}

/* The peer asks for our MAC before it dials, so this polls the lcore while it waits. Returns a socket, or -1. */
static int accept_verbs(unsigned port)
{
	const struct app_control_config config = { .port_option = "PORT" };
	int listener = app_control_listen(&config, port), fd = -1;

	if (listener < 0)
		return -1;
	while (fd < 0) {
		struct pollfd waiting = { .fd = listener, .events = POLLIN };

		uroce_lcore_poll(ours.lcore);
		if (poll(&waiting, 1, 0) > 0)
			fd = accept(listener, NULL, NULL);
	}
	close(listener);
	return fd;
}

static int run(unsigned port, const char *file)
{
	static const struct script_side side = {
		.name = "ours",
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
	int error = uroce_pd_alloc(ours.port.device, &ours.pd), exit_code = APP_EXIT_FAILURE;
	int fd;

	if (error == 0)
		error = uroce_mr_reg(ours.pd, script_memory, SCRIPT_MEMORY_BYTES, OF_REGION, &ours.mr);
	if (error)
		return app_complain(APP_EXIT_INTERNAL, "memory: %s", strerror(-error));
	fd = accept_verbs(port);
	if (fd >= 0)
		exit_code = script_run(&side, fd, file);
	uroce_mr_dereg(ours.mr);
	uroce_pd_dealloc(ours.pd);
	return exit_code;
}

static int open_and_run(const char *device, char **words)
{
	struct uroce_engine_config engine_config = { .max_mrs = 16 };
	struct app_port_config port_config = { .device = device };
	const char *addresses[] = { words[0], words[1], words[4], words[4] ? words[5] : NULL };
	int exit_code, error;

	for (int i = 0; i < 4 && addresses[i]; i++) {
		if (uroce_addr_parse(addresses[i], &ours.addrs[i], NULL) != 0)
			return app_complain(APP_EXIT_USAGE, "'%s' is no address: use fe80::1/64", addresses[i]);
		port_config.port.addresses[i] = addresses[i];
		if (i >= 2)
			port_config.port.vlans[i] =
				(struct uroce_vlan){ .id = (uint16_t)atoi(words[6]), .priority = VLAN_PRIORITY };
	}
	error = uroce_engine_create(&engine_config, &port_config.port.engine);
	if (error)
		return app_complain(APP_EXIT_INTERNAL, "engine: %s", strerror(-error));
	exit_code = app_port_open(&port_config, &ours.port);
	if (exit_code == APP_EXIT_OK) {
		ours.lcore = uroce_engine_lcore(port_config.port.engine, 0);
		exit_code = run((unsigned)atoi(words[2]), words[3]);
		app_port_close(&ours.port);
	}
	uroce_engine_destroy(port_config.port.engine);
	return exit_code;
}

int main(int argc, char **argv)
{
	return start(argc, argv, 4, "interop-ours EAL-OPTIONS -- IPV4 IPV6 PORT FILE [IPV4 IPV6 VLAN]", open_and_run);
}
