/* lock.h - the lock of a queue; a zeroed lock is free */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verbs let any thread call at any time, so each post and each poll takes a lock. The code is inline because a call of
 * lock_take() costs as much as the conversion of a completion. Two pairs of verbs hold a lock from one call to another:
 * ibv_start_poll() to ibv_end_poll(), and ibv_wr_start() to ibv_wr_complete(). In between the same thread may call any
 * verb: lock_take() succeeds at once for the thread that keeps the lock.
 */
#ifndef VERBS_LOCK_H
#define VERBS_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct verb_lock {
	_Atomic unsigned held;
	unsigned depth; /* how often the keeper has taken the lock besides; written by the keeper */
	_Atomic bool kept;
	_Atomic pthread_t keeper; /* valid while kept */
};

/* Does the calling thread keep the lock from one call to another? */
static inline bool lock_is_mine(const struct verb_lock *lock)
{
	/* only the keeper itself sees its own number here, so nothing has to be ordered */
	return atomic_load_explicit(&lock->kept, memory_order_relaxed) &&
	       pthread_equal(atomic_load_explicit(&lock->keeper, memory_order_relaxed), pthread_self());
}

/* Returns false if another thread holds the lock. */
static inline bool lock_try(struct verb_lock *lock)
{
	/* pairs with L1 in lock_release: what the last holder has written is visible */
	if (__builtin_expect(!atomic_exchange_explicit(&lock->held, 1, memory_order_acquire), 1))
		return true;
	if (!lock_is_mine(lock))
		return false;
	lock->depth++;
	return true;
}

static inline void lock_take(struct verb_lock *lock)
{
	while (!lock_try(lock)) {
		while (atomic_load_explicit(&lock->held, memory_order_relaxed)) {
#ifdef __x86_64__
			__builtin_ia32_pause();
#endif
		}
	}
}

static inline void lock_release(struct verb_lock *lock)
{
	if (__builtin_expect(lock->depth > 0, 0)) {
		lock->depth--;
		return;
	}
	/* L1 */
	atomic_store_explicit(&lock->held, 0, memory_order_release);
}

/* Takes the lock until lock_drop(), which the same thread calls. */
static inline void lock_keep(struct verb_lock *lock)
{
	lock_take(lock);
	atomic_store_explicit(&lock->keeper, pthread_self(), memory_order_relaxed);
	atomic_store_explicit(&lock->kept, true, memory_order_relaxed);
}

static inline void lock_drop(struct verb_lock *lock)
{
	atomic_store_explicit(&lock->kept, false, memory_order_relaxed);
	lock_release(lock);
}

#endif
