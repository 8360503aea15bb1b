/* keys.h - memory windows whose keys are invalidated by SENDs */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each receive of a flow has a window of its own, and the SEND that takes the receive invalidates the window's key. The
 * window is bound again, to the other of its two keys, before the receive is posted again. So no SEND arrives before
 * its window is bound, because the SEND waits for the receive. A bind succeeds only if the earlier key is invalid, so
 * each bind checks the SEND before it.
 *
 *   1. perf_keys_create() when the queue pairs exist; perf_keys_bind_all() when they are connected
 *   2. perf_keys_renew() after each receive, perf_keys_take() for each completion of a send queue
 *   3. perf_keys_destroy() when the queue pairs are destroyed
 */
#ifndef APP_PERF_KEYS_H
#define APP_PERF_KEYS_H

#include "perf/end.h"

/* For an end whose peer invalidates; other ends need no windows. Returns 0 or a negative errno. */
int perf_keys_create(struct perf_end *end);
void perf_keys_destroy(struct perf_end *end);

/* Binds the windows of all flows, and waits until all are bound. Returns 0 or a negative errno. */
int perf_keys_bind_all(struct perf_end *end);

/* Binds the windows of the receives that a flow has completed, if there are at least `least` such windows. */
void perf_keys_renew(struct perf_end *end, uint32_t index, uint32_t least);

/* Returns whether this was the completion of a bind. If so, flow->bound has grown: the flow may post more receives. */
bool perf_keys_take(struct perf_end *end, const struct uroce_wc *wc);

static inline bool keys_take(struct perf_end *end, const struct uroce_wc *wc)
{
	return end->windows && perf_keys_take(end, wc);
}

/* Returns the key that a SEND invalidates. The two keys of a window take turns; base: its key before the first bind. */
static inline uint32_t key_of(const uint32_t *bases, uint32_t rx_depth, uint32_t index, uint64_t message)
{
	return bases[index * rx_depth + message % rx_depth] ^ (1 + (message / rx_depth) % 2);
}

#endif
