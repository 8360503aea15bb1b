/* flows.c - many QPs between the two ends of a network, each with requests of its own and every completion counted */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "flows.h"

#define NO_TIMEOUT 22
#define POLLS_MAX 2000000u

static void create(struct network *network, struct flow *flow, int end, struct uroce_qp_attr *told)
{
	struct uroce_qp_init_attr init = {
		.max_send_wr = flow->work.depth,
		.max_recv_wr = FLOW_DEPTH,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_dest_rd_atomic = 16,
		.lcore = uroce_engine_lcore(network->engine, (unsigned)(end ? flow->work.far_lcore : flow->work.lcore)),
	};

	cr_assert_eq(uroce_cq_create(network->ends[end].device, FLOW_DEPTH + 1, &flow->cqs[end]), 0);
	init.send_cq = init.recv_cq = flow->cqs[end];
	cr_assert_eq(uroce_qp_create(network->ends[end].pd, &init, &flow->qps[end]), 0);
	cr_assert_eq(uroce_qp_query(flow->qps[end], told), 0);
}

void flow_open(struct network *network, struct flow *flow, const struct flow_work *work)
{
	struct uroce_qp_attr told[2];

	*flow = (struct flow){ .work = *work };
	for (int i = 0; i < 2; i++)
		create(network, flow, i, &told[i]);
	for (int i = 0; i < 2; i++) {
		struct uroce_qp_attr attr = {
			.access_flags = UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_WRITE,
			.dest_qp_num = uroce_qp_num(flow->qps[!i]),
			.rq_psn = told[!i].sq_psn,
			.max_rd_atomic = 16,
			.max_dest_rd_atomic = 16,
			.timeout = work->timeout ? work->timeout : NO_TIMEOUT,
			.retry_cnt = 7,
			.rnr_retry = 7,
			.min_rnr_timer = work->rnr_timer,
			.sack_window = network_sack_window,
			.path = { .source = network_address(i ? "10.0.0.2" : "10.0.0.1"),
				  .dest = network_address(i ? "10.0.0.1" : "10.0.0.2") },
		};

		cr_assert_eq(uroce_qp_connect(flow->qps[i], &attr, NULL), 0);
	}
}

void flow_reap(struct flow *flow)
{
	struct uroce_wc wc[FLOW_DEPTH];
	int count = uroce_cq_poll(flow->cqs[0], FLOW_DEPTH, wc);

	for (int i = 0; i < count; i++) {
		cr_assert_eq(wc[i].wr_id, flow->completed, "request %lu completed where %lu was due", wc[i].wr_id,
			     flow->completed);
		cr_assert_lt(flow->completed, flow->posted, "a completion of nothing");
		if (wc[i].status != UROCE_WC_SUCCESS) {
			cr_assert(flow->work.wrong_key || flow->failed, "request %lu: %s", wc[i].wr_id,
				  uroce_wc_status_name(wc[i].status));
			cr_assert_eq(wc[i].status, flow->failed ? UROCE_WC_WR_FLUSH_ERR : UROCE_WC_REM_ACCESS_ERR);
			flow->failed++;
		}
		flow->completed++;
	}
}

void flow_poll(struct network *network, struct flow *flow)
{
	struct uroce_sge sge = {
		.addr = (uintptr_t)network->ends[0].buffer,
		.length = flow->work.bytes,
		.lkey = uroce_mr_lkey(network->ends[0].mr),
	};
	struct uroce_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = flow->work.opcode,
		.send_flags = UROCE_SEND_SIGNALED,
		.remote_addr = (uintptr_t)network->ends[1].buffer,
		.rkey = uroce_mr_rkey(network->ends[1].mr) ^ (flow->work.wrong_key ? 1 : 0),
	};

	flow_reap(flow);
	while (flow->posted - flow->completed < flow->work.depth) {
		wr.wr_id = flow->posted++;
		cr_assert_eq(uroce_qp_post_send(flow->qps[0], &wr, NULL), 0);
	}
}

void flow_drain(struct network *network, struct flow *flow)
{
	for (uint32_t i = 0; flow->completed < flow->posted && i < POLLS_MAX; i++) {
		network_poll(network);
		flow_reap(flow);
	}
	cr_assert_eq(flow->completed, flow->posted, "%lu requests never completed", flow->posted - flow->completed);
}

void flow_close(struct flow *flow)
{
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(uroce_qp_destroy(flow->qps[i]), 0);
		cr_assert_eq(uroce_cq_destroy(flow->cqs[i]), 0);
	}
}

uint64_t flow_counter(const struct flow *flow, int end, const char *name)
{
	struct uroce_stats stats;

	cr_assert_geq(uroce_counter_find(name), 0, "%s", name);
	cr_assert_eq(uroce_qp_stats(flow->qps[end], &stats), 0);
	return stats.values[uroce_counter_find(name)];
}
