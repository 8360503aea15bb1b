/* history.h - what the counters of a port were some seconds ago, on one lcore */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A counter says little about a failure, and how much it has grown since the last success says a lot. So an lcore keeps
 * copies of the counters of each of its ports.
 */
#ifndef ENGINE_HISTORY_H
#define ENGINE_HISTORY_H

#include <stdint.h>

#include "rc/counters.h"

#define HISTORY_MOMENTS 64u
#define HISTORY_INTERVAL_NS 250000000ull /* 64 copies go back 16 s: retries at the usual ACK timeout end after 4.3 s */
#define HISTORY_COUNTERS (CNT_COUNTERS - CNT_QP_COUNTERS)

/* The counters of a port as of one moment. */
struct engine_moment {
	uint64_t at_ns;
	uint64_t away_ns;                    /* how long the lcore was not polled, until then */
	uint64_t tx_frames;                  /* frames that the port had taken */
	uint32_t link_downs;                 /* how often the link had gone down */
	uint64_t counters[HISTORY_COUNTERS]; /* from CNT_QP_COUNTERS on */
};

struct engine_history {
	uint64_t next_ns; /* when the next copy is due */
	uint32_t count;   /* copies so far; the last HISTORY_MOMENTS are kept */
	struct engine_moment moments[HISTORY_MOMENTS];
};

/* Keeps a moment: its at_ns is later than that of the one before. */
void engine_history_keep(struct engine_history *history, const struct engine_moment *moment);

/* The last moment that was not after at_ns; if there is none, the oldest; NULL: none was kept yet. */
const struct engine_moment *engine_history_find(const struct engine_history *history, uint64_t at_ns);

#endif
