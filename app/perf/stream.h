/* stream.h - bandwidth: keeps `depth` requests outstanding on each flow and checks what completes */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_STREAM_H
#define APP_PERF_STREAM_H

#include "perf/end.h"

/* Posts as many requests as the flow may: called at the start, and again when nothing stops the flow any more. */
void perf_stream_post(struct perf_end *end, uint32_t index);

/* Takes completions, and posts new requests in place of those that completed. */
void perf_stream_poll(struct perf_end *end);

/*
 * Checks the bytes of messages first ... first + count - 1, which the peer has written into this end's target area.
 * Returns how many bytes are wrong.
 */
uint64_t perf_stream_check_target(struct perf_end *end, uint32_t index, uint64_t first, uint64_t count);

/*
 * After a run without errors: compares counters and receives of this end with what the peer has completed (qps
 * entries).
 */
void perf_stream_check_final(struct perf_end *end, const uint64_t *peer_completed);

/* For both modes: a completion has failed. */
void perf_stream_fail(struct perf_end *end, const struct uroce_wc *wc);

/*
 * Returns how many messages of a flow this successful completion completes: its own message, and the earlier messages
 * that asked for no completion. To be called once for each completion.
 */
uint64_t perf_stream_completed_by(const struct perf_end *end, struct perf_flow *flow, const struct uroce_wc *wc);

/*
 * Returns the first request of a slot's list: the WRITE in front of the slot's request, or the request if it has none.
 */
static inline struct uroce_send_wr *stream_first(const struct perf_end *end, uint32_t slot)
{
	return end->lead_wrs ? &end->lead_wrs[slot] : &end->send_wrs[slot];
}

/* `count` requests have been posted, none of them past the end of the ring. */
void perf_stream_posted(const struct perf_end *end, struct perf_flow *flow, uint32_t count);

#endif
