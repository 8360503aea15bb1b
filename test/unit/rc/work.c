/* work.c - what a QP has to do, of what is asked for */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "rc/work.h"
#include "rule.h"

/* Who has only received a request does not look at the lines of the send queue. */
Test(work, work_outside_the_mask_is_ignored)
{
	static struct rc_qp qp = { .state = UROCE_QPS_RTS, .replay.queue_head = REPLAY_NONE };

	RULE("X-3");
	cr_assert_eq(qp_work(&qp, WORK_ALL), 0);
	qp.win.acked++;
	cr_assert_eq(qp_work(&qp, WORK_ALL), WORK_COMPLETION);
	cr_assert_eq(qp_work(&qp, WORK_RESPONDER | WORK_EVENT), 0);
}

/* What state and attributes make possible stands in every answer, until they change. */
Test(work, state_and_attributes_leave_pending_work)
{
	static struct rc_qp qp = { .replay.queue_head = REPLAY_NONE };

	qp_set_state(&qp, UROCE_QPS_RTS);
	cr_assert_eq(qp_work(&qp, WORK_ALL), 0);
	qp_set_flow_control(&qp, true);
	cr_assert_eq(qp_work(&qp, WORK_ALL), WORK_CREDIT);
	cr_assert_eq(qp_work(&qp, WORK_REPORTS), 0);
	qp_set_flow_control(&qp, false);
	qp_set_state(&qp, UROCE_QPS_SQD);
	cr_assert_eq(qp_work(&qp, WORK_ALL), WORK_EVENT);
	cr_assert_eq(qp_work(&qp, WORK_RESPONDER), 0);
	qp_set_state(&qp, UROCE_QPS_RTS);
	cr_assert_eq(qp_work(&qp, WORK_ALL), 0);
	qp.shares_receives = true;
	qp_set_state(&qp, UROCE_QPS_RTS);
	cr_assert_eq(qp_work(&qp, WORK_ALL), WORK_EVENT);
}
