/* cc.c - the table of congestion control algorithms, and the calls that are passed to the QP's algorithm */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/cc.h"

static const struct rc_cc_row *const rows[UROCE_CC_ALGORITHMS] = {
	[UROCE_CC_DEFAULT] = &rc_cc_fixed, /* before anybody has chosen */
	[UROCE_CC_FIXED] = &rc_cc_fixed,
	[UROCE_CC_DCQCN] = &rc_cc_dcqcn,
	[UROCE_CC_DELAY] = &rc_cc_delay,
};

static const struct rc_cc_row *row_of(const struct rc_qp *qp)
{
	return rows[qp->cc.algorithm];
}

void rc_cc_choose(struct rc_qp *qp, enum uroce_cc cc)
{
	row_of(qp)->reset(qp);
	if (cc == UROCE_CC_DEFAULT)
		cc = qp->line_mbps ? UROCE_CC_DCQCN : UROCE_CC_FIXED;
	qp->cc.algorithm = (uint8_t)cc;
	qp->cc.times_trips = row_of(qp)->trip != NULL;
	row_of(qp)->reset(qp);
}

enum uroce_cc rc_cc_chosen(const struct rc_qp *qp)
{
	return qp->cc.algorithm == UROCE_CC_DEFAULT ? UROCE_CC_FIXED : (enum uroce_cc)qp->cc.algorithm;
}

bool rc_cc_listens(const struct rc_qp *qp)
{
	return row_of(qp)->notified != NULL;
}

void rc_cc_reset(struct rc_qp *qp)
{
	row_of(qp)->reset(qp);
}

void rc_cc_delivered(struct rc_qp *qp)
{
	if (row_of(qp)->delivered)
		row_of(qp)->delivered(qp);
}

void rc_cc_timed(struct rc_qp *qp, uint32_t packets)
{
	row_of(qp)->timed(qp, packets);
}

void rc_cc_trip(struct rc_qp *qp, uint64_t now_ns)
{
	row_of(qp)->trip(qp, now_ns - qp->rtt.sent_ns, now_ns);
}

void rc_cc_lost(struct rc_qp *qp, uint64_t now_ns)
{
	row_of(qp)->lost(qp, rtt_without_queue_ns(&qp->rtt), now_ns);
}

void rc_cc_timed_out(struct rc_qp *qp)
{
	row_of(qp)->timed_out(qp);
}

void rc_cc_undo(struct rc_qp *qp)
{
	row_of(qp)->undo(qp);
}

bool rc_cc_expects(struct rc_qp *qp)
{
	return row_of(qp)->expects == NULL || row_of(qp)->expects(qp);
}

void rc_cc_notified(struct rc_qp *qp, uint64_t now_ns)
{
	row_of(qp)->notified(qp, now_ns);
}

void rc_cc_elapsed(struct rc_qp *qp, uint64_t now_ns)
{
	if (row_of(qp)->elapsed)
		row_of(qp)->elapsed(qp, now_ns);
}

void rc_cc_sent(struct rc_qp *qp, uint32_t frames, uint64_t bytes, uint64_t now_ns)
{
	if (qp->pace.on && row_of(qp)->sent)
		row_of(qp)->sent(qp, frames, bytes, now_ns);
}

uint32_t rc_cc_read_window(struct rc_qp *qp)
{
	if (!cc_is_open(qp))
		rc_cc_delivered(qp);
	return qp->cc_past.limit;
}
