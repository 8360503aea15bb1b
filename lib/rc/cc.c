/* cc.c - the table of congestion control algorithms, and the calls that go to the QP's own */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/cc.h"

static const struct rc_cc_row *const rows[CC_ALGORITHMS] = {
	[CC_FIXED] = &rc_cc_fixed,
};

static const struct rc_cc_row *row_of(const struct rc_qp *qp)
{
	return rows[qp->cc.algorithm];
}

void rc_cc_reset(struct rc_qp *qp)
{
	row_of(qp)->reset(qp);
}

void rc_cc_delivered(struct rc_qp *qp)
{
	row_of(qp)->delivered(qp);
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

uint32_t rc_cc_read_window(struct rc_qp *qp)
{
	if (!cc_is_open(qp))
		rc_cc_delivered(qp);
	return qp->cc_past.limit;
}
