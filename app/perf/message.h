/* message.h - converts cases, peers and tallies to JSON and back, and checks every value */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_MESSAGE_H
#define APP_PERF_MESSAGE_H

#include <jansson.h>

#include "perf/end.h"

json_t *perf_message_of_case(const struct perf_case *test, const struct perf_peer *own);
json_t *perf_message_of_peer(const char *type, const struct perf_peer *own, uint32_t qps);
json_t *perf_message_of_stop(const char *type, const struct perf_end *end);

/* The other process is not trusted. Each function returns 0, or -EINVAL with the name of the wrong value in *why. */
int perf_message_to_case(const json_t *message, struct perf_case *test, const char **why);

/*
 * The arrays of *peer have room for `qps` entries, and for the keys of peer->window_count windows; a message with other
 * counts is refused.
 */
int perf_message_to_peer(const json_t *message, struct perf_peer *peer, uint32_t qps);

/* completed has room for qps entries. */
int perf_message_to_stop(const json_t *message, struct perf_tally *tally, uint64_t *completed, uint32_t qps);

#endif
