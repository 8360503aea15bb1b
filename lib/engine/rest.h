/* rest.h - QPNs in time-wait: the number rests, its place in the table does not (P-7, C-28) */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_REST_H
#define ENGINE_REST_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_spinlock.h>

#define REST_NUMBERS (1u << 24)

struct engine_rest_entry {
	uint64_t until_ns;
	uint32_t qpn;
};

/* A bit a number. They wake in the order in which they went to rest, so one may rest longer than it must. */
struct engine_rest {
	rte_spinlock_t lock; /* lcores that destroy QPs, threads that create them */
	uint64_t *bits;
	struct engine_rest_entry *entries; /* a ring, a power of two */
	uint32_t room, head, count;
};

/* 0 or -ENOMEM. */
int engine_rest_init(struct engine_rest *rest);
void engine_rest_free(struct engine_rest *rest);
/* The number rests until then; for ever when there is no memory to remember that. */
void engine_rest_begin(struct engine_rest *rest, uint32_t qpn, uint64_t until_ns);
/* Wakes the numbers whose time is over; once none rests, memory beyond the first goes back. */
void engine_rest_wake(struct engine_rest *rest, uint64_t now_ns);
/* Did the number rest when engine_rest_wake() returned? */
bool engine_rest_has(const struct engine_rest *rest, uint32_t qpn);

#endif
