/* run_queue.h - QPs that have something to do, in turn */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring rather than a list, so that the next ones can be fetched into the cache ahead. An lcore has one for each of
 * its ports, so that nobody is looked at in vain while a port has no room, and nobody waits behind another port's QPs;
 * and one for QPs without a port. Each has a place for every QP that the lcore can have. Places are counted without
 * end; NULL: the one that stood there has gone.
 */
#ifndef ENGINE_RUN_QUEUE_H
#define ENGINE_RUN_QUEUE_H

#include "engine/engine.h"

/* Room for the QPs that an lcore of the engine can have. 0 or -ENOMEM. */
int engine_run_queue_init(struct engine_run_queue *active, const struct uroce_engine *engine, int node);
void engine_run_queue_free(struct engine_run_queue *active);

/* Those that have gone leave holes, which this closes. For run_queue_claim() alone. */
void engine_run_queue_tidy(struct engine_run_queue *active);

static inline uint32_t run_queue_count(const struct engine_run_queue *active)
{
	return active->tail - active->head;
}

/* true: the QP gets a place in its ring. Who has one keeps it. */
static inline bool run_queue_claim(struct uroce_qp *qp)
{
	if (qp->queued)
		return false;
	qp->queued = true;
	if (run_queue_count(qp->run_queue) > qp->run_queue->mask)
		engine_run_queue_tidy(qp->run_queue);
	return true;
}

static inline void run_queue_add_last(struct uroce_qp *qp)
{
	if (!run_queue_claim(qp))
		return;
	qp->queued_at = qp->run_queue->tail++;
	qp->run_queue->qps[qp->queued_at & qp->run_queue->mask] = qp;
}

/* Something has happened to the QP, whatever it is. */
static inline void run_queue_add(struct uroce_qp *qp)
{
	qp->responder_only = false;
	run_queue_add_last(qp);
}

/* Before all others: a peer waits for the response (S-18). */
static inline void run_queue_add_first(struct uroce_qp *qp)
{
	if (!run_queue_claim(qp))
		return;
	qp->queued_at = --qp->run_queue->head;
	qp->run_queue->qps[qp->queued_at & qp->run_queue->mask] = qp;
}

static inline void run_queue_remove(struct uroce_qp *qp)
{
	if (qp->queued)
		qp->run_queue->qps[qp->queued_at & qp->run_queue->mask] = NULL;
	qp->queued = false;
}

/* From now on the QP is served from another ring, at once if it stood in the old one. */
static inline void run_queue_move(struct uroce_qp *qp, struct engine_run_queue *queue)
{
	bool active = qp->queued;

	run_queue_remove(qp);
	qp->run_queue = queue;
	if (active)
		run_queue_add(qp);
}

/* The next one, which has no place any more; NULL when what stood there has gone. Not of an empty ring. */
static inline struct uroce_qp *run_queue_take(struct engine_run_queue *active)
{
	struct uroce_qp *qp = active->qps[active->head++ & active->mask];

	if (qp)
		qp->queued = false;
	return qp;
}

/* The n-th behind the next one, or NULL. */
static inline struct uroce_qp *run_queue_look(const struct engine_run_queue *active, uint32_t n)
{
	return run_queue_count(active) > n ? active->qps[(active->head + n) & active->mask] : NULL;
}

#endif
