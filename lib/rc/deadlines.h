/* deadlines.h - all deadlines of a QP: which one comes first, and how they end */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_DEADLINES_H
#define RC_DEADLINES_H

#include "rc/qp_state.h"

/* When the host has to call rc_qp_timeout(); RC_NEVER: no deadline is set. */
static inline uint64_t rc_qp_deadline(const struct rc_qp *qp)
{
	const struct rc_loss *loss = &qp->loss;
	uint64_t first = loss->ack_deadline_ns < loss->rnr_deadline_ns ? loss->ack_deadline_ns : loss->rnr_deadline_ns;

	if (qp->probe.deadline_ns < first)
		first = qp->probe.deadline_ns;
	if (!qp->seldom)
		return first;
	if (qp->pace.holds && qp->pace.wake_ns < first)
		first = qp->pace.wake_ns;
	if (qp->credit.probe_deadline_ns < first)
		first = qp->credit.probe_deadline_ns;
	return qp->keepalive.deadline_ns < first ? qp->keepalive.deadline_ns : first;
}

/* The QP goes to ERR: it waits for nothing any more. */
static inline void deadlines_end(struct rc_qp *qp)
{
	qp->loss.ack_deadline_ns = RC_NEVER;
	qp->loss.rnr_deadline_ns = RC_NEVER;
	qp->credit.probe_deadline_ns = RC_NEVER;
	qp->keepalive.deadline_ns = RC_NEVER;
	probe_stop(&qp->probe);
}

/* No packet in flight has asked for an ACK, and no application waits for one: a probe asks later. */
static inline void deadlines_put_off_ask(struct rc_qp *qp, uint64_t now_ns)
{
	if (qp->probe.deadline_ns == RC_NEVER)
		probe_defer(&qp->probe, &qp->rtt, qp->loss.timeout_ns, now_ns);
}

/* No packet in flight has asked for an ACK, and an application waits for one: a probe asks with the next transmit. */
static inline void deadlines_ask_now(struct rc_qp *qp)
{
	probe_ask(&qp->probe, true);
}

#endif
