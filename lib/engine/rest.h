/* rest.h - QPNs in time-wait: the number rests, its place in the table does not (P-7, C-28) */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_REST_H
#define ENGINE_REST_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_spinlock.h>

#define REST_NUMBERS (1u << 24)
#define REST_QUEUES 65u

struct engine_rest_entry {
	uint64_t until_ns;
	uint32_t qpn;
};

/* Those that rest for about as long: they wake in the order in which they came. */
struct engine_rest_queue {
	struct engine_rest_entry *entries; /* a ring, a power of two; NULL: none has rested so long yet */
	uint32_t room, head, count;
};

/* A bit a number, and a queue for each power of two of nanoseconds: ACK timeouts, which decide how long, are powers. */
struct engine_rest {
	rte_spinlock_t lock; /* lcores that destroy QPs, threads that create them */
	uint64_t *bits;
	struct engine_rest_queue queues[REST_QUEUES];
	uint32_t count; /* of all */
};

/* 0 or -ENOMEM. */
int engine_rest_init(struct engine_rest *rest);
void engine_rest_free(struct engine_rest *rest);
/* The number rests for so long; for ever when there is no memory to remember that. */
void engine_rest_begin(struct engine_rest *rest, uint32_t qpn, uint64_t now_ns, uint64_t wait_ns);
/* Wakes the numbers whose time is over; where none rests, memory beyond the first goes back. */
void engine_rest_wake(struct engine_rest *rest, uint64_t now_ns);
/* Did the number rest when engine_rest_wake() returned? */
bool engine_rest_has(const struct engine_rest *rest, uint32_t qpn);
/* Of memory, for what rests. */
uint64_t engine_rest_bytes(const struct engine_rest *rest);

#endif
