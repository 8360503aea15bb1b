/* run_queue.h - queues QPs that have work, so that each is served in its turn, and arms their timers */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run queue has two rings and no lists, so that the lines of the next QPs can be fetched into the cache ahead: one
 * ring of QPs that wait for their turn, and one of QPs that owe ACKs and NAKs, for which peers wait (S-18). A QP may be
 * in both: then its requests keep their place. An lcore has one run queue for each of its ports, and one for QPs
 * without a port. So while a port has no room its QPs cost no time and delay no QPs of other ports. Each ring has room
 * for all QPs that the lcore can have, and for as many holes. head and tail are never wrapped. A QP that has left the
 * queue leaves a hole: its entry is NULL. Not a share (share.h): QPs fill the frames of a port in turn, so each waits
 * and none is refused.
 */
#ifndef ENGINE_RUN_QUEUE_H
#define ENGINE_RUN_QUEUE_H

#include "engine/lcore_state.h"
#include "engine/qp.h"
#include "rc/ack.h"
#include "rc/work.h"

#define RUN_QUEUE_NEAR 16u /* a QP before whose turn at most so many have theirs is served soon */

/* Makes room for all QPs that an lcore of the engine can have. Returns 0 or -ENOMEM. */
int engine_run_queue_init(struct engine_run_queue *queue, const struct uroce_engine *engine, int node);
void engine_run_queue_free(struct engine_run_queue *queue);

/* Closes the holes that QPs have left in both rings. */
void engine_run_queue_tidy(struct engine_run_queue *queue);

static inline uint32_t qp_ring_count(const struct engine_qp_ring *ring)
{
	return ring->tail - ring->head;
}

static inline uint32_t run_queue_count(const struct engine_run_queue *queue)
{
	return queue->count;
}

/* The ring whose entries are next: answers leave first. */
static inline const struct engine_qp_ring *run_queue_next_ring(const struct engine_run_queue *queue)
{
	return qp_ring_count(&queue->answers) > 0 ? &queue->answers : &queue->turns;
}

/* The n-th QP behind the next one in this ring of the queue, or NULL. */
static inline struct uroce_qp *run_queue_look(const struct engine_run_queue *queue, const struct engine_qp_ring *ring,
					      uint32_t n)
{
	return qp_ring_count(ring) > n ? ring->qps[(ring->head + n) & queue->mask] : NULL;
}

/* Adds the QP at the end of a ring. Returns its index there. */
static inline uint32_t run_queue_append(struct engine_run_queue *queue, struct engine_qp_ring *ring,
					struct uroce_qp *qp)
{
	if (qp_ring_count(ring) > queue->mask)
		engine_run_queue_tidy(queue);
	ring->qps[ring->tail & queue->mask] = qp;
	queue->count++;
	return ring->tail++;
}

/* Does the QP wait for its turn behind so many others that a peer would wait long for an ACK? */
static inline bool run_queue_is_far(const struct uroce_qp *qp)
{
	return qp->rings == RING_TURNS && qp->turn_at - qp->run_queue->turns.head > RUN_QUEUE_NEAR;
}

/*
 * Queues the QP for its turn. If it owes answers and few others wait, that entry is enough: it sends requests as well
 * unless responder_only is set.
 */
static inline void run_queue_add_last(struct uroce_qp *qp)
{
	struct engine_run_queue *queue = qp->run_queue;

	if (qp->rings && ((qp->rings & RING_TURNS) || qp_ring_count(&queue->turns) <= RUN_QUEUE_NEAR))
		return;
	qp->rings |= RING_TURNS;
	qp->turn_at = run_queue_append(queue, &queue->turns, qp);
}

/* The QP may have work: queues it at the end. */
static inline void run_queue_add(struct uroce_qp *qp)
{
	qp->responder_only = false;
	run_queue_add_last(qp);
}

/* Queues the QP before all that wait for their turn, because a peer waits for its response (S-18). */
static inline void run_queue_add_first(struct uroce_qp *qp)
{
	struct engine_run_queue *queue = qp->run_queue;

	if (qp->rings && !run_queue_is_far(qp))
		return;
	qp->rings |= RING_ANSWERS;
	qp->answer_at = run_queue_append(queue, &queue->answers, qp);
}

/* The QP waits for its turn. Does it owe an ACK or NAK, which is not to wait as long? */
static inline void run_queue_add_answer(struct uroce_qp *qp)
{
	if (__builtin_expect(run_queue_is_far(qp), 0) && work_has_an_ack(qp_work(qp_core(qp), WORK_RESPONDER)))
		run_queue_add_first(qp);
}

static inline void run_queue_remove(struct uroce_qp *qp)
{
	struct engine_run_queue *queue = qp->run_queue;

	if (qp->rings & RING_TURNS)
		queue->turns.qps[qp->turn_at & queue->mask] = NULL;
	if (qp->rings & RING_ANSWERS)
		queue->answers.qps[qp->answer_at & queue->mask] = NULL;
	qp->rings = 0;
}

/* The QP changes to another queue, and is queued there if it was queued in the old one. */
static inline void run_queue_move(struct uroce_qp *qp, struct engine_run_queue *queue)
{
	bool queued = qp->rings != 0;

	run_queue_remove(qp);
	qp->run_queue = queue;
	if (queued)
		run_queue_add(qp);
}

/*
 * Takes the next entry out of a queue that is not empty. Returns its QP, or NULL if the entry is a hole. If the QP then
 * still waits for its turn, it owes answers now, and its requests keep their place.
 */
static inline struct uroce_qp *run_queue_pop(struct engine_run_queue *queue)
{
	bool answers = qp_ring_count(&queue->answers) > 0;
	struct engine_qp_ring *ring = answers ? &queue->answers : &queue->turns;
	struct uroce_qp *qp = ring->qps[ring->head++ & queue->mask];

	queue->count--;
	if (qp)
		qp->rings &= (uint8_t) ~(answers ? RING_ANSWERS : RING_TURNS);
	return qp;
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
