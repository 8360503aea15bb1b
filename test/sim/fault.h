/* fault.h - what goes wrong: kinds of faults, and the journal of those that happened */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each fault has a name that stays the same when others are left out: its kind, and what it happens to (the n-th
 * packet of an end, the n-th request of the run). A run may be told which ones are allowed: that is how the list of a
 * failing run is made short.
 */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include <stdbool.h>
#include <stdint.h>

enum sim_fault_kind {
	FAULT_LOSS,      /* a frame vanishes */
	FAULT_BURST,     /* so do all that follow for a while */
	FAULT_DUP,       /* up to 8 copies arrive */
	FAULT_REORDER,   /* it arrives late, perhaps a whole window later */
	FAULT_TRUNCATE,  /* its end is missing */
	FAULT_CORRUPT,   /* some bits are flipped */
	FAULT_FORGE,     /* the same, and the ICRC is made right again: an attacker */
	FAULT_REPLAY,    /* an old frame arrives once more, perhaps of an earlier life of the QPN */
	FAULT_BLACKHOLE, /* from one node to another nothing arrives for a while */
	FAULT_PAUSE,     /* a node stands still for a while */
	FAULT_JUMP,      /* its clock jumps forward */
	FAULT_DESTROY,   /* an application destroys a QP with work outstanding */
	FAULT_ERROR,     /* it moves one to ERR */
	FAULT_DEREG,     /* it deregisters the memory that the peer works on */
	FAULT_BAD_WR,    /* it posts a request with a wrong key or range */
	FAULT_DRAIN,     /* SQD and back: nothing goes wrong, but much changes */
	FAULT_MIGRATE,   /* software migrates, or a port fails */
	FAULT_RESET,     /* an application resets a QP with work outstanding: all of it vanishes */
	FAULT_KINDS
};

extern const char *const sim_fault_names[FAULT_KINDS];

struct sim_fault {
	uint64_t name; /* kind in the top byte */
	uint64_t when_ns;
};

struct sim_faults {
	uint32_t off;     /* bit n: kind n never happens */
	bool stopped;     /* from now on nothing goes wrong */
	bool only_listed; /* those of `allowed` may happen, sorted by name */
	const uint64_t *allowed;
	uint32_t allowed_count;
	struct sim_fault *journal;
	uint32_t count, room;
};

static inline uint64_t fault_name(enum sim_fault_kind kind, uint64_t number)
{
	return (uint64_t)kind << 56 | number;
}

/* Does it happen? Then it stands in the journal. */
bool sim_fault_happens(struct sim_faults *faults, enum sim_fault_kind kind, uint64_t number, uint64_t now_ns);
void sim_fault_sort(uint64_t *names, uint32_t count);

#endif
