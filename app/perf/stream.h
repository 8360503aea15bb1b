/* stream.h - bandwidth: keeps `depth` requests outstanding on each flow and checks what completes */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_STREAM_H
#define APP_PERF_STREAM_H

#include "perf/end.h"

/* Posts as much as the flow may: called once at the start, and when something stopped it. */
void perf_stream_post(struct perf_end *end, uint32_t index);

/* Takes completions and posts in their place. */
void perf_stream_poll(struct perf_end *end);

/*
 * Checks the bytes of messages first ... first + count - 1 that the peer has written into our target area.
 * Returns how many bytes are wrong.
 */
uint64_t perf_stream_check_target(struct perf_end *end, uint32_t index, uint64_t first, uint64_t count);

/* After a run without errors: counters and receives of this end against what the peer has completed (qps entries). */
void perf_stream_check_final(struct perf_end *end, const uint64_t *peer_completed);

/* For both modes: a completion that failed. */
void perf_stream_fail(struct perf_end *end, const struct uroce_wc *wc);

/*
 * Which message number the next successful completion of a flow stands for, plus one: all before it are done, too. To
 * be called once for each.
 */
uint64_t perf_stream_completed_by(const struct perf_end *end, struct perf_flow *flow, const struct uroce_wc *wc);

/* Where a list begins: with the WRITE before the request, if it has one. */
static inline struct uroce_send_wr *stream_first(const struct perf_end *end, uint32_t slot)
{
	return end->lead_wrs ? &end->lead_wrs[slot] : &end->send_wrs[slot];
}

/* So many requests have been posted, none past the end of the ring. */
void perf_stream_posted(const struct perf_end *end, struct perf_flow *flow, uint32_t count);

#endif
