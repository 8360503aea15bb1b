/* receive.c - receive entries: posted ahead, checked when they complete, posted again */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_cycles.h>

#include "perf/pattern.h"
#include "perf/receive.h"

#define POLL_BATCH 32

/* Posts count entries behind those already posted, as one list. */
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
		perf_end_fail(end, "posting %u receives: %s", count, strerror(-error));
	else
		flow->receives_posted += count;
	return error;
}

int perf_receive_post(struct perf_end *end, uint32_t index)
{
	return post_list(end, index, end->layout.rx_depth);
}

static void check_bytes(struct perf_end *end, uint32_t index, uint64_t message)
{
	const uint8_t *data =
		end->layout.inbox_slots ? end_inbox(end, index, message) : end_target(end, index, message);
	uint64_t key = pattern_key(!end->way, index, message);
	uint64_t bad = perf_pattern_count_bad(data, end->test.size_bytes, key);

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
		char line[UROCE_EXPLAIN_BYTES];

		perf_end_fail(end, "message %lu: %s", (unsigned long)message, uroce_wc_explain(wc, line, sizeof(line)));
		return;
	}
	flow->received++;
	end->tally.received++;
	if (wc->byte_len != end->test.size_bytes)
		perf_end_fail(end, "message %lu came with %u bytes", (unsigned long)message, wc->byte_len);
	if (op->imm && (!(wc->wc_flags & UROCE_WC_WITH_IMM) || wc->imm != (uint32_t)message))
		perf_end_fail(end, "message %lu came with immediate %u", (unsigned long)message, wc->imm);
	if (end->test.verify)
		check_bytes(end, index, message);
}

/*
 * A slow receiver: entries are posted one by one, in the order of the flows, as fast as its rate allows. It owes
 * nothing for the time before its first message.
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
			const struct perf_flow *flow = &end->flows[i];

			if (flow->receives_posted - flow->received >= end->layout.rx_depth)
				continue;
			post_list(end, i, 1);
			end->rx_posted++;
			posted = true;
		}
	}
	/* What nobody needed is not saved up. */
	if (end->rx_posted < allowed)
		end->rx_posted = allowed;
}

/* One batch of completions; what they took is posted again in chunks. */
static int take_batch(struct perf_end *end)
{
	uint32_t rx_depth = end->layout.rx_depth;
	uint32_t chunk = rx_depth >= 4 * POLL_BATCH ? POLL_BATCH : rx_depth >= 4 ? rx_depth / 4 : 1;
	struct uroce_wc wc[POLL_BATCH];
	int count = uroce_cq_poll(end->recv_cq, POLL_BATCH, wc);

	for (int i = 0; i < count; i++) {
		uint32_t index = (uint32_t)wc[i].qp_context;
		struct perf_flow *flow = &end->flows[index];

		take(end, &wc[i]);
		if (end->test.rx_rate)
			continue;
		if (flow->receives_posted - flow->received + chunk <= rx_depth && end->tally.errors == 0)
			post_list(end, index, chunk);
	}
	return count;
}

void perf_receive_turn(struct perf_end *end)
{
	/* All there are: with one lcore for both ends it has turned twice since the last look. */
	while (take_batch(end) == POLL_BATCH)
		continue;
	if (end->test.rx_rate)
		post_slowly(end);
}
