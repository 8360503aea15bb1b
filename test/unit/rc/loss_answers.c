/* loss_answers.c - what loss detection makes of answers to older flights, and of none, without a peer */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "rc/qp.h"
#include "loss_waiting.h"
#include "rule.h"

/* Four responses are owed, nothing is known of their round trips, and a rewind has sent the first one again. */
static void open_rewound(void)
{
	open_waiting();
	qp->flight.rewound = qp->flight.resent = true;
	qp->flight_past.resent_ns = T0 - 1;
	qp->flight_past.rewind_limit = psn_of(4);
	qp->flight_past.repeats = true;
	qp->flight_past.heard = qp->win.snd_una;
	qp->loss.retries_left = 6;
	qp->loss.ack_deadline_ns = T0 + 10;
}

/* The old flight goes forward: a response newer than all since is its, an older one shows that one was lost. */
Test(loss_answers, responses_of_the_flight_before_the_rewind_show_no_loss)
{
	RULE("Q-9");
	open_rewound();
	qp->flight_past.resent_ns = T0 - TIMEOUT_NS;
	rc_loss_response_hole(qp, psn_of(1), T0);
	cr_assert_eq(qp->flight_past.heard.v, psn_of(2).v);
	cr_assert_eq(qp->loss.retries_left, 6);
	rc_loss_response_hole(qp, psn_of(3), T0);
	cr_assert_eq(qp->flight_past.heard.v, psn_of(4).v);
	cr_assert_eq(qp->loss.retries_left, 6);
	rc_loss_response_hole(qp, psn_of(2), T0);
	cr_assert_eq(qp->loss.retries_left, 5, "the new flight has passed it");
	cr_assert_eq(qp->counters[CNT_IMPLIED_NAK_SEQ_ERR], 1);
	cr_assert_eq(qp->flight_past.heard.v, psn_of(3).v);
	open_rewound();
	qp->flight_past.rewind_limit = psn_of(2);
	qp->flight_past.repeats = true;
	qp->flight_past.resent_ns = T0 - TIMEOUT_NS;
	rc_loss_response_hole(qp, psn_of(3), T0);
	cr_assert_eq(qp->loss.retries_left, 5, "it was asked for after the rewind");
}

/* What lies at or behind snd_nxt has not been sent again yet. */
Test(loss_answers, responses_to_unsent_resends_are_of_the_old_flight)
{
	RULE("Q-9");
	open_rewound();
	qp->flight_past.resent_ns = T0 - TIMEOUT_NS;
	qp->flight.rewound = false;
	qp->flight.resending = true;
	qp->win.snd_nxt = psn_of(2);
	rc_loss_response_hole(qp, psn_of(2), T0);
	cr_assert_eq(qp->loss.retries_left, 6);
	rc_loss_response_hole(qp, psn_of(1), T0);
	cr_assert_eq(qp->loss.retries_left, 5);
}

/* A response too early for the copy of the oldest answers older packets (T-5); the bound doubles with each restart. */
Test(loss_answers, response_too_early_for_the_copy_is_an_echo)
{
	RULE("T-5");
	open_rewound();
	qp->loss.retries_left = 4;
	qp->flight_past.heard = psn_of(3);
	qp->flight_past.resent_ns = T0;
	rc_loss_response_hole(qp, psn_of(1), T0 + 4 * TIMEOUT_NS - 1);
	cr_assert_eq(qp->loss.retries_left, 4);
	rc_loss_response_hole(qp, psn_of(1), T0 + 4 * TIMEOUT_NS);
	cr_assert_eq(qp->loss.retries_left, 3);
	open_rewound();
	qp->flight.resent = false;
	qp->flight_past.heard = psn_of(3);
	rc_loss_response_hole(qp, psn_of(1), T0 + 9 * TIMEOUT_NS);
	cr_assert_eq(qp->loss.retries_left, 6, "the copy has not left");
	open_rewound();
	qp->loss.retries_left = 5;
	qp->loss.asked = 1;
	qp->flight_past.heard = psn_of(3);
	qp->flight_past.resent_ns = T0;
	rc_loss_response_hole(qp, psn_of(1), T0 + TIMEOUT_NS);
	cr_assert_eq(qp->loss.retries_left, 4, "what asked instead of a resend is no restart");
}

/* Only the timer may find that the last retry was in vain. */
Test(loss_answers, last_retry_leaves_old_responses_to_the_timer)
{
	RULE("T-4");
	open_rewound();
	qp->loss.retries_left = 0;
	qp->flight_past.heard = psn_of(3);
	rc_loss_response_hole(qp, psn_of(1), T0 + 200 * TIMEOUT_NS);
	cr_assert_eq(qp->state, UROCE_QPS_RTS);
	qp->loss.timeout_ns = 0;
	rc_loss_response_hole(qp, psn_of(1), T0 + 200 * TIMEOUT_NS);
	cr_assert_eq(qp->report.send_failed, true, "there is no timer");
	open_rewound();
	qp->loss.retries_left = 0;
	qp->flight_past.rewind_limit = psn_of(1);
	qp->flight_past.repeats = true;
	rc_loss_response_hole(qp, psn_of(1), T0 + 200 * TIMEOUT_NS);
	cr_assert_eq(qp->report.send_failed, true, "it was asked for after the rewind");
}

/* During an RNR wait received packets show no loss. */
Test(loss_answers, rnr_wait_counts_no_losses)
{
	RULE("R-4");
	open_waiting();
	rc_loss_rnr_nak(qp, psn_of(0), 1, T0);
	qp->loss.retries_left = 5;
	rc_loss_sequence_nak(qp, T0 + 9 * TIMEOUT_NS);
	cr_assert_eq(qp->counters[CNT_REPEATED_NAK], 1);
	qp->flight.rewound = qp->flight.resending = false;
	rc_loss_response_hole(qp, psn_of(2), T0 + 9 * TIMEOUT_NS);
	cr_assert_eq(qp->loss.retries_left, 5);
	cr_assert_eq(qp->counters[CNT_IMPLIED_NAK_SEQ_ERR], 0);
}

/* The peer is answering: that it lacks the oldest is not certain any more. */
Test(loss_answers, a_response_of_the_old_flight_ends_the_wait_for_a_reason)
{
	RULE("T-6");
	open_rewound();
	qp->rtt.srtt_ns = 10000;
	ask_await_nak(qp, T0);
	rc_loss_response_hole(qp, psn_of(1), T0);
	cr_assert_neq(qp->ask.waits, ASK_NAK);
	open_rewound();
	qp->rtt.srtt_ns = 10000;
	qp->flight_past.heard = psn_of(3);
	qp->flight_past.resent_ns = T0;
	ask_await_nak(qp, T0);
	rc_loss_response_hole(qp, psn_of(1), T0);
	cr_assert_eq(qp->ask.waits, ASK_NAK);
}

Test(loss_answers, responses_and_acks_after_a_gap_are_counted_as_echoes)
{
	RULE("T-3");
	open_rewound();
	rc_flight_copy_sent(qp, 2, 3);
	rc_loss_response_hole(qp, psn_of(1), T0);
	cr_assert_eq(qp->flight_past.owed.responses, 1);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + TIMEOUT_NS);
	rc_loss_ack_skipped_response(qp, psn_of(2), T0 + 1);
	cr_assert_eq(qp->flight_past.owed.acks, 2);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + 1 + TIMEOUT_NS);
	rc_loss_una_still_missing(qp, false, T0 + 2);
	cr_assert_eq(qp->flight_past.owed.acks, 1);
	rc_loss_una_still_missing(qp, true, T0 + 3);
	cr_assert_eq(qp->flight_past.owed.acks, 1, "it came unasked");
}

/* An ACK that skips a response shows a loss if it is of the new flight, or if it answers a probe. */
Test(loss_answers, an_ack_that_skips_a_response_shows_a_loss)
{
	RULE("Q-8");
	open_rewound();
	qp->flight_past.resent_ns = T0 - TIMEOUT_NS;
	qp->ask.behind_una = 0;
	rc_loss_ack_skipped_response(qp, psn_of(2), T0);
	cr_assert_eq(qp->loss.retries_left, 6, "of the old flight");
	rc_loss_ack_skipped_response(qp, psn_of(1), T0);
	cr_assert_eq(qp->loss.retries_left, 5, "of the new one");
	open_rewound();
	qp->flight_past.resent_ns = T0 - TIMEOUT_NS;
	qp->ask.behind_una = 2;
	rc_loss_ack_skipped_response(qp, psn_of(2), T0);
	cr_assert_eq(qp->loss.retries_left, 5, "of a probe");
	cr_assert_eq(qp->ask.behind_una, 0);
}

/* A sign of life restarts the wait of a probe. */
Test(loss_answers, each_sign_of_life_postpones_the_probe)
{
	void (*const signs[])(struct rc_qp * qp, psn_t psn, uint64_t now_ns) = { rc_loss_response_hole,
										 rc_loss_ack_skipped_response };

	RULE("T-6");
	for (unsigned i = 0; i < 4; i++) {
		open_rewound();
		qp->rtt.srtt_ns = 10000;
		ask_wait(&qp->ask, ASK_SILENCE, T0 + 1);
		if (i < 2)
			signs[i](qp, psn_of(1), T0);
		else if (i == 2)
			rc_loss_una_still_missing(qp, true, T0);
		else
			rc_loss_more_has_come(qp, psn_of(2), false, T0);
		cr_assert_eq(qp->ask.deadline_ns, T0 + ask_patience_ns(qp), "%u", i);
	}
	open_waiting();
	ask_wait(&qp->ask, ASK_SILENCE, T0 + 1);
	rc_loss_sequence_nak(qp, T0);
	cr_assert_eq(qp->ask.deadline_ns, RC_NEVER, "all goes out again");
}

/* The empty WRITE was answered: the NAK that says why is waited for, unless the path is known to lose. */
Test(loss_answers, probe_answer_is_given_time_for_its_reason)
{
	RULE("T-6");
	open_waiting();
	qp->rtt.srtt_ns = 80000000;
	qp->ask.behind_una = 1;
	rc_loss_una_still_missing(qp, false, T0);
	cr_assert_eq(qp->ask.waits, ASK_NAK);
	cr_assert_eq(qp->ask.deadline_ns, T0 + 10000000);
	cr_assert_not(rc_loss_timer(qp, T0 + 9999999));
	cr_assert_eq(qp->loss.retries_left, 7);
	rc_loss_timer(qp, T0 + 10000000);
	cr_assert_eq(qp->loss.retries_left, 6);
	cr_assert_eq(qp->counters[CNT_IMPLIED_NAK_SEQ_ERR], 1);
	open_waiting();
	qp->loss.lately = LATELY_LOSS;
	rc_cc_lost(qp, T0);
	qp->ask.behind_una = 1;
	rc_loss_una_still_missing(qp, false, T0);
	cr_assert_eq(qp->loss.retries_left, 6);
	open_waiting();
	qp->loss.lately = LATELY_LOSS;
	rc_cc_lost(qp, T0);
	qp->kept.window = 256;
	qp->ask.behind_una = 1;
	rc_loss_una_still_missing(qp, false, T0);
	cr_assert_eq(qp->loss.retries_left, 7, "SACKs will say what is missing");
	cr_assert(qp->ask.due);
	cr_assert_eq(qp->ask.deadline_ns, RC_NEVER);
}

Test(loss_answers, repair_request_starts_a_probe_but_no_deferred_ackreq)
{
	RULE("T-6");
	open_waiting();
	qp->rtt.srtt_ns = 10000;
	rc_loss_hole_asked(qp, 1, T0);
	cr_assert_eq(qp->ask.deadline_ns, T0 + ask_patience_ns(qp));
	ask_later(qp, T0);
	rc_loss_hole_asked(qp, 1, T0 + 7);
	cr_assert_eq(qp->ask.waits, ASK_ACKREQ);
}

Test(loss_answers, rnr_naks_spend_the_rnr_budget)
{
	RULE("R-5");
	open_waiting();
	rc_loss_set_rnr_count(qp, 2);
	for (uint32_t left = 2; left-- > 0;) {
		rc_loss_rnr_nak(qp, psn_of(0), 1, T0);
		cr_assert_eq(qp->loss.rnr_left, left);
		qp->loss.rnr_deadline_ns = RC_NEVER;
	}
	cr_assert_not(qp->report.send_failed);
	rc_loss_rnr_nak(qp, psn_of(0), 1, T0);
	cr_assert(qp->report.send_failed);
	cr_assert_eq(qp->failure.error.status, UROCE_WC_RNR_RETRY_EXC_ERR);
	open_waiting();
	qp->loss.retries_left = 5;
	qp->loss.asked = qp->loss.silences = 1;
	ask_for_retry(&qp->ask);
	rc_loss_rnr_nak(qp, psn_of(0), 1, T0);
	cr_assert_eq(qp->loss.retries_left, 6, "the probe that waits is not needed");
}

Test(loss_answers, keepalive_answer_stops_its_timer_when_nothing_is_in_flight)
{
	RULE("C-33");
	open_waiting();
	qp->win.snd_una = psn_of(4);
	qp->win.acked = 4;
	qp->loss.retries_left = 2;
	ask_peer(qp);
	ask_idle_left(qp, T0);
	cr_assert_eq(rc_qp_deadline(qp), T0 + TIMEOUT_NS);
	rc_loss_answered_beside(qp, T0 + 1000);
	cr_assert_eq(rc_qp_deadline(qp), RC_NEVER);
	cr_assert_eq(qp->loss.since_ns, T0 + 1000);
	cr_assert_eq(qp->loss.retries_left, 7);
	ask_peer(qp);
	ask_idle_left(qp, T0);
	qp->loss.retries_left = 1;
	rc_loss_timer(qp, T0 + TIMEOUT_NS);
	cr_assert_eq(qp->loss.retries_left, 0);
	cr_assert_eq(qp->ask.due, ASK_IDLE);
	cr_assert_eq(rc_qp_deadline(qp), RC_NEVER);
	ask_idle_left(qp, T0 + TIMEOUT_NS);
	rc_loss_timer(qp, T0 + 2 * TIMEOUT_NS);
	cr_assert_eq(qp->ask.due, ASK_NOTHING, "nobody waits for an answer");
	cr_assert_eq(qp->counters[CNT_LOCAL_ACK_TIMEOUT_ERR], 2);
}

/* Each deadline has its own end. */
Test(loss_answers, each_wait_ends_at_its_deadline)
{
	RULE("T-1");
	open_waiting();
	qp->loss.rnr_deadline_ns = T0;
	cr_assert_not(rc_loss_timer(qp, T0 - 1));
	cr_assert_eq(qp->loss.rnr_deadline_ns, T0);
	cr_assert_not(rc_loss_timer(qp, T0));
	cr_assert_eq(qp->loss.rnr_deadline_ns, RC_NEVER);
	ask_wait(&qp->ask, ASK_SILENCE, T0);
	rc_loss_timer(qp, T0 - 1);
	cr_assert_not(qp->ask.due);
	rc_loss_timer(qp, T0);
	cr_assert(qp->ask.due);
	cr_assert_eq(qp->ask.deadline_ns, RC_NEVER);
	qp->loss.ack_deadline_ns = T0;
	cr_assert_not(rc_loss_timer(qp, T0 - 1));
	cr_assert(rc_loss_timer(qp, T0));
}

/* Silence takes a retry, goes back and counts; after the last one the request that owns the oldest packet fails. */
Test(loss_answers, timeout_costs_a_retry_and_counts_a_silence)
{
	RULE("T-2");
	open_waiting();
	qp->loss.retries_left = 1;
	rc_loss_timer_expired(qp, T0);
	cr_assert_eq(qp->loss.retries_left, 0);
	cr_assert_eq(qp->loss.silences, 1);
	cr_assert(qp->flight_past.timed_out && qp->flight.rewound && qp->flight.resending && !qp->flight.resent);
	cr_assert_not(qp->flight_past.again);
	cr_assert_not(loss_is_losing(qp), "silence alone shows no loss");
	cr_assert_eq(qp->win.snd_nxt.v, psn_of(0).v);
	qp->loss.retries_left = 1;
	rc_loss_timer_expired(qp, T0);
	cr_assert(qp->flight_past.again);
	cr_assert_eq(qp->loss.silences, 2);
	rc_loss_timer_expired(qp, T0);
	cr_assert_eq(qp->failure.error.status, UROCE_WC_RETRY_EXC_ERR);
	cr_assert_eq(qp->failure.error.cause, UROCE_CAUSE_TIMEOUT);
}

/* The response at snd_una is a hole, and has been asked for. */
static void open_with_hole(void)
{
	open_waiting();
	qp->rtt.srtt_ns = 10000;
	boards[0].holes = (struct rc_holes){ .end = psn_of(3), .count = 1 };
	boards[0].holes.holes[0].asked = true;
	qp->borrowed.by[BOARD_HOLES] = &boards[0];
	qp->gaps.has_holes = true;
}

/* If the peer lacks the oldest request, each hole is requested again, and the wait restarts. */
Test(loss_answers, holes_are_requested_again_instead_of_a_loss_or_a_probe)
{
	uint64_t wait_ns;

	RULE("Q-15");
	open_with_hole();
	wait_ns = ask_patience_ns(qp);
	ask_await_nak(qp, T0 - ASK_SHORTEST_NS);
	ask_wait(&qp->ask, ASK_NAK, T0);
	rc_loss_timer(qp, T0);
	cr_assert_not(boards[0].holes.holes[0].asked);
	cr_assert(qp->gaps.asks_again);
	cr_assert_eq(qp->loss.retries_left, 7);
	cr_assert_eq(qp->ask.deadline_ns, T0 + wait_ns);
	cr_assert_neq(qp->ask.waits, ASK_NAK);
	cr_assert_eq(qp->ask.tries, 0);
	open_with_hole();
	qp->rtt.timing = true;
	ask_wait(&qp->ask, ASK_SILENCE, T0);
	rc_loss_timer(qp, T0);
	cr_assert_not(boards[0].holes.holes[0].asked);
	cr_assert_not(qp->ask.due, "asking for the hole is the probe");
	cr_assert_eq(qp->ask.tries, 1);
	cr_assert_eq(qp->ask.deadline_ns, T0 + 2 * wait_ns);
	cr_assert_not(qp->rtt.timing);
}
