/* latency.c - measures latency: one message at a time, back and forth */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <string.h>

#include <rte_cycles.h>

#include "perf/keys.h"
#include "perf/latency.h"
#include "common/pattern.h"
#include "perf/receive.h"
#include "perf/stream.h"

#define POLL_BATCH 8

/* Moves to the slots of the next message. */
static inline void move_on(const struct perf_end *end, struct perf_place *place)
{
	if (++place->source == end->layout.source_slots)
		place->source = 0;
	if (++place->target < end->layout.target_slots)
		return;
	place->target = 0;
	place->round = place->round == 254 ? 0 : (uint8_t)(place->round + 1);
}

/*
 * The last byte of a WRITE, which differs from the last byte of the earlier message in the slot and from fresh memory.
 */
static uint8_t marker_of(const struct perf_place *place)
{
	return (uint8_t)(1 + place->round);
}

static void prepare_bytes(const struct perf_end *end, uint64_t message, const struct perf_place *place, uint8_t *data)
{
	uint32_t size = end->test.size_bytes;

	if (perf_ops[end->test.op].fetches) {
		if (end->test.verify || perf_ops[end->test.op].atomic)
			memset(data, 0xEE, size);
	} else if (end->watches) {
		if (end->test.verify)
			app_pattern_fill(data, size - 1, pattern_key(end->way, 0, message));
		data[size - 1] = marker_of(place);
	} else if (end->test.verify) {
		app_pattern_fill(data, size, pattern_key(end->way, 0, message));
	}
}

static bool post(struct perf_end *end)
{
	const struct perf_op_info *op = &perf_ops[end->test.op];
	struct perf_flow *flow = &end->flows[0];
	uint64_t message = flow->posted;
	struct uroce_send_wr *wr = &end->send_wrs[flow->slot], *first = wr;
	uint8_t *data;
	int error;

	if (flow->posted - flow->completed == end->layout.depth)
		return false; /* the send queue is full, but acknowledgements come soon after the answers */
	wr->next = NULL;
	wr->imm_data = htonl((uint32_t)message);
	data = end_source(end, 0, flow->next.source);
	end->send_sges[flow->slot].addr = (uintptr_t)data;
	wr->remote_addr = end->peer.target + layout_target(&end->layout, 0, op->atomic ? 0 : flow->next.target);
	if (op->atomic) {
		wr->compare_add = end->test.op == PERF_FADD ? 1 : message;
		wr->swap = message + 1;
	}
	if (end->lead_wrs) {
		first = &end->lead_wrs[flow->slot];
		first->remote_addr = wr->remote_addr;
	}
	if (op->invalidates)
		wr->rkey = key_of(end->peer.window_keys, end->layout.rx_depth, 0, message);
	if (end->awaits)
		wr->send_flags |= UROCE_SEND_SIGNALED;
	prepare_bytes(end, message, &flow->next, data);
	if (end->way == 0)
		end->ping_began = rte_rdtsc();
	error = uroce_qp_post_send(flow->qp, first, NULL);
	if (error) {
		perf_end_fail(end, "cannot post a request: %s", strerror(-error));
		return false;
	}
	perf_stream_posted(end, flow, 1);
	move_on(end, &flow->next);
	return true;
}

static void tell_bad(struct perf_end *end, uint64_t message, uint64_t bad)
{
	end->tally.checked++;
	end->tally.bad_bytes += bad;
	if (bad)
		perf_end_fail(end, "%lu wrong bytes in message %lu", (unsigned long)bad, (unsigned long)message);
}

/*
 * Checks what a request has changed or fetched. If the other end is in this process, the bytes that a FLUSH covers are
 * checked in its memory; otherwise that end is asked to check them (remote.c).
 */
static void check_answered(struct perf_end *end, uint64_t message)
{
	const uint8_t *data = end_source(end, 0, message);
	uint64_t slot = message % end->layout.target_slots, before, bad;

	if (!perf_ops[end->test.op].fetches) {
		if (!end->test.verify || end->other == NULL)
			return;
		bad = perf_stream_check_target(end->other, 0, message, 1);
		tell_bad(end, message, bad);
	} else if (perf_ops[end->test.op].atomic) {
		memcpy(&before, data, sizeof(before));
		end->tally.checked++;
		if (before != message)
			perf_end_fail(end,
				      "atomic %lu returned an unexpected value, %lu: an atomic was executed twice or "
				      "not at all",
				      (unsigned long)message, (unsigned long)before);
	} else if (end->test.verify) {
		bad = app_pattern_count_bad(data, end->test.size_bytes, pattern_key(!end->way, 0, slot));
		tell_bad(end, message, bad);
	}
}

static void handle_completions(struct perf_end *end)
{
	struct uroce_wc wc[POLL_BATCH];
	int count = uroce_cq_poll(end->send_cq, POLL_BATCH, wc);

	for (int i = 0; i < count; i++) {
		struct perf_flow *flow = &end->flows[0];

		if (keys_take(end, &wc[i])) {
			perf_receive_post_again(end, 0);
			continue;
		}
		if (wc[i].status != UROCE_WC_SUCCESS) {
			perf_stream_fail(end, &wc[i]);
			continue;
		}
		flow->completed = perf_stream_completed_by(end, flow, &wc[i]);
		if (end->awaits)
			flow->received = flow->completed;
		if (flow->completed == flow->limit)
			end->unchecked_flows++;
	}
}

/* Has a WRITE of the peer arrived? This thread's own lcore places it, so once the last byte is there all bytes are. */
static void watch_target(struct perf_end *end)
{
	struct perf_flow *flow = &end->flows[0];
	const uint8_t *data = end_target(end, 0, flow->awaited.target);
	uint32_t last = end->test.size_bytes - 1;
	uint64_t bad;

	if (*(const volatile uint8_t *)(data + last) != marker_of(&flow->awaited))
		return;
	if (end->test.verify) {
		bad = app_pattern_count_bad(data, last, pattern_key(!end->way, 0, flow->received));
		tell_bad(end, flow->received, bad);
	}
	flow->received++;
	move_on(end, &flow->awaited);
}

static void ping(struct perf_end *end)
{
	struct perf_flow *flow = &end->flows[0];
	uint64_t now;

	if (flow->received < end->posted)
		return;
	if (end->completed < end->posted) {
		now = rte_rdtsc();
		if (end->phase == PHASE_MEASURE)
			app_histogram_record(end->latency, now - end->ping_began);
		if (end->awaits)
			check_answered(end, end->completed);
		end->completed++;
	}
	if (!end->stopped && end->phase != PHASE_READY && end->phase < PHASE_DRAIN && end->posted < flow->goal &&
	    end->posted < flow->limit && post(end))
		end->posted++;
}

static void echo(struct perf_end *end)
{
	if (end->flows[0].received > end->replies && !end->stopped && post(end))
		end->replies++;
}

void perf_latency_poll(struct perf_end *end)
{
	if (!end->requests)
		return;
	handle_completions(end);
	if (end->watches)
		watch_target(end);
	if (end->way == 0)
		ping(end);
	else
		echo(end);
}
