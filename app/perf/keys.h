/* keys.h - memory windows whose keys SENDs with invalidate name */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each receive of a flow has a window of its own, and the SEND that takes the receive makes the window's key invalid.
 * The window is bound again, to its other key, before its receive is posted again: a SEND never comes too early, for it
 * waits for a receive. A bind succeeds only if the key before it is invalid, so each one checks the SEND that it
 * follows.
 *
 *   1. perf_keys_create() when the queue pairs exist; perf_keys_bind_all() when they are connected
 *   2. perf_keys_renew() behind each receive, perf_keys_take() with each completion of a send queue
 *   3. perf_keys_destroy() when the queue pairs are gone
 */
#ifndef APP_PERF_KEYS_H
#define APP_PERF_KEYS_H

#include "perf/end.h"

/* For an end whose peer invalidates; others have none. 0 or negative errno. */
int perf_keys_create(struct perf_end *end);
void perf_keys_destroy(struct perf_end *end);

/* Binds the windows of all flows, and waits until they are. 0 or negative errno. */
int perf_keys_bind_all(struct perf_end *end);

/* Binds the windows of what a flow has received, when there are `least` of them. */
void perf_keys_renew(struct perf_end *end, uint32_t index, uint32_t least);

/* Was it the completion of a bind? Then more receives of its flow may be posted: flow->bound. */
bool perf_keys_take(struct perf_end *end, const struct uroce_wc *wc);

static inline bool keys_take(struct perf_end *end, const struct uroce_wc *wc)
{
	return end->windows && perf_keys_take(end, wc);
}

/* The key with which a SEND takes its window: the two that a window has take turns. base: before it was ever bound. */
static inline uint32_t key_of(const uint32_t *bases, uint32_t rx_depth, uint32_t index, uint64_t message)
{
	return bases[index * rx_depth + message % rx_depth] ^ (1 + (message / rx_depth) % 2);
}

#endif
