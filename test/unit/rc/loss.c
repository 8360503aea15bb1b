/* loss.c - what loss detection notes of each thing that happens, without a peer */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "rc/holes.h"
#include "rc/op.h"
#include "rc/qp.h"
#include "rc/spread.h"
#include "loss_waiting.h"
#include "rule.h"

/* Dropped packets leave again after all copies, so these make no later answer ambiguous. */
Test(loss, rnr_nak_restarts_at_the_refused_packet)
{
	RULE("R-3");
	open_waiting();
	rc_flight_copy_sent(qp, 0, 1);
	cr_assert_eq(qp->flight_past.owed.first.v, psn_of(4).v);
	rc_loss_rnr_nak(qp, psn_of(1), 1, T0);
	cr_assert_eq(qp->flight_past.owed.first.v, psn_of(0).v);
	cr_assert_eq(qp->loss.rnr_psn.v, psn_of(1).v);
	cr_assert(qp->flight_past.after_rnr);
	cr_assert_eq(qp->loss.rnr_left, 7, "7 is without limit");
	cr_assert_eq(qp->loss.rnr_deadline_ns, T0 + 10000);
	rc_loss_rnr_nak(qp, psn_of(1), 1, T0);
	cr_assert_eq(qp->counters[CNT_RNR_NAK_RETRY_ERR], 1);
	cr_assert_eq(qp->counters[CNT_REPEATED_NAK], 1);
}

/* A rewind drops the path state learned from SACKs. */
Test(loss, rewind_forgets_sacks)
{
	RULE("S-23");
	open_waiting();
	rc_spread_over(qp, 4);
	spread_of(qp)->seen_is_known = true;
	rc_loss_rnr_nak(qp, psn_of(0), 1, T0);
	cr_assert_not(spread_of(qp)->seen_is_known);
}

/* The rewind has stopped the timer: a repair request starts it, and a running timer is unchanged. */
Test(loss, repair_request_starts_the_timer)
{
	RULE("T-1");
	open_waiting();
	rc_loss_hole_asked(qp, 2, T0);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + TIMEOUT_NS);
	cr_assert_eq(qp->flight_past.owed.responses, 2);
	rc_loss_hole_asked(qp, 2, T0 + 5);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + TIMEOUT_NS);
	qp->loss.timeout_ns = 0;
	qp->loss.ack_deadline_ns = RC_NEVER;
	rc_loss_hole_asked(qp, 1, T0);
	cr_assert_eq(qp->loss.ack_deadline_ns, RC_NEVER, "there is no timer");
}

Test(loss, new_path_is_not_marked_as_lossy)
{
	RULE("A-4");
	open_waiting();
	qp->loss.lately = LATELY_LOSS;
	qp->timeout = 14;
	rc_loss_path_changed(qp);
	cr_assert_not(loss_is_losing(qp));
}

/* The error record reports the time since the oldest packet has left for the first time. */
Test(loss, elapsed_time_starts_with_the_oldest_packet)
{
	RULE("T-1");
	RULE("E-4");
	open_waiting();
	qp->ask.beside = true;
	rc_loss_sent(qp, psn_of(0), 1, true, true, T0);
	cr_assert_eq(qp->loss.since_ns, T0);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + TIMEOUT_NS);
	cr_assert_not(qp->ask.beside);
	rc_loss_sent(qp, psn_of(1), 1, true, true, T0 + 5);
	cr_assert_eq(qp->loss.since_ns, T0);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + TIMEOUT_NS);
}

Test(loss, progress_answers_no_empty_write)
{
	RULE("T-6");
	open_waiting();
	ask_behind(&qp->ask, false, false);
	rc_flight_copy_sent(qp, 0, 1);
	cr_assert_eq(qp->ask.behind_una, 1);
	cr_assert_eq(qp->flight_past.owed.acks, 1);
	qp->win.snd_una = psn_of(1);
	qp->win.acked = 1;
	qp->ask.unsure = 3;
	rc_loss_acknowledged(qp, T0);
	cr_assert_eq(qp->ask.behind_una, 0);
	cr_assert_eq(qp->loss.since_ns, T0);
	cr_assert_eq(qp->ask.unsure, 0, "the oldest in flight has left before the copy");
	qp->win.snd_una = psn_of(4);
	qp->win.acked = 4;
	rc_loss_acknowledged(qp, T0);
	cr_assert_eq(qp->ask.unsure, 1, "an answer to the copy may come before one to what leaves now");
}

Test(loss, out_of_order_response_shows_requests_the_peer_has)
{
	RULE("Q-15");
	open_waiting();
	qp->loss.ack_deadline_ns = T0;
	qp->loss.retries_left = 2;
	rc_loss_more_has_come(qp, psn_of(2), false, T0);
	cr_assert_eq(qp->flight_past.heard.v, psn_of(2).v);
	cr_assert_eq(qp->loss.retries_left, 2);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + TIMEOUT_NS);
	rc_loss_more_has_come(qp, psn_of(2), true, T0);
	cr_assert_eq(qp->loss.retries_left, 7);
	qp->loss.retries_left = 2;
	rc_loss_response_came_early(qp, psn_of(3), true, T0 + 1);
	cr_assert_eq(qp->flight_past.heard.v, psn_of(3).v);
	cr_assert_eq(qp->loss.retries_left, 7);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + 1 + TIMEOUT_NS);
}

/*
 * Where much is lost nearly always something is missing, and hardly a round trip is measured. A response that shows a
 * loss makes the waits for a probe short again, and one that shows nothing new does not.
 */
Test(loss, losses_shown_by_responses_shorten_probe_waits)
{
	RULE("T-6");
	open_waiting();
	rtt_begin(&qp->rtt, psn_of(2), T0);
	qp->ask.tries = 3;
	rc_loss_response_came_early(qp, psn_of(3), false, T0 + 30000);
	cr_assert_eq(qp->ask.tries, 3);
	rc_loss_response_came_early(qp, psn_of(3), true, T0 + 30000);
	cr_assert_eq(qp->ask.tries, 0);
	cr_assert_eq(qp->rtt.srtt_ns, 0, "it is no measure");
	cr_assert_not(qp->rtt.timing);
}

/* Which of the two was answered is not known (Karn). */
Test(loss, repair_request_is_not_timed)
{
	RULE("T-5");
	open_waiting();
	rtt_begin(&qp->rtt, psn_of(1), T0);
	rc_loss_hole_asked(qp, 1, T0 + 1);
	cr_assert_not(qp->rtt.timing);
}

/*
 * The rewound window waits until the holes are filled, so no packet leaves that would start the timer, and the repair
 * request may be lost. An RNR wait has its own timer.
 */
Test(loss, timer_runs_for_holes_while_the_window_continues)
{
	RULE("T-1");
	for (uint32_t waits = 0; waits < 2; waits++) {
		open_waiting();
		for (uint32_t i = 0; i < 4; i++) {
			sendwin_slot(&qp->win, i)->opcode = UROCE_WR_RDMA_READ;
			sendwin_slot(&qp->win, i)->needs = rc_ops[UROCE_WR_RDMA_READ].needs;
		}
		qp->flight.resending = rc_sendwin_go_to(&qp->win, psn_of(0));
		cr_assert(qp->flight.resending);
		rc_holes_take(qp, psn_of(2), 2, T0);
		qp->loss.rnr_deadline_ns = waits ? T0 + 1 : RC_NEVER;
		cr_assert_eq(qp->loss.ack_deadline_ns, RC_NEVER);
		rc_loss_skip_taken(qp, T0);
		cr_assert_eq(qp->win.snd_nxt.v, psn_of(3).v);
		cr_assert_eq(qp->loss.ack_deadline_ns, RC_NEVER, "the request for the hole has still to leave");
		rc_holes_asked(qp, psn_of(0), T0);
		rc_loss_skip_taken(qp, T0);
		cr_assert_eq(qp->loss.ack_deadline_ns, waits ? RC_NEVER : T0 + TIMEOUT_NS);
	}
}

/* A timer that is to run at once runs from the next look at the clock on. */
Test(loss, first_clock_read_starts_the_timer)
{
	RULE("T-1");
	open_waiting();
	qp->loss.ack_deadline_ns = LOSS_AT_ONCE;
	cr_assert_not(rc_loss_timer(qp, T0));
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + TIMEOUT_NS);
	cr_assert(rc_loss_timer(qp, T0 + TIMEOUT_NS));
}

/* A probe that cost a retry has not left when another answer comes: the retry is given back, once. */
Test(loss, retry_of_an_unneeded_probe_is_refunded)
{
	RULE("T-3");
	open_waiting();
	qp->loss.retries_left = 5;
	qp->loss.asked = 1;
	qp->loss.silences = 2;
	qp->ask.behind_una = 1;
	ask_for_retry(&qp->ask);
	rc_loss_una_still_missing(qp, false, T0);
	cr_assert_eq(qp->loss.retries_left, 6);
	cr_assert_eq(qp->loss.asked, 0);
	cr_assert_eq(qp->loss.silences, 1);
}

Test(loss, keepalive_has_a_timer_and_an_answer)
{
	RULE("C-33");
	open_waiting();
	ask_peer(qp);
	ask_idle_left(qp, T0);
	rc_flight_copy_sent(qp, 0, 1);
	cr_assert_eq(rc_qp_deadline(qp), T0 + TIMEOUT_NS);
	cr_assert(qp->ask.beside);
	cr_assert_eq(qp->ask.due, ASK_NOTHING);
	rc_loss_sent(qp, psn_of(0), 4, false, true, T0);
	rc_loss_answered_beside(qp, T0 + 1000);
	cr_assert_eq(qp->flight_past.owed.acks, 0);
	cr_assert_not(qp->ask.beside);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + 1000 + TIMEOUT_NS, "others are in flight");
}

/* Of a long READ that has left twice the peer is asked only whether it has it. */
Test(loss, copied_long_read_is_probed_after_silence)
{
	struct rc_send_wqe *wqe;

	RULE("T-3");
	open_waiting();
	wqe = sendwin_slot(&qp->win, 0);
	wqe->opcode = UROCE_WR_RDMA_READ;
	wqe->needs = NEEDS_RESPONSE;
	wqe->psn_count = CC_LEAST + 1;
	qp->win.started = qp->win.tail = qp->win.cursor = 1;
	qp->win.snd_nxt = qp->win.snd_max = psn_of(CC_LEAST + 1);
	qp->flight.rewound = qp->flight.resent = qp->flight_past.timed_out = true;
	qp->flight_past.heard = qp->win.snd_una;
	qp->loss.retries_left = 3;
	rc_loss_timer_expired(qp, T0);
	cr_assert_eq(qp->counters[CNT_LOCAL_ACK_TIMEOUT_ERR], 1);
	cr_assert_eq(qp->loss.retries_left, 2);
	cr_assert_eq(qp->loss.silences, 1);
	cr_assert_eq(qp->loss.asked, 1);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + TIMEOUT_NS);
	cr_assert_eq(qp->ask.due, ASK_RETRY);
	cr_assert_eq(qp->win.snd_nxt.v, qp->win.snd_max.v, "nothing is sent again");
}

/* A sign of life postpones a running timer and starts none; without an own timeout another's applies. */
Test(loss, sign_of_life_postpones_a_running_timer_and_starts_none)
{
	RULE("T-1");
	open_waiting();
	rc_loss_more_has_come(qp, psn_of(3), false, T0);
	cr_assert_eq(qp->loss.ack_deadline_ns, RC_NEVER);
	qp->loss.timeout_ns = 0;
	qp->loss.ack_deadline_ns = T0 + 5; /* of the time before */
	rc_loss_more_has_come(qp, psn_of(3), false, T0);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + 5);
}

/* The window was rewound after so many silences, and copies may draw so many responses and ACKs. */
static void open_silent(uint8_t silences, uint32_t reprieves, uint32_t responses, uint32_t acks)
{
	open_waiting();
	rc_flight_copy_sent(qp, responses, acks);
	qp->flight.rewound = true;
	qp->loss.retries_left = 3;
	qp->loss.silences = silences;
	qp->loss.reprieves = reprieves;
}

/* Only a response that a copy has drawn gives retries back, if silence has cost some, and as often as was fixed. */
Test(loss, echo_refunds_retries_of_silence)
{
	RULE("T-3");
	open_silent(2, 1, 2, 1);
	cr_assert(rc_loss_echo_arrived(qp, true, T0));
	cr_assert_eq(qp->loss.retries_left, 3, "an ACK gives nothing back");
	cr_assert(rc_loss_echo_arrived(qp, false, T0));
	cr_assert_eq(qp->loss.retries_left, 5);
	cr_assert_eq(qp->loss.silences, 0);
	cr_assert_eq(qp->loss.reprieves, 0);
	qp->loss.silences = 1;
	cr_assert(rc_loss_echo_arrived(qp, false, T0));
	cr_assert_eq(qp->loss.retries_left, 5, "no reprieve is left");
	open_silent(2, 1, 0, 0);
	cr_assert_not(rc_loss_echo_arrived(qp, false, T0));
	cr_assert_eq(qp->loss.retries_left, 3, "no copy has drawn it");
	open_silent(0, 1, 1, 0);
	cr_assert(rc_loss_echo_arrived(qp, false, T0));
	cr_assert_eq(qp->loss.reprieves, 1, "silence has cost nothing");
	open_silent(2, 1, 1, 0);
	qp->flight.rewound = false;
	cr_assert(rc_loss_echo_arrived(qp, false, T0));
	cr_assert_eq(qp->loss.retries_left, 3);
}

Test(loss, the_oldest_packet_begins_with_a_full_budget)
{
	RULE("T-3");
	open_waiting();
	qp->loss.retries_left = 2;
	rc_loss_sent(qp, psn_of(0), 1, true, true, T0);
	cr_assert_eq(qp->loss.retries_left, 7);
	qp->loss.retries_left = 2;
	rc_loss_sent(qp, psn_of(0), 1, false, true, T0);
	cr_assert_eq(qp->loss.retries_left, 2, "it is sent again");
}

/* From then on a response may answer the copy (T-5). */
Test(loss, departure_of_the_rewound_packet_is_recorded_once)
{
	RULE("T-5");
	open_waiting();
	qp->flight_past.rewind_psn = psn_of(1);
	rc_loss_sent(qp, psn_of(1), 1, false, false, T0);
	cr_assert_not(qp->flight.resent, "nothing was rewound");
	qp->flight.rewound = true;
	rc_loss_sent(qp, psn_of(2), 1, false, false, T0);
	cr_assert_not(qp->flight.resent, "that is another one");
	rc_loss_sent(qp, psn_of(1), 1, false, false, T0 + 1);
	cr_assert(qp->flight.resent);
	cr_assert_eq(qp->flight_past.resent_ns, T0 + 1);
	rc_loss_sent(qp, psn_of(1), 1, false, false, T0 + 2);
	cr_assert_eq(qp->flight_past.resent_ns, T0 + 1);
}

/* While no round trip is known the first packet of a request is timed; then the last, and delay is told how many. */
Test(loss, congestion_control_receives_timed_packets_and_answers)
{
	RULE("N-4");
	open_waiting();
	rc_cc_choose(qp, UROCE_CC_DELAY);
	rc_loss_sent(qp, psn_of(0), 4, true, true, T0);
	cr_assert_eq(qp->rtt.psn.v, psn_of(0).v);
	qp->win.snd_una = psn_of(1);
	qp->win.acked = 1;
	rc_loss_acknowledged(qp, T0 + 20000);
	cr_assert_eq(qp->delay.last_ns, 20000);
	qp->win.snd_una = psn_of(2);
	qp->win.acked = 2;
	rc_loss_acknowledged(qp, T0 + 30000);
	cr_assert_eq(qp->delay.last_ns, 20000, "nothing was timed");
	rc_loss_sent(qp, psn_of(2), 2, true, true, T0 + 40000);
	cr_assert_eq(qp->rtt.psn.v, psn_of(3).v);
	cr_assert_eq(qp->delay.timed_packets, 2);
}

/* An RNR NAK rewinds to the oldest packet, whatever was sent again before. */
Test(loss, rewind_restarts_the_resend_state)
{
	RULE("T-2");
	open_waiting();
	qp->flight_past.refusable = true;
	qp->flight_past.resent_end = psn_of(3);
	rc_loss_rnr_nak(qp, psn_of(0), 1, T0);
	cr_assert_not(qp->flight_past.refusable);
	cr_assert_eq(qp->flight_past.resent_end.v, psn_of(0).v);
	cr_assert_eq(qp->flight_past.flight_end.v, psn_of(4).v);
	cr_assert_eq(qp->flight_past.rewind_limit.v, psn_of(4).v);
}

/* A rewind doubts the ACKs that copies may draw (T-6). */
Test(loss, rewind_makes_acks_before_the_oldest_packet_ambiguous)
{
	RULE("T-6");
	open_waiting();
	rc_flight_copy_sent(qp, 0, 3);
	rc_loss_rnr_nak(qp, psn_of(0), 1, T0);
	cr_assert_eq(qp->ask.unsure, 3);
}

/* With the last retry spent the QP migrates, and that is all that the loss does. */
Test(loss, migrating_qp_has_a_path_without_losses)
{
	RULE("A-3");
	open_waiting();
	qp->migration.state = UROCE_PATH_ARMED;
	qp->loss.retries_left = 0;
	rc_loss_sequence_nak(qp, T0);
	cr_assert_eq(qp->migration.state, UROCE_PATH_MIGRATED);
	cr_assert_eq(qp->counters[CNT_PATH_MIGRATIONS], 1);
	cr_assert_eq(qp->loss.retries_left, 7);
	cr_assert_not(loss_is_losing(qp));
	cr_assert(cc_is_open(qp));
	cr_assert_eq(qp->win.snd_nxt.v, psn_of(0).v, "all goes out again");
}

/* It has not left: the retry that it has cost is given back, and the NAK takes one. */
Test(loss, nak_refunds_the_retry_of_a_waiting_probe)
{
	RULE("T-3");
	open_waiting();
	qp->loss.retries_left = 5;
	qp->loss.asked = 1;
	qp->loss.silences = 2;
	ask_for_retry(&qp->ask);
	rc_loss_sequence_nak(qp, T0);
	cr_assert_eq(qp->loss.retries_left, 5);
	cr_assert(loss_is_losing(qp));
	cr_assert_not(cc_is_open(qp));
}

/* All of it is about to leave again: the NAK is of the flight before. */
Test(loss, nak_of_an_unsent_packet_counts_as_repetition)
{
	RULE("T-5");
	open_waiting();
	qp->flight.resending = true;
	qp->win.snd_nxt = psn_of(0);
	rc_loss_sequence_nak(qp, T0);
	cr_assert_eq(qp->counters[CNT_REPEATED_NAK], 1);
	cr_assert_eq(qp->loss.retries_left, 7);
	qp->win.snd_nxt = psn_of(1);
	rc_loss_sequence_nak(qp, T0);
	cr_assert_eq(qp->counters[CNT_PACKET_SEQ_ERR], 1);
	cr_assert_eq(qp->loss.retries_left, 6);
}

/* It has gone back to the oldest packet, which a READ is behind, and the copy of the oldest has been answered. */
static void open_resending(uint32_t resent_end)
{
	open_waiting();
	sendwin_slot(&qp->win, 1)->opcode = UROCE_WR_RDMA_READ;
	sendwin_slot(&qp->win, 1)->needs = NEEDS_RESPONSE;
	qp->flight_past.timed_out = qp->flight.resending = true;
	qp->flight_past.flight_end = psn_of(4);
	qp->flight_past.resent_end = psn_of(resent_end);
	qp->rtt.srtt_ns = 10000;
	qp->win.snd_una = psn_of(1);
	qp->win.acked = 1;
	qp->win.snd_nxt = psn_of(2);
	qp->win.cursor = 2;
}

/* Exactly the resent packets are answered: the peer was slow if a READ is next, and a probe would show a loss. */
Test(loss, slow_peer_receives_the_rest_once)
{
	RULE("T-2");
	open_resending(1);
	rc_loss_acknowledged(qp, T0);
	cr_assert_eq(qp->win.snd_nxt.v, psn_of(4).v);
	cr_assert_not(qp->flight.resending);
	open_resending(2);
	rc_loss_acknowledged(qp, T0);
	cr_assert_eq(qp->win.snd_nxt.v, psn_of(2).v, "more has been sent again than is answered");
	cr_assert(qp->flight.resending);
	open_resending(0);
	rc_loss_acknowledged(qp, T0);
	cr_assert_eq(qp->win.snd_nxt.v, psn_of(4).v, "what was not sent again is answered");
	open_resending(1);
	qp->ask.probes = false;
	rc_loss_acknowledged(qp, T0);
	cr_assert_eq(qp->win.snd_nxt.v, psn_of(2).v, "no probe would tell");
	open_resending(1);
	qp->rtt.srtt_ns = 0;
	rc_loss_acknowledged(qp, T0);
	cr_assert_eq(qp->win.snd_nxt.v, psn_of(2).v, "no round trip is known");
	open_resending(1);
	sendwin_slot(&qp->win, 1)->needs = 0;
	rc_loss_acknowledged(qp, T0);
	cr_assert_eq(qp->win.snd_nxt.v, psn_of(2).v, "no READ is next");
	open_resending(0);
	qp->flight_past.refusable = true;
	rc_loss_acknowledged(qp, T0);
	cr_assert_eq(qp->win.snd_nxt.v, psn_of(2).v, "the peer may have refused the first copy");
	open_resending(0);
	qp->flight_past.timed_out = false;
	rc_loss_acknowledged(qp, T0);
	cr_assert_eq(qp->win.snd_nxt.v, psn_of(2).v, "a response has shown a loss");
}
