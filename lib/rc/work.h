/* work.h - what work a QP has */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_WORK_H
#define RC_WORK_H

#include "rc/qp_state.h"
#include "wire/hints.h"

/*
 * Returns the work that rc_qp_transmit() would find, of the kinds in `asked`. If only requests have come, a caller does
 * not ask for the requester's work, and so does not read the requester's cache lines. X-3: requests start in RTS, and
 * requests that have started go on in SQD.
 */
INLINE uint32_t qp_work(const struct rc_qp *qp, uint32_t asked)
{
	const struct rc_sendwin *win = &qp->win;
	uint32_t work = qp->standing_work & asked & (WORK_CREDIT | WORK_EVENT);

	if (asked & WORK_RESPONDER)
		work |= qp->responder.ack.due |
			(qp->replay.queue_head != REPLAY_NONE || qp->replay.has_parts ? WORK_RESPONSE : 0);
	if ((asked & WORK_REQUESTER) && (qp->state == UROCE_QPS_RTS || qp->state == UROCE_QPS_SQD))
		work |= (win->cursor != atomic_load_explicit(&win->posted, memory_order_relaxed) ? WORK_SEND : 0) |
			(qp->ask.due || qp->gaps.asks_again ? WORK_PROBE : 0);
	if ((asked & WORK_COMPLETION) && win->head != win->acked)
		work |= WORK_COMPLETION;
	if ((asked & WORK_EVENT) && qp->report.events)
		work |= WORK_EVENT;
	return work;
}

#endif
