/* away.h - notices that the thread of an lcore had no core although the lcore has QPs to serve */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_AWAY_H
#define ENGINE_AWAY_H

#include "engine/lcore_state.h"

/* The calling thread polls the lcore from now on. */
void engine_away_begin(struct uroce_lcore *lcore);
/* No thread will poll the lcore again. */
void engine_away_end(struct uroce_lcore *lcore);
/* How long the lcore's thread was ready to run but had no core, since it began; 0: the kernel does not tell. */
uint64_t engine_away_starved_ns(const struct uroce_lcore *lcore);
/* The thread is about to sleep until there may be work. */
static inline void away_expect_sleep(struct uroce_lcore *lcore)
{
	lcore->away.slept_ns = lcore->now_ns;
}

/* Called by away_poll() only. */
void engine_away_look(struct uroce_lcore *lcore);

/* Called at the start of each poll, after now_ns and before_ns were set. */
static inline void away_poll(struct uroce_lcore *lcore)
{
	if (__builtin_expect(lcore->now_ns >= lcore->away.look_ns, 0))
		engine_away_look(lcore);
}

#endif
