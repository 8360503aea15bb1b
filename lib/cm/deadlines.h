/* deadlines.h - deadlines of numbered things: which is the next to be due */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CM_DEADLINES_H
#define CM_DEADLINES_H

#include <stdbool.h>
#include <stdint.h>

#define CM_NEVER UINT64_MAX

struct cm_deadline {
	uint64_t when_ns;
	uint32_t thing;
};

/* A heap with the earliest deadline on top. */
struct cm_deadlines {
	struct cm_deadline *heap;
	uint32_t *index_of; /* each thing's index in the heap; UINT32_MAX: it has no deadline */
	uint32_t count;
};

uint64_t cm_deadlines_bytes(uint32_t things);
/* Takes the heap's memory from the front of *memory, and moves *memory behind it. No thing has a deadline yet. */
void cm_deadlines_init(struct cm_deadlines *deadlines, uint8_t **memory, uint32_t things);
/* when_ns CM_NEVER: the thing has no deadline any more. */
void cm_deadlines_set(struct cm_deadlines *deadlines, uint32_t thing, uint64_t when_ns);
/* The earliest deadline; CM_NEVER: there is none. */
uint64_t cm_deadlines_next(const struct cm_deadlines *deadlines);
/* Finds a thing whose deadline has passed; the thing keeps its deadline. Returns false if there is none. */
bool cm_deadlines_due(const struct cm_deadlines *deadlines, uint64_t now_ns, uint32_t *thing);

#endif
