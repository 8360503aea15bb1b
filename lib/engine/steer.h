/* steer.h - QPN to QP, and to the lcore that owns it */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_STEER_H
#define ENGINE_STEER_H

#include "engine/engine.h"

struct engine_qp_slot {
	_Atomic(struct uroce_qp *) qp;
	_Atomic uint32_t qpn; /* the whole of it; of the QP, or of the last one that was here */
	_Atomic bool taken;   /* from engine_steer_reserve() on */
};

#define TIME_WAIT_MIN_NS 1000000000ull
#define TIME_WAIT_MAX_NS 60000000000ull

/* Makes the table for so many QPs. 0 or -ENOMEM. */
int engine_steer_init(struct uroce_engine *engine, uint32_t max_qps);
void engine_steer_free(struct uroce_engine *engine);

/*
 * Gives a QP of the lcore an index in the table and a QPN that were not in use lately (P-7). 0; -ENOSPC: all are in
 * use or rest; -EIO: the system has no random numbers. The caller holds the engine's lock. Packets find an RC QP once
 * it is published; those to any other QPN are looked at by engine_ud_receive().
 */
int engine_steer_reserve(struct uroce_engine *engine, unsigned owner, uint32_t *index, uint32_t *qpn);
void engine_steer_publish(struct uroce_engine *engine, struct uroce_qp *qp);

/* The owner calls it: no packet finds the QP any more, and its number rests for time_wait_ns. */
void engine_steer_release(struct uroce_engine *engine, uint32_t index, uint32_t qpn, uint64_t time_wait_ns);

/* How long a QPN rests, given four times its ACK timeout (P-7). */
static inline uint64_t steer_time_wait(uint64_t wanted_ns)
{
	return RTE_MIN(RTE_MAX(wanted_ns, TIME_WAIT_MIN_NS), TIME_WAIT_MAX_NS);
}

/* The index of the lcore that owns the QP of a QPN, whether there is such a QP or not. */
static inline uint32_t steer_lcore(const struct uroce_engine *engine, uint32_t qpn)
{
	return qpn & engine->lcore_mask;
}

/* The QP of an index, or NULL. */
static inline struct uroce_qp *steer_find(const struct uroce_engine *engine, uint32_t index)
{
	if (index >= engine->index_count)
		return NULL;
	/* pairs with T1 in engine_steer_publish: the QP is complete */
	return atomic_load_explicit(&engine->qps[index].qp, memory_order_acquire);
}

/* The slot where the QP of a QPN would be. */
static inline const struct engine_qp_slot *steer_slot(const struct uroce_engine *engine, uint32_t qpn)
{
	return &engine->qps[qpn & (engine->index_count - 1)];
}

/*
 * The QP of a QPN, or NULL. An lcore that is not the owner may read a slot that changes; the owner looks it up again.
 */
static inline struct uroce_qp *steer_lookup(const struct uroce_engine *engine, uint32_t qpn)
{
	const struct engine_qp_slot *slot = steer_slot(engine, qpn);
	/* pairs with T1 in engine_steer_publish: the QP is complete */
	struct uroce_qp *qp = atomic_load_explicit(&slot->qp, memory_order_acquire);

	return qp && atomic_load_explicit(&slot->qpn, memory_order_relaxed) == qpn ? qp : NULL;
}

#endif
