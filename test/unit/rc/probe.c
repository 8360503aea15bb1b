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

	*qp = (struct rc_qp){ .loss = { .timeout_ns = TIMEOUT_NS }, .probe = { .enabled = true, .tries = 3 } };
	probe_reset(&qp->probe);
	rc_rtt_reset(&qp->rtt);
	return qp;
}

static uint64_t patience(struct rc_qp *qp)
{
	probe_start(&qp->probe, &qp->rtt, qp->loss.timeout_ns, 5000);
	return qp->probe.deadline_ns == RC_NEVER ? RC_NEVER : qp->probe.deadline_ns - 5000;
}

/* Any packet is a sign of life, old or out of order. A stopped wait is not started. */
Test(probe, any_received_packet_restarts_the_wait)
{
	struct rc_qp *qp = create();

	RULE("T-6");
	probe_heard(&qp->probe, &qp->rtt, TIMEOUT_NS, 7000);
	cr_assert_eq(qp->probe.deadline_ns, RC_NEVER);
	patience(qp);
	probe_heard(&qp->probe, &qp->rtt, TIMEOUT_NS, 7000);
	cr_assert_eq(qp->probe.deadline_ns, 7000 + TIMEOUT_NS / 2);
	qp->probe.deadline_ns = RC_NEVER;
	qp->probe.due = true;
	probe_heard(&qp->probe, &qp->rtt, TIMEOUT_NS, 8000);
	cr_assert_eq(qp->probe.deadline_ns, 8000 + TIMEOUT_NS / 2);
	cr_assert_not(qp->probe.due, "it has come in time");
	free(qp);
}

/* Twice the mean plus four deviations; half of the timeout while no round trip is known. */
Test(probe, patience_follows_the_round_trip)
{
	struct rc_qp *qp = create();

	RULE("T-6");
	cr_assert_eq(patience(qp), TIMEOUT_NS / 2);
	qp->rtt.srtt_ns = 100000;
	qp->rtt.rttvar_ns = 50000;
	cr_assert_eq(patience(qp), 2 * 100000 + 4 * 50000);
	free(qp);
}

/* Never shorter than a busy peer takes to come round, twice as long each time, not when the ACK timer is as near. */
Test(probe, patience_has_a_floor_doubles_and_ends_at_the_timeout)
{
	struct rc_qp *qp = create();

	RULE("T-1");
	qp->rtt.srtt_ns = 1000;
	cr_assert_eq(patience(qp), 50000);
	qp->probe.tries = 2;
	cr_assert_eq(patience(qp), 200000);
	qp->loss.timeout_ns = 200000;
	cr_assert_eq(patience(qp), RC_NEVER);
	qp->loss.timeout_ns = 200001;
	cr_assert_eq(patience(qp), 200000);
	qp->probe.enabled = false;
	cr_assert_eq(patience(qp), RC_NEVER);
	free(qp);
}

Test(probe, stop_and_reset_clear_the_timer)
{
	struct rc_qp *qp = create();

	RULE("T-1");
	qp->probe.due = true;
	qp->probe.behind_una = 1;
	qp->probe.deadline_ns = 1;
	probe_stop(&qp->probe);
	cr_assert(!qp->probe.due && !qp->probe.behind_una && qp->probe.deadline_ns == RC_NEVER);
	qp->probe.tries = 4;
	probe_reset(&qp->probe);
	cr_assert(qp->probe.enabled && qp->probe.tries == 0);
	free(qp);
}

/* A due probe without room is deferred, too. */
Test(probe, deferred_probe_is_not_due)
{
	struct rc_qp *qp = create();

	RULE("Q-5");
	qp->probe.due = true;
	probe_defer(&qp->probe, &qp->rtt, TIMEOUT_NS, 5000);
	cr_assert_not(qp->probe.due);
	cr_assert(qp->probe.deferred);
	free(qp);
}
