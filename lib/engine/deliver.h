/* deliver.h - delivers completions and events to the queues that the application reads */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_DELIVER_H
#define ENGINE_DELIVER_H

#include "engine/lcore_state.h"

#define COMPLETIONS_DRAIN (OUTBOX_COMPLETIONS / 2) /* number of completions at which an outbox is emptied */

static_assert(OUTBOX_COMPLETIONS - COMPLETIONS_DRAIN >= OUTBOX_RECEIVE_COMPLETIONS, "a receive always finds room");

/* Empties the outbox: completions to their CQs, events to their devices. */
void engine_deliver_outbox(struct uroce_lcore *lcore);

/* Queues an event for the application, or counts it as lost when the queue is full. */
void engine_deliver_event(struct uroce_device *device, const struct uroce_event *event);

static inline void deliver_all(struct uroce_lcore *lcore)
{
	if (lcore->out.completion_count || lcore->out.event_count)
		engine_deliver_outbox(lcore);
}

/*
 * To be called after adding completions: empties an outbox that is half full, so that the next packet's completions
 * have room.
 */
static inline void deliver_when_many(struct uroce_lcore *lcore)
{
	if (lcore->out.completion_count >= COMPLETIONS_DRAIN)
		deliver_all(lcore);
}

#endif
