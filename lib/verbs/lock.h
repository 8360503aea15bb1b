/* lock.h - the lock of a queue, held for the time of a call; a zeroed lock is free */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verbs let any thread call at any time, so each post and each poll takes a lock. The code is inline because a call of
 * lock_take() costs as much as the conversion of a completion.
 */
#ifndef VERBS_LOCK_H
#define VERBS_LOCK_H

#include <stdatomic.h>

struct verb_lock {
	_Atomic unsigned held;
};

static inline void lock_take(struct verb_lock *lock)
{
	/* pairs with L1 in lock_release: what the last holder has written is visible */
	while (atomic_exchange_explicit(&lock->held, 1, memory_order_acquire)) {
		while (atomic_load_explicit(&lock->held, memory_order_relaxed)) {
#ifdef __x86_64__
			__builtin_ia32_pause();
#endif
		}
	}
}

static inline void lock_release(struct verb_lock *lock)
{
	/* L1 */
	atomic_store_explicit(&lock->held, 0, memory_order_release);
}

#endif
