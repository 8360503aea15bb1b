/* work.c - what a QP has to do, of what is asked for */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "rc/work.h"
#include "rule.h"

/* Who has only received a request does not look at the lines of the send queue. */
Test(work, what_is_not_asked_for_is_none)
{
	static struct rc_qp qp = { .state = UROCE_QPS_RTS, .replay.queue_head = REPLAY_NONE };

	RULE("X-3");
	cr_assert_eq(qp_work(&qp, WORK_ALL), 0);
	qp.win.acked++;
	cr_assert_eq(qp_work(&qp, WORK_ALL), WORK_COMPLETION);
	cr_assert_eq(qp_work(&qp, WORK_RESPONDER | WORK_EVENT), 0);
}
