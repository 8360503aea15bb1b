/* stream.c - bandwidth: keeps `depth` requests outstanding on each flow and checks what completes */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_prefetch.h>

#include "perf/keys.h"
#include "common/pattern.h"
#include "perf/receive.h"
#include "perf/stream.h"

#define POLL_BATCH 32
#define PACED_FLOWS 64u /* how many flows are served in a poll, with a rate */

void perf_stream_fail(struct perf_end *end, const struct uroce_wc *wc)
{
	if (wc->status == UROCE_WC_WR_FLUSH_ERR && end->tally.errors)
		end->tally.errors++;
	else
		perf_end_fail_by(end, wc, "");
}

/* The slot behind this one. */
static inline uint32_t next_slot(const struct perf_end *end, uint32_t slot)
{
	return slot + 1 == end->layout.depth ? 0 : slot + 1;
}

uint64_t perf_stream_completed_by(const struct perf_end *end, struct perf_flow *flow, const struct uroce_wc *wc)
{
	uint32_t slot = (uint32_t)wc->wr_id;
	uint32_t ahead = slot - flow->done_slot + (slot < flow->done_slot ? end->layout.depth : 0);

	flow->done_slot = next_slot(end, slot);
	return flow->completed + ahead + 1;
}

void perf_stream_posted(const struct perf_end *end, struct perf_flow *flow, uint32_t count)
{
	flow->posted += count;
	flow->slot += count; /* stays within the ring */
	if (flow->slot == end->layout.depth)
		flow->slot = 0;
}

/* ---- posting ---- */

/* Sets the bytes that a READ will overwrite, so that a READ that changes nothing is noticed. */
static void prepare_bytes(struct perf_end *end, uint32_t index, uint64_t message)
{
	uint8_t *data = end_source(end, index, message);

	if (end->test.op == PERF_READ)
		memset(data, 0xEE, end->test.size_bytes);
	else
		app_pattern_fill(data, end->test.size_bytes, pattern_key(end->way, index, message));
}

/* Sets what differs between messages, if anything does. */
static void prepare(struct perf_end *end, uint32_t index, uint32_t slot, uint64_t message)
{
	const struct perf_op_info *op = &perf_ops[end->test.op];
	const struct perf_layout *layout = &end->layout;
	struct uroce_send_wr *wr = &end->send_wrs[slot];

	wr->imm_data = htonl((uint32_t)message);
	if (op->invalidates)
		wr->rkey = key_of(end->peer.window_keys, layout->rx_depth, index, message);
	if (layout->source_stride == 0)
		return;
	end->send_sges[slot].addr = (uintptr_t)end_source(end, index, message);
	wr->remote_addr = end->peer.target + layout_target(layout, index, op->atomic ? 0 : message);
	if (op->atomic) {
		memset(end_source(end, index, message), 0xEE, PERF_ATOMIC_BYTES);
		wr->compare_add = end->test.op == PERF_FADD ? 1 : message;
		wr->swap = message + 1;
	} else {
		prepare_bytes(end, index, message);
	}
	if (end->lead_wrs)
		end->lead_wrs[slot].remote_addr = wr->remote_addr;
}

/*
 * Posts `count` requests as one list, within which the ring does not wrap. The last request of the case asks for a
 * completion.
 */
static int post_list(struct perf_end *end, uint32_t index, uint32_t count)
{
	struct perf_flow *flow = &end->flows[index];
	uint32_t first = flow->slot;
	struct uroce_send_wr *last = &end->send_wrs[first + count - 1], *next = last->next;
	uint32_t flags = last->send_flags;
	const struct uroce_send_wr *bad = NULL;
	int error;

	if (perf_ops[end->test.op].imm || perf_ops[end->test.op].invalidates || end->layout.source_stride) {
		for (uint32_t i = 0; i < count; i++)
			prepare(end, index, first + i, flow->posted + i);
	}
	last->next = NULL;
	if (flow->posted + count == flow->goal)
		last->send_flags |= UROCE_SEND_SIGNALED;
	error = uroce_qp_post_send(flow->qp, stream_first(end, first), &bad);
	last->next = next;
	last->send_flags = flags;
	if (error) {
		perf_end_fail(end, "cannot post %u requests: %s", count, strerror(-error));
		return error;
	}
	perf_stream_posted(end, flow, count);
	end->posted += count;
	end->tokens -= count;
	return 0;
}

/* How many requests the rate allows now: the clock adds tokens, and a burst takes them. */
static uint64_t allowed_now(struct perf_end *end)
{
	uint64_t now;

	if (end->test.rate == 0)
		return UINT64_MAX;
	now = rte_rdtsc();
	end->tokens += (double)(now - end->filled) * end->test.rate / (double)rte_get_tsc_hz();
	end->tokens = RTE_MIN(end->tokens, (double)end->test.burst);
	end->filled = now;
	return (uint64_t)end->tokens;
}

void perf_stream_post(struct perf_end *end, uint32_t index)
{
	const struct perf_layout *layout = &end->layout;
	struct perf_flow *flow = &end->flows[index];

	while (!end->stopped && end->phase < PHASE_DRAIN) {
		uint64_t room = layout->depth - (flow->posted - flow->completed);
		uint64_t left = RTE_MIN(flow->goal, flow->limit) - flow->posted;
		uint64_t to_end = layout->depth - flow->slot;
		uint64_t count = RTE_MIN(RTE_MIN(room, to_end), allowed_now(end));

		/* Posts whole intervals only, so that the last request posted always asks for a completion. */
		if (count >= left)
			count = left;
		else if (layout->interval > 1)
			count -= (uint32_t)count % layout->interval;
		if (count == 0 || post_list(end, index, (uint32_t)count) != 0)
			return;
	}
}

/* ---- completing ---- */

static uint64_t count_bad_of(struct perf_end *holder, const uint8_t *data, uint64_t key)
{
	return app_pattern_count_bad(data, holder->test.size_bytes, key);
}

uint64_t perf_stream_check_target(struct perf_end *end, uint32_t index, uint64_t first, uint64_t count)
{
	uint64_t bad = 0;

	for (uint64_t message = first; message < first + count; message++)
		bad += count_bad_of(end, end_target(end, index, message), pattern_key(!end->way, index, message));
	return bad;
}

/* Counts wrong bytes in what a READ has fetched, or in the memory of the other end, which must be in this process. */
static uint64_t count_bad(struct perf_end *end, uint32_t index, uint64_t message)
{
	uint32_t slot = (uint32_t)(message % end->layout.target_slots);

	if (end->test.op == PERF_READ)
		return count_bad_of(end, end_source(end, index, message), pattern_key(!end->way, index, slot));
	return perf_stream_check_target(end->other, index, message, 1);
}

static void check_message(struct perf_end *end, uint32_t index, uint64_t message)
{
	uint64_t before, bad;

	if (perf_ops[end->test.op].atomic) {
		memcpy(&before, end_source(end, index, message), sizeof(before));
		end->tally.checked++;
		if (before != message)
			perf_end_fail(end,
				      "atomic %lu of flow %u returned an unexpected value, %lu: an atomic was executed "
				      "twice or not at all",
				      (unsigned long)message, index, (unsigned long)before);
		return;
	}
	bad = count_bad(end, index, message);
	end->tally.checked++;
	end->tally.bad_bytes += bad;
	if (bad)
		perf_end_fail(end, "%lu wrong bytes in message %lu of flow %u", (unsigned long)bad,
			      (unsigned long)message, index);
}

/* SENDs and WRITEs with immediate are checked where they arrive. */
static bool checks_on_completion(const struct perf_end *end)
{
	const struct perf_op_info *op = &perf_ops[end->test.op];

	if (op->atomic)
		return true;
	return end->test.verify && !op->receives && (op->fetches || end->other);
}

static void take(struct perf_end *end, const struct uroce_wc *wc)
{
	uint32_t index = (uint32_t)wc->qp_context;
	struct perf_flow *flow = &end->flows[index];
	uint64_t completed;

	if (keys_take(end, wc)) {
		perf_receive_post_again(end, index);
		return;
	}
	if (wc->status != UROCE_WC_SUCCESS) {
		perf_stream_fail(end, wc);
		return;
	}
	completed = perf_stream_completed_by(end, flow, wc);
	if (checks_on_completion(end)) {
		for (uint64_t message = flow->completed; message < completed; message++)
			check_message(end, index, message);
	}
	end->completed += completed - flow->completed;
	flow->completed = completed;
	if (flow->completed == flow->limit)
		end->unchecked_flows++;
	else
		flow->has_room = true;
}

/* After a batch of completions: posts on each of its flows what there is room for, as one list for each flow. */
static void post_again(struct perf_end *end, const struct uroce_wc *wc, int count)
{
	for (int i = 0; i < count; i++) {
		uint32_t index = (uint32_t)wc[i].qp_context;

		if (end->flows[index].has_room)
			perf_stream_post(end, index);
		end->flows[index].has_room = false;
	}
}

/* With a rate the clock, not a completion, makes room: serves the flows in turn. */
static void post_paced(struct perf_end *end)
{
	uint32_t count = RTE_MIN(end->test.qps, PACED_FLOWS);

	for (uint32_t i = 0; i < count && allowed_now(end) > 0; i++) {
		perf_stream_post(end, end->next_flow);
		end->next_flow = end->next_flow + 1 == end->test.qps ? 0 : end->next_flow + 1;
	}
}

void perf_stream_poll(struct perf_end *end)
{
	struct uroce_wc wc[POLL_BATCH];
	int count;

	do {
		count = uroce_cq_poll(end->send_cq, POLL_BATCH, wc);
		for (int i = 0; i < count; i++)
			rte_prefetch0(&end->flows[wc[i].qp_context]);
		for (int i = 0; i < count; i++)
			take(end, &wc[i]);
		if (end->phase < PHASE_DRAIN && end->test.rate == 0)
			post_again(end, wc, count);
	} while (count == POLL_BATCH);
	if (end->test.rate > 0 && end->phase != PHASE_READY && end->phase < PHASE_DRAIN)
		post_paced(end);
}

void perf_stream_check_final(struct perf_end *end, const uint64_t *peer_completed)
{
	const struct perf_op_info *op = &perf_ops[end->test.op];

	for (uint32_t i = 0; i < end->test.qps && end->responds; i++) {
		uint64_t counter;

		if (op->atomic) {
			memcpy(&counter, end_target(end, i, 0), sizeof(counter));
			if (counter != peer_completed[i])
				perf_end_fail(end, "the counter of flow %u is %lu instead of %lu after the atomics", i,
					      (unsigned long)counter, (unsigned long)peer_completed[i]);
		} else if (op->receives && end->flows[i].received != peer_completed[i]) {
			perf_end_fail(end, "flow %u received %lu messages of %lu", i,
				      (unsigned long)end->flows[i].received, (unsigned long)peer_completed[i]);
		}
	}
}
