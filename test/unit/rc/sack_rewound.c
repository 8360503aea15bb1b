/* sack_rewound.c - what a SACK tells of packets around a rewind, and when that is forgotten */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rule.h"
#include "sack_flight.h"

/* Packets resent by a rewind may arrive twice: only packets first sent since then judge them. */
Test(sack_rewound, rewound_packets_are_judged_only_by_newer_ones)
{
	RULE("T-7");
	open_flight(6);
	qp->flight_past.repeats = true;
	qp->flight_past.rewind_limit = psn_of(3);
	tell(0, 2, 1 << 2);
	cr_assert_str_eq(known(), "..K...");
	cr_assert(qp->flight_past.repeats);
	tell(0, 2, 1 << 2);
	cr_assert_str_eq(known(), "..K...", "of what is newer older ones do not tell either");
	tell(0, 3, 3 << 2);
	cr_assert_str_eq(known(), "LLKK..");
}

Test(sack_rewound, packets_sent_after_a_rewind_are_not_judged_by_older_ones)
{
	RULE("T-7");
	open_flight(6);
	qp->flight_past.repeats = true;
	qp->flight_past.rewind_limit = psn_of(2);
	tell(0, 3, 1 << 3);
	cr_assert_str_eq(known(), "LLLK..");
	open_flight(6);
	qp->flight_past.repeats = true;
	qp->flight_past.rewind_limit = psn_of(2);
	tell(1, 2, 1 << 2);
	cr_assert_str_eq(known(), ".LK...", "3 is newer than what has come");
}

Test(sack_rewound, acknowledging_the_rewound_range_ends_the_restriction)
{
	RULE("T-7");
	open_flight(6);
	qp->flight_past.repeats = true;
	qp->flight_past.rewind_limit = psn_of(2);
	acknowledge(3);
	tell(3, 5, 1 << 5);
	cr_assert_str_eq(known(), "LLK");
	open_flight(6);
	qp->flight_past.rewind_limit = psn_of(4);
	tell(0, 2, 1 << 2);
	cr_assert_str_eq(known(), "LLK...", "there was no rewind");
}

/* Half of all PSNs later its end seems to lie ahead again. */
Test(sack_rewound, rewind_long_ago_restricts_nothing)
{
	RULE("T-7");
	open_flight(6);
	qp->flight_past.repeats = true;
	qp->flight_past.rewind_limit = psn_add(qp->win.snd_una, PSN_WINDOW - 1);
	tell(0, 2, 1 << 2);
	cr_assert_str_eq(known(), "LLK...");
}

/* Loss detection learns that the oldest `count` packets were answered. */
static void progress(uint32_t count)
{
	rc_sendwin_ack_through(&qp->win, psn_add(qp->win.snd_una, count));
	rc_loss_acknowledged(qp, T0);
}

/* A window that begins in the same place, all PSNs later. */
Test(sack_rewound, rewind_counts_until_its_packets_are_acknowledged)
{
	RULE("T-7");
	for (uint32_t answered = 3; answered <= 4; answered++) {
		open_flight(4);
		rc_loss_go_back(qp);
		flight_go_to(qp, qp->win.snd_max);
		progress(answered);
		qp->win.snd_una = qp->win.snd_nxt = qp->win.snd_max = psn_of(2);
		for (uint32_t i = 0; i < 4; i++)
			send(UROCE_WR_RDMA_WRITE, 1);
		tell(2, 3, 1 << 3);
		cr_assert_str_eq(known(), answered == 4 ? "LK.." : ".K..");
	}
}

/* The states of packets that are in flight no more are forgotten, and with the last one the board is returned. */
Test(sack_rewound, scoreboard_follows_each_acknowledgement)
{
	RULE("T-7");
	open_flight(8);
	tell(0, 6, 1 << 6 | 1 << 1);
	cr_assert_str_eq(known(), "LKLLLLK.");
	progress(5);
	cr_assert_str_eq(known(), "LK.");
	send(UROCE_WR_RDMA_WRITE, 1);
	progress(2);
	cr_assert_not(scoreboard_has_map(qp));
	cr_assert(qp->flight.echoes, "the last packet may have left again");
	progress(2);
	cr_assert_not(qp->flight.echoes);
}
