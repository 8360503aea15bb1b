/* receive.h - receives: posted ahead, checked when they complete, posted again */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_RECEIVE_H
#define APP_PERF_RECEIVE_H

#include "perf/end.h"

/*
 * Posts all receives of a flow; if flows share a queue, for the first flow all of the queue. Returns 0 or a negative
 * errno.
 */
int perf_receive_post(struct perf_end *end, uint32_t index);

/* Posts what a flow may post by now, unless the receiver is a slow one. */
void perf_receive_post_again(struct perf_end *end, uint32_t index);

/* Takes completions of receives. */
void perf_receive_poll(struct perf_end *end);

#endif
