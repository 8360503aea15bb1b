/* flight.c - which transmission an answer belongs to, and how many answers the copies of packets may still draw */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "rule.h"
#include "loss_waiting.h"

#define TRIP_NS 10000u

/* So many packets have left, and nothing has come. */
static void begin(uint32_t packets)
{
	at = (struct rc_qp){ .win.snd_una = psn_of(0) };
	boards_init(&pool, boards, 1);
	rc_board_set_pool(qp, &pool);
	qp->win.snd_nxt = qp->win.snd_max = psn_of(packets);
}

static void acknowledge(uint32_t packets)
{
	qp->win.snd_una = psn_of(packets);
	rc_flight_copies_acknowledged(qp);
}

Test(flight, echoes_are_limited_by_sent_copies)
{
	RULE("T-3");
	begin(4);
	cr_assert_not(rc_flight_take_echo(qp, true));
	rc_flight_copy_sent(qp, 1, 2);
	rc_flight_copy_sent(qp, 1, 0);
	for (uint32_t i = 0; i < 2; i++) {
		cr_assert(rc_flight_take_echo(qp, true));
		cr_assert(rc_flight_take_echo(qp, false));
	}
	cr_assert_not(rc_flight_take_echo(qp, true));
	cr_assert_not(rc_flight_take_echo(qp, false));
}

/* The answer to what first left behind the last copy is the last of all. */
Test(flight, answer_to_a_newer_packet_ends_echoes)
{
	RULE("T-3");
	begin(4);
	rc_flight_copy_sent(qp, 2, 2);
	qp->win.snd_max = psn_of(6);
	rc_flight_copy_sent(qp, 0, 1);
	qp->win.snd_max = psn_of(8);
	acknowledge(6);
	cr_assert(qp->flight.echoes);
	cr_assert_eq(qp->flight_past.owed.acks, 3);
	acknowledge(7);
	cr_assert_not(qp->flight.echoes);
	cr_assert_eq(qp->flight_past.owed.acks, 0);
	cr_assert_eq(qp->flight_past.owed.responses, 0);
	rc_flight_copy_sent(qp, 0, 1);
	cr_assert_eq(qp->flight_past.owed.first.v, psn_of(8).v, "these are the first again");
}

/* An ACK of the packet before snd_una may answer copies, if one has left before the oldest packet in flight. */
Test(flight, acks_are_ambiguous_from_the_first_copy_on)
{
	RULE("T-6");
	begin(4);
	rc_flight_copy_sent(qp, 0, 3);
	acknowledge(3);
	cr_assert_eq(qp->ask.unsure, 0);
	acknowledge(4);
	cr_assert_eq(qp->ask.unsure, 3);
	begin(4);
	rc_flight_copy_sent(qp, 0, 255);
	acknowledge(4);
	cr_assert_eq(qp->ask.unsure, 255);
	begin(4);
	rc_flight_copy_sent(qp, 0, 256);
	acknowledge(4);
	cr_assert_eq(qp->ask.unsure, 255, "it counts no further");
}

Test(flight, rewind_and_refusal_keep_acks_ambiguous)
{
	RULE("T-6");
	open_waiting();
	rc_flight_copy_sent(qp, 0, 3);
	rc_flight_rewound(qp, psn_of(0), psn_of(0), false);
	cr_assert_eq(qp->ask.unsure, 3);
	flight_was_refused(qp);
	cr_assert(qp->flight_past.after_rnr);
	acknowledge(1);
	cr_assert_eq(qp->ask.unsure, 3);
	rc_flight_rewound(qp, psn_of(1), psn_of(1), false);
	cr_assert_not(qp->flight_past.after_rnr, "that was the rewind before");
}

/* ---- the flight of an answer ---- */

/* The window went back to the oldest of four packets, because nothing came, and the first `again` have left again. */
static void open_rewound(uint32_t again)
{
	open_waiting();
	qp->rtt.srtt_ns = TRIP_NS;
	rc_flight_rewound(qp, psn_of(0), psn_of(0), true);
	if (again == 0)
		return;
	rc_sendwin_advance(&qp->win, psn_of(again));
	flight_sent_again(qp, psn_of(again), again, false);
	flight_sent(qp, psn_of(0), T0);
}

/* Nothing before a round trip after the copy can answer the copy; each copy doubles that time. */
Test(flight, answer_within_a_round_trip_of_the_copy_is_an_echo)
{
	RULE("T-5");
	open_waiting();
	qp->rtt.srtt_ns = TRIP_NS;
	cr_assert_not(rc_flight_is_echo(qp, 0, T0), "each packet has left once");
	open_rewound(0);
	cr_assert(rc_flight_is_echo(qp, 0, T0 + 100 * TRIP_NS), "the copy has not left");
	qp->win.snd_nxt = psn_of(1);
	cr_assert(rc_flight_is_echo(qp, 0, T0 + 100 * TRIP_NS), "nobody has said that it has left");
	open_rewound(2);
	cr_assert(rc_flight_is_echo(qp, 0, T0 + TRIP_NS - 1));
	cr_assert_not(rc_flight_is_echo(qp, 0, T0 + TRIP_NS));
	cr_assert(rc_flight_is_echo(qp, 2, T0 + 4 * TRIP_NS - 1));
	cr_assert_not(rc_flight_is_echo(qp, 2, T0 + 4 * TRIP_NS));
	qp->win.snd_una = psn_of(1);
	flight_acknowledged(qp);
	cr_assert_not(rc_flight_is_echo(qp, 0, T0), "of the next packet no copy has left");
}

Test(flight, first_retransmission_starts_the_echo_time)
{
	RULE("T-5");
	open_rewound(2);
	flight_sent(qp, psn_of(0), T0 + 5 * TRIP_NS);
	cr_assert_not(rc_flight_is_echo(qp, 0, T0 + 5 * TRIP_NS), "only the copy that the rewind has sent counts");
}

/* A flight moves forward: what is newer than all before, and was asked for before the rewind, is of the old one. */
Test(flight, response_ahead_of_the_new_flight_belongs_to_the_old_one)
{
	RULE("Q-9");
	open_rewound(2);
	cr_assert(rc_flight_take_response(qp, psn_of(2)), "no copy of that has left");
	cr_assert(rc_flight_take_response(qp, psn_of(3)), "nor of that");
	cr_assert_not(rc_flight_take_response(qp, psn_of(1)), "the old flight was ahead already");
	open_rewound(4);
	cr_assert(rc_flight_take_response(qp, psn_of(1)));
	cr_assert_not(rc_flight_take_response(qp, psn_of(0)));
	qp->win.snd_nxt = qp->win.snd_max = psn_of(6);
	cr_assert(flight_left_before_rewind(qp, psn_of(3)));
	cr_assert_not(flight_left_before_rewind(qp, psn_of(4)), "it left after the rewind");
	cr_assert_not(rc_flight_take_response(qp, psn_of(5)));
	open_waiting();
	cr_assert_not(flight_left_before_rewind(qp, psn_of(1)));
}

Test(flight, last_rewind_sets_the_old_flight)
{
	RULE("Q-9");
	open_rewound(2);
	cr_assert_eq(qp->win.snd_nxt.v, psn_of(2).v);
	rc_flight_rewound(qp, psn_of(0), psn_of(0), true);
	cr_assert_eq(qp->win.snd_nxt.v, psn_of(0).v);
	cr_assert(qp->flight_past.again);
	cr_assert(rc_flight_is_echo(qp, 0, T0 + 100 * TRIP_NS), "the second copy has not left");
	cr_assert_eq(qp->flight_past.flight_end.v, psn_of(4).v,
		     "packets of the first flight may still be on their way");
}

/* On a new path nothing shows a loss until a packet sent again over it can have been answered. */
Test(flight, packets_of_the_old_path_show_no_loss_for_a_round_trip)
{
	RULE("A-4");
	open_rewound(4);
	cr_assert_not(rc_flight_is_from_old_path(qp, psn_of(1), T0));
	flight_path_changed(qp);
	cr_assert(rc_flight_is_from_old_path(qp, psn_of(3), T0 + TRIP_NS - 1));
	cr_assert_not(rc_flight_is_from_old_path(qp, psn_of(4), T0), "it left over the new path");
	cr_assert_not(rc_flight_is_from_old_path(qp, psn_of(3), T0 + TRIP_NS));
	qp->win.snd_una = qp->win.snd_nxt = qp->win.snd_max = psn_of(4);
	cr_assert_not(rc_flight_is_from_old_path(qp, psn_of(3), T0), "all of them are answered");
}

/* The peer has the requests before an answered one, and those not in flight. */
Test(flight, peer_has_the_requests_before_an_answered_one)
{
	RULE("Q-9");
	open_waiting();
	qp->flight_past.heard = psn_of(2);
	cr_assert(rc_flight_peer_has(qp, psn_of(0)));
	cr_assert(rc_flight_peer_has(qp, psn_of(1)));
	cr_assert_not(rc_flight_peer_has(qp, psn_of(2)));
	cr_assert_not(rc_flight_peer_has(qp, psn_of(3)));
	cr_assert(rc_flight_peer_has(qp, psn_of(5)));
	qp->flight_past.heard = psn_of(4);
	cr_assert(rc_flight_peer_has(qp, psn_of(3)));
	qp->flight_past.heard = psn_of(9);
	cr_assert_not(rc_flight_peer_has(qp, psn_of(0)), "that is long ago");
}

/* What was not sent again is answered, so the peer was slow; not if the peer may have refused what was sent again. */
Test(flight, peer_that_answers_the_old_flight_was_slow)
{
	RULE("T-2");
	open_rewound(1);
	cr_assert_not(rc_flight_peer_was_slow(qp), "the copy may be what is answered");
	qp->win.snd_una = psn_of(2);
	cr_assert(rc_flight_peer_was_slow(qp));
	flight_sent_again(qp, psn_of(1), 0, true);
	cr_assert_not(rc_flight_peer_was_slow(qp), "a request that needs a receive was sent again");
	open_rewound(1);
	qp->win.snd_una = psn_of(4);
	cr_assert_not(rc_flight_peer_was_slow(qp), "nothing of the old flight is left");
	open_waiting();
	rc_flight_rewound(qp, psn_of(0), psn_of(0), false);
	qp->win.snd_una = psn_of(2);
	cr_assert_not(rc_flight_peer_was_slow(qp), "a response has shown a loss");
}

Test(flight, reset_forgets_all_flights)
{
	RULE("X-1");
	open_rewound(2);
	rc_flight_copy_sent(qp, 1, 1);
	flight_path_changed(qp);
	rc_loss_reset(qp);
	cr_assert(!qp->flight.rewound && !qp->flight.resent && !qp->flight.resending && !qp->flight.echoes);
	cr_assert_not(qp->flight_past.moved);
	cr_assert_eq(qp->flight_past.owed.acks + qp->flight_past.owed.responses, 0);
}
