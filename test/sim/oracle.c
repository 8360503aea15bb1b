/* oracle.c - judging completions, events, progress and leaks */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <string.h>

#include "rc/cc.h"
#include "rc/codes.h"
#include "sim/app.h"
#include "sim/model.h"
#include "sim/oracle.h"
#include "sim/trace.h"

#define SLACK_NS 50000000ull
#define FORGED_WAIT_NS 2000000000ull /* what a forged RNR NAK may ask for, and then some */

/* ---- completions ---- */

static bool peer_is_dead(const struct sim_world *world, const struct sim_end *end)
{
	const struct sim_end *peer = world_peer(world, end);

	return peer->qp == NULL || peer->qp->state == UROCE_QPS_ERR || peer->qp->state < UROCE_QPS_RTR ||
	       peer->failed || peer->over;
}

/* A request whose local key is wrong is posted and not yet completed (E-3 may report it on an earlier one). */
static bool bad_key_waits(const struct sim_world *world, const struct sim_end *end, uint32_t index)
{
	if (!world->config.imprecise)
		return end->messages[index].bad == BAD_LKEY;
	for (uint32_t i = index; i < end->posted; i++) {
		if (end->messages[i].bad == BAD_LKEY)
			return true;
	}
	return false;
}

/* A node that stood still a short while ago, perhaps when this life of the connection had not begun. */
static bool stood_still(const struct sim_world *world, const struct sim_end *end)
{
	uint64_t recent = (world->config.retry_cnt + 1) * 4 * rc_codes_timeout_ns(world->config.timeout);
	uint64_t ours = world->nodes[end->node].paused_until_ns;
	uint64_t theirs = world->nodes[world_peer(world, end)->node].paused_until_ns;

	return (ours && ours + recent > world->now_ns) || (theirs && theirs + recent > world->now_ns);
}

/* A lost answer from memory that is no longer registered: its repeats are dropped without a NAK (K-RULE). */
static bool is_never_answered(const struct sim_world *world, const struct sim_end *end,
			      const struct sim_message *message)
{
	return message_needs_answer(message) && message->rkey != world_peer(world, end)->target.key &&
	       message->rkey == world_peer(world, end)->target.told;
}

/* A READ so long that a copy of it is not sent twice while nothing is heard. */
static bool may_be_asked_about(const struct sim_world *world, const struct sim_message *message)
{
	return message->opcode == UROCE_WR_RDMA_READ && !world->config.no_probe && message->packets > CC_LEAST;
}

/* Is there a reason for the first failed request of a queue? Without one it was a budget spent wrongly. */
static bool has_reason(const struct sim_world *world, const struct sim_end *end, uint32_t index,
		       const struct uroce_wc *wc)
{
	const struct sim_message *message = &end->messages[index];
	const struct sim_node *node = &world->nodes[end->node];
	uint32_t retries = world->config.retry_cnt, rnr_retries = world->config.rnr_retry;
	bool asked = end->failed || end->model.fatal;

	switch ((enum uroce_wc_status)wc->status) {
	case UROCE_WC_WR_FLUSH_ERR:
		return asked;
	case UROCE_WC_RETRY_EXC_ERR:
		/* N + 1 failures without progress between them; a fault from before the last progress may be one. */
		/*
		 * N means N: the packet left N + 1 times, or what lies behind it was asked for, while the answers of a
		 * READ were still on their way; a long READ may have been asked about instead. What was to leave when
		 * the node stood still counts as well.
		 */
		if (end->model.attempts + end->model.naks_behind + (node->paused_until_ns == world->now_ns) +
			    (may_be_asked_about(world, message) ? end->model.asks : 0) <
		    retries + 1)
			return false;
		return peer_is_dead(world, end) || stood_still(world, end) || is_never_answered(world, end, message) ||
		       (retries < 2 ? end->all_troubles > 0 : end->troubles >= retries - 1);
	case UROCE_WC_RNR_RETRY_EXC_ERR:
		return rnr_retries < 7 && end->model.rnr_naks > rnr_retries;
	case UROCE_WC_REM_ACCESS_ERR:
		return end->model.nak_code == NAK_REMOTE_ACCESS &&
		       (message->bad == BAD_RKEY || message->bad == BAD_RANGE ||
			message->rkey != world_peer(world, end)->target.key);
	case UROCE_WC_REM_INV_REQ_ERR:
		return end->model.nak_code == NAK_INVALID_REQUEST && message->bad == BAD_LENGTH;
	case UROCE_WC_REM_OP_ERR:
		return end->model.nak_code == NAK_REMOTE_OPERATIONAL && world_peer(world, end)->own.region.key == 0;
	case UROCE_WC_LOC_PROT_ERR:
		return bad_key_waits(world, end, index) || end->landing.key == 0 || end->source.key == 0;
	case UROCE_WC_MW_BIND_ERR:
		return end->target.key == 0; /* deregistered meanwhile */
	case UROCE_WC_SUCCESS:
	case UROCE_WC_LOC_LEN_ERR:
	case UROCE_WC_LOC_QP_OP_ERR:
	case UROCE_WC_LOC_EEC_OP_ERR:
	case UROCE_WC_BAD_RESP_ERR:
	case UROCE_WC_LOC_ACCESS_ERR:
	case UROCE_WC_STATUSES:
		break;
	}
	return false;
}

static void check_success(struct sim_world *world, struct sim_end *end, uint32_t index, const struct uroce_wc *wc)
{
	const struct sim_message *message = &end->messages[index];
	bool tainted = world_connection(world, end)->tainted;

	if (end->send_failed)
		sim_world_fail(world, "QP %u: request %u succeeds after an error", end->index, index);
	if (!message->signaled)
		sim_world_fail(world, "QP %u: request %u completes, which it did not ask for", end->index, index);
	if (wc->byte_len != message->bytes)
		sim_world_fail(world, "QP %u: request %u tells %u bytes, not %u", end->index, index, wc->byte_len,
			       message->bytes);
	world->successes++;
	world->bytes_done += message->bytes;
	if (tainted || message->local)
		return;
	if (end->model.snd_una < message->first + message->packets)
		sim_world_fail(world, "QP %u: request %u completes before it was answered", end->index, index);
	if (message->landing != SIM_NONE &&
	    sim_memory_compare_part(world->memory, &message->buffer, 0, message->bytes) != UINT64_MAX)
		sim_world_fail(world, "QP %u: the data of request %u is wrong", end->index, index);
}

static void check_failure(struct sim_world *world, struct sim_end *end, uint32_t index, const struct uroce_wc *wc)
{
	bool flushed = wc->status == UROCE_WC_WR_FLUSH_ERR;

	if (end->send_failed && !flushed)
		sim_world_fail(world, "QP %u: request %u fails with status %u after an error", end->index, index,
			       wc->status);
	if (!end->send_failed && !world_connection(world, end)->tainted && !has_reason(world, end, index, wc))
		sim_world_fail(world,
			       "QP %u: request %u fails with status %u, cause %u, for no reason (%u faults, %u RNR)",
			       end->index, index, wc->status, wc->vendor_err, end->troubles, end->model.rnr_naks);
	if (wc->vendor_err == UROCE_CAUSE_NONE)
		sim_world_fail(world, "QP %u: request %u fails without a cause", end->index, index);
	end->send_failed = true;
	end->model.counts[flushed ? CNT_REQ_CQE_FLUSH_ERROR : CNT_REQ_CQE_ERROR]++;
	world->flushes += flushed;
	world->errors += !flushed;
}

static void complete_request(struct sim_world *world, struct sim_end *end, const struct uroce_wc *wc)
{
	uint32_t index = (uint32_t)wc->wr_id;
	bool tainted = world_connection(world, end)->tainted;

	if (index < end->completed || index >= end->posted) {
		sim_world_fail(world, "QP %u: request %u completes, expected is %u ... %u", end->index, index,
			       end->completed, end->posted);
		return;
	}
	for (uint32_t i = end->completed; i < index; i++) {
		const struct sim_message *message = &end->messages[i];

		if (message->signaled)
			sim_world_fail(world, "QP %u: request %u completes before %u", end->index, index, i);
		else if (!tainted && !message->local && end->model.snd_una < message->first + message->packets)
			sim_world_fail(world, "QP %u: request %u has vanished", end->index, i);
	}
	if (wc->status == UROCE_WC_SUCCESS)
		check_success(world, end, index, wc);
	else
		check_failure(world, end, index, wc);
	end->completed = index + 1;
	if (world->now_ns >= world->config.dead_ns && world->now_ns - world->completed_ns > world->longest_ns)
		world->longest_ns = world->now_ns - world->completed_ns;
	end->last_progress_ns = world->completed_ns = world->now_ns;
}

/* What arrived, as the completion tells it (S-16). */
static void check_received(struct sim_world *world, struct sim_end *end, const struct uroce_wc *wc)
{
	struct sim_model *model = &end->model;
	const struct sim_end *peer = world_peer(world, end);
	const struct sim_message *message = model->message > 0 ? &peer->messages[model->message - 1] : NULL;
	const struct sim_receive *item = &end->receives->items[model->held];
	bool immediate, invalid;

	if (!model->receive_done || message == NULL || item->index != (uint32_t)wc->wr_id) {
		sim_world_fail(world, "QP %u: receive %u completes, which no message has used up", end->index,
			       (uint32_t)wc->wr_id);
		return;
	}
	immediate = message->opcode == UROCE_WR_SEND_WITH_IMM || message->opcode == UROCE_WR_RDMA_WRITE_WITH_IMM;
	invalid = message->opcode == UROCE_WR_SEND_WITH_INV;
	model->receive_done = model->holds = false;
	if (wc->byte_len != message->bytes || wc->src_qp != peer->qpn ||
	    (bool)(wc->wc_flags & UROCE_WC_WITH_IMM) != immediate ||
	    (immediate && ntohl(wc->imm_data) != message->imm) || (bool)(wc->wc_flags & UROCE_WC_WITH_INV) != invalid ||
	    (invalid && wc->invalidated_rkey != message->rkey) ||
	    (bool)(wc->wc_flags & UROCE_WC_SOLICITED) != (bool)(message->flags & UROCE_SEND_SOLICITED))
		sim_world_fail(world, "QP %u: receive %u tells the wrong length, immediate, key, source or flag",
			       end->index, (uint32_t)wc->wr_id);
	if (message_is_send(message) &&
	    sim_memory_compare_part(world->memory, &item->buffer, 0, message->bytes) != UINT64_MAX)
		sim_world_fail(world, "QP %u: the data of receive %u is wrong", end->index, (uint32_t)wc->wr_id);
}

static void complete_receive(struct sim_world *world, struct sim_end *end, const struct uroce_wc *wc)
{
	bool tainted = world_connection(world, end)->tainted;
	bool flushed = wc->status == UROCE_WC_WR_FLUSH_ERR;

	if (end->receives == &end->own && (uint32_t)wc->wr_id != end->receives_done)
		sim_world_fail(world, "QP %u: receive %u completes, expected is %u", end->index, (uint32_t)wc->wr_id,
			       end->receives_done);
	end->receives_done++;
	if (wc->status == UROCE_WC_SUCCESS) {
		if (end->recv_failed)
			sim_world_fail(world, "QP %u: a receive succeeds after an error", end->index);
		if (!tainted)
			check_received(world, end, wc);
		return;
	}
	if (end->recv_failed && !flushed)
		sim_world_fail(world, "QP %u: a receive fails with status %u after an error", end->index, wc->status);
	if (!flushed && !tainted && !end->model.fatal)
		sim_world_fail(world, "QP %u: a receive fails with status %u for no reason", end->index, wc->status);
	end->recv_failed = true;
	end->model.counts[flushed ? CNT_RESP_CQE_FLUSH_ERROR : CNT_RESP_CQE_ERROR]++;
	if (end->model.holds && end->receives->items[end->model.held].index == (uint32_t)wc->wr_id)
		end->model.holds = false;
}

void sim_oracle_completion(struct sim_world *world, struct sim_end *end, const struct uroce_wc *wc)
{
	bool shared = (wc->opcode & UROCE_WC_RECV) && end->receives != &end->own;

	sim_trace_completion(world, end, wc);
	if (wc->qp_num != end->qpn || wc->qp_context != end->index || wc->wr_id >> 40 != (shared ? 0 : end->life))
		sim_world_fail(world, "QP %u: a completion of another QP, or of an earlier life", end->index);
	else if (wc->status != UROCE_WC_SUCCESS && end->qp->state != UROCE_QPS_ERR)
		sim_world_fail(world, "QP %u: an error completes before the QP is in ERR", end->index);
	else if (wc->opcode & UROCE_WC_RECV)
		complete_receive(world, end, wc);
	else
		complete_request(world, end, wc);
	if (end->cq_tail - end->cq_head == SIM_CQ_ENTRIES)
		sim_world_fail(world, "QP %u: more completions than requests", end->index);
	else
		end->cq[end->cq_tail++ % SIM_CQ_ENTRIES] = *wc;
	sim_world_wake_app(world, end, world->config.app_ns);
}

/* ---- events (V-1) ---- */

/* M-4: once an arming, and only when fewer are left. */
static void limit_reached(struct sim_world *world, struct sim_end *end)
{
	struct sim_node *node = &world->nodes[end->node];
	uint32_t left = node->shared.posted - node->shared.taken;

	if (!node->limit_armed)
		sim_world_fail(world, "node %u: the limit of its receives is reached a second time", end->node);
	else if (left >= world->config.srq_limit && !world_connection(world, end)->tainted)
		sim_world_fail(world, "node %u: the limit is reached with %u receives left", end->node, left);
	node->limit_armed = false;
}

void sim_oracle_event(struct sim_world *world, struct sim_end *end, const struct uroce_event *event)
{
	sim_world_note(world, end->index, 0xE0, event->type);
	sim_trace_say(world, end, "** event %u", event->type);
	if (event->type != UROCE_EVENT_SRQ_LIMIT_REACHED && event->qp_context != end->index)
		sim_world_fail(world, "QP %u: an event of another QP", end->index);
	if (event->type == UROCE_EVENT_QP_FATAL || event->type == UROCE_EVENT_QP_REQ_ERR ||
	    event->type == UROCE_EVENT_QP_ACCESS_ERR) {
		if (end->fatal_event || end->qp->state != UROCE_QPS_ERR)
			sim_world_fail(world, "QP %u: a second event of its failure, or without one", end->index);
		end->fatal_event = true;
	} else if (event->type == UROCE_EVENT_SQ_DRAINED) {
		if (!end->drain_asked ||
		    (!world_connection(world, end)->tainted && end->model.snd_una != end->model.limit))
			sim_world_fail(world, "QP %u: SQ_DRAINED with requests under way", end->index);
		end->drained = true;
		sim_world_wake_app(world, end, world->config.app_ns);
	} else if (event->type == UROCE_EVENT_PATH_MIG) {
		end->model.counts[CNT_PATH_MIGRATIONS]++;
		sim_world_trouble(world, end, 100);
		sim_world_wake_app(world, end, world->config.app_ns);
	} else if (event->type == UROCE_EVENT_COMM_EST) {
		if (end->established)
			sim_world_fail(world, "QP %u: COMM_EST a second time", end->index);
		end->established = true;
	} else if (event->type == UROCE_EVENT_SRQ_LIMIT_REACHED) {
		limit_reached(world, end);
	} else if (event->type == UROCE_EVENT_ANOMALY) {
		/* Late frames of an earlier life look like guesses, too. */
		if (world->config.rates[FAULT_FORGE] == 0 && world->config.rates[FAULT_REPLAY] == 0 &&
		    world_connection(world, end)->lives == 1)
			sim_world_fail(world, "QP %u: an alarm, and nobody guesses", end->index);
	} else if (event->type == UROCE_EVENT_PATH_MIG_ERR) {
		sim_world_trouble(world, end, 1); /* what has raised it was dropped */
	} else if (event->type != UROCE_EVENT_QP_LAST_WQE_REACHED) {
		sim_world_fail(world, "QP %u: event %u", end->index, event->type);
	}
}

/* ---- at any time ---- */

/*
 * T-3, T-5: where the wire loses, doubles, damages and reorders nothing, nobody sees a loss, however slow a peer is, or
 * without receives, or whatever it says by itself.
 */
static void check_calm(struct sim_world *world, const struct sim_end *end)
{
	const uint64_t *counters = end->qp->counters,
		       *before = end->model.counts; /* this life: the model counts none */

	if (end->all_troubles > end->stalls || world_connection(world, end)->tainted)
		return;
	if (counters[CNT_IMPLIED_NAK_SEQ_ERR] > before[CNT_IMPLIED_NAK_SEQ_ERR] ||
	    counters[CNT_PACKET_SEQ_ERR] > before[CNT_PACKET_SEQ_ERR])
		sim_world_fail(world, "QP %u: a loss was seen, and nothing was lost", end->index);
}

void sim_oracle_check(struct sim_world *world, struct sim_end *end)
{
	const struct rc_qp *qp = end->qp;

	if (qp == NULL)
		return;
	if (qp->state == UROCE_QPS_ERR && !end->failed) {
		end->failed = true;
		sim_app_failed(world, end);
	}
	check_calm(world, end);
	if (qp->win.acked - qp->win.head > qp->win.tail - qp->win.head ||
	    qp->win.started - qp->win.acked > qp->win.tail - qp->win.acked)
		sim_world_fail(world, "QP %u: the indexes of the send window are out of order", end->index);
	if (sendwin_outstanding(&qp->win) > PSN_WINDOW)
		sim_world_fail(world, "QP %u: more than half of all PSNs are outstanding", end->index);
	if (qp->replay.unfinished > qp->replay.depth || qp->replay.used > qp->replay.limit)
		sim_world_fail(world, "QP %u: the replay cache holds more than its depth", end->index);
}

/* L1. */
static uint64_t patience_ns(const struct sim_world *world)
{
	const struct sim_config *config = &world->config;
	uint64_t budget = (config->retry_cnt + 1) * 4 * rc_codes_timeout_ns(config->timeout);
	uint64_t rnr = (config->rnr_retry == 7 ? 8 : config->rnr_retry + 1) * 2 * rc_codes_rnr_ns(config->rnr_timer);

	/* What an end that fails holds of a shared queue comes back when its connection is taken down. */
	if (config->srq)
		budget += 4 * (config->retry_cnt + 4) * rc_codes_timeout_ns(config->timeout);
	/* At the least rate requests wait until what a READ has asked for has passed at 1 Mbit/s (N-3). */
	if (config->marks || config->cc)
		budget += (uint64_t)config->max_packets * config->mtu * 8 * 1000;
	return budget + rnr + 4 * config->receive_delay_ns + 8 * (config->app_ns + config->delay_ns) + SLACK_NS;
}

void sim_oracle_watch(struct sim_world *world)
{
	for (uint32_t i = 0; world->faults.stopped && i < world->config.connections * 2; i++) {
		struct sim_end *end = &world->ends[i];
		uint64_t since = end->last_progress_ns;

		if (end->qp == NULL || end->over || end->completed == end->posted)
			continue;
		if (world->connections[i / 2].tainted && end->watched_una != end->qp->win.snd_una.v) {
			end->watched_una = end->qp->win.snd_una.v; /* which the model does not follow any more */
			end->last_progress_ns = since = world->now_ns;
		}
		if (since < world->stopped_ns)
			since = world->stopped_ns;
		if (since < end->post_ns)
			since = end->post_ns;
		if (world->connections[i / 2].tainted)
			since += FORGED_WAIT_NS;
		if (world->now_ns > since + patience_ns(world))
			sim_world_fail(world, "QP %u: request %u has made no progress for %lu ms", i, end->completed,
				       (world->now_ns - since) / 1000000);
	}
}

/* ---- at the end ---- */

/* What is counted must be what the trace says (S7). */
static void compare_counters(struct sim_world *world, const struct sim_end *end)
{
	static const enum rc_counter exact[] = {
		CNT_OUT_OF_SEQUENCE,
		CNT_DUPLICATE_REQUEST,
		CNT_OUT_OF_BUFFER,
		CNT_RX_SEND_REQUESTS,
		CNT_RX_WRITE_REQUESTS,
		CNT_RX_READ_REQUESTS,
		CNT_RX_ATOMIC_REQUESTS,
		CNT_RX_ATOMIC_WRITE_REQUESTS,
		CNT_RX_FLUSH_REQUESTS,
		CNT_REQ_CQE_ERROR,
		CNT_REQ_CQE_FLUSH_ERROR,
		CNT_RESP_CQE_ERROR,
		CNT_RESP_CQE_FLUSH_ERROR,
		CNT_GHOST_RESPONSE,
		CNT_STALE_RESPONSE,
		CNT_RESPONSE_AHEAD,
		CNT_AFTER_NAK,
		CNT_MIGRATION_REFUSED,
		CNT_PATH_MIGRATIONS,
		CNT_RESP_LOCAL_LENGTH_ERROR,
		CNT_RESP_REMOTE_ACCESS_ERRORS,
		CNT_RESP_REMOTE_INVALID_REQUEST,
		CNT_RESP_LOCAL_OPERATIONAL,
		CNT_RESERVED_SYNDROME,
	};
	uint64_t resent = end->qp->counters[CNT_RETRANSMITTED_PACKETS] + end->qp->counters[CNT_RNR_RESENT_PACKETS];

	resent += end->qp->counters[CNT_SACK_PROBES] + end->qp->counters[CNT_KEEPALIVES];
	if (resent + end->qp->counters[CNT_EARLY_PROBES] + end->qp->counters[CNT_DEFERRED_ACKREQS] !=
	    end->model.counts[CNT_RETRANSMITTED_PACKETS])
		sim_world_fail(world, "QP %u: %lu packets sent again and %lu probes are counted, the trace says %lu",
			       end->index, resent, end->qp->counters[CNT_EARLY_PROBES],
			       end->model.counts[CNT_RETRANSMITTED_PACKETS]);
	for (uint32_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++) {
		uint64_t counted = end->qp->counters[exact[i]], expected = end->model.counts[exact[i]];

		if (counted != expected)
			sim_world_fail(world, "QP %u: the counter %s is %lu, the trace says %lu", end->index,
				       rc_counters[exact[i]].name, counted, expected);
	}
}

static void check_leftovers(struct sim_world *world, const struct sim_end *end)
{
	const struct rc_qp *qp = end->qp;
	bool failed = qp->state == UROCE_QPS_ERR;

	for (uint32_t i = end->completed; i < end->posted; i++) {
		if (end->messages[i].signaled || (!failed && !end->messages[i].local))
			sim_world_fail(world, "QP %u: request %u has never completed", end->index, i);
	}
	if (failed && end->receives == &end->own && end->receives_done != end->own.posted)
		sim_world_fail(world, "QP %u: %u receives of %u have completed", end->index, end->receives_done,
			       end->own.posted);
	if (failed)
		return;
	if (qp->replay.queue_head != REPLAY_NONE || qp->replay.unfinished)
		sim_world_fail(world, "QP %u: the replay cache still has answers to give", end->index);
	if (rc_qp_deadline(qp) != RC_NEVER)
		sim_world_fail(world, "QP %u: a timer runs, and there is nothing to wait for", end->index);
}

void sim_oracle_close(struct sim_world *world, struct sim_end *end)
{
	bool tainted = world_connection(world, end)->tainted;

	if (end->qp == NULL || end->qp->state == UROCE_QPS_RESET || world->failed)
		return;
	check_leftovers(world, end);
	if (!tainted)
		compare_counters(world, end);
}

/* Boards and kept packets have come back. */
static void check_lent(struct sim_world *world, const struct sim_node *node)
{
	uint32_t boards = (uint32_t)(node->boards + node->board_count - node->pool.next);

	for (const struct rc_board *board = node->pool.free; board; board = board->next)
		boards++;
	if (boards != node->board_count || node->pool.boards.pool.used > 0)
		sim_world_fail(world, "%u boards of %u have come back", boards, node->board_count);
	if (node->store.touched > node->store.kept.pool.size)
		sim_world_fail(world, "%u packets were kept at once, and there is room for %u", node->store.touched,
			       node->store.kept.pool.size);
	if (node->store.kept.pool.used || node->store.oldest)
		sim_world_fail(world, "%u kept packets have never been freed", node->store.kept.pool.used);
}

void sim_oracle_finish(struct sim_world *world)
{
	uint64_t wrong = sim_memory_compare_all(world->memory);

	if (wrong != UINT64_MAX)
		sim_world_fail(world, "memory at %lu has changed, and nothing should have changed it", wrong);
	for (uint32_t i = 0; i < world->config.nodes; i++)
		check_lent(world, &world->nodes[i]);
	if (world->frames_alive)
		sim_world_fail(world, "%u frames have never been freed", world->frames_alive);
}
