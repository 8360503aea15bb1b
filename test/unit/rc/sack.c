/* sack.c - what a SACK tells a requester: whether it is right, what has come, and what is lost */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rule.h"
#include "sack_flight.h"

/* ---- which SACKs are right ---- */

static struct wire_packet of_three(void)
{
	struct wire_packet sack = sack_of(0, 1 << 2);

	sack.ack_psn_offset = 3;
	return sack;
}

Test(sack, invalid_sack_is_counted_and_ignored)
{
	RULE("T-7");
	for (uint32_t i = 0; i < 6; i++) {
		struct wire_packet sack = of_three();

		open_flight(3);
		if (i == 0)
			sack.payload_bytes = 4;
		else if (i == 1)
			sack.pad_bytes = 4;
		else if (i == 2)
			sack.control_kind = 0x80;
		else if (i == 3)
			sack.cack_psn = psn_of(3).v, sack.ack_psn_offset = 0xFFFF, sack.sack_bitmap = 0;
		else if (i == 4)
			sack.ack_psn_offset = 4;
		else
			sack.sack_bitmap |= 1 << 3;
		rc_sack_arrived(qp, &sack, T0);
		cr_assert_eq(qp->counters[CNT_BAD_SACK], 1, "row %u", i);
		cr_assert_eq(qp->anomaly.count, 1, "row %u", i);
		cr_assert_str_eq(known(), "none", "row %u", i);
	}
	open_flight(3);
	tell(0, 2, 1 << 2);
	cr_assert_eq(qp->counters[CNT_BAD_SACK], 0);
	cr_assert_str_eq(known(), "LLK");
}

/* When the first packet of a connection is missing, the SACK reports all before it, which was never sent. */
Test(sack, sack_reaches_back_only_to_the_first_packet)
{
	RULE("T-7");
	open_flight(3);
	acknowledge(1);
	qp->win.behind = 1;
	answer(0, 0, 0);
	cr_assert_eq(qp->counters[CNT_BAD_SACK], 0);
	answer(0, NONE, 0);
	cr_assert_eq(qp->counters[CNT_BAD_SACK], 1);
}

/* A late SACK covers packets acknowledged since. */
Test(sack, sack_may_cover_acknowledged_packets)
{
	RULE("T-7");
	open_flight(4);
	acknowledge(2);
	tell(0, 0, 3);
	cr_assert_eq(qp->counters[CNT_BAD_SACK], 0);
	cr_assert_str_eq(known(), "none");
	cr_assert_eq(qp->sack.newest.v, psn_of(1).v, "what came last in flight: nothing");
}

/* The answer to a PROBE has the PROBE's id where others have their newest packet. */
Test(sack, the_id_in_an_answer_is_no_packet)
{
	RULE("T-7");
	open_flight(3);
	answer(1000, 0, 0);
	cr_assert_eq(qp->counters[CNT_BAD_SACK], 0);
}

/* ---- who does not listen ---- */

Test(sack, sack_of_a_gap_counts_as_a_sequence_nak)
{
	struct wire_packet sack = of_three();

	RULE("S-22");
	open_flight(3);
	qp->last_aeth = 5;
	sack.ooo_count = 0;
	rc_sack_arrived(qp, &sack, T0);
	cr_assert_eq(qp->last_aeth, 5, "nothing was kept");
	sack.ooo_count = 1;
	rc_sack_arrived(qp, &sack, T0);
	cr_assert_eq(qp->last_aeth, (uint32_t)syndrome_make(SYNDROME_NAK, NAK_PSN_SEQUENCE) << 24);
}

/* Each of the three alone; the SACK shows that the peer lives. */
Test(sack, sack_is_ignored_during_resend_rnr_wait_or_when_idle)
{
	RULE("T-7");
	RULE("R-4");
	for (uint32_t i = 0; i < 3; i++) {
		open_flight(3);
		qp->flight.resending = i == 0;
		qp->loss.rnr_deadline_ns = i == 1 ? T0 + 1 : RC_NEVER;
		if (i == 2)
			acknowledge(3);
		ask_wait(&qp->ask, ASK_SILENCE, T0);
		qp->sack.probing = true;
		tell(0, 2, 1 << 2);
		cr_assert_eq(qp->counters[CNT_BAD_SACK], 0, "row %u", i);
		cr_assert_str_eq(known(), "none", "row %u", i);
		cr_assert_eq(qp->sack.newest.v, psn_of(NONE).v, "row %u", i);
		cr_assert_gt(qp->ask.deadline_ns, T0, "row %u", i);
	}
}

Test(sack, probe_answer_counts_during_a_resend)
{
	RULE("T-7");
	open_flight(4);
	qp->flight.resending = true;
	answer(probe(CNT_EARLY_PROBES), 0, 1 << 1);
	cr_assert_str_eq(known(), "LKLL");
}

/* ---- what has come ---- */

Test(sack, newest_packet_is_the_highest_received)
{
	RULE("T-7");
	open_flight(5);
	tell(0, 2, 1 << 2);
	cr_assert_eq(qp->sack.newest.v, psn_of(2).v);
	tell(0, 1, 3 << 1);
	cr_assert_eq(qp->sack.newest.v, psn_of(2).v);
	tell(0, 3, 7 << 1);
	cr_assert_eq(qp->sack.newest.v, psn_of(3).v);
	acknowledge(4);
	answer(0, 4, 0);
	cr_assert_eq(qp->sack.newest.v, psn_of(3).v);
	tell(4, 4, 0);
	cr_assert_eq(qp->sack.newest.v, psn_of(4).v, "the one before is in flight no more");
}

/* A new connection has no newest packet, whatever the field holds: here the packet to leave next. */
Test(sack, unsent_packet_is_not_the_newest)
{
	RULE("T-7");
	open_flight(4);
	qp->sack.newest = qp->win.snd_max;
	answer(7, 0, 0);
	cr_assert_str_eq(known(), "none", "nothing has come");
	tell(0, 1, 1 << 1);
	cr_assert_eq(qp->sack.newest.v, psn_of(1).v);
	cr_assert_str_eq(known(), "LK..");
}

/*
 * Without a map no packet has been received: the stored number is of an earlier flight, or was never set, and PSNs
 * wrap.
 */
Test(sack, newest_packet_is_forgotten_with_the_map)
{
	RULE("T-7");
	for (uint32_t i = 0; i < 4; i++) {
		open_flight(4);
		qp->sack.newest = psn_of(i);
		answer(7, 0, 0);
		cr_assert_str_eq(known(), "none", "row %u", i);
	}
	tell(0, 2, 1 << 2);
	cr_assert_str_eq(known(), "LLK.");
	cr_assert_eq(qp->sack.newest.v, psn_of(2).v);
	tell(0, 1, 3 << 1);
	cr_assert_eq(qp->sack.newest.v, psn_of(2).v, "while there is a map it stays");
}

Test(sack, new_information_refills_the_budget_and_restarts_the_timer)
{
	RULE("T-7");
	RULE("T-4");
	open_flight(4);
	qp->loss.ack_deadline_ns = T0;
	qp->loss.retries_left = 2;
	tell(1, 2, 1 << 2);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + TIMEOUT_NS);
	cr_assert_eq(qp->loss.retries_left, 7);
	cr_assert_eq(qp->flight_past.heard.v, psn_of(1).v);
	cr_assert(qp->flight.echoes, "the map is told when more is acknowledged");
	qp->loss.ack_deadline_ns = T0;
	ask_wait(&qp->ask, ASK_SILENCE, T0);
	tell(1, 2, 1 << 2);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0, "that is no news");
	cr_assert_eq(qp->ask.deadline_ns, T0);
	qp->loss.retries_left = 2;
	qp->flight.rewound = true;
	tell(1, 3, 3 << 2);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + TIMEOUT_NS);
	cr_assert_eq(qp->loss.retries_left, 2, "what comes once more is no progress");
}

Test(sack, sack_without_a_gap_is_a_sign_of_life)
{
	RULE("T-6");
	open_flight(4);
	ask_wait(&qp->ask, ASK_SILENCE, T0);
	qp->loss.ack_deadline_ns = T0;
	tell(1, 0, 0);
	cr_assert_str_eq(known(), "none");
	cr_assert_gt(qp->ask.deadline_ns, T0);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0);
}

Test(sack, received_timed_packet_ends_its_round_trip)
{
	RULE("T-5");
	open_flight(4);
	rc_cc_choose(qp, UROCE_CC_DELAY);
	rtt_begin(&qp->rtt, psn_of(2), T0 - 500);
	qp->ask.tries = 3;
	tell(0, 1, 2);
	cr_assert_eq(qp->delay.last_ns, 0);
	cr_assert(qp->rtt.timing, "something else has come, and it is still on its way");
	cr_assert_eq(qp->ask.tries, 3);
	tell(0, 2, 3 << 1);
	cr_assert_eq(qp->rtt.srtt_ns, 500);
	cr_assert_neq(qp->delay.last_ns, 0);
	cr_assert_eq(qp->ask.tries, 0);
}

Test(sack, probe_answer_ends_no_round_trip)
{
	RULE("T-5");
	open_flight(4);
	rtt_begin(&qp->rtt, psn_of(2), T0 - 500);
	answer(7, 0, 3 << 0);
	cr_assert(qp->rtt.timing, "of that it tells nothing");
	answer(7, 0, 7 << 0);
	cr_assert_eq(qp->rtt.srtt_ns, 0);
	cr_assert_not(qp->rtt.timing, "it has come, and nobody knows when");
}

/* Part of the packets to resend was acknowledged meanwhile. */
Test(sack, cumulatively_acknowledged_packet_is_no_longer_lost)
{
	RULE("T-7");
	open_flight(5);
	tell(0, 3, 1 << 3);
	cr_assert_str_eq(known(), "LLLK.");
	tell(2, 3, 1 << 3);
	cr_assert_str_eq(known(), "KKLK.");
	cr_assert_eq(qp_board(qp, BOARD_SACK)->sack.lost, 1);
}

/* The map has a fixed size; a READ may reach farther. */
Test(sack, packets_beyond_the_map_are_not_recorded)
{
	struct wire_packet sack;

	RULE("T-7");
	open_idle();
	send(UROCE_WR_RDMA_WRITE, KEPT_SPAN + 4);
	sack = sack_of(0, 1);
	sack.sack_offset = KEPT_SPAN - 1;
	sack.sack_bitmap = 1 << 2;
	sack.ack_psn_offset = KEPT_SPAN + 3;
	rc_sack_arrived(qp, &sack, T0);
	cr_assert_eq(qp->counters[CNT_BAD_SACK], 0);
	cr_assert_eq(scoreboard_state(qp, psn_of(KEPT_SPAN - 2)), SACK_LOST);
	cr_assert_eq(scoreboard_state(qp, psn_of(KEPT_SPAN - 1)), SACK_LOST);
	cr_assert_eq(scoreboard_state(qp, psn_of(KEPT_SPAN)), SACK_IN_FLIGHT, "its place is that of the oldest");
	cr_assert_eq(scoreboard_state(qp, psn_of(KEPT_SPAN + 1)), SACK_IN_FLIGHT, "and its that of the next");
}

/* ---- without memory ---- */

Test(sack, without_a_board_a_loss_counts_as_a_sequence_nak)
{
	RULE("T-7");
	RULE("T-2");
	open_flight(4);
	pool.boards.pool.size = 0;
	tell(0, 2, 1 << 2);
	cr_assert_eq(qp->counters[CNT_PACKET_SEQ_ERR], 1);
	cr_assert_eq(qp->win.snd_nxt.v, psn_of(0).v);
	cr_assert_eq(qp->loss.retries_left, 6);
	cr_assert_not(qp->gaps.asks_again);
}

Test(sack, without_a_board_received_packets_are_still_progress)
{
	RULE("T-7");
	open_flight(4);
	pool.boards.pool.size = 0;
	qp->loss.ack_deadline_ns = T0;
	tell(1, 1, 1 << 1);
	cr_assert_str_eq(known(), "none");
	tell(1, 1, 3 << 1);
	cr_assert_eq(qp->flight_past.heard.v, psn_of(1).v);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + TIMEOUT_NS);
	cr_assert_eq(qp->counters[CNT_PACKET_SEQ_ERR], 0);
}

/* ---- what is lost ---- */

Test(sack, packets_sent_before_the_newest_are_lost_and_requested)
{
	RULE("T-7");
	open_flight(6);
	tell(0, 3, 1 << 3);
	cr_assert_str_eq(known(), "LLLK..");
	cr_assert(qp->gaps.asks_again);
	cr_assert_eq(qp_board(qp, BOARD_SACK)->sack.given_up, 0);
	cr_assert_eq(qp->counters[CNT_PACKET_SEQ_ERR], 0);
	cr_assert_eq(qp->loss.retries_left, 7);
}

/* The peer had no room for it. */
Test(sack, newest_packet_that_was_not_kept_is_lost)
{
	RULE("T-7");
	open_flight(4);
	tell(0, 2, 0);
	cr_assert_str_eq(known(), "LLL.");
}

Test(sack, only_the_first_psn_of_a_read_is_a_packet)
{
	RULE("T-7");
	open_idle();
	send(UROCE_WR_RDMA_READ, 3);
	send(UROCE_WR_RDMA_WRITE, 2);
	tell(0, 4, 1 << 4);
	cr_assert_str_eq(known(), "L..LK");
}

/* The newest received packet is no longer in flight, so it does not order the others. */
Test(sack, acknowledged_packet_reveals_no_loss)
{
	RULE("T-7");
	open_flight(4);
	tell(1, 0, 0);
	acknowledge(1);
	answer(7, 1, 0);
	cr_assert_str_eq(known(), "none");
}

/* ---- what was sent again ---- */

/* Only what first left behind the copy shows that the copy is lost. */
Test(sack, copy_is_lost_when_a_newer_packet_was_received)
{
	RULE("T-7");
	open_flight(4);
	tell(0, 1, 1 << 1);
	cr_assert_str_eq(resend(), "WRITE_ONLY 0, PROBE 1");
	send(UROCE_WR_RDMA_WRITE, 1);
	send(UROCE_WR_RDMA_WRITE, 1);
	tell(0, 3, 1 << 1 | 1 << 2 | 1 << 3);
	cr_assert_str_eq(known(), "PKKK..");
	tell(0, 4, 0xF << 1);
	cr_assert_str_eq(known(), "LKKKK.");
}

/* Neither unsent nor acknowledged packets show a lost copy. */
Test(sack, packet_outside_the_flight_reveals_no_lost_copy)
{
	RULE("T-7");
	open_flight(4);
	answer(probe(CNT_EARLY_PROBES), 0, 0xE);
	qp->sack.newest = qp->win.snd_max;
	cr_assert_str_eq(resend(), "WRITE_ONLY 0, PROBE 2");
	answer(7, 0, 0xE);
	cr_assert_str_eq(known(), "PKKK");
}

/* A flight as long as the map: the oldest left so long before the copy that it could be taken for newer. */
Test(sack, the_oldest_of_a_long_flight_is_not_newer_than_a_copy)
{
	RULE("T-7");
	open_idle();
	send(UROCE_WR_RDMA_WRITE, KEPT_SPAN);
	tell(0, 0, 1);
	answer(probe(CNT_EARLY_PROBES), 0, ~2ull);
	cr_assert_eq(qp_board(qp, BOARD_SACK)->sack.lost, 1);
	cr_assert_str_eq(resend(), "WRITE_MIDDLE 1, PROBE 2");
	answer(7, 0, ~2ull);
	cr_assert_eq(qp->sack.newest.v, psn_of(0).v);
	cr_assert_eq(qp_board(qp, BOARD_SACK)->sack.lost, 0);
}

/* The PSNs of its responses lie before the first packet that leaves after the copy. */
Test(sack, a_long_read_makes_no_older_packet_newer_than_a_copy)
{
	RULE("T-7");
	for (uint32_t psns = 1; psns < 1u << 16; psns = psns * 3 / 2 + 1) {
		open_flight(10);
		send(UROCE_WR_RDMA_READ, psns);
		tell(0, 1, 1 << 1);
		cr_assert_str_eq(resend(), "WRITE_ONLY 0, PROBE 1");
		for (uint32_t i = 2; i < 10; i++) {
			tell(0, i, (2u << i) - 2);
			cr_assert_eq(qp_board(qp, BOARD_SACK)->sack.lost, 0, "%u came, a READ of %u behind it", i,
				     psns);
		}
	}
}

/* ---- what the answer to a PROBE tells ---- */

Test(sack, probe_answer_reports_all_packets_sent_before_it)
{
	uint16_t id;

	RULE("T-7");
	open_flight(3);
	id = probe(CNT_EARLY_PROBES);
	send(UROCE_WR_RDMA_WRITE, 1);
	answer(id, 0, 1);
	cr_assert_str_eq(known(), "KLL.");
	cr_assert_not(qp->sack.probing);
	cr_assert_eq(qp->sack.newest.v, psn_of(NONE).v, "that was not told");
}

Test(sack, only_the_answer_to_the_last_probe_counts)
{
	uint16_t id;

	RULE("T-7");
	open_flight(3);
	answer(0, 0, 0);
	cr_assert_str_eq(known(), "none", "no PROBE has left");
	id = probe(CNT_EARLY_PROBES);
	probe(CNT_EARLY_PROBES);
	answer(id, 0, 0);
	cr_assert_str_eq(known(), "none");
	cr_assert(qp->sack.probing);
	tell(1, 0, 0);
	cr_assert(qp->sack.probing);
	answer((uint16_t)(id + 1), 0, 0);
	cr_assert_str_eq(known(), "LLL");
}

/* Where an answer has the id of its PROBE another SACK tells of its newest packet: here both are 1. */
Test(sack, sack_without_a_probe_is_no_answer)
{
	RULE("T-7");
	open_flight(4);
	cr_assert_eq(probe(CNT_EARLY_PROBES), 1);
	tell(1, 1, 1 << 1);
	cr_assert(qp->sack.probing);
	cr_assert_str_eq(known(), ".K..");
}

/* A copy that left behind the PROBE may come yet. */
Test(sack, probe_answer_covers_copies_sent_before_it)
{
	uint16_t id;

	RULE("T-7");
	open_flight(4);
	id = probe(CNT_EARLY_PROBES);
	tell(0, 3, 1 << 3);
	cr_assert_str_eq(resend(), "WRITE_ONLY 0, WRITE_ONLY 1, WRITE_ONLY 2");
	cr_assert_str_eq(known(), "SSSK");
	answer(id, 0, 1 << 3);
	cr_assert_str_eq(known(), "SSSK");
	id = probe(CNT_EARLY_PROBES);
	cr_assert_str_eq(known(), "PPPK");
	qp->sack.probe_end = qp->win.snd_una;
	answer(id, 0, 1 << 3);
	cr_assert_str_eq(known(), "LLLK");
}

Test(sack, only_a_probe_answer_reveals_dropped_kept_packets)
{
	RULE("T-7");
	RULE("S-21");
	open_flight(4);
	tell(0, 2, 3 << 1);
	tell(0, 3, 1 << 3);
	cr_assert_str_eq(known(), "LKKK");
	cr_assert_eq(qp_board(qp, BOARD_SACK)->sack.given_up, 0);
	answer(probe(CNT_EARLY_PROBES), 0, 1 << 3);
	cr_assert_str_eq(known(), "LLLK");
	cr_assert_eq(qp_board(qp, BOARD_SACK)->sack.given_up, 2);
}

/* The peer keeps it again: as many as it has given up are no news, and the next one is. */
Test(sack, kept_again_packet_is_no_new_information)
{
	RULE("T-7");
	open_flight(4);
	tell(0, 1, 1 << 1);
	answer(probe(CNT_EARLY_PROBES), 0, 0);
	cr_assert_eq(qp_board(qp, BOARD_SACK)->sack.given_up, 1);
	qp->loss.ack_deadline_ns = T0;
	rc_scoreboard_probed(qp, false);
	tell(0, 1, 1 << 1);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0);
	cr_assert_not(qp_board(qp, BOARD_SACK)->sack.news);
	cr_assert_eq(qp_board(qp, BOARD_SACK)->sack.given_up, 0);
	tell(0, 2, 3 << 1);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + TIMEOUT_NS);
	cr_assert(qp_board(qp, BOARD_SACK)->sack.news);
}

/* The copies may be too long for the path: only the oldest is resent until new information arrives. */
Test(sack, answers_without_news_resend_only_the_oldest)
{
	RULE("T-7");
	open_flight(5);
	tell(0, 3, 3 << 2);
	cr_assert_str_eq(resend(), "WRITE_ONLY 0, WRITE_ONLY 1, PROBE 1");
	answer(1, 0, 3 << 2);
	cr_assert_str_eq(known(), "LLKKL", "there was news when the PROBE left");
	cr_assert_str_eq(resend(), "WRITE_ONLY 0, WRITE_ONLY 1, WRITE_ONLY 4, PROBE 2");
	cr_assert_eq(qp_board(qp, BOARD_SACK)->sack.idle_probes, 1);
	answer(2, 0, 1 << 2);
	cr_assert_str_eq(known(), "LPKKP");
}

Test(sack, answers_without_news_still_resend_packets_sent_once)
{
	RULE("T-7");
	open_flight(4);
	tell(0, 1, 1 << 1);
	probe(CNT_EARLY_PROBES);
	answer(probe(CNT_EARLY_PROBES), 0, 1 << 1);
	cr_assert_eq(qp_board(qp, BOARD_SACK)->sack.idle_probes, 1);
	cr_assert_str_eq(known(), "LKLL");
}
