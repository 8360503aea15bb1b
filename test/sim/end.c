/* end.c - memory, regions and QPs of an end */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "places.h"
#include "rc/codes.h"
#include "sim/app.h"
#include "sim/end.h"
#include "sim/model.h"
#include "sim/network.h"
#include "sim/oracle.h"
#include "sim/slow.h"

#define INLINE_BYTES 128u
#define REMOTE                                                                               \
	(UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC | \
	 UROCE_ACCESS_FLUSH_GLOBAL | UROCE_ACCESS_FLUSH_PERSISTENT)

/* ---- memory ---- */

static void make_regions(struct sim_world *world, struct sim_region *region, uint32_t node, uint32_t pd)
{
	int error;
	uint32_t access = region->access | (region->zero_based ? UROCE_ACCESS_ZERO_BASED : 0);

	region->key = rc_mr_insert(&world->nodes[node].mrs, pd, world->memory->real + region->at, region->bytes, access,
				   &error);
	region->told = region->key;
	if (region->key == 0)
		sim_world_fail(world, "a region of %u bytes is refused: %d", region->bytes, error);
}

static bool take_region(struct sim_world *world, struct sim_region *region, uint32_t bytes, uint32_t access)
{
	region->bytes = bytes;
	region->access = access;
	region->zero_based = world->config.zero_based;
	return sim_memory_take(world->memory, bytes, &region->at);
}

static void cut_receives(struct sim_receives *receives, uint32_t slot)
{
	for (uint32_t i = 0; i < SIM_RECEIVES_MAX; i++)
		receives->items[i] = (struct sim_receive){
			.buffer = { .count = 2,
				    .at = { receives->region.at + i * slot, receives->region.at + i * slot + 48 },
				    .bytes = { 40, slot - 64 - 40 } },
		};
}

bool sim_end_prepare_node(struct sim_world *world, uint32_t index)
{
	struct sim_node *node = &world->nodes[index];
	struct sim_random random = random_stream(world->options->seed, STREAM_HOST, index);
	uint32_t entries = world->config.connections * 2 * 8;
	struct rc_permute24 space;
	uint64_t bytes;
	void *memory;

	for (uint32_t i = 0; i < PERMUTE24_ROUNDS; i++)
		space.secret[i] = random_next(&random);
	rc_mr_table_init(&node->mrs, calloc(entries, sizeof(struct rc_mr_entry)), entries, &space);
	node->clock_ns = random_below(&random, 1000000000);
	if (!sim_memory_take(world->memory, SIM_WORDS * 8, &node->words_at))
		return false;
	if (!world->config.srq)
		return true;
	if (!take_region(world, &node->shared.region, SIM_RECEIVES_MAX * sim_app_slot_bytes(world),
			 UROCE_ACCESS_LOCAL_WRITE))
		return false;
	make_regions(world, &node->shared.region, index, 1);
	cut_receives(&node->shared, sim_app_slot_bytes(world));
	bytes = (rc_srq_bytes(world->config.receives, MEMORY_PIECES) + 63) & ~63ull;
	memory = aligned_alloc(64, bytes);
	memset(memory, 0, bytes);
	node->srq = rc_srq_init(memory, world->config.receives, MEMORY_PIECES, NULL);
	return true;
}

bool sim_end_prepare(struct sim_world *world, struct sim_end *end)
{
	uint32_t slot = sim_app_slot_bytes(world), source = slot, target = slot, landing = slot, other = slot;
	struct sim_region *regions[] = { &end->source, &end->target, &end->landing, &end->own.region };

	if (world->config.only_reads || world->config.only_writes) {
		bool first = !(end->index & 1);

		other = SIM_UNUSED_BYTES;
		target = first ? SIM_UNUSED_BYTES : slot;
		source = first && world->config.only_writes ? slot : SIM_UNUSED_BYTES;
		landing = first && world->config.only_reads ? slot : SIM_UNUSED_BYTES;
	}

	end->pd = world->config.shared_pd || world->config.srq ? 1 : end->index + 1;
	end->qpn = sim_network_qpn(end->index);
	end->timer_ns = RC_NEVER;
	if (!take_region(world, &end->source, world_sources(world) * source, 0) ||
	    !take_region(world, &end->target, world_targets(world) * target,
			 REMOTE | UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_MW_BIND) ||
	    !take_region(world, &end->landing, world_landings(world) * landing, UROCE_ACCESS_LOCAL_WRITE) ||
	    !take_region(world, &end->own.region, SIM_RECEIVES_MAX * other, UROCE_ACCESS_LOCAL_WRITE))
		return false;
	for (uint32_t i = 0; i < sizeof(regions) / sizeof(regions[0]); i++)
		make_regions(world, regions[i], end->node, end->pd);
	cut_receives(&end->own, other);
	end->words = (struct sim_region){
		.at = world->nodes[end->node].words_at,
		.bytes = SIM_WORDS * 8,
		.access = REMOTE | UROCE_ACCESS_LOCAL_WRITE,
		.zero_based = world->config.zero_based,
	};
	make_regions(world, &end->words, end->node, end->pd);
	end->receives = world->config.srq ? &world->nodes[end->node].shared : &end->own;
	return true;
}

/* ---- a life ---- */

/*
 * Lives lie far apart in the space of PSNs. A packet of an earlier one that falls into the window would be believed,
 * and nothing in the protocol could tell (P-8): that is for random PSNs to prevent, not for this to find.
 */
static uint32_t draw_start_psn(struct sim_world *world, const struct sim_end *end)
{
	struct sim_random random = random_stream(world->options->seed, STREAM_CONNECT, end->index);
	uint32_t base = (uint32_t)random_below(&random, PSN_MASK + 1);
	uint32_t back = (uint32_t)random_below(&random, 200);

	if (random_chance(&random, world->config.start_near_wrap))
		base = (uint32_t)-back;
	return (base + end->life * 0x500000u) & PSN_MASK;
}

static void create(struct sim_world *world, struct sim_end *end)
{
	const struct sim_config *config = &world->config;
	struct rc_qp_config create = {
		.qpn = end->qpn,
		.pd = end->pd,
		.mrs = &world->nodes[end->node].mrs,
		.boards = &world->nodes[end->node].pool,
		.srq = world->nodes[end->node].srq,
		.context = end->index,
		.max_send_wr = config->depth,
		.max_recv_wr = config->receives,
		.max_send_sge = MEMORY_PIECES,
		.max_recv_sge = MEMORY_PIECES,
		.max_inline_data = INLINE_BYTES,
		.max_dest_rd_atomic = config->dest_rd_atomic,
		.max_mtu_bytes = LIMIT_MTU_BYTES,
		.start_psn = 1,
		.line_mbps = config->marks || config->cc ?
				     (uint32_t)(8000000 / (config->byte_ps ? config->byte_ps : 80)) :
				     0,
		.sq_sig_all = config->signal_all,
	};
	uint64_t bytes = rc_qp_bytes(&create);
	void *memory;

	if (end->qp) /* it was reset: whatever it remembers of its last life is a fault */
		return;
	memory = aligned_alloc(64, bytes);
	memset(memory, 0, bytes);
	end->qp = rc_qp_init(memory, &create);
}

void sim_end_modify(struct sim_world *world, struct sim_end *end, const struct uroce_qp_attr *attr, uint32_t mask)
{
	uint32_t bad = 0;

	if (rc_qp_modify(end->qp, attr, mask, &bad) != 0)
		sim_world_fail(world, "QP %u: modify to state %d refuses attribute %#x", end->index, attr->qp_state,
			       bad);
	sim_world_note(world, end->index, 0xF0, mask);
}

static struct uroce_qp_attr attributes(struct sim_world *world, const struct sim_end *end)
{
	const struct sim_config *config = &world->config;
	const struct sim_end *peer = world_peer(world, end);

	return (struct uroce_qp_attr){
		.access_flags = REMOTE,
		.path_mtu = config->mtu,
		.dest_qp_num = peer->qpn,
		.rq_psn = peer->start_psn,
		.sq_psn = end->start_psn,
		.max_rd_atomic = config->rd_atomic,
		.max_dest_rd_atomic = config->dest_rd_atomic,
		.min_rnr_timer = config->rnr_timer,
		.timeout = config->timeout,
		.retry_cnt = config->retry_cnt,
		.rnr_retry = config->rnr_retry,
		.flow_control = config->credits,
		.imprecise_errors = config->imprecise,
		.no_probe = config->no_probe,
		.cc = (enum uroce_cc)config->cc,
		.sack_window = end->plain ? 0 : config->window,
		.paths = !end->plain ? config->paths : 0,
		.read_repair = config->any_order ? UROCE_READ_REPAIR_ANY_ORDER : config->repair,
		.path = { .source = sim_network_address(world, end->node, 0),
			  .dest = sim_network_address(world, peer->node, 0),
			  .traffic_class = config->cc == UROCE_CC_DCQCN ? uroce_traffic_class(0, UROCE_ECN_ECT0) : 0 },
	};
}

static void start_life(struct sim_world *world, struct sim_end *end)
{
	struct sim_region *regions[] = { &end->source, &end->target, &end->landing, &end->own.region };

	end->over = false;
	create(world, end);
	sim_model_reset(end); /* what is counted goes on */
	if (world->config.window && !end->plain)
		end->model.kept = calloc(KEPT_SPAN, sizeof(uint64_t));
	memcpy(end->model.counts, end->qp->counters, sizeof(end->model.counts));
	end->model.counts[CNT_RETRANSMITTED_PACKETS] +=
		end->qp->counters[CNT_RNR_RESENT_PACKETS] + end->qp->counters[CNT_EARLY_PROBES] +
		end->qp->counters[CNT_SACK_PROBES] + end->qp->counters[CNT_DEFERRED_ACKREQS] +
		end->qp->counters[CNT_KEEPALIVES];
	end->model.migrations = end->qp->migration.count;
	for (uint32_t i = 0; i < sizeof(regions) / sizeof(regions[0]); i++) {
		if (regions[i]->key == 0)
			make_regions(world, regions[i], end->node, end->pd);
	}
	end->posted = end->completed = end->retired = end->receives_done = end->landing_used = 0;
	end->next_psn = 0;
	end->cq_head = end->cq_tail = 0;
	end->send_failed = end->recv_failed = end->failed = end->drain_asked = end->drained = end->fatal_event =
		end->established = false;
	end->bytes_in = end->sack_bytes = 0;
	end->troubles = end->all_troubles = end->stalls = 0;
	end->last_progress_ns = end->told_ns = world->now_ns;
	end->timer_ns = RC_NEVER;
	end->app_due = end->poll_due = false;
	end->own.posted = end->own.taken = 0;
	for (uint32_t i = 0; i < SIM_RECEIVES_MAX; i++)
		end->own.items[i].busy = false;
	end->window = end->window_key = rc_mr_insert_window(&world->nodes[end->node].mrs, end->pd, MR_WINDOW_2);
	end->window_state = WINDOW_FREE;
	end->window_valid = false;
}

/* Is SQ_PSN set with RTR? rdma_cm does that, a program with ibv_modify_qp() does not. */
static bool draw_knows_psn(const struct sim_world *world, const struct sim_end *end)
{
	struct sim_random random = random_stream(world->options->seed, STREAM_PSN, end->index);

	return world->options->steady || random_below(&random, 2);
}

void sim_end_open(struct sim_world *world, uint32_t index)
{
	struct sim_connection *connection = &world->connections[index];
	struct sim_random random = random_stream(world->options->seed, STREAM_CONNECT, index << 8 | connection->lives);

	connection->open = true;
	connection->lives++;
	connection->arms = 0;
	for (uint32_t i = 0; i < 2; i++)
		world->ends[2 * index + i].start_psn = draw_start_psn(world, &world->ends[2 * index + i]);
	for (uint32_t i = 0; i < 2; i++) {
		struct sim_end *end = &world->ends[2 * index + i];
		struct uroce_qp_attr attr;

		start_life(world, end);
		end->knows_psn = draw_knows_psn(world, end);
		attr = attributes(world, end);
		attr.qp_state = UROCE_QPS_INIT;
		sim_end_modify(world, end, &attr, UROCE_QP_STATE | UROCE_QP_ACCESS_FLAGS);
		attr.qp_state = UROCE_QPS_RTR;
		sim_end_modify(world, end, &attr,
			       UROCE_QP_STATE | UROCE_QP_PATH | UROCE_QP_PATH_MTU | UROCE_QP_DEST_QPN |
				       UROCE_QP_RQ_PSN | UROCE_QP_MAX_DEST_RD_ATOMIC | UROCE_QP_MIN_RNR_TIMER |
				       UROCE_QP_FLOW_CONTROL | UROCE_QP_SACK_WINDOW | UROCE_QP_PATHS |
				       (world->config.cc ? UROCE_QP_CC : 0) | (end->knows_psn ? UROCE_QP_SQ_PSN : 0));
		sim_agenda_add(&world->agenda, (struct sim_due){
						       .when_ns = world->now_ns + random_below(&random, 100000),
						       .kind = DUE_READY,
						       .whom = end->index,
						       .life = end->life,
					       });
	}
}

void sim_end_ready(struct sim_world *world, struct sim_end *end)
{
	struct uroce_qp_attr attr = attributes(world, end);

	if (end->qp->state != UROCE_QPS_RTR)
		return;
	attr.qp_state = UROCE_QPS_RTS;
	sim_end_modify(world, end, &attr,
		       UROCE_QP_STATE | UROCE_QP_TIMEOUT | UROCE_QP_RETRY_CNT | UROCE_QP_RNR_RETRY |
			       UROCE_QP_MAX_RD_ATOMIC | UROCE_QP_SQ_PSN | UROCE_QP_IMPRECISE_ERRORS |
			       UROCE_QP_NO_PROBE | UROCE_QP_READ_REPAIR);
	sim_world_wake_app(world, end, end->begins_ns > world->now_ns ? end->begins_ns - world->now_ns : 0);
	sim_world_wake(world, end, 0);
}

void sim_end_settle(struct sim_world *world, struct sim_end *end)
{
	bool more = true;

	end->poll_state = end->qp->state;
	for (uint32_t i = 0; more && i < 1000 && !world->failed; i++) {
		outbox_reset(&world->out);
		places_give(&world->out, OUTBOX_PACKETS);
		more = rc_qp_transmit(end->qp, world_clock(world, end), &world->out);
		sim_model_polled(world, end);
		/* They go nowhere, and are judged all the same. */
		for (uint32_t k = 0; k < world->out.packet_count; k++) {
			const struct wire_packet packet = places_packet(&world->out, k);

			sim_model_sent(world, end, &packet);
		}
		sim_world_take_outbox(world, end);
	}
	if (more)
		sim_world_fail(world, "QP %u: has never done with sending", end->index);
}

void sim_end_forget_messages(struct sim_end *end)
{
	for (uint32_t i = 0; i < end->posted; i++) {
		free(end->messages[i].data);
		free(end->messages[i].came);
	}
	free(end->model.parts);
	end->model.parts = NULL;
	free(end->model.kept);
	end->model.kept = NULL;
	end->model.part_count = 0;
	end->posted = 0;
}

/* The entry of a shared queue that a message was using comes to nobody any more. */
static void return_receive(struct sim_end *end)
{
	const struct rc_recv_wqe *wqe;

	if (end->receives == &end->own || end->qp == NULL)
		return;
	/* Completions that nobody has polled. */
	for (uint32_t i = end->cq_head; i != end->cq_tail; i++) {
		if (end->cq[i % SIM_CQ_ENTRIES].opcode & UROCE_WC_RECV)
			sim_app_receive_back(end, (uint32_t)end->cq[i % SIM_CQ_ENTRIES].wr_id, 0);
	}
	wqe = recvq_peek(&end->qp->recvq);
	if (wqe)
		sim_app_receive_back(end, (uint32_t)wqe->wr_id, 0);
}

/* What a QP holds is given back, and its life is over. */
static void end_life(struct sim_world *world, struct sim_end *end)
{
	if (end->over)
		return;
	end->over = true;
	return_receive(end);
	sim_app_share_receives(world, end);
	if (rc_mr_remove_window(&world->nodes[end->node].mrs, end->window) != 0)
		sim_world_fail(world, "QP %u: its window is gone", end->index);
	end->life++;
}

void sim_end_destroy(struct sim_world *world, struct sim_end *end)
{
	if (end->qp == NULL)
		return;
	end_life(world, end);
	for (uint32_t i = 0; i < CNT_QP_COUNTERS; i++)
		world->tally[i] += end->qp->counters[i];
	rc_qp_return_boards(end->qp);
	free(end->qp);
	end->qp = NULL;
}

void sim_end_reset(struct sim_world *world, struct sim_end *end)
{
	end_life(world, end);
	end->failed = true;
	sim_end_modify(world, end, &(struct uroce_qp_attr){ .qp_state = UROCE_QPS_RESET }, UROCE_QP_STATE);
	if (rc_qp_deadline(end->qp) != RC_NEVER)
		sim_world_fail(world, "QP %u: a timer runs in RESET", end->index);
}

void sim_end_close(struct sim_world *world, uint32_t index)
{
	struct sim_connection *connection = &world->connections[index];

	for (uint32_t i = 0; i < 2; i++) {
		struct sim_end *end = &world->ends[2 * index + i];

		if (end->qp && end->qp->state == UROCE_QPS_RESET)
			continue;
		if (end->qp && end->qp->state != UROCE_QPS_ERR) {
			end->failed = true; /* by software */
			sim_end_modify(world, end, &(struct uroce_qp_attr){ .qp_state = UROCE_QPS_ERR },
				       UROCE_QP_STATE);
		}
		if (end->qp)
			sim_end_settle(world, end);
	}
	for (uint32_t i = 0; i < 2; i++) {
		struct sim_end *end = &world->ends[2 * index + i];

		sim_oracle_close(world, end);
		if (end->qp && world->config.reuse && connection->lives < world->config.lives)
			sim_end_reset(world, end);
		else
			sim_end_destroy(world, end);
	}
	for (uint32_t i = 0; i < 2; i++)
		sim_slow_drop(world, &world->ends[2 * index + i]);
	for (uint32_t i = 0; i < 2; i++)
		sim_end_forget_messages(&world->ends[2 * index + i]);
	connection->open = connection->closing = false;
	for (uint32_t i = 0; i < 2; i++) {
		if (connection->lives >= world->config.lives)
			world->ends[2 * index + i].quota = 0;
	}
}
