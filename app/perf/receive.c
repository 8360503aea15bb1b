/* receive.c - receives: posted ahead, checked when they complete, posted again */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <string.h>

#include <rte_cycles.h>

#include "perf/keys.h"
#include "common/pattern.h"
#include "perf/receive.h"

#define POLL_BATCH 32

/* Posts `count` receives behind those already posted, as one list. */
static int post_list(struct perf_end *end, uint32_t index, uint32_t count)
{
	const struct perf_layout *layout = &end->layout;
	struct perf_flow *flow = &end->flows[index];
	uint32_t first = (uint32_t)(flow->receives_posted % layout->rx_depth);
	struct uroce_recv_wr *last = &end->recv_wrs[(first + count - 1) % layout->rx_depth], *next = last->next;
	int error;

	for (uint32_t i = 0; i < count && layout->inbox_stride; i++) {
		uint32_t entry = (first + i) % layout->rx_depth;

		end->recv_sges[entry].addr = (uintptr_t)end_inbox(end, index, entry);
	}
	last->next = NULL;
	error = uroce_qp_post_recv(flow->qp, &end->recv_wrs[first], NULL);
	last->next = next;
	if (error)
		perf_end_fail(end, "cannot post %u receives: %s", count, strerror(-error));
	else
		flow->receives_posted += count;
	return error;
}

/* Several flows take from a shared queue, in any order, so its free entries are kept as a list. */
static void put_back(struct perf_end *end, uint64_t entry)
{
	struct uroce_recv_wr *wr = &end->recv_wrs[entry];

	wr->next = end->taken;
	end->taken = wr;
	end->taken_count++;
}

/* Posts `count` of the entries in that list. */
static int post_shared(struct perf_end *end, uint32_t count)
{
	struct uroce_recv_wr *first = end->taken, *last = first;
	int error;

	for (uint32_t i = 1; i < count; i++)
		last = last->next;
	end->taken = last->next;
	end->taken_count -= count;
	last->next = NULL;
	error = uroce_srq_post_recv(end->srq, first, NULL);
	if (error)
		perf_end_fail(end, "cannot post %u receives to the shared receive queue: %s", count, strerror(-error));
	return error;
}

int perf_receive_post(struct perf_end *end, uint32_t index)
{
	if (end->srq == NULL)
		return post_list(end, index, end->layout.rx_depth);
	if (index != 0)
		return 0;
	for (uint32_t i = end->layout.rx_depth; i-- > 0;)
		put_back(end, i);
	return post_shared(end, end->layout.rx_depth);
}

/* entry: the receive that the message took; the inbox has a slot for each receive. */
static void check_bytes(struct perf_end *end, uint32_t index, uint64_t message, uint64_t entry)
{
	const uint8_t *data = end->layout.inbox_slots ? end_inbox(end, index, entry) : end_target(end, index, message);
	uint64_t key = pattern_key(!end->way, index, message);
	uint64_t bad = app_pattern_count_bad(data, end->test.size_bytes, key);

	end->tally.checked++;
	if (bad) {
		end->tally.bad_bytes += bad;
		perf_end_fail(end, "%lu wrong bytes in message %lu of flow %u", (unsigned long)bad,
			      (unsigned long)message, index);
	}
}

static void take(struct perf_end *end, const struct uroce_wc *wc)
{
	const struct perf_op_info *op = &perf_ops[end->test.op];
	uint32_t index = (uint32_t)wc->qp_context;
	struct perf_flow *flow = &end->flows[index];
	uint64_t message = flow->received;

	if (wc->status != UROCE_WC_SUCCESS) {
		char what[64];

		snprintf(what, sizeof(what), "message %lu: ", (unsigned long)message);
		perf_end_fail_by(end, wc, what);
		return;
	}
	flow->received++;
	end->tally.received++;
	if (wc->byte_len != end->test.size_bytes)
		perf_end_fail(end, "message %lu arrived with a wrong length, %u bytes", (unsigned long)message,
			      wc->byte_len);
	if (op->imm && (!(wc->wc_flags & UROCE_WC_WITH_IMM) || ntohl(wc->imm_data) != (uint32_t)message))
		perf_end_fail(end, "message %lu arrived with missing or wrong immediate data (%u)",
			      (unsigned long)message, ntohl(wc->imm_data));
	if (op->invalidates && (!(wc->wc_flags & UROCE_WC_WITH_INV) ||
				wc->invalidated_rkey != key_of(end->window_keys, end->layout.rx_depth, index, message)))
		perf_end_fail(end, "message %lu invalidated key 0x%08x", (unsigned long)message, wc->invalidated_rkey);
	if (end->test.verify)
		check_bytes(end, index, message, end->srq ? wc->wr_id : message);
	if (end->srq)
		put_back(end, wc->wr_id);
}

/* How many receives are free; if SENDs name windows, only those whose windows are bound. */
static uint64_t count_free(const struct perf_end *end, const struct perf_flow *flow)
{
	return (end->windows ? flow->bound : flow->received + end->layout.rx_depth) - flow->receives_posted;
}

/* Posts one more receive, if one is free. */
static bool post_one(struct perf_end *end, uint32_t index)
{
	const struct perf_flow *flow = &end->flows[index];

	if (end->srq)
		return end->taken_count > 0 && post_shared(end, 1) == 0;
	return count_free(end, flow) > 0 && post_list(end, index, 1) == 0;
}

/*
 * A slow receiver posts receives one by one, in the order of the flows, as its rate allows. Time before its first
 * message does not count.
 */
static void post_slowly(struct perf_end *end)
{
	double cycles = (double)rte_get_tsc_hz() / end->test.rx_rate;
	uint64_t allowed;
	bool posted = true;

	if (end->rx_began == 0) {
		if (end->tally.received == 0)
			return;
		end->rx_began = rte_rdtsc();
	}
	allowed = (uint64_t)((double)(rte_rdtsc() - end->rx_began) / cycles);
	while (posted && end->tally.errors == 0) {
		posted = false;
		for (uint32_t i = 0; i < end->test.qps && end->rx_posted < allowed; i++) {
			if (!post_one(end, i))
				continue;
			end->rx_posted++;
			posted = true;
		}
	}
	/* Receives that the rate allowed, but that no message needed, are not saved up for later. */
	if (end->rx_posted < allowed)
		end->rx_posted = allowed;
}

/* How many receives are posted, and how many windows bound, at once. */
static uint32_t chunk_of(const struct perf_end *end)
{
	uint32_t rx_depth = end->layout.rx_depth;

	return rx_depth >= 4 * POLL_BATCH ? POLL_BATCH : rx_depth >= 4 ? rx_depth / 4 : 1;
}

/* Posts the completed receives of a flow again, in chunks. */
static void post_again(struct perf_end *end, uint32_t index, uint32_t chunk)
{
	const struct perf_flow *flow = &end->flows[index];

	if (end->tally.errors)
		return;
	while (end->srq == NULL && count_free(end, flow) >= chunk && post_list(end, index, chunk) == 0)
		continue;
	if (end->srq && end->taken_count >= chunk)
		post_shared(end, end->taken_count);
}

void perf_receive_post_again(struct perf_end *end, uint32_t index)
{
	if (end->test.rx_rate == 0)
		post_again(end, index, chunk_of(end));
}

static int handle_batch(struct perf_end *end)
{
	uint32_t chunk = chunk_of(end);
	struct uroce_wc wc[POLL_BATCH];
	int count = uroce_cq_poll(end->recv_cq, POLL_BATCH, wc);

	for (int i = 0; i < count; i++) {
		take(end, &wc[i]);
		if (i + 1 < count && wc[i + 1].qp_context == wc[i].qp_context)
			continue; /* receives are posted again once for consecutive completions of a flow */
		if (end->windows)
			perf_keys_renew(end, (uint32_t)wc[i].qp_context, chunk);
		else if (end->test.rx_rate == 0)
			post_again(end, (uint32_t)wc[i].qp_context, chunk);
	}
	return count;
}

/* For an end without requests of its own; other ends take completions of receives together with those of requests. */
static void take_binds(struct perf_end *end)
{
	struct uroce_wc wc[POLL_BATCH];
	int count = uroce_cq_poll(end->send_cq, POLL_BATCH, wc);

	for (int i = 0; i < count; i++) {
		if (perf_keys_take(end, &wc[i]))
			perf_receive_post_again(end, (uint32_t)wc[i].qp_context);
	}
}

void perf_receive_poll(struct perf_end *end)
{
	/* Takes all completions, because an lcore that serves both ends has been polled twice since the last call. */
	while (handle_batch(end) == POLL_BATCH)
		continue;
	if (end->windows && !end->requests)
		take_binds(end);
	if (end->test.rx_rate)
		post_slowly(end);
}
