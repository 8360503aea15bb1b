/* active.h - the QPs of an lcore that have something to do, in turn */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring rather than a list, so that the next ones can be fetched into the cache ahead. It has a place for every QP
 * that the lcore can have. Places are counted without end; NULL: the one that stood there has gone.
 */
#ifndef ENGINE_ACTIVE_H
#define ENGINE_ACTIVE_H

#include "engine/engine.h"

/* Room for `count` QPs, a power of two. 0 or -ENOMEM. */
int engine_active_init(struct engine_active *active, uint32_t count, int node);
void engine_active_free(struct engine_active *active);

/* Those that have gone leave holes, which this closes. For active_claim() alone. */
void engine_active_tidy(struct engine_active *active);

static inline uint32_t active_count(const struct engine_active *active)
{
	return active->tail - active->head;
}

/* true: the QP gets a place. Who has one keeps it. */
static inline bool active_claim(struct engine_active *active, struct uroce_qp *qp)
{
	if (qp->active)
		return false;
	qp->active = true;
	if (active_count(active) > active->mask)
		engine_active_tidy(active);
	return true;
}

static inline void active_add_last(struct engine_active *active, struct uroce_qp *qp)
{
	if (!active_claim(active, qp))
		return;
	qp->active_at = active->tail++;
	active->qps[qp->active_at & active->mask] = qp;
}

/* Something has happened to the QP, whatever it is. */
static inline void active_add(struct engine_active *active, struct uroce_qp *qp)
{
	qp->answers_only = false;
	active_add_last(active, qp);
}

/* Before all others: a peer waits for the answer (S-18). */
static inline void active_add_first(struct engine_active *active, struct uroce_qp *qp)
{
	if (!active_claim(active, qp))
		return;
	qp->active_at = --active->head;
	active->qps[qp->active_at & active->mask] = qp;
}

static inline void active_remove(struct engine_active *active, struct uroce_qp *qp)
{
	if (qp->active)
		active->qps[qp->active_at & active->mask] = NULL;
	qp->active = false;
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
static inline const struct uroce_qp *active_look(const struct engine_active *active, uint32_t n)
{
	return active_count(active) > n ? active->qps[(active->head + n) & active->mask] : NULL;
}

#endif
