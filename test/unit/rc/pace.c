/* pace.c - when a QP that is paced goes on (N-3) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "rc/pace.h"
#include "rule.h"

#define NOW 1000000u

static struct rc_qp qp;

static void begin(void)
{
	qp = (struct rc_qp){ .mtu_bytes = 1024 };
	rc_pace_set(&qp, 8000, NOW);
	rc_pace_begin(&qp, NOW);
}

Test(pace, without_a_rate_pending_work_continues_at_once)
{
	RULE("N-3");
	qp = (struct rc_qp){ .mtu_bytes = 1024 };
	cr_expect(rc_pace_end(&qp, true, false, NOW));
	cr_expect(rc_pace_end(&qp, false, true, NOW));
	cr_expect(!rc_pace_end(&qp, false, false, NOW));
}

Test(pace, request_due_now_does_not_wait)
{
	RULE("N-3");
	begin();
	qp.asked_ns = NOW;
	cr_expect(rc_pace_end(&qp, false, true, NOW));
	qp.asked_ns = NOW + 1;
	cr_expect(!rc_pace_end(&qp, false, true, NOW));
	cr_expect(qp.pace.holds && qp.pace.wake_ns == NOW + 1);
	cr_expect(rc_pace_end(&qp, true, true, NOW), "responses do not wait for what READs have asked for");
}

Test(pace, a_request_waits_for_the_later_of_both_times)
{
	RULE("N-3");
	begin();
	qp.pace.next_ns = NOW + 7;
	cr_expect_eq(pace_request_ns(&qp), NOW + 7);
	qp.asked_ns = NOW + 9;
	cr_expect_eq(pace_request_ns(&qp), NOW + 9);
}
