/* receive.h - receive entries: posted ahead, checked when they complete, posted again */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_RECEIVE_H
#define APP_PERF_RECEIVE_H

#include "perf/end.h"

/* Posts all receives of a flow; for the first one those that all share, if they do. 0 or negative errno. */
int perf_receive_post(struct perf_end *end, uint32_t index);

/* Posts what a flow may post by now, unless the receiver is slow. */
void perf_receive_post_again(struct perf_end *end, uint32_t index);

/* Takes completions of receives. */
void perf_receive_poll(struct perf_end *end);

#endif
