/* view.c - copies of a QP's state for other threads, and the last failures of an lcore */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/view.h"

#include <string.h>

#include "engine/device_state.h"
#include "engine/evidence.h"
#include "engine/lcore_state.h"
#include "engine/qp.h"
#include "engine/steer.h"

void engine_view_last_error(const struct uroce_qp *qp, struct uroce_qp_error *error)
{
	rc_qp_last_error(qp_core(qp), error);
	if (error->status != UROCE_WC_SUCCESS || qp_core(qp)->state != UROCE_QPS_ERR || !qp_cq_has_failed(qp))
		return;
	error->status = UROCE_WC_LOC_QP_OP_ERR;
	error->cause = UROCE_CAUSE_CQ_OVERRUN;
}

void engine_view_qp(const struct uroce_qp *qp, struct uroce_qp_view *view)
{
	const struct rc_qp *rc = qp_core(qp);

	*view = (struct uroce_qp_view){
		.qp_num = qp->qpn,
		.lcore = qp->owner->index,
		.port_id = qp->device->port_id,
		.sends = atomic_load_explicit(&rc->win.posted, memory_order_relaxed) - rc->win.head,
		.receives =
			qp->srq ? 0 : atomic_load_explicit(&rc->recvq.posted, memory_order_relaxed) - rc->recvq.head,
		.acked_psn = rc->win.snd_una.v,
		.sent_psn = rc->win.snd_max.v,
		.expected_psn = rc->responder.epsn.v,
		.round_trip_ns = rc->rtt.srtt_ns,
		.finding = engine_evidence_so_far(qp),
		.stats = { .count = CNT_QP_COUNTERS },
		.peer_away_ns = rc->peer_away_ms * 1000000ull,
		.peer_away_age_ns = rc->peer_away_ms ? qp->owner->now_ns - rc->peer_away_at_ns : 0,
	};
	rc_qp_query(rc, &view->attr);
	engine_view_last_error(qp, &view->error);
	memcpy(view->stats.values, rc->counters, sizeof(rc->counters));
}

void engine_view_keep_failed(struct uroce_lcore *lcore, const struct uroce_qp *qp)
{
	struct engine_failed *failed = lcore->failed;
	uint32_t count = atomic_load_explicit(&failed->count, memory_order_relaxed);
	struct engine_failed_slot *slot = &failed->slots[count % UROCE_INSPECT_FAILED_MAX];

	atomic_store_explicit(&slot->number, 0, memory_order_relaxed);
	/* pairs with F1: a reader that sees a part of the new view also sees that the number has changed */
	atomic_thread_fence(memory_order_release);
	engine_view_qp(qp, &slot->view);
	atomic_store_explicit(&slot->number, count + 1, memory_order_release);
	atomic_store_explicit(&failed->count, count + 1, memory_order_release);
}

bool engine_view_next_failed(const struct engine_failed *failed, uint32_t *next, struct uroce_qp_view *view)
{
	for (;;) {
		uint32_t count = atomic_load_explicit(&failed->count, memory_order_acquire);
		const struct engine_failed_slot *slot;

		if (count - *next > UROCE_INSPECT_FAILED_MAX)
			*next = count - UROCE_INSPECT_FAILED_MAX;
		if (*next == count)
			return false;
		slot = &failed->slots[*next % UROCE_INSPECT_FAILED_MAX];
		memcpy(view, &slot->view, sizeof(*view));
		atomic_thread_fence(memory_order_acquire); /* F1 */
		if (atomic_load_explicit(&slot->number, memory_order_relaxed) == ++*next)
			return true;
	}
}
