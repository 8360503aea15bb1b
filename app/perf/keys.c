/* keys.c - binds memory windows, and waits only for the first binds */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/keys.h"

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>

#define BIND_WAIT_S 10.0

/* All windows open the first bytes of the target area, which no SEND uses. */
static void write_binds(struct perf_end *end)
{
	end->bind = (struct uroce_mw_bind){
		.mr = end->mr,
		.addr = (uintptr_t)end->memory + end->layout.target_at,
		.length_bytes = PERF_ATOMIC_BYTES,
		.access = UROCE_ACCESS_REMOTE_WRITE,
	};
	for (uint32_t i = 0; i < end->layout.rx_depth; i++)
		end->bind_wrs[i] = (struct uroce_send_wr){
			.next = &end->bind_wrs[(i + 1) % end->layout.rx_depth],
			.opcode = UROCE_WR_BIND_MW,
			.bind = &end->bind,
		};
}

int perf_keys_create(struct perf_end *end)
{
	int error = 0;

	if (end->windows == NULL)
		return 0;
	for (uint32_t i = 0; i < perf_case_windows(&end->test) && error == 0; i++) {
		error = uroce_mw_alloc(end->pd, UROCE_MW_TYPE_2, &end->windows[i]);
		if (error == 0)
			end->window_keys[i] = uroce_mw_rkey(end->windows[i]);
	}
	write_binds(end);
	return error;
}

void perf_keys_destroy(struct perf_end *end)
{
	for (uint32_t i = 0; end->windows && i < perf_case_windows(&end->test) && end->windows[i]; i++)
		uroce_mw_dealloc(end->windows[i]);
}

/* Posts a list of binds; the last one completes, and its wr_id tells flow and count. */
static int post_list(struct perf_end *end, uint32_t index, uint32_t count)
{
	uint32_t rx_depth = end->layout.rx_depth;
	struct perf_flow *flow = &end->flows[index];
	uint32_t first = (uint32_t)(flow->binds_posted % rx_depth);
	struct uroce_send_wr *last = &end->bind_wrs[(first + count - 1) % rx_depth], *next = last->next;
	int error;

	for (uint32_t i = 0; i < count; i++) {
		struct uroce_send_wr *wr = &end->bind_wrs[(first + i) % rx_depth];

		wr->mw = end->windows[index * rx_depth + (first + i) % rx_depth];
		wr->rkey = key_of(end->window_keys, rx_depth, index, flow->binds_posted + i);
	}
	last->next = NULL;
	last->send_flags = UROCE_SEND_SIGNALED;
	last->wr_id = count;
	error = uroce_qp_post_send(flow->qp, &end->bind_wrs[first], NULL);
	last->next = next;
	last->send_flags = 0;
	if (error)
		perf_end_fail(end, "cannot post %u memory window binds: %s", count, strerror(-error));
	else
		flow->binds_posted += count;
	return error;
}

bool perf_keys_take(struct perf_end *end, const struct uroce_wc *wc)
{
	if (wc->opcode != UROCE_WC_BIND_MW)
		return false;
	if (wc->status == UROCE_WC_SUCCESS)
		end->flows[wc->qp_context].bound += wc->wr_id;
	else if (end->tally.errors == 0)
		perf_end_fail_by(end, wc, "a memory window: ");
	return true;
}

void perf_keys_renew(struct perf_end *end, uint32_t index, uint32_t least)
{
	const struct perf_flow *flow = &end->flows[index];
	uint64_t count = flow->received + end->layout.rx_depth - flow->binds_posted;

	if (end->windows && count >= least && end->tally.errors == 0)
		post_list(end, index, (uint32_t)count);
}

/* Until a queue knows its peer's MAC it executes nothing, and the peer has to be polled to answer. */
static void poll_both(const struct perf_end *end)
{
	uroce_lcore_poll(end->lcore);
	if (end->other)
		uroce_lcore_poll(end->other->lcore);
}

int perf_keys_bind_all(struct perf_end *end)
{
	uint64_t until = rte_rdtsc() + (uint64_t)(BIND_WAIT_S * (double)rte_get_tsc_hz());
	int error = 0;

	for (uint32_t i = 0; end->windows && i < end->test.qps && error == 0; i++) {
		struct uroce_wc wc;

		error = post_list(end, i, end->layout.rx_depth);
		while (error == 0 && end->flows[i].bound < end->layout.rx_depth) {
			poll_both(end);
			if (uroce_cq_poll(end->send_cq, 1, &wc) == 1)
				perf_keys_take(end, &wc);
			if (end->tally.errors || rte_rdtsc() > until)
				error = -ETIMEDOUT;
		}
	}
	return error;
}
