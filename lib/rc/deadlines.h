/* deadlines.h - all deadlines of a QP: which comes first, and their end */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_DEADLINES_H
#define RC_DEADLINES_H

#include "rc/qp_state.h"

/* When rc_qp_timeout() is to be called; RC_NEVER: not at all. */
static inline uint64_t rc_qp_deadline(const struct rc_qp *qp)
{
	const struct rc_loss *loss = &qp->loss;
	uint64_t first = loss->ack_deadline_ns < loss->rnr_deadline_ns ? loss->ack_deadline_ns : loss->rnr_deadline_ns;

	if (qp->probe.deadline_ns < first)
		first = qp->probe.deadline_ns;
	if (!qp->slow_timers)
		return first;
	if (qp->credit.probe_deadline_ns < first)
		first = qp->credit.probe_deadline_ns;
	return qp->keepalive.deadline_ns < first ? qp->keepalive.deadline_ns : first;
}

/* The QP is in error: nothing is waited for any more. */
static inline void deadlines_end(struct rc_qp *qp)
{
	qp->loss.ack_deadline_ns = RC_NEVER;
	qp->loss.rnr_deadline_ns = RC_NEVER;
	qp->credit.probe_deadline_ns = RC_NEVER;
	qp->keepalive.deadline_ns = RC_NEVER;
	probe_stop(&qp->probe);
}

/* Nothing in flight has asked for an ACK, and nobody waits for one: a probe asks later. */
static inline void deadlines_put_off_ask(struct rc_qp *qp, uint64_t now_ns)
{
	if (qp->probe.deadline_ns == RC_NEVER)
		probe_defer(&qp->probe, &qp->rtt, qp->loss.timeout_ns, now_ns);
}

/* Nothing in flight has asked for an ACK, and somebody waits for one: a probe asks with the next transmit. */
static inline void deadlines_ask_now(struct rc_qp *qp)
{
	probe_ask(&qp->probe, true);
}

#endif
