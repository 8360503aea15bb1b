/* deadlines.c - a heap of deadlines, in which each thing knows its index */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/deadlines.h"

#include "cm/memory.h"

#define NOWHERE UINT32_MAX

uint64_t cm_deadlines_bytes(uint32_t things)
{
	return memory_lines(sizeof(struct cm_deadline) * things) + memory_lines(sizeof(uint32_t) * things);
}

void cm_deadlines_init(struct cm_deadlines *deadlines, uint8_t **memory, uint32_t things)
{
	deadlines->heap = memory_cut(memory, sizeof(struct cm_deadline) * things);
	deadlines->index_of = memory_cut(memory, sizeof(uint32_t) * things);
	deadlines->count = 0;
	memset(deadlines->index_of, 0xFF, sizeof(uint32_t) * things);
}

static void put(struct cm_deadlines *deadlines, uint32_t index, struct cm_deadline deadline)
{
	deadlines->heap[index] = deadline;
	deadlines->index_of[deadline.thing] = index;
}

static void swap(struct cm_deadlines *deadlines, uint32_t a, uint32_t b)
{
	struct cm_deadline other = deadlines->heap[a];

	put(deadlines, a, deadlines->heap[b]);
	put(deadlines, b, other);
}

static bool is_nearer(const struct cm_deadlines *deadlines, uint32_t a, uint32_t b)
{
	return deadlines->heap[a].when_ns < deadlines->heap[b].when_ns;
}

static void sift(struct cm_deadlines *deadlines, uint32_t index)
{
	while (index > 0 && is_nearer(deadlines, index, (index - 1) / 2)) {
		swap(deadlines, index, (index - 1) / 2);
		index = (index - 1) / 2;
	}
	for (;;) {
		uint32_t least = index;

		for (uint32_t child = 2 * index + 1; child <= 2 * index + 2 && child < deadlines->count; child++) {
			if (is_nearer(deadlines, child, least))
				least = child;
		}
		if (least == index)
			return;
		swap(deadlines, index, least);
		index = least;
	}
}

static void remove_from(struct cm_deadlines *deadlines, uint32_t index)
{
	deadlines->index_of[deadlines->heap[index].thing] = NOWHERE;
	if (index == --deadlines->count)
		return;
	put(deadlines, index, deadlines->heap[deadlines->count]);
	sift(deadlines, index);
}

void cm_deadlines_set(struct cm_deadlines *deadlines, uint32_t thing, uint64_t when_ns)
{
	uint32_t index = deadlines->index_of[thing];

	if (when_ns == CM_NEVER) {
		if (index != NOWHERE)
			remove_from(deadlines, index);
		return;
	}
	if (index == NOWHERE)
		index = deadlines->count++;
	put(deadlines, index, (struct cm_deadline){ when_ns, thing });
	sift(deadlines, index);
}

uint64_t cm_deadlines_next(const struct cm_deadlines *deadlines)
{
	return deadlines->count ? deadlines->heap[0].when_ns : CM_NEVER;
}

bool cm_deadlines_due(const struct cm_deadlines *deadlines, uint64_t now_ns, uint32_t *thing)
{
	if (deadlines->count == 0 || deadlines->heap[0].when_ns > now_ns)
		return false;
	*thing = deadlines->heap[0].thing;
	return true;
}
