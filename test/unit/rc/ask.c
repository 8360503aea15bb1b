/* ask.c - how long a QP waits before it asks its peer, and what it asks for */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "rc/qp.h"
#include "rule.h"

#define TIMEOUT_NS 67108864ull
#define T0 1000000000ull
#define INTERVAL_MS 10u
#define INTERVAL_NS 10000000ull

static struct rc_qp *qp;

static void open_qp(void)
{
	qp = aligned_alloc(64, (sizeof(*qp) + 63) & ~63ull);
	*qp = (struct rc_qp){ .state = UROCE_QPS_RTS,
			      .loss = { .timeout_ns = TIMEOUT_NS },
			      .ask = { .probes = true, .tries = 3 } };
	ask_reset(&qp->ask);
	rc_rtt_reset(&qp->rtt);
}

/* Packets 0 to 3 are in flight. */
static void open_busy(void)
{
	open_qp();
	qp->win.snd_nxt = qp->win.snd_max = psn_make(4);
}

static void close_qp(void)
{
	free(qp);
}

TestSuite(ask, .init = open_busy, .fini = close_qp);

static uint64_t patience(void)
{
	ask_after_silence(qp, T0);
	return qp->ask.deadline_ns == RC_NEVER ? RC_NEVER : qp->ask.deadline_ns - T0;
}

/* Any packet is a sign of life, old or out of order. A stopped wait is not started. */
Test(ask, any_received_packet_restarts_the_wait)
{
	RULE("T-6");
	ask_heard(qp, T0);
	cr_assert_eq(qp->ask.deadline_ns, RC_NEVER);
	patience();
	ask_heard(qp, T0 + 7);
	cr_assert_eq(qp->ask.deadline_ns, T0 + 7 + TIMEOUT_NS / 2);
	ask_now(&qp->ask, ASK_SILENCE);
	ask_heard(qp, T0 + 8);
	cr_assert_eq(qp->ask.deadline_ns, T0 + 8 + TIMEOUT_NS / 2);
	cr_assert_eq(qp->ask.due, ASK_NOTHING, "it has come in time");
}

/* A sign of life changes neither the short wait for a NAK, nor an ACK request, nor a probe that has spent a retry. */
Test(ask, other_waits_go_on_when_a_packet_is_received)
{
	RULE("T-6");
	ask_await_nak(qp, T0);
	ask_heard(qp, T0 + 5);
	cr_assert_eq(qp->ask.waits, ASK_NAK);
	ask_later(qp, T0);
	ask_heard(qp, T0 + 5);
	cr_assert_eq(qp->ask.waits, ASK_ACKREQ);
	patience();
	ask_for_retry(&qp->ask);
	ask_heard(qp, T0 + 5);
	cr_assert_eq(qp->ask.due, ASK_RETRY);
	cr_assert_eq(qp->ask.deadline_ns, T0 + TIMEOUT_NS / 2);
}

/* Twice the mean plus four deviations; half of the timeout while no round trip is known. */
Test(ask, patience_follows_the_round_trip)
{
	RULE("T-6");
	cr_assert_eq(patience(), TIMEOUT_NS / 2);
	qp->rtt.srtt_ns = 100000;
	qp->rtt.rttvar_ns = 50000;
	cr_assert_eq(patience(), 2 * 100000 + 4 * 50000);
}

/* Never shorter than a busy peer takes to come round, twice as long each time, not when the ACK timer is as near. */
Test(ask, patience_has_a_floor_doubles_and_ends_at_the_timeout)
{
	RULE("T-1");
	qp->rtt.srtt_ns = 1000;
	cr_assert_eq(patience(), 50000);
	ask_probe_left(qp, T0);
	ask_probe_left(qp, T0);
	cr_assert_eq(patience(), 200000);
	qp->loss.timeout_ns = 200000;
	cr_assert_eq(patience(), RC_NEVER);
	qp->loss.timeout_ns = 200001;
	cr_assert_eq(patience(), 200000);
	ask_set_probes(qp, false);
	cr_assert_eq(patience(), RC_NEVER);
}

Test(ask, stop_and_reset_clear_the_timer)
{
	RULE("T-1");
	ask_now(&qp->ask, ASK_SILENCE);
	ask_behind(&qp->ask, false, false);
	ask_wait(&qp->ask, ASK_SILENCE, T0);
	ask_stop(qp, T0);
	cr_assert(!qp->ask.due && !qp->ask.behind_una && qp->ask.deadline_ns == RC_NEVER);
	qp->ask.tries = 4;
	ask_reset(&qp->ask);
	cr_assert(qp->ask.probes && qp->ask.tries == 0);
}

/* A due probe without room is put off, too. */
Test(ask, deferred_probe_is_not_due)
{
	RULE("Q-5");
	ask_now(&qp->ask, ASK_SILENCE);
	ask_later(qp, T0);
	cr_assert_eq(qp->ask.due, ASK_NOTHING);
	cr_assert_eq(qp->ask.waits, ASK_ACKREQ);
}

/* A packet that asks begins a wait only if the QP waits for no answer. */
Test(ask, only_an_owed_answer_closes_the_wait)
{
	static const bool open[] = {
		[ASK_NOTHING] = true, [ASK_IDLE] = true,     [ASK_ALIVE] = true,
		[ASK_ACKREQ] = true,  [ASK_SILENCE] = false, [ASK_NAK] = false,
	};

	RULE("T-6");
	for (uint32_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
		ask_wait(&qp->ask, (enum rc_ask_for)i, T0);
		cr_expect_eq(ask_is_open(&qp->ask), open[i], "%u", i);
	}
}

/* Whatever else was due: the report is not lost until an empty WRITE has taken it. */
Test(ask, cancelled_probe_leaves_a_report_due)
{
	RULE("C-33");
	qp->kept.window = 256;
	ask_now(&qp->ask, ASK_SILENCE);
	cr_assert(rc_ask_report_away(qp, 12));
	cr_assert_eq(qp->ask.due, ASK_SILENCE | ASK_REPORT);
	ask_after_silence(qp, T0);
	cr_assert_eq(qp->ask.due, ASK_REPORT);
	cr_assert_eq(ask_take_report(qp), 12);
	cr_assert_eq(qp->ask.due, ASK_NOTHING);
}

/* The interval begins when the last packet is acknowledged, or when the first call knows the time. */
Test(ask, idle_wait_lasts_one_interval)
{
	RULE("C-33");
	rc_ask_set_interval(qp, INTERVAL_MS);
	cr_assert_eq(qp->ask.deadline_ns, RC_NEVER, "packets are in flight");
	qp->win.snd_una = psn_make(4);
	ask_stop(qp, T0);
	cr_assert_eq(qp->ask.deadline_ns, T0 + INTERVAL_NS);
	rc_ask_set_interval(qp, INTERVAL_MS);
	cr_assert_eq(qp->ask.deadline_ns, ASK_AT_ONCE);
	rc_ask_idle_expired(qp, T0);
	cr_assert_eq(qp->ask.deadline_ns, T0 + INTERVAL_NS);
	cr_assert_eq(qp->ask.due, ASK_NOTHING);
	rc_ask_idle_expired(qp, T0 + INTERVAL_NS);
	cr_assert_eq(qp->ask.due, ASK_IDLE);
	ask_idle_left(qp, T0 + INTERVAL_NS);
	cr_assert_eq(qp->ask.waits, ASK_ALIVE);
	cr_assert_eq(qp->ask.deadline_ns, T0 + INTERVAL_NS + TIMEOUT_NS);
	rc_ask_set_interval(qp, 0);
	cr_assert_eq(qp->ask.deadline_ns, RC_NEVER);
}

/* A packet that did not ask is in flight: the connection is not idle, and the wait begins anew when it is. */
Test(ask, busy_connection_sends_no_keepalive)
{
	RULE("C-33");
	qp->win.snd_una = psn_make(4);
	rc_ask_set_interval(qp, INTERVAL_MS);
	rc_ask_idle_expired(qp, T0);
	qp->win.snd_max = psn_make(5);
	rc_ask_idle_expired(qp, T0 + INTERVAL_NS);
	cr_assert_eq(qp->ask.due, ASK_NOTHING);
	cr_assert_eq(qp->ask.deadline_ns, RC_NEVER);
}

/* An ACK request that was put off leaves with the report, as one empty WRITE. */
Test(ask, report_hurries_a_deferred_ackreq)
{
	RULE("C-33");
	qp->kept.window = 256;
	ask_later(qp, T0);
	cr_assert(rc_ask_report_away(qp, 12));
	cr_assert_eq(ask_due(&qp->ask), ASK_ACKREQ);
}

/* No probe is waited for while the connection is idle, so that setting does not end the wait for the peer's answer. */
Test(ask, probe_setting_leaves_the_keepalive)
{
	RULE("C-33");
	qp->win.snd_una = psn_make(4);
	ask_peer(qp);
	rc_ask_set_interval(qp, INTERVAL_MS);
	cr_assert_eq(qp->ask.due, ASK_IDLE, "the packet that shows a new path is still due");
	ask_idle_left(qp, T0);
	ask_set_probes(qp, false);
	cr_assert_eq(qp->ask.waits, ASK_ALIVE);
	cr_assert_eq(qp->ask.deadline_ns, T0 + TIMEOUT_NS);
}

/* A report of an idle QP begins no timer, and leaves the wait of the keep-alive as it is. */
Test(ask, report_leaves_the_idle_wait)
{
	RULE("C-33");
	qp->win.snd_una = psn_make(4);
	qp->kept.window = 256;
	rc_ask_set_interval(qp, INTERVAL_MS);
	rc_ask_idle_expired(qp, T0);
	cr_assert(rc_ask_report_away(qp, 12));
	ask_idle_left(qp, T0 + 5);
	cr_assert_eq(qp->ask.waits, ASK_IDLE);
	cr_assert_eq(qp->ask.deadline_ns, T0 + INTERVAL_NS);
	cr_assert(qp->ask.beside);
}
