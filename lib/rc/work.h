/* work.h - has a QP something to do, and when? */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_WORK_H
#define RC_WORK_H

#include "rc/qp_state.h"
#include "rc/retry.h"

/*
 * What rc_qp_transmit() has to do, if anything: answers, requests (X-3: in RTS, and their rest in SQD), reports. In an
 * order that touches few lines.
 */
static inline bool qp_owes_answers(const struct rc_qp *qp)
{
	const struct rc_responder *resp = &qp->responder;

	return resp->ack_due | resp->nak_due | resp->repeat_ack_due | (qp->replay.queue_head != REPLAY_NONE) |
	       qp->flow_control;
}

static inline bool qp_may_send(const struct rc_qp *qp)
{
	const struct rc_sendwin *win = &qp->win;

	return (qp->state == UROCE_QPS_RTS || qp->state == UROCE_QPS_SQD) &&
	       (win->cursor != atomic_load_explicit(&win->posted, memory_order_relaxed) || qp->probe.due);
}

/* Reports, apart from completions of requests: also that it has failed or migrated. */
static inline bool qp_has_news(const struct rc_qp *qp)
{
	return qp->report.events || qp->state >= UROCE_QPS_SQD || qp->shares_receives;
}

static inline bool qp_has_reports(const struct rc_qp *qp)
{
	return qp_has_news(qp) || qp->win.head != qp->win.acked;
}

/*
 * Does the packet just received, a response or a request, want rc_qp_transmit() called? *answers: it brought nothing to
 * send but answers, and nothing to tell, so that rc_qp_answer() will do if there was nothing before.
 */
static inline bool rc_qp_has_work(const struct rc_qp *qp, bool response, bool *answers)
{
	*answers = !response || !(qp_may_send(qp) || qp_has_reports(qp));
	return !*answers || qp_owes_answers(qp) || (!response && qp_has_news(qp));
}

/* When rc_qp_timeout() is wanted; RC_NEVER for not at all. */
static inline uint64_t rc_qp_deadline(const struct rc_qp *qp)
{
	uint64_t retry = retry_deadline(&qp->retry);

	if (qp->probe.deadline_ns < retry)
		retry = qp->probe.deadline_ns;
	if (!qp->slow_timers)
		return retry;
	if (qp->credit.probe_deadline_ns < retry)
		retry = qp->credit.probe_deadline_ns;
	return qp->keepalive.deadline_ns < retry ? qp->keepalive.deadline_ns : retry;
}

#endif
