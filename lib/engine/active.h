/* active.h - QPs that have something to do, in turn */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring rather than a list, so that the next ones can be fetched into the cache ahead. An lcore has one for each of
 * its ports, so that nobody is looked at in vain while a port has no room, and nobody waits behind another port's QPs;
 * and one for QPs without a port. Each has a place for every QP that the lcore can have. Places are counted without
 * end; NULL: the one that stood there has gone.
 */
#ifndef ENGINE_ACTIVE_H
#define ENGINE_ACTIVE_H

#include "engine/engine.h"

/* Room for the QPs that an lcore of the engine can have. 0 or -ENOMEM. */
int engine_active_init(struct engine_active *active, const struct uroce_engine *engine, int node);
void engine_active_free(struct engine_active *active);

/* Those that have gone leave holes, which this closes. For active_claim() alone. */
void engine_active_tidy(struct engine_active *active);

static inline uint32_t active_count(const struct engine_active *active)
{
	return active->tail - active->head;
}

/* true: the QP gets a place in its ring. Who has one keeps it. */
static inline bool active_claim(struct uroce_qp *qp)
{
	if (qp->active)
		return false;
	qp->active = true;
	if (active_count(qp->turns) > qp->turns->mask)
		engine_active_tidy(qp->turns);
	return true;
}

static inline void active_add_last(struct uroce_qp *qp)
{
	if (!active_claim(qp))
		return;
	qp->active_at = qp->turns->tail++;
	qp->turns->qps[qp->active_at & qp->turns->mask] = qp;
}

/* Something has happened to the QP, whatever it is. */
static inline void active_add(struct uroce_qp *qp)
{
	qp->answers_only = false;
	active_add_last(qp);
}

/* Before all others: a peer waits for the answer (S-18). */
static inline void active_add_first(struct uroce_qp *qp)
{
	if (!active_claim(qp))
		return;
	qp->active_at = --qp->turns->head;
	qp->turns->qps[qp->active_at & qp->turns->mask] = qp;
}

static inline void active_remove(struct uroce_qp *qp)
{
	if (qp->active)
		qp->turns->qps[qp->active_at & qp->turns->mask] = NULL;
	qp->active = false;
}

/* From now on the QP has its turns in another ring, at once if it stood in the old one. */
static inline void active_move(struct uroce_qp *qp, struct engine_active *turns)
{
	bool active = qp->active;

	active_remove(qp);
	qp->turns = turns;
	if (active)
		active_add(qp);
}

/* The next one, which has no place any more; NULL when what stood there has gone. Not of an empty ring. */
static inline struct uroce_qp *active_take(struct engine_active *active)
{
	struct uroce_qp *qp = active->qps[active->head++ & active->mask];

	if (qp)
		qp->active = false;
	return qp;
}

/* The n-th behind the next one, or NULL. */
static inline struct uroce_qp *active_look(const struct engine_active *active, uint32_t n)
{
	return active_count(active) > n ? active->qps[(active->head + n) & active->mask] : NULL;
}

#endif
