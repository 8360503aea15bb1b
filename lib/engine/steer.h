/* steer.h - from a QPN to the QP, and to the lcore that owns it */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_STEER_H
#define ENGINE_STEER_H

#include "engine/engine.h"
#include "rc/counters.h"

struct engine_qp_slot {
	_Atomic(struct uroce_qp *) qp;
	_Atomic uint32_t qpn; /* the whole QPN of the QP in this slot, or of the last QP that was in the slot */
	_Atomic bool taken;   /* set by engine_steer_reserve() */
};

#define TIME_WAIT_MIN_NS 1000000000ull
#define TIME_WAIT_MAX_NS 60000000000ull

/* Makes a table for max_qps QPs. Returns 0 or -ENOMEM. */
int engine_steer_init(struct uroce_engine *engine, uint32_t max_qps);
void engine_steer_free(struct uroce_engine *engine);

/*
 * Reserves an index in the table and a QPN for a QP of the lcore; neither was in use lately (P-7). Returns 0; -ENOSPC:
 * all are in use or in time-wait; -EIO: the system has no random numbers. The caller holds the engine's lock. Packets
 * find an RC QP once it is published; packets to other QPNs go to engine_ud_receive().
 */
int engine_steer_reserve(struct uroce_engine *engine, unsigned owner, uint32_t *index, uint32_t *qpn);
void engine_steer_publish(struct uroce_engine *engine, struct uroce_qp *qp);

/* For the owner: from now on no packet finds the QP, and its number is in time-wait for time_wait_ns. */
void engine_steer_release(struct uroce_engine *engine, uint32_t index, uint32_t qpn, uint64_t time_wait_ns);

/*
 * An lcore that hands a frame to the QP's owner must not read the QP. Instead it reads a word that the owner has
 * written: a keyed hash of the addresses of each path that the QP may get frames of. So a stranger's frame takes no
 * place in the owner's ring, and an honest frame finds one. A frame with a right hash is still judged by the owner.
 *
 * engine_steer_set_peers(): for the owner, after the paths have changed. A migration needs no call: the QP moves to the
 * alternate path, which is in the word already. engine_steer_judge(): for the other lcores. Returns CNT_COUNTERS if the
 * frame may be handed over, or else the counter of the drop. crowded: half of the owner's ring is full.
 */
struct rc_origin;
struct wire_packet;
void engine_steer_set_peers(struct uroce_engine *engine, const struct uroce_qp *qp);
enum rc_counter engine_steer_judge(const struct uroce_engine *engine, const struct wire_packet *packet,
				   const struct rc_origin *origin, bool crowded);

/* How long a QPN is in time-wait, given four times the ACK timeout of its QP (P-7). */
static inline uint64_t steer_time_wait(uint64_t wanted_ns)
{
	return RTE_MIN(RTE_MAX(wanted_ns, TIME_WAIT_MIN_NS), TIME_WAIT_MAX_NS);
}

/* The index of the lcore that owns the QP with this QPN, or would own it. */
static inline uint32_t steer_lcore(const struct uroce_engine *engine, uint32_t qpn)
{
	return qpn & engine->lcore_mask;
}

/* The QP at this index, or NULL. */
static inline struct uroce_qp *steer_find(const struct uroce_engine *engine, uint32_t index)
{
	if (index >= engine->index_count)
		return NULL;
	/* pairs with T1 in engine_steer_publish: the QP is complete */
	return atomic_load_explicit(&engine->qps[index].qp, memory_order_acquire);
}

/* The slot for the QP with this QPN. */
static inline const struct engine_qp_slot *steer_slot(const struct uroce_engine *engine, uint32_t qpn)
{
	return &engine->qps[qpn & (engine->index_count - 1)];
}

/*
 * The QP with this QPN, or NULL. An lcore that is not the owner may read a slot while it changes; the owner looks the
 * QP up again.
 */
static inline struct uroce_qp *steer_lookup(const struct uroce_engine *engine, uint32_t qpn)
{
	const struct engine_qp_slot *slot = steer_slot(engine, qpn);
	/* pairs with T1 in engine_steer_publish: the QP is complete */
	struct uroce_qp *qp = atomic_load_explicit(&slot->qp, memory_order_acquire);

	return qp && atomic_load_explicit(&slot->qpn, memory_order_relaxed) == qpn ? qp : NULL;
}

#endif
