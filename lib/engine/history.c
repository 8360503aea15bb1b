/* history.c - keeps what the counters of a port were, and finds what they were at a time */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/history.h"

#include <stddef.h>

void engine_history_keep(struct engine_history *history, const struct engine_moment *moment)
{
	history->moments[history->count++ % HISTORY_MOMENTS] = *moment;
	history->next_ns = moment->at_ns + HISTORY_INTERVAL_NS;
}

const struct engine_moment *engine_history_find(const struct engine_history *history, uint64_t at_ns)
{
	uint32_t kept = history->count < HISTORY_MOMENTS ? history->count : HISTORY_MOMENTS;
	const struct engine_moment *found = NULL;

	for (uint32_t i = 1; i <= kept; i++) {
		found = &history->moments[(history->count - i) % HISTORY_MOMENTS];
		if (found->at_ns <= at_ns)
			break;
	}
	return found;
}
