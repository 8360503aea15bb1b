/* sack_spread.c - what a SACK tells of packets that were spread over several paths */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rule.h"
#include "sack_flight.h"

/* Packet i has left over path i modulo PATHS. */

Test(sack_spread, only_later_packets_of_the_same_path_show_a_loss)
{
	struct rc_spread *spread = open_spread_flight(8);

	RULE("S-23");
	tell(0, 3, 1 << 3);
	cr_assert_str_eq(known(), "...K....");
	tell(0, 6, 1 << 6 | 1 << 3);
	cr_assert_str_eq(known(), "..LK..K.");
	cr_assert_eq(spread->paths[2].missed, 0, "what has come shows that the path works");
	cr_assert_eq(spread->paths[2].state, SPREAD_SKIP, "but a packet was lost over it");
	cr_assert_eq(spread->path_of[psn_of(2).v % KEPT_SPAN], 2 | SPREAD_LOST);
}

/* Sent two round trips before a received packet, over any path; the received packet itself as well. */
Test(sack_spread, packet_sent_two_round_trips_before_is_lost_on_any_path)
{
	struct rc_spread *spread = open_spread_flight(8);

	RULE("S-23");
	qp->rtt.srtt_ns = 1000;
	for (uint32_t i = 0; i < 3; i++)
		spread->marks[i] = (struct rc_spread_mark){ .at_ns = T0 - 4000 + 2000 * i, .psn = psn_of(2 * i) };
	spread->mark = 2;
	tell(0, 4, 1 << 4);
	cr_assert_eq(spread->aged.v, psn_of(2).v);
	cr_assert_str_eq(known(), "LL..K...");
}

/* The answer to a PROBE brought it, so that it is no newest packet, yet it shows what left before it on its path. */
Test(sack_spread, probe_answer_shows_that_a_path_works)
{
	struct rc_spread *spread = open_spread_flight(8);

	RULE("S-23");
	tell(0, 3, 1 << 3);
	spread->paths[1].missed = 1;
	answer(7, 0, 1 << 5 | 1 << 3);
	cr_assert_eq(spread->paths[1].missed, 0);
	cr_assert_eq(qp->sack.newest.v, psn_of(3).v);
	cr_assert_str_eq(known(), ".L.K.K..");
}

Test(sack_spread, only_packets_in_flight_sent_once_show_working_paths)
{
	struct rc_spread *spread = open_spread_flight(8);

	RULE("S-23");
	tell(0, 5, 1 << 5);
	cr_assert_str_eq(resend(), "WRITE_ONLY 1, PROBE 64, PROBE 130, PROBE 195");
	for (uint32_t i = 0; i < PATHS; i++)
		spread->paths[i].missed = 1;
	tell(0, 5, 1 << 5 | 1 << 1);
	for (uint32_t i = 0; i < PATHS; i++)
		cr_assert_eq(spread->paths[i].missed, 1, "path %u", i);
	tell(0, 6, 3 << 5 | 1 << 1);
	cr_assert_eq(spread->paths[2].missed, 0);
}

Test(sack_spread, acknowledged_packet_reveals_nothing_about_paths)
{
	struct rc_spread *spread = open_spread_flight(8);

	RULE("S-23");
	acknowledge(2);
	spread->paths[0].missed = spread->paths[1].missed = 1;
	tell(1, 3, 1 << 1 | 1 << 3);
	cr_assert_eq(qp->counters[CNT_BAD_SACK], 0);
	cr_assert_eq(spread->paths[0].missed, 1);
	cr_assert_eq(spread->paths[1].missed, 1);
	cr_assert_eq(spread->paths[3].missed, 0);
}

/* Without a map the newest packet of a path may be from half the PSN space ago. */
Test(sack_spread, new_map_has_no_path_state)
{
	struct rc_spread *spread = open_spread_flight(8);

	RULE("S-23");
	spread->paths[1].newest = psn_of(5);
	tell(1, 3, 1 << 3);
	cr_assert_str_eq(known(), "...K....");
	cr_assert_eq(spread->paths[1].newest.v, psn_of(NONE).v);
}

Test(sack_spread, path_state_reaches_to_the_end_of_the_map)
{
	struct wire_packet sack;
	struct rc_spread *spread;

	RULE("S-23");
	spread = open_spread_flight(0);
	send(UROCE_WR_RDMA_WRITE, KEPT_SPAN + 4);
	spread->paths[0].missed = spread->paths[3].missed = 1;
	sack = sack_of(0, 3);
	sack.sack_offset = KEPT_SPAN;
	sack.ack_psn_offset = KEPT_SPAN;
	rc_sack_arrived(qp, &sack, T0);
	cr_assert_eq(qp->counters[CNT_BAD_SACK], 0);
	cr_assert_eq(spread->paths[3].missed, 0);
	cr_assert_eq(spread->paths[0].missed, 1, "its place is that of the oldest");
}

/* It is lost once, however often that is told until it has left again. */
Test(sack_spread, loss_reported_twice_counts_once_for_its_path)
{
	struct rc_spread *spread = open_spread_flight(8);

	RULE("S-23");
	tell(0, 4, 1 << 4);
	cr_assert_eq(spread->paths[0].state, SPREAD_SKIP);
	rc_spread_turn(spread);
	cr_assert_eq(spread->paths[0].state, SPREAD_GOOD);
	tell(0, 4, 1 << 4);
	cr_assert_eq(spread->paths[0].state, SPREAD_GOOD);
	cr_assert_str_eq(known(), "L...K...");
}

/* ---- SACKs that others have overtaken ---- */

Test(sack_spread, overtaken_sack_reveals_no_loss)
{
	struct wire_packet sack = sack_of(0, 1 << 3);
	struct rc_spread *spread = open_spread_flight(8);

	RULE("S-23");
	sack.ack_psn_offset = 4;
	sack.ooo_count = 1;
	rc_sack_arrived(qp, &sack, T0);
	cr_assert_eq(spread->seen.v, psn_of(0).v);
	sack.ooo_count = 3;
	rc_sack_arrived(qp, &sack, T0);
	cr_assert_eq(spread->seen.v, psn_of(2).v);
	sack.ack_psn_offset = 6;
	sack.sack_bitmap = 1 << 5;
	sack.ooo_count = 2;
	rc_sack_arrived(qp, &sack, T0);
	cr_assert_str_eq(known(), "...K.K..");
	sack.ooo_count = 3;
	rc_sack_arrived(qp, &sack, T0);
	cr_assert_str_eq(known(), ".L.K.K..");
}

/* The PROBE left before the newer packet arrived, so its answer may not contain it. */
Test(sack_spread, overtaken_answer_revokes_nothing)
{
	struct wire_packet sack = sack_of(0, 1 << 3);

	RULE("S-23");
	open_spread_flight(8);
	for (uint32_t i = 0; i < PATHS; i++)
		rc_spread_probe(qp, i, &out);
	sack.ack_psn_offset = 4;
	sack.ooo_count = 2;
	rc_sack_arrived(qp, &sack, T0);
	cr_assert_str_eq(known(), "...K....");
	answer(4 * SPREAD_MOST + 3, 0, 1);
	cr_assert_str_eq(known(), "K..K...L", "it tells of its own path what was not known");
	for (uint32_t i = 0; i < PATHS; i++)
		rc_spread_probe(qp, i, &out);
	answer(8 * SPREAD_MOST + 3, 0, 1);
	cr_assert_str_eq(known(), "K..L...L", "this PROBE has left later");
}

/* ---- when a PROBE is to ask ---- */

/* Half of the time in which an answer must come, since others have overtaken the oldest. */
Test(sack_spread, overtaken_packets_are_probed_soon)
{
	const uint64_t far_ns = T0 + 1000000;

	RULE("S-23");
	open_spread_flight(8);
	qp->rtt.srtt_ns = 10000;
	ask_wait(&qp->ask, ASK_SILENCE, far_ns);
	tell(0, 3, 1 << 3);
	cr_assert_eq(qp->ask.deadline_ns, T0 + 5000);
	open_flight(8);
	qp->rtt.srtt_ns = 10000;
	tell(1, 3, 1 << 3);
	ask_wait(&qp->ask, ASK_SILENCE, far_ns);
	tell(1, 3, 1 << 3);
	cr_assert_eq(qp->ask.deadline_ns, far_ns, "with one path that is a loss");
}

Test(sack_spread, no_probe_is_scheduled_without_missing_packets)
{
	RULE("S-23");
	open_spread_flight(8);
	qp->rtt.srtt_ns = 10000;
	tell(0, NONE, 0);
	cr_assert_str_eq(known(), "none");
}

/* Packets overtaken by an overtaken SACK may have arrived. */
Test(sack_spread, overtaken_sack_schedules_no_probe)
{
	struct rc_spread *spread = open_spread_flight(8);

	RULE("S-23");
	qp->rtt.srtt_ns = 10000;
	spread->seen = psn_of(6);
	spread->seen_is_known = true;
	ask_wait(&qp->ask, ASK_SILENCE, T0 + 1000000);
	tell(0, 3, 1 << 3);
	cr_assert_not(spread->suspects);
	cr_assert_eq(qp->ask.deadline_ns, T0 + 10000, "when an answer must have come, and not sooner");
}

/* Packets 5 and 6 have come: 1 and 2, which left before them over their paths, have not. */
Test(sack_spread, first_sack_of_a_flight_reveals_several_losses)
{
	struct rc_spread *spread = open_spread_flight(8);

	RULE("S-23");
	tell(0, 6, 3 << 5);
	cr_assert_str_eq(known(), ".LL..KK.");
	cr_assert_eq(spread->paths[1].missed, 0, "something has come over it");
	tell(0, 7, 7 << 5);
	cr_assert_str_eq(known(), ".LLL.KKK");
}
