/* fault.c - the journal of faults */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "sim/fault.h"

const char *const sim_fault_names[FAULT_KINDS] = {
	[FAULT_LOSS] = "loss",       [FAULT_BURST] = "burst",       [FAULT_DUP] = "dup",
	[FAULT_REORDER] = "reorder", [FAULT_TRUNCATE] = "truncate", [FAULT_CORRUPT] = "corrupt",
	[FAULT_FORGE] = "forge",     [FAULT_REPLAY] = "replay",     [FAULT_BLACKHOLE] = "blackhole",
	[FAULT_PAUSE] = "pause",     [FAULT_JUMP] = "jump",         [FAULT_DESTROY] = "destroy",
	[FAULT_ERROR] = "error",     [FAULT_DEREG] = "dereg",       [FAULT_BAD_WR] = "bad-wr",
	[FAULT_RESET] = "reset",     [FAULT_DRAIN] = "drain",       [FAULT_MIGRATE] = "migrate",
};

static int compare_names(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

void sim_fault_sort(uint64_t *names, uint32_t count)
{
	qsort(names, count, sizeof(*names), compare_names);
}

bool sim_fault_happens(struct sim_faults *faults, enum sim_fault_kind kind, uint64_t number, uint64_t now_ns)
{
	uint64_t name = fault_name(kind, number);

	if (faults->stopped || (faults->off >> kind & 1))
		return false;
	if (faults->only_listed &&
	    bsearch(&name, faults->allowed, faults->allowed_count, sizeof(name), compare_names) == NULL)
		return false;
	if (faults->count == faults->room) {
		faults->room = faults->room ? faults->room * 2 : 256;
		faults->journal = realloc(faults->journal, faults->room * sizeof(*faults->journal));
	}
	faults->journal[faults->count++] = (struct sim_fault){ name, now_ns };
	return true;
}
