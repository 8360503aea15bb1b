/* deadlines.h - the deadlines of a QP that the host's wheel waits for: which comes first, and how they end */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_DEADLINES_H
#define RC_DEADLINES_H

#include "rc/ask.h"
#include "rc/qp_state.h"

/* When the host has to call rc_qp_timeout(); RC_NEVER: no deadline is set. */
static inline uint64_t rc_qp_deadline(const struct rc_qp *qp)
{
	const struct rc_loss *loss = &qp->loss;
	uint64_t first = loss->ack_deadline_ns < loss->rnr_deadline_ns ? loss->ack_deadline_ns : loss->rnr_deadline_ns;

	if (qp->ask.deadline_ns < first)
		first = qp->ask.deadline_ns;
	if (!qp->seldom)
		return first;
	if (qp->pace.holds && qp->pace.wake_ns < first)
		first = qp->pace.wake_ns;
	return qp->credit.probe_deadline_ns < first ? qp->credit.probe_deadline_ns : first;
}

/* The QP goes to ERR: it waits for nothing any more. */
static inline void deadlines_end(struct rc_qp *qp)
{
	qp->loss.ack_deadline_ns = RC_NEVER;
	qp->loss.rnr_deadline_ns = RC_NEVER;
	qp->credit.probe_deadline_ns = RC_NEVER;
	ask_end(&qp->ask);
}

#endif
