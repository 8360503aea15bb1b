/* run_queue.h - when a QP is served: in its turn, when it has something to do, and when its deadline has passed */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run queue is a ring rather than a list, so that the QPs that come next can be fetched into the cache ahead. An
 * lcore has one for each of its ports, so that no QP is looked at in vain while its port has no room, and none waits
 * behind those of another port; and one for QPs without a port. Each has a place for every QP that the lcore can have.
 * head and tail count on without end. A QP that has left the queue has NULL in its place.
 */
#ifndef ENGINE_RUN_QUEUE_H
#define ENGINE_RUN_QUEUE_H

#include "engine/lcore_state.h"

/* Room for the QPs that an lcore of the engine can have. 0 or -ENOMEM. */
int engine_run_queue_init(struct engine_run_queue *queue, const struct uroce_engine *engine, int node);
void engine_run_queue_free(struct engine_run_queue *queue);

/* Closes the holes that QPs have left. For run_queue_claim() alone. */
void engine_run_queue_tidy(struct engine_run_queue *queue);

static inline uint32_t run_queue_count(const struct engine_run_queue *queue)
{
	return queue->tail - queue->head;
}

/* true: the QP is to be given a place in its queue; false: it has one and keeps it. */
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

/* The QP goes before all others, for a peer waits for its response (S-18). */
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

/* The QP is served from another queue from now on; it has a place there if it had one in the old queue. */
static inline void run_queue_move(struct uroce_qp *qp, struct engine_run_queue *queue)
{
	bool queued = qp->queued;

	run_queue_remove(qp);
	qp->run_queue = queue;
	if (queued)
		run_queue_add(qp);
}

/* Takes the next QP out of a queue that is not empty; NULL: that QP has left. */
static inline struct uroce_qp *run_queue_take(struct engine_run_queue *queue)
{
	struct uroce_qp *qp = queue->qps[queue->head++ & queue->mask];

	if (qp)
		qp->queued = false;
	return qp;
}

/* The n-th QP behind the next one, or NULL. */
static inline struct uroce_qp *run_queue_look(const struct engine_run_queue *queue, uint32_t n)
{
	return run_queue_count(queue) > n ? queue->qps[(queue->head + n) & queue->mask] : NULL;
}

/*
 * Arms the timer of the QP for a nearer deadline; with one that has moved away the timer expires early and is armed
 * anew.
 */
static __rte_always_inline void qp_update_timer(struct uroce_lcore *lcore, struct uroce_qp *qp)
{
	uint64_t deadline = rc_qp_deadline(qp_core(qp));

	if (deadline == RC_NEVER)
		return;
	if (!wheel_node_is_armed(&qp->timer) || wheel_tick_of(deadline) < qp->timer.tick)
		engine_wheel_arm(&lcore->wheel, &qp->timer, deadline);
}

#endif
