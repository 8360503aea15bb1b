/* probe.c - how long nothing may come before the peer is asked */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "rc/qp.h"
#include "rule.h"

#define TIMEOUT_NS 67108864ull

static struct rc_qp *create(void)
{
	struct rc_qp *qp = aligned_alloc(64, (sizeof(*qp) + 63) & ~63ull);

	*qp = (struct rc_qp){ .retry = { .timeout_ns = TIMEOUT_NS }, .probe = { .enabled = true, .tries = 3 } };
	rc_probe_reset(&qp->probe);
	return qp;
}

static uint64_t patience(struct rc_qp *qp)
{
	probe_start(&qp->probe, qp->retry.timeout_ns, 5000);
	return qp->probe.deadline_ns == RC_NEVER ? RC_NEVER : qp->probe.deadline_ns - 5000;
}

/* The first round trip counts whole, later ones by an eighth; their deviation by a quarter. */
Test(probe, round_trips_are_smoothed)
{
	struct rc_qp *qp = create();

	RULE("T-1");
	cr_assert_eq(patience(qp), TIMEOUT_NS / 32, "none measured: a guess by the timeout");
	rc_probe_take_round_trip(&qp->probe, TIMEOUT_NS, 100000);
	cr_assert_eq(qp->probe.rtt_ns, 100000);
	cr_assert_eq(qp->probe.deviation_ns, 50000);
	cr_assert_eq(patience(qp), 2 * 100000 + 4 * 50000);
	rc_probe_take_round_trip(&qp->probe, TIMEOUT_NS, 200000);
	cr_assert_eq(qp->probe.deviation_ns, (3 * 50000 + 100000) / 4);
	cr_assert_eq(qp->probe.rtt_ns, (7 * 100000 + 200000) / 8);
	qp->probe.tries = 3;
	rc_probe_take_round_trip(&qp->probe, TIMEOUT_NS, 12500);
	cr_assert_eq(qp->probe.tries, 0, "nothing is in doubt");
	cr_assert_eq(qp->probe.deviation_ns, (3 * 62500 + 100000) / 4);
	cr_assert_eq(qp->probe.rtt_ns, (7 * 112500 + 12500) / 8);
	free(qp);
}

Test(probe, a_pause_ends_the_wait_and_keeps_a_question_that_is_to_go_out)
{
	struct rc_qp *qp = create();

	RULE("T-1");
	for (int resends = 0; resends < 2; resends++) {
		qp->probe.due = qp->probe.asking = true;
		qp->probe.deadline_ns = 1;
		probe_pause(&qp->probe, resends);
		cr_assert(!qp->probe.due && qp->probe.asking == (resends != 0) && qp->probe.deadline_ns == RC_NEVER);
	}
	probe_pause(&qp->probe, true);
	qp->probe.asking = false;
	probe_pause(&qp->probe, true);
	cr_assert_not(qp->probe.asking);
	free(qp);
}

/* Never shorter than a busy peer takes to come round, twice as long each time, not when the ACK timer is as near. */
Test(probe, patience_has_a_floor_doubles_and_ends_at_the_timeout)
{
	struct rc_qp *qp = create();

	RULE("T-1");
	rc_probe_take_round_trip(&qp->probe, TIMEOUT_NS, 1000);
	cr_assert_eq(patience(qp), 50000);
	qp->probe.tries = 2;
	cr_assert_eq(patience(qp), 200000);
	qp->retry.timeout_ns = 200000;
	cr_assert_eq(patience(qp), RC_NEVER);
	qp->retry.timeout_ns = 200001;
	cr_assert_eq(patience(qp), 200000);
	qp->probe.enabled = false;
	cr_assert_eq(patience(qp), RC_NEVER);
	free(qp);
}

/* While our own thread is away nothing is seen: one such measure must not end all probes. Without a timer none runs. */
Test(probe, a_measure_near_the_timeout_counts_for_an_eighth_of_it)
{
	struct rc_qp *qp = create();

	RULE("T-1");
	rc_probe_take_round_trip(&qp->probe, TIMEOUT_NS, 1000000000);
	cr_assert_eq(qp->probe.rtt_ns, TIMEOUT_NS / 8);
	cr_assert_eq(patience(qp), TIMEOUT_NS / 2);
	rc_probe_reset(&qp->probe);
	rc_probe_take_round_trip(&qp->probe, 0, 1000000000);
	cr_assert_eq(qp->probe.rtt_ns, 1000000000);
	free(qp);
}

Test(probe, stop_and_reset_leave_nothing_running)
{
	struct rc_qp *qp = create();

	RULE("T-1");
	qp->probe.due = qp->probe.asking = true;
	qp->probe.deadline_ns = 1;
	probe_stop(&qp->probe);
	cr_assert(!qp->probe.due && !qp->probe.asking && qp->probe.deadline_ns == RC_NEVER);
	rc_probe_take_round_trip(&qp->probe, TIMEOUT_NS, 1000);
	qp->probe.tries = 4;
	rc_probe_reset(&qp->probe);
	cr_assert(qp->probe.enabled && qp->probe.tries == 0 && qp->probe.rtt_ns == 0);
	free(qp);
}
