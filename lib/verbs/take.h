/* take.h - takes completions, and forgets those of a queue pair */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_TAKE_H
#define VERBS_TAKE_H

#include <sched.h>

#include "verbs/objects.h"

/* As verb_take(), but leaves out the completions of queue pairs that are gone. */
int verb_take_living(struct verb_cq *cq, int count, struct uroce_wc *wc);

/* Takes up to `count` completions, with the queue's lock held. Returns how many. */
static inline int verb_take(struct verb_cq *cq, int count, struct uroce_wc *wc)
{
	return atomic_load_explicit(&cq->forgotten, memory_order_relaxed) ? verb_take_living(cq, count, wc) :
									    uroce_cq_poll(cq->cq, count, wc);
}

/*
 * To be called, without the queue's lock, when a poll found nothing. On one core nothing can arrive before the stack's
 * thread has run.
 */
static inline void verb_took_nothing(const struct verb_cq *cq)
{
	if (__builtin_expect(cq->yields, 0))
		sched_yield();
}

/* Drops waiting completions of the queue pair, which was reset or is being destroyed: its user does not expect them. */
void verb_forget(struct ibv_cq *cq, uint32_t qp_num);
/* The queue is being destroyed. */
void verb_forget_all(struct verb_cq *cq);

#endif
