/* deliver.h - completions and events, from the outbox to their queues */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_DELIVER_H
#define ENGINE_DELIVER_H

#include "engine/engine.h"

#define COMPLETIONS_DRAIN (OUTBOX_COMPLETIONS / 2) /* with so many in it the outbox is emptied */

static_assert(OUTBOX_COMPLETIONS - COMPLETIONS_DRAIN >= OUTBOX_RECEIVE_COMPLETIONS, "a receive always finds room");

/* Hands completions to their CQs, in runs of the same one, and wakes who sleeps on them (M-5). */
void engine_deliver_completions(struct uroce_lcore *lcore);
void engine_deliver_events(struct uroce_lcore *lcore);

static inline void deliver_all(struct uroce_lcore *lcore)
{
	if (lcore->out.completion_count)
		engine_deliver_completions(lcore);
	if (lcore->out.event_count)
		engine_deliver_events(lcore);
}

#endif
