/* run_queue.h - queues QPs that have work, so that each is served in its turn, and arms their timers */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run queue is a ring and not a list, so that the lines of the next QPs can be fetched into the cache ahead. An lcore
 * has one run queue for each of its ports, and one for QPs without a port. So while a port has no room its QPs cost no
 * time and delay no QPs of other ports. Each has room for all QPs that the lcore can have. head and tail are never
 * wrapped. A QP that has left the queue leaves a hole: its entry is NULL.
 */
#ifndef ENGINE_RUN_QUEUE_H
#define ENGINE_RUN_QUEUE_H

#include "engine/lcore_state.h"

/* Makes room for all QPs that an lcore of the engine can have. Returns 0 or -ENOMEM. */
int engine_run_queue_init(struct engine_run_queue *queue, const struct uroce_engine *engine, int node);
void engine_run_queue_free(struct engine_run_queue *queue);

/* Closes the holes that QPs have left. Called by run_queue_claim() only. */
void engine_run_queue_tidy(struct engine_run_queue *queue);

static inline uint32_t run_queue_count(const struct engine_run_queue *queue)
{
	return queue->tail - queue->head;
}

/* Returns true if the QP needs an entry in its queue, false if it keeps the entry that it has. */
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

/* The QP may have work: queues it at the end. */
static inline void run_queue_add(struct uroce_qp *qp)
{
	qp->responder_only = false;
	run_queue_add_last(qp);
}

/* Queues the QP before all others, because a peer waits for its response (S-18). */
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

/* The QP changes to another queue, and is queued there if it was queued in the old one. */
static inline void run_queue_move(struct uroce_qp *qp, struct engine_run_queue *queue)
{
	bool queued = qp->queued;

	run_queue_remove(qp);
	qp->run_queue = queue;
	if (queued)
		run_queue_add(qp);
}

/* Takes the next QP out of a queue that is not empty. Returns NULL if the entry is a hole. */
static inline struct uroce_qp *run_queue_pop(struct engine_run_queue *queue)
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
 * Arms the timer of the QP for an earlier deadline. If the deadline has become later the timer expires too early, and
 * is armed again then.
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
