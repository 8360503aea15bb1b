/* timewait.h - QPNs in time-wait: such a number is not used again yet, but its slot in the table may be (P-7, C-28) */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_TIMEWAIT_H
#define ENGINE_TIMEWAIT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_spinlock.h>

#define TIMEWAIT_NUMBERS (1u << 24)
#define TIMEWAIT_QUEUES 65u

struct engine_timewait_entry {
	uint64_t until_ns;
	uint32_t qpn;
};

/* Numbers with about the same wait, which therefore leave time-wait in the order in which they entered it. */
struct engine_timewait_queue {
	struct engine_timewait_entry *entries; /* a ring whose size is a power of two; NULL: this wait was never used */
	uint32_t room, head, count;
};

/*
 * One bit for each number, and one queue for each power of two of nanoseconds, because the waits follow from ACK
 * timeouts, which are powers of two.
 */
struct engine_timewait {
	rte_spinlock_t lock; /* lcores that destroy QPs and threads that create QPs take the lock */
	uint64_t *bits;
	struct engine_timewait_queue queues[TIMEWAIT_QUEUES];
	uint32_t count; /* numbers in all queues */
};

/* Returns 0 or -ENOMEM. */
int engine_timewait_init(struct engine_timewait *timewait);
void engine_timewait_free(struct engine_timewait *timewait);
/* Puts the number into time-wait for wait_ns; for ever, if there is no memory to store the end. */
void engine_timewait_begin(struct engine_timewait *timewait, uint32_t qpn, uint64_t now_ns, uint64_t wait_ns);
/*
 * Ends the time-wait of numbers whose time has come. A queue that becomes empty frees its memory, except the first
 * part.
 */
void engine_timewait_wake(struct engine_timewait *timewait, uint64_t now_ns);
/* Was the number in time-wait when engine_timewait_wake() returned? */
bool engine_timewait_has(const struct engine_timewait *timewait, uint32_t qpn);
/* Bytes of memory in use for numbers in time-wait. */
uint64_t engine_timewait_bytes(const struct engine_timewait *timewait);

#endif
