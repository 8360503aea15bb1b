/* take.c - takes completions from a queue, and drops those of queue pairs that are gone */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/take.h"

#include <stdlib.h>

static bool is_forgotten(const struct verb_cq *cq, uint32_t qp_num)
{
	for (const struct verb_forgotten *at = cq->forgotten; at; at = at->next) {
		if (at->qp_num == qp_num)
			return true;
	}
	return false;
}

/* With both locks of the queue: a mark is compared with what has been polled. */
static void drop_passed(struct verb_cq *cq)
{
	struct verb_forgotten *left = NULL, *next;

	for (struct verb_forgotten *one = cq->forgotten; one; one = next) {
		next = one->next;
		if (uroce_cq_passed(cq->cq, one->mark)) {
			free(one);
			continue;
		}
		one->next = left;
		left = one;
	}
	cq->forgotten = left;
}

/* Was the completion that was just polled one of a queue pair that is gone? */
static bool drops(struct verb_cq *cq, uint32_t qp_num)
{
	bool forgotten;

	lock_take(&cq->forgotten_lock);
	forgotten = is_forgotten(cq, qp_num);
	drop_passed(cq);
	lock_release(&cq->forgotten_lock);
	return forgotten;
}

int verb_take_living(struct verb_cq *cq, int count, struct uroce_wc *wc)
{
	int taken = 0;

	/*
	 * Takes completions one by one, because a completion behind the mark may be of a new queue pair with the same
	 * number.
	 */
	while (taken < count && uroce_cq_poll(cq->cq, 1, &wc[taken]) == 1)
		taken += !drops(cq, wc[taken].qp_num);
	return taken;
}

/*
 * The queue's own lock is not waited for, because another thread may keep it while it walks, and may wait for this one.
 * Whoever has that lock drops marks that have been passed.
 */
void verb_forget(struct ibv_cq *ibv, uint32_t qp_num)
{
	struct verb_cq *cq = verb_cq_of(ibv);
	struct verb_forgotten *one = malloc(sizeof(*one));
	bool may_poll = cq->single_threaded || lock_try(&cq->lock);

	if (one) { /* otherwise these are dropped when they are polled */
		lock_take(&cq->forgotten_lock);
		*one = (struct verb_forgotten){ cq->forgotten, qp_num, uroce_cq_mark(cq->cq) };
		cq->forgotten = one;
		if (may_poll)
			drop_passed(cq);
		lock_release(&cq->forgotten_lock);
	}
	if (may_poll)
		verb_cq_unlock(cq);
}

void verb_forget_all(struct verb_cq *cq)
{
	while (cq->forgotten) {
		struct verb_forgotten *one = cq->forgotten;

		cq->forgotten = one->next;
		free(one);
	}
}
