/* agenda.c - a heap ordered by time, then by age */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "sim/agenda.h"

static bool is_work(const struct sim_due *due)
{
	return due->kind != DUE_TIMER && due->kind != DUE_WATCH;
}

static bool comes_before(const struct sim_due *a, const struct sim_due *b)
{
	return a->when_ns != b->when_ns ? a->when_ns < b->when_ns : a->order < b->order;
}

void sim_agenda_put_off(struct sim_agenda *agenda, struct sim_due due)
{
	uint32_t at = agenda->count++;

	if (agenda->count > agenda->room) {
		agenda->room = agenda->room ? agenda->room * 2 : 256;
		agenda->heap = realloc(agenda->heap, agenda->room * sizeof(*agenda->heap));
	}
	agenda->busy += is_work(&due);
	while (at > 0 && comes_before(&due, &agenda->heap[(at - 1) / 2])) {
		agenda->heap[at] = agenda->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	agenda->heap[at] = due;
}

void sim_agenda_add(struct sim_agenda *agenda, struct sim_due due)
{
	due.order = agenda->next_order++;
	sim_agenda_put_off(agenda, due);
}

bool sim_agenda_take(struct sim_agenda *agenda, struct sim_due *due)
{
	struct sim_due last;
	uint32_t at = 0;

	if (agenda->count == 0)
		return false;
	*due = agenda->heap[0];
	agenda->busy -= is_work(due);
	last = agenda->heap[--agenda->count];
	while (2 * at + 1 < agenda->count) {
		uint32_t child = 2 * at + 1;

		if (child + 1 < agenda->count && comes_before(&agenda->heap[child + 1], &agenda->heap[child]))
			child++;
		if (!comes_before(&agenda->heap[child], &last))
			break;
		agenda->heap[at] = agenda->heap[child];
		at = child;
	}
	agenda->heap[at] = last;
	return true;
}
