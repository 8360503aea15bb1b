/* ours.c - our side of a script: uroce, with the lcore turned while it waits */
/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: interop-ours EAL-OPTIONS -- ADDR/LEN PORT WORD...     waits for verbs on TCP; the words: script.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uroce/uroce.h>

#include "common/eal.h"
#include "common/ports.h"
#include "pingpong/side.h"
#include "script.h"

#define EVERYTHING \
	(UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC)

static struct {
	struct app_port port;
	struct uroce_lcore *lcore;
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	struct uroce_mr *mr;
	struct uroce_qp *qp;
} ours;

static void turn(void)
{
	uroce_lcore_poll(ours.lcore);
}

static int connect_qp(const struct script_end *peer, const struct script_settings *settings)
{
	struct uroce_qp_attr attr;
	int error = uroce_qp_query(ours.qp, &attr);

	attr.access_flags = EVERYTHING;
	attr.path_mtu = SCRIPT_PATH_MTU;
	attr.dest_qp_num = peer->qpn;
	attr.rq_psn = peer->psn;
	attr.max_rd_atomic = attr.max_dest_rd_atomic = SCRIPT_DEPTH;
	attr.min_rnr_timer = 12;
	attr.timeout = (uint8_t)settings->timeout;
	attr.retry_cnt = (uint8_t)settings->retry;
	attr.rnr_retry = (uint8_t)settings->rnr;
	attr.path.source = ours.port.addr;
	memcpy(attr.path.dest.bytes, peer->gid, sizeof(peer->gid));
	return error ? -error : -uroce_qp_connect(ours.qp, &attr, NULL);
}

static int post(const struct script_post *post)
{
	static const enum uroce_wr_opcode opcodes[SCRIPT_WORKS] = {
		[SCRIPT_SEND] = UROCE_WR_SEND,
		[SCRIPT_WRITE] = UROCE_WR_RDMA_WRITE,
		[SCRIPT_READ] = UROCE_WR_RDMA_READ,
		[SCRIPT_FADD] = UROCE_WR_ATOMIC_FETCH_AND_ADD,
		[SCRIPT_CSWAP] = UROCE_WR_ATOMIC_CMP_AND_SWP,
	};
	struct uroce_sge sge = {
		.addr = (uintptr_t)post->local,
		.length = post->bytes,
		.lkey = uroce_mr_lkey(ours.mr),
	};
	struct uroce_recv_wr recv = { .wr_id = post->work, .sg_list = &sge, .num_sge = 1 };
	struct uroce_send_wr send = {
		.wr_id = post->work,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcodes[post->work],
		.send_flags = UROCE_SEND_SIGNALED,
		.remote_addr = post->remote,
		.rkey = post->rkey,
		.compare_add = post->compare_add,
		.swap = post->swap,
	};

	if (post->work == SCRIPT_RECV)
		return -uroce_qp_post_recv(ours.qp, &recv, NULL);
	return -uroce_qp_post_send(ours.qp, &send, NULL);
}

static bool completion(struct script_done *done)
{
	struct uroce_wc wc;

	if (uroce_cq_poll(ours.cq, 1, &wc) != 1)
		return false;
	*done = (struct script_done){
		.wr_id = wc.wr_id,
		.status = uroce_wc_status_name(wc.status),
		.success = wc.status == UROCE_WC_SUCCESS,
		.bytes = wc.byte_len,
		.retries = wc.status == UROCE_WC_SUCCESS ? 0 : wc.retries,
	};
	return true;
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

/* Of the device: the only QP, also when it is gone, and what reached no QP. */
static bool counter(const char *name, uint64_t *value)
{
	int index = uroce_counter_find(name);
	struct uroce_stats stats;

	if (index < 0)
		return false;
	uroce_device_stats(ours.port.device, &stats);
	*value = stats.values[index];
	return true;
}

static void destroy(void)
{
	if (ours.qp)
		uroce_qp_destroy(ours.qp);
	ours.qp = NULL;
}

/* 0 or a negative errno. */
static int create_objects(struct script_end *own)
{
	struct uroce_qp_init_attr init = {
		.max_send_wr = SCRIPT_DEPTH,
		.max_recv_wr = SCRIPT_DEPTH,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_dest_rd_atomic = SCRIPT_DEPTH,
		.lcore = -1,
	};
	struct uroce_qp_attr attr;
	int error = uroce_pd_alloc(ours.port.device, &ours.pd);

	if (error == 0)
		error = uroce_mr_reg(ours.pd, script_memory, SCRIPT_MEMORY_BYTES, EVERYTHING, &ours.mr);
	if (error == 0)
		error = uroce_cq_create(ours.port.device, 4 * SCRIPT_DEPTH, &ours.cq);
	init.send_cq = init.recv_cq = ours.cq;
	if (error == 0)
		error = uroce_qp_create(ours.pd, &init, &ours.qp);
	if (error == 0)
		error = uroce_qp_query(ours.qp, &attr);
	if (error)
		return error;
	own->qpn = uroce_qp_num(ours.qp);
	own->psn = attr.sq_psn;
	own->rkey = uroce_mr_rkey(ours.mr);
	own->address = (uintptr_t)script_memory;
	memcpy(own->gid, ours.port.addr.bytes, sizeof(own->gid));
	return 0;
}

static void destroy_objects(void)
{
	destroy();
	if (ours.cq)
		uroce_cq_destroy(ours.cq);
	if (ours.mr)
		uroce_mr_dereg(ours.mr);
	if (ours.pd)
		uroce_pd_dealloc(ours.pd);
}

static int run(int count, char **words)
{
	static struct script_side side = {
		.name = "ours",
		.turn = turn,
		.connect = connect_qp,
		.post = post,
		.completion = completion,
		.event = event,
		.counter = counter,
		.destroy = destroy,
	};
	int error = create_objects(&side.own), fd;

	if (error)
		return app_complain(APP_EXIT_INTERNAL, "objects: %s", strerror(-error));
	fd = side_accept(ours.lcore, (unsigned)atoi(words[0]));
	return fd < 0 ? APP_EXIT_FAILURE : script_run(&side, fd, count - 1, words + 1);
}

static int open_and_run(const char *device, const char *address, int count, char **words)
{
	struct uroce_engine_config engine_config = { .max_qps = 16, .max_mrs = 16 };
	struct app_port_config port_config = { .device = device, .addresses = { address } };
	int exit_code, error = uroce_engine_create(&engine_config, &port_config.engine);

	if (error)
		return app_complain(APP_EXIT_INTERNAL, "engine: %s", strerror(-error));
	exit_code = app_port_open(&port_config, &ours.port);
	app_eal_speak(exit_code != APP_EXIT_OK);
	if (exit_code == APP_EXIT_OK) {
		ours.lcore = uroce_engine_lcore(port_config.engine, 0);
		exit_code = run(count, words);
		destroy_objects();
		app_port_close(&ours.port);
	}
	uroce_engine_destroy(port_config.engine);
	return exit_code;
}

int main(int argc, char **argv)
{
	char device[64];
	struct app_args args;
	struct app_eal_config config = { .args = &args, .main_is_busy = true };
	int exit_code;

	if (app_eal_split(argc, argv, &args) != 0)
		return APP_EXIT_INTERNAL;
	if (args.own_count < 3 || !app_eal_first_device(&args, device, sizeof(device)))
		return app_complain(APP_EXIT_USAGE, "usage: interop-ours EAL-OPTIONS -- ADDR/LEN PORT WORD...");
	exit_code = app_eal_start(&config);
	if (exit_code != APP_EXIT_OK)
		return exit_code;
	exit_code = open_and_run(device, args.own[1], args.own_count - 2, args.own + 2);
	app_eal_stop();
	return exit_code;
}
