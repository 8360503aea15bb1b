/* setup.c - creates the memory, regions, queues and queue pairs of a case, and connects them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/setup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "common/eal.h"
#include "perf/keys.h"
#include "common/pattern.h"
#include "perf/receive.h"
#include "perf/report.h"

/* how long to wait for QP numbers, which are in time-wait for a shorter time after a QP was destroyed */
#define CREATE_WAIT_MS 2000u
#define CQ_DEPTH_MAX (1u << 20)
#define QPS_PER_POLL 256u
#define IDLE_DEPTH 16u
#define IDLE_OUTS 4u
#define RNR_RETRIES 7 /* without limit */
#define PEERS_MAY                                                                            \
	(UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC | \
	 UROCE_ACCESS_FLUSH_GLOBAL | UROCE_ACCESS_FLUSH_PERSISTENT)

static uint32_t cq_depth(uint64_t entries)
{
	uint64_t wanted = entries + 64;

	return wanted > CQ_DEPTH_MAX ? CQ_DEPTH_MAX : (uint32_t)wanted;
}

/* Memory is allocated when it is touched, so the areas that an end does not use cost nothing. */
static int create_memory(struct perf_end *end)
{
	size_t bytes = end->layout.total_bytes + 4096;

	end->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (end->memory == MAP_FAILED) {
		end->memory = NULL;
		return -ENOMEM;
	}
	madvise(end->memory, bytes, MADV_HUGEPAGE);
	return uroce_mr_reg(end->pd, end->memory, end->layout.total_bytes,
			    UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_MW_BIND | PEERS_MAY, &end->mr);
}

/* Fills the bytes that requests send and that a READ of the peer finds. */
static void fill_memory(struct perf_end *end)
{
	const struct perf_layout *layout = &end->layout;
	uint32_t size = end->test.size_bytes;
	uint32_t flows = layout->source_stride ? end->test.qps : 1;

	for (uint32_t flow = 0; flow < flows && !perf_ops[end->test.op].atomic; flow++) {
		for (uint32_t slot = 0; slot < layout->source_slots && end->requests; slot++)
			app_pattern_fill(end_source(end, flow, slot), size, 0);
		for (uint32_t slot = 0; slot < layout->target_slots && end->responds && end->test.op == PERF_READ;
		     slot++)
			app_pattern_fill(end_target(end, flow, slot), size, pattern_key(end->way, flow, slot));
	}
}

/* Creates a QP. Tries for a while, because after many short cases all QP numbers may be in time-wait. */
static int create_when_possible(struct perf_end *end, const struct uroce_qp_init_attr *init, struct uroce_qp **qp)
{
	int error = uroce_qp_create(end->pd, init, qp);

	for (unsigned ms = 0; error == -ENOSPC && ms < CREATE_WAIT_MS; ms++) {
		rte_delay_us_sleep(1000);
		uroce_lcore_poll(end->lcore);
		error = uroce_qp_create(end->pd, init, qp);
	}
	return error;
}

/* Polls now and then while many queue pairs are created, so that the connection to the other process stays alive. */
static void poll_now_and_then(struct perf_end *end, uint32_t index)
{
	if (index % QPS_PER_POLL == QPS_PER_POLL - 1)
		uroce_lcore_poll(end->lcore);
}

static int create_idle(struct perf_end *end, uint32_t index)
{
	struct uroce_qp_init_attr init = {
		.send_cq = end->send_cq,
		.recv_cq = end->recv_cq,
		.max_send_wr = IDLE_DEPTH,
		.max_recv_wr = IDLE_DEPTH,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_dest_rd_atomic = IDLE_OUTS,
	};

	poll_now_and_then(end, index);
	return create_when_possible(end, &init, &end->idle[index]);
}

/* What an end has outstanding on a queue pair: its requests, WRITEs before FLUSHes, and binds of windows. */
static uint32_t send_depth(const struct perf_end *end)
{
	uint32_t requests = end->layout.depth * (end->lead_wrs ? 2 : 1);

	if (!perf_ops[end->test.op].invalidates)
		return requests;
	return (end->requests ? requests : 0) + (end->responds ? end->layout.rx_depth : 0);
}

static int create_qp(struct perf_end *end, uint32_t index)
{
	struct uroce_qp_init_attr init = {
		.send_cq = end->send_cq,
		.recv_cq = end->recv_cq,
		.qp_context = index,
		.max_send_wr = send_depth(end),
		.max_recv_wr = end->srq ? 0 : end->layout.rx_depth,
		.srq = end->srq,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_inline_data = end->test.inline_bytes,
		.max_dest_rd_atomic = end->test.outs,
	};

	poll_now_and_then(end, index);
	return create_when_possible(end, &init, &end->flows[index].qp);
}

#define ARRAY(member, count)                                          \
	{                                                             \
		(void **)&end->member, (count) * sizeof(*end->member) \
	}

/* Allocates the arrays of a case, with zeros; or frees them. An array of no elements stays NULL. */
static int set_arrays(struct perf_end *end, bool wanted)
{
	const struct perf_layout *layout = &end->layout;
	uint32_t flushes = perf_ops[end->test.op].flushes ? layout->depth : 0;
	uint32_t windows = end->responds ? perf_case_windows(&end->test) : 0;
	const struct {
		void **at;
		size_t bytes;
	} arrays[] = {
		ARRAY(flows, end->test.qps),        ARRAY(idle, end->test.idle),
		ARRAY(send_wrs, layout->depth),     ARRAY(send_sges, layout->depth),
		ARRAY(lead_wrs, flushes),           ARRAY(recv_wrs, layout->rx_depth),
		ARRAY(recv_sges, layout->rx_depth), ARRAY(windows, windows),
		ARRAY(window_keys, windows),        ARRAY(bind_wrs, windows ? layout->rx_depth : 0),
	};
	int error = 0;

	for (size_t i = 0; i < RTE_DIM(arrays); i++) {
		size_t bytes = wanted ? RTE_ALIGN(arrays[i].bytes, _Alignof(struct perf_flow)) : 0;

		free(*arrays[i].at);
		*arrays[i].at = bytes ? aligned_alloc(_Alignof(struct perf_flow), bytes) : NULL;
		if (*arrays[i].at)
			memset(*arrays[i].at, 0, bytes);
		else if (bytes)
			error = -ENOMEM;
	}
	return error;
}

/* Makes the request a WRITE, with a FLUSH of the same bytes behind it. */
static void put_write_before(struct perf_end *end, uint32_t slot)
{
	struct uroce_send_wr *flush = &end->send_wrs[slot], *lead = &end->lead_wrs[slot];

	*lead = *flush;
	lead->next = flush;
	lead->opcode = UROCE_WR_RDMA_WRITE;
	lead->send_flags &= ~(uint32_t)UROCE_SEND_SIGNALED;
	flush->next = &end->lead_wrs[(slot + 1) % end->layout.depth];
	flush->num_sge = 0;
	flush->send_flags &= ~(uint32_t)UROCE_SEND_INLINE;
	flush->flush = UROCE_FLUSH_GLOBAL | UROCE_FLUSH_PERSISTENT;
	flush->flush_bytes = end->test.size_bytes;
}

/* Fills in requests and receives once; posting changes only what differs between messages. */
static void write_requests(struct perf_end *end)
{
	const struct perf_layout *layout = &end->layout;

	for (uint32_t i = 0; i < layout->depth; i++) {
		struct uroce_send_wr *wr = &end->send_wrs[i];
		bool signaled = (i + 1) % layout->interval == 0;

		end->send_sges[i] = (struct uroce_sge){
			.addr = (uintptr_t)end_source(end, 0, i),
			.length = end->test.size_bytes,
			.lkey = uroce_mr_lkey(end->mr),
		};
		*wr = (struct uroce_send_wr){
			.next = &end->send_wrs[(i + 1) % layout->depth],
			.wr_id = i,
			.sg_list = &end->send_sges[i],
			.num_sge = 1,
			.opcode = perf_ops[end->test.op].opcode,
			.send_flags =
				(signaled ? UROCE_SEND_SIGNALED : 0) | (end->test.inline_bytes ? UROCE_SEND_INLINE : 0),
			.remote_addr = end->peer.target + layout_target(layout, 0, i),
			.rkey = end->peer.rkey,
		};
		if (end->lead_wrs)
			put_write_before(end, i);
	}
	for (uint32_t i = 0; i < layout->rx_depth; i++) {
		end->recv_wrs[i] = (struct uroce_recv_wr){
			.next = &end->recv_wrs[(i + 1) % layout->rx_depth],
			.wr_id = i,
			.sg_list = &end->recv_sges[i],
			.num_sge = layout->inbox_slots ? 1 : 0,
		};
		if (layout->inbox_slots)
			end->recv_sges[i] = (struct uroce_sge){
				.addr = (uintptr_t)end_inbox(end, 0, i),
				.length = end->test.size_bytes,
				.lkey = uroce_mr_lkey(end->mr),
			};
	}
}

static int create_queues(struct perf_end *end)
{
	const struct perf_layout *layout = &end->layout;
	struct uroce_srq_attr shared = { .max_wr = layout->rx_depth, .max_sge = 1 };
	bool shares = end->test.use_srq && end->responds;
	uint64_t receives = shares ? layout->rx_depth : (uint64_t)layout->rx_depth * end->test.qps;
	int error =
		uroce_cq_create(end->port->device, cq_depth((uint64_t)send_depth(end) * end->test.qps), &end->send_cq);

	if (error == 0)
		error = uroce_cq_create(end->port->device, cq_depth(receives), &end->recv_cq);
	if (error == 0 && shares)
		error = uroce_srq_create(end->pd, &shared, &end->srq);
	return error;
}

static void describe(const struct perf_end *end, struct perf_peer *own)
{
	struct uroce_qp_attr attr;

	own->addr = end->port->addr;
	if (end->alternate)
		own->alternate = end->alternate->addr;
	own->window_count = end->windows ? perf_case_windows(&end->test) : 0;
	own->window_keys = end->window_keys;
	own->target = (uintptr_t)end->memory + end->layout.target_at;
	own->rkey = uroce_mr_rkey(end->mr);
	for (uint32_t i = 0; i < end->test.qps; i++) {
		own->qp_nums[i] = uroce_qp_num(end->flows[i].qp);
		own->psns[i] = uroce_qp_query(end->flows[i].qp, &attr) == 0 ? attr.sq_psn : 0;
	}
}

static void reset_run(struct perf_end *end)
{
	bool answers = end->test.both_ways || (end->test.mode == PERF_LAT && !perf_ops[end->test.op].fetches);

	end->requests = end->way == 0 || answers;
	end->awaits = op_is_round_trip(&perf_ops[end->test.op]);
	end->watches = perf_ops[end->test.op].silent && !end->awaits;
	end->responds = end->way == 1 || answers;
	memset((char *)end + offsetof(struct perf_end, phase), 0, sizeof(*end) - offsetof(struct perf_end, phase));
	if (end->latency)
		memset(end->latency, 0, sizeof(*end->latency));
}

int perf_setup_prepare(struct perf_end *end, const struct perf_case *test, struct perf_peer *own)
{
	int error;

	end->test = *test;
	perf_case_lay_out(test, &end->layout);
	reset_run(end);
	if (test->mode == PERF_LAT && end->latency == NULL)
		end->latency = calloc(1, sizeof(*end->latency));
	error = set_arrays(end, true);
	if (error == 0)
		error = create_memory(end);
	if (error == 0)
		error = create_queues(end);
	for (uint32_t i = 0; i < test->qps && error == 0; i++)
		error = create_qp(end, i);
	for (uint32_t i = 0; i < test->idle && error == 0; i++)
		error = create_idle(end, i);
	if (error == 0)
		error = perf_keys_create(end);
	if (error) {
		app_complain(APP_EXIT_ENVIRONMENT,
			     "cannot create %u queue pairs with %lu bytes of buffers (%s): use fewer queue pairs, a "
			     "smaller depth or smaller messages",
			     test->qps, (unsigned long)end->layout.total_bytes, strerror(-error));
		perf_setup_finish(end);
		return error;
	}
	fill_memory(end);
	describe(end, own);
	return 0;
}

/*
 * The path over the second link becomes the alternate path of every QP. Both ends set REARM, and their first packets
 * arm migration.
 */
static int arm_flow(struct perf_end *end, uint32_t index)
{
	struct uroce_qp_attr attr = {
		.alt_path = { .source = end->alternate->addr,
			      .dest = end->peer.alternate,
			      .device = end->alternate->device,
			      .traffic_class = (uint8_t)end->test.traffic_class },
		.alt_pkey = 0xFFFF,
		.alt_timeout = (uint8_t)end->test.timeout,
		.path_mig_state = UROCE_PATH_REARM,
	};

	return uroce_qp_modify(end->flows[index].qp, &attr, UROCE_QP_ALT_PATH | UROCE_QP_PATH_MIG_STATE, NULL);
}

static struct uroce_qp_attr connection(const struct perf_end *end, uint32_t index)
{
	return (struct uroce_qp_attr){
		.access_flags = PEERS_MAY,
		.path_mtu = end->test.mtu_bytes,
		.dest_qp_num = end->peer.qp_nums[index],
		.rq_psn = end->peer.psns[index],
		.max_rd_atomic = (uint8_t)end->test.outs,
		.max_dest_rd_atomic = (uint8_t)end->test.outs,
		.min_rnr_timer = (uint8_t)end->test.rnr_timer,
		.timeout = (uint8_t)end->test.timeout,
		.retry_cnt = (uint8_t)end->test.retries,
		.rnr_retry = RNR_RETRIES,
		.flow_control = end->test.flow_control,
		.read_repair = end->test.no_read_repair ? UROCE_READ_REPAIR_OFF : UROCE_READ_REPAIR_ANY_ORDER,
		.cc = (uint8_t)end->test.cc,
		.sack_window = end->test.sack_window ? (uint16_t)(128u << end->test.sack_window) : 0,
		.paths = end->test.sack_window ? (uint8_t)end->test.paths : 0,
		.path = { .source = end->port->addr,
			  .dest = end->peer.addr,
			  .traffic_class = (uint8_t)end->test.traffic_class },
	};
}

/* Nothing is ever sent on idle QPs, so the QP number at the peer does not matter. */
static int connect_idle(struct perf_end *end, uint32_t index)
{
	struct uroce_qp_attr attr = connection(end, 0);

	attr.max_rd_atomic = attr.max_dest_rd_atomic = IDLE_OUTS;
	return uroce_qp_connect(end->idle[index], &attr, NULL);
}

static int connect_flow(struct perf_end *end, uint32_t index)
{
	struct uroce_qp_attr attr = connection(end, index);
	int error = uroce_qp_connect(end->flows[index].qp, &attr, NULL);

	poll_now_and_then(end, index);
	if (error == 0 && end->alternate)
		error = arm_flow(end, index);
	if (error)
		perf_end_fail(end, "cannot connect QP 0x%06x: %s", uroce_qp_num(end->flows[index].qp),
			      app_reason_of(error));
	return error;
}

/*
 * Does this end ask its peer to check messages? Between two processes only the peer sees what has arrived, and a silent
 * operation gives the peer no completion. In lat mode the peer checks before it answers, unless the operation has no
 * message as its answer.
 */
static bool checks_are_asked_for(const struct perf_end *end)
{
	const struct perf_op_info *op = &perf_ops[end->test.op];

	return op->silent && end->test.verify && !end->other && (end->test.mode == PERF_BW || op_is_round_trip(op));
}

int perf_setup_connect(struct perf_end *end, const struct perf_peer *peer)
{
	const struct perf_layout *layout = &end->layout;
	int error = app_check_peer("--ip", &end->port->addr, &peer->addr) ? -EINVAL : 0;

	end->peer = *peer;
	write_requests(end);
	for (uint32_t i = 0; i < end->test.qps && error == 0; i++) {
		struct perf_flow *flow = &end->flows[i];

		flow->goal = end->test.iterations ? end->test.iterations : UINT64_MAX;
		flow->limit = UINT64_MAX;
		if (checks_are_asked_for(end))
			flow->limit = layout->target_slots;
		error = connect_flow(end, i);
	}
	if (error == 0)
		error = perf_keys_bind_all(end);
	for (uint32_t i = 0; i < end->test.qps && error == 0 && end->responds && perf_ops[end->test.op].receives; i++)
		error = perf_receive_post(end, i);
	for (uint32_t i = 0; i < end->test.idle && error == 0; i++)
		error = connect_idle(end, i);
	end->peer.qp_nums = end->peer.psns = NULL;
	return error;
}

int perf_setup_connect_both(struct perf_end *ends, const struct perf_case *test)
{
	uint32_t *numbers = calloc(4ul * test->qps, sizeof(*numbers));
	struct perf_peer peers[2];
	int error = numbers ? 0 : -ENOMEM;

	for (unsigned side = 0; side < 2 && error == 0; side++) {
		peers[side].qp_nums = &numbers[2 * side * test->qps];
		peers[side].psns = peers[side].qp_nums + test->qps;
		ends[side].other = &ends[!side];
		error = perf_setup_prepare(&ends[side], test, &peers[side]);
	}
	if (error == 0)
		perf_report_connection(test, &peers[0], &peers[1]);
	for (unsigned side = 2; side-- > 0 && error == 0;)
		error = perf_setup_connect(&ends[side], &peers[!side]);
	free(numbers);
	return error;
}

void perf_setup_finish(struct perf_end *end)
{
	for (uint32_t i = 0; i < end->test.qps && end->flows; i++) {
		if (end->flows[i].qp)
			uroce_qp_destroy(end->flows[i].qp);
	}
	for (uint32_t i = 0; i < end->test.idle && end->idle; i++) {
		if (end->idle[i])
			uroce_qp_destroy(end->idle[i]);
	}
	perf_keys_destroy(end);
	if (end->srq)
		uroce_srq_destroy(end->srq);
	if (end->send_cq)
		uroce_cq_destroy(end->send_cq);
	if (end->recv_cq)
		uroce_cq_destroy(end->recv_cq);
	if (end->mr)
		uroce_mr_dereg(end->mr);
	if (end->memory)
		munmap(end->memory, end->layout.total_bytes + 4096);
	set_arrays(end, false);
	end->send_cq = end->recv_cq = NULL;
	end->srq = NULL;
	end->mr = NULL;
	end->memory = NULL;
}
