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

static void drop_passed(struct verb_cq *cq)
{
	for (struct verb_forgotten **at = &cq->forgotten, *one = *at; one; one = *at) {
		if (!uroce_cq_passed(cq->cq, one->mark)) {
			at = &one->next;
			continue;
		}
		*at = one->next;
		free(one);
	}
}

int verb_take_living(struct verb_cq *cq, int count, struct uroce_wc *wc)
{
	int taken = 0;

	/*
	 * Takes completions one by one, because a completion behind the mark may be of a new queue pair with the same
	 * number.
	 */
	while (taken < count && uroce_cq_poll(cq->cq, 1, &wc[taken]) == 1) {
		if (!is_forgotten(cq, wc[taken].qp_num))
			taken++;
		drop_passed(cq);
	}
	return taken;
}

void verb_forget(struct ibv_cq *ibv, uint32_t qp_num)
{
	struct verb_cq *cq = verb_cq_of(ibv);
	struct verb_forgotten *one = malloc(sizeof(*one));

	if (one == NULL)
		return; /* these are dropped when they are polled */
	lock_take(&cq->lock);
	*one = (struct verb_forgotten){ cq->forgotten, qp_num, uroce_cq_mark(cq->cq) };
	cq->forgotten = one;
	drop_passed(cq);
	lock_release(&cq->lock);
}

void verb_forget_all(struct verb_cq *cq)
{
	while (cq->forgotten) {
		struct verb_forgotten *one = cq->forgotten;

		cq->forgotten = one->next;
		free(one);
	}
}
