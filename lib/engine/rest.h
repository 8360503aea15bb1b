/* rest.h - QPNs in time-wait: the number is not used again yet, its place in the table may be (P-7, C-28) */
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

/* Numbers with about the same wait, which therefore leave time-wait in the order in which they entered it. */
struct engine_rest_queue {
	struct engine_rest_entry *entries; /* a ring whose size is a power of two; NULL: this wait was never used */
	uint32_t room, head, count;
};

/*
 * One bit for each number, and one queue for each power of two of nanoseconds, as ACK timeouts, which set the waits,
 * are powers of two.
 */
struct engine_rest {
	rte_spinlock_t lock; /* taken by lcores that destroy QPs and by threads that create them */
	uint64_t *bits;
	struct engine_rest_queue queues[REST_QUEUES];
	uint32_t count; /* numbers in all queues */
};

/* Returns 0 or -ENOMEM. */
int engine_rest_init(struct engine_rest *rest);
void engine_rest_free(struct engine_rest *rest);
/* Puts the number into time-wait for wait_ns; for ever, if there is no memory to store the end. */
void engine_rest_begin(struct engine_rest *rest, uint32_t qpn, uint64_t now_ns, uint64_t wait_ns);
/*
 * Ends the time-wait of numbers whose time has come. A queue that becomes empty frees its memory, except the first
 * part.
 */
void engine_rest_wake(struct engine_rest *rest, uint64_t now_ns);
/* Was the number in time-wait when engine_rest_wake() returned? */
bool engine_rest_has(const struct engine_rest *rest, uint32_t qpn);
/* Bytes of memory in use for numbers in time-wait. */
uint64_t engine_rest_bytes(const struct engine_rest *rest);

#endif
