/* deadlines.h - numbered things by their deadlines: which one is due next */
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

/* A heap, the nearest deadline on top. */
struct cm_deadlines {
	struct cm_deadline *heap;
	uint32_t *place_of; /* of each thing: in the heap; UINT32_MAX: it has no deadline */
	uint32_t count;
};

uint64_t cm_deadlines_bytes(uint32_t things);
/* Cuts what it needs off *memory. No thing has a deadline. */
void cm_deadlines_init(struct cm_deadlines *deadlines, uint8_t **memory, uint32_t things);
/* CM_NEVER: it has none. */
void cm_deadlines_set(struct cm_deadlines *deadlines, uint32_t thing, uint64_t when_ns);
/* The nearest one; CM_NEVER: there is none. */
uint64_t cm_deadlines_next(const struct cm_deadlines *deadlines);
/* false: nothing is due by then. The thing keeps its deadline. */
bool cm_deadlines_due(const struct cm_deadlines *deadlines, uint64_t now_ns, uint32_t *thing);

#endif
