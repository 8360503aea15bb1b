/* scoreboard.c - which packets are lost when they take several paths, and which are asked for */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rule.h"
#include "spread_paths.h"

/*
 * Does the answer to the last PROBE tell that packet number `index`, which was sent again if `resent`, is lost? A newer
 * SACK has overtaken the answer, so that nothing else tells.
 */
static bool answer_tells(uint32_t index, bool resent)
{
	const struct rc_sack_kind kind = { .answered = true, .overtaken = true };
	uint16_t before = scoreboard_has_map(qp) ? scoreboard_state(qp, psn_of(index)) : SACK_IN_FLIGHT;
	bool lost;

	if (resent && !(before & SACK_RESENT))
		note(index, SACK_RESENT);
	lost = rc_scoreboard_is_lost(qp, psn_of(index), kind);
	if (resent)
		note(index, before);
	return lost;
}

/* ---- what is heard ---- */

Test(scoreboard, overtaken_sack_reveals_no_loss)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	leave(8);
	cr_assert(rc_scoreboard_heard(qp, psn_of(5), false, T0));
	cr_assert_eq(spread->now_ns, T0);
	rc_spread_answered(qp, rc_spread_probe(qp, 0, &out));
	cr_assert(rc_scoreboard_heard(qp, psn_of(6), false, T0));
	cr_assert_not(rc_scoreboard_heard(qp, psn_of(4), false, T0));
	cr_assert_not(rc_scoreboard_heard(qp, psn_of(4), false, T0), "what it says is not the newest");
	cr_assert_not(rc_scoreboard_heard(qp, psn_of(4), true, T0), "the PROBE left before that was known");
	rc_spread_answered(qp, rc_spread_probe(qp, 1, &out));
	cr_assert(rc_scoreboard_heard(qp, psn_of(6), false, T0), "the same once more");
	cr_assert(rc_scoreboard_heard(qp, psn_of(4), true, T0), "the peer has given something up");
	cr_assert(rc_scoreboard_heard(qp, psn_of(4), false, T0));
	cr_assert_not(rc_scoreboard_heard(qp, psn_of(3), true, T0), "and not more before that PROBE left");
	rc_scoreboard_heard(qp, psn_of(6), false, T0);
	rc_scoreboard_forget(qp);
	cr_assert(rc_scoreboard_heard(qp, psn_of(1), false, T0));
	rc_spread_forget(qp);
	rc_scoreboard_forget(qp);
}

/* ---- what others have overtaken ---- */

static uint64_t patience(uint32_t missing, uint64_t now_ns)
{
	return rc_scoreboard_probe_delay_ns(qp, psn_of(missing), now_ns);
}

/* Half of the time after which a response must have come. */
#define WAIT_NS (TRIP_NS / 2 + 2 * 1000)

/* Packet 0 is missing and packet 1 has come. */
static struct rc_spread *open_overtaken(void)
{
	struct rc_spread *spread = open_paths(PATHS);

	leave(8);
	qp->rtt.rttvar_ns = 1000;
	qp->sack.newest = psn_of(1);
	note(1, SACK_KEPT);
	return spread;
}

Test(scoreboard, overtaken_packet_is_probed_after_a_wait)
{
	RULE("S-23");
	open_overtaken();
	cr_assert_eq(patience(0, T0), WAIT_NS);
	cr_assert_eq(patience(0, T0 + WAIT_NS - 1), 1);
	cr_assert_eq(patience(0, T0 + WAIT_NS), 0);
	cr_assert_eq(patience(0, T0 + TRIP_NS), 0);
	cr_assert_eq(patience(2, T0 + TRIP_NS), RC_NEVER, "nothing behind it has come");
	qp->sack.newest = psn_of(3);
	cr_assert_eq(patience(2, T0 + 2 * TRIP_NS), WAIT_NS, "the wait begins when something comes");
	cr_assert_eq(patience(2, T0 + 3 * TRIP_NS), 0);
}

Test(scoreboard, known_or_probed_packet_is_not_probed_again)
{
	struct rc_spread *spread = open_overtaken();

	RULE("S-23");
	qp->sack.newest = psn_of(0);
	cr_assert_eq(patience(0, T0), RC_NEVER, "it has come itself");
	qp->sack.newest = qp->win.snd_max;
	cr_assert_eq(patience(0, T0), RC_NEVER, "nothing in flight has come");
	qp->sack.newest = psn_of(4);
	note(0, SACK_LOST);
	cr_assert_eq(patience(0, T0), RC_NEVER);
	note(0, SACK_RESENT | SACK_RESENT_SINCE | 8);
	cr_assert_eq(patience(0, T0), RC_NEVER, "no PROBE has left since");
	note(0, SACK_IN_FLIGHT);
	patience(0, T0);
	cr_assert_eq(patience(0, T0 + TRIP_NS), 0);
	rc_scoreboard_probed(qp, false);
	cr_assert_eq(patience(0, T0 + TRIP_NS), 0, "that was another PROBE");
	rc_scoreboard_probed(qp, true);
	cr_assert_eq(patience(0, T0 + TRIP_NS), RC_NEVER);
	cr_assert_eq(patience(2, T0 + TRIP_NS), WAIT_NS, "another packet");
	rc_scoreboard_forget(qp);
	note(1, SACK_KEPT);
	cr_assert_eq(patience(2, T0 + 3 * TRIP_NS), WAIT_NS, "a rewind begins anew");
	make_bad(spread->path_of[psn_of(2).v % KEPT_SPAN], 0);
	cr_assert_eq(patience(2, T0 + 3 * TRIP_NS), 0, "its path is known to be bad");
}

/* A PROBE has left since its last copy did, and perhaps its path is dead. */
Test(scoreboard, resent_packet_is_probed_after_a_wait)
{
	struct rc_spread *spread = open_overtaken();

	RULE("S-23");
	note(0, SACK_RESENT | 8);
	cr_assert_eq(patience(0, T0), 2 * WAIT_NS);
	cr_assert_eq(patience(0, T0 + 2 * WAIT_NS - 1), 1);
	cr_assert_eq(patience(0, T0 + 2 * WAIT_NS), 0);
	rc_scoreboard_probed(qp, true);
	spread->patient_from = 0;
	spread->answer_path = 7;
	cr_assert(answer_tells(0, true));
	cr_assert_not(answer_tells(2, true), "only the oldest is suspected");
	rc_scoreboard_mark_lost(qp, psn_of(3));
	cr_assert(answer_tells(0, true), "that was another packet");
	rc_scoreboard_mark_lost(qp, psn_of(0));
	cr_assert_not(answer_tells(0, true), "it is to be sent once more");
	note(0, SACK_RESENT | SACK_RESENT_SINCE | 8);
	cr_assert_eq(patience(0, T0 + 2 * WAIT_NS), RC_NEVER, "no PROBE has left since");
	note(0, SACK_RESENT | 8);
	cr_assert_eq(patience(0, T0 + 2 * WAIT_NS), 2 * WAIT_NS, "the wait begins anew");
	cr_assert_not(answer_tells(0, true));
}

/* Only about overtaken packets, which an answer over another path covers. */
Test(scoreboard, suspicion_probes_the_paths_of_overtaken_packets)
{
	struct rc_spread *spread = open_overtaken();

	RULE("S-23");
	qp->sack.newest = psn_of(3);
	note(3, SACK_KEPT);
	patience(0, T0);
	spread->quiet_end = qp->win.snd_max;
	spread->next = 1; /* the paths that a timer asks over as well: 1 and 2 */
	cr_assert_eq(rc_scoreboard_probed(qp, true), 1 << 0 | 1 << 1 | 1 << 2);
	cr_assert(spread->patient);
	cr_assert_eq(spread->patient_end.v, psn_of(4).v);
	cr_assert_eq(rc_scoreboard_probed(qp, true), 0xF, "after silence about all");
	cr_assert_eq(spread->patient_end.v, psn_of(8).v);
}

/* ---- which paths are probed ---- */

Test(scoreboard, each_path_with_missing_packets_is_probed)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	cr_assert_eq(rc_scoreboard_probed(qp, false), 0);
	leave(3);
	cr_assert_eq(rc_scoreboard_probed(qp, false), 7);
	spread->path_of[psn_of(1).v % KEPT_SPAN] |= SPREAD_LOST;
	note(0, SACK_KEPT);
	note(2, SACK_KEPT);
	cr_assert_eq(rc_scoreboard_probed(qp, false), 1 << 1);
	note(1, SACK_LOST);
	cr_assert_eq(rc_scoreboard_probed(qp, false), 1 << 1);
	qp->win.snd_max = psn_add(qp->win.snd_una, KEPT_SPAN + 1); /* no more PSNs than are remembered */
	for (uint32_t i = 3; i < KEPT_SPAN; i++)
		note(i, SACK_KEPT);
	cr_assert_eq(rc_scoreboard_probed(qp, false), 1 << 1);
}

/*
 * Each answer would bring about a PROBE over every path otherwise, more than a slow peer can answer: only what no PROBE
 * has left behind, or whose PROBE must be lost, because a later one has been answered.
 */
Test(scoreboard, pending_answer_blocks_other_probes_on_its_path)
{
	open_paths(PATHS);

	RULE("S-23");
	leave(3);
	cr_assert_eq(rc_scoreboard_probed(qp, false), 1 << 0 | 1 << 1 | 1 << 2);
	rc_spread_probe(qp, 0, &out);
	cr_assert_eq(rc_scoreboard_probed(qp, false), 1 << 1 | 1 << 2);
	rc_spread_probe(qp, 1, &out);
	cr_assert_eq(rc_scoreboard_probed(qp, false), 1 << 2);
	cr_assert_eq(leave(2), 0);
	cr_assert_eq(rc_scoreboard_probed(qp, false), 1 << 0 | 1 << 2 | 1 << 3, "behind the PROBE");
	cr_assert(rc_spread_answered(qp, rc_spread_probe(qp, 2, &out)));
	cr_assert_eq(rc_scoreboard_probed(qp, false), 1 << 0 | 1 << 1 | 1 << 3, "that of path 1 left before");
	cr_assert_eq(rc_scoreboard_probed(qp, true), 15, "a timer asks about all");
}

/* A timer probes two more paths round-robin, because the path of the missing packet may be dead. */
Test(scoreboard, timer_probes_two_further_paths)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	leave(1);
	cr_assert_eq(rc_scoreboard_probed(qp, true), 1 << 0 | 1 << 1 | 1 << 2);
	spread->next = 3;
	cr_assert_eq(rc_scoreboard_probed(qp, true), 1 << 0 | 1 << 3);
	spread->next = 4;
	cr_assert_eq(rc_scoreboard_probed(qp, true), 1 << 0 | 1 << 1);
	for (uint32_t i = 0; i < PATHS; i++)
		make_bad(i, i == 3 ? 0 : 1);
	spread->skipped = 1;
	rc_spread_turn(spread);
	cr_assert_eq(rc_scoreboard_probed(qp, true), 1 << 0 | 1 << 3, "there is one");
}

/* ---- what an answer tells ---- */

Test(scoreboard, probe_answer_covers_earlier_packets_of_its_path)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	leave(6);
	cr_assert(rc_spread_answered(qp, rc_spread_probe(qp, 1, &out)));
	leave(4);
	cr_assert(answer_tells(1, false));
	cr_assert(answer_tells(5, false));
	cr_assert_not(answer_tells(9, false), "it left behind the PROBE");
	cr_assert(answer_tells(9, true));
	cr_assert_not(answer_tells(2, false), "that is another path's");
	spread->path_of[psn_of(5).v % KEPT_SPAN] |= SPREAD_LOST;
	cr_assert(answer_tells(5, false));
}

/* After silence the answer over one path tells of those that left before it over any path. */
Test(scoreboard, probe_answer_after_silence_covers_all_paths)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	leave(6);
	hear(T0);
	rc_spread_probe(qp, 1, &out); /* before the timer's */
	leave(4);
	cr_assert(rc_spread_answered(qp, SPREAD_MOST + 1));
	cr_assert_not(answer_tells(2, false));
	rc_scoreboard_probed(qp, true);
	cr_assert(spread->patient);
	cr_assert_not(answer_tells(2, false), "the one answered left before");
	cr_assert(rc_spread_answered(qp, rc_spread_probe(qp, 1, &out)));
	cr_assert(answer_tells(2, false));
	cr_assert(answer_tells(4, false));
	cr_assert_not(answer_tells(6, false), "the peer was heard before it left");
	cr_assert_not(answer_tells(2, true));
	cr_assert_not(answer_tells(6, false));
	make_bad(2, 0);
	cr_assert(answer_tells(2, true), "copies over bad paths do not come either");
	cr_assert_not(answer_tells(4, true));
	cr_assert(answer_tells(6, false), "of a bad path of all that left before the PROBE");
	cr_assert_not(answer_tells(7, false), "its path is none");
	qp->flight_past.repeats = true;
	qp->flight_past.rewind_limit = psn_of(7);
	cr_assert_not(answer_tells(6, false));
	qp->flight_past.repeats = false;
	leave(1);
	cr_assert_not(answer_tells(10, false), "it left behind the PROBE");
	cr_assert(rc_spread_answered(qp, rc_spread_probe(qp, 3, &out)));
	cr_assert(answer_tells(2, false), "and so does each later one");
}

/* Packets resent by a rewind may have arrived twice. */
Test(scoreboard, rewound_packets_are_not_judged_after_silence)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	leave(6);
	hear(T0);
	qp->flight_past.repeats = true;
	qp->flight_past.rewind_limit = psn_of(3);
	rc_scoreboard_probed(qp, true);
	cr_assert(rc_spread_answered(qp, rc_spread_probe(qp, 1, &out)));
	cr_assert_not(answer_tells(2, false));
	cr_assert(answer_tells(3, false));
	qp->flight_past.repeats = false;
	cr_assert(answer_tells(2, false));
	cr_assert_eq(spread->patient_end.v, psn_of(6).v);
}

/* Until all packets are resent a PROBE covers only those resent before it. */
Test(scoreboard, probe_before_a_rewind_does_not_cover_resent_packets)
{
	struct rc_spread *spread = open_paths(PATHS);
	uint32_t path, later = 1;

	RULE("S-23");
	RULE("T-7");
	leave(12);
	path = spread->path_of[FIRST % KEPT_SPAN];
	while (spread->path_of[psn_of(later).v % KEPT_SPAN] != path)
		later++;
	cr_assert_lt(later, 12);
	cr_assert(rc_spread_answered(qp, rc_spread_probe(qp, path, &out)));
	cr_assert(answer_tells(0, false));
	rc_scoreboard_forget(qp);
	cr_assert_not(answer_tells(0, false));
	qp->win.snd_nxt = psn_of(1);
	cr_assert(rc_spread_answered(qp, rc_spread_probe(qp, path, &out)));
	cr_assert(answer_tells(0, false));
	cr_assert_not(answer_tells(later, false));
}

/* All that was silent has been acknowledged, or nothing of it has left: there is no end to look for. */
Test(scoreboard, silence_ends_with_the_silent_packets)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	leave(6);
	hear(T0);
	rc_scoreboard_probed(qp, true);
	cr_assert(spread->patient);
	qp->win.snd_una = psn_of(5);
	begin_map();
	cr_assert(spread->patient);
	qp->win.snd_una = psn_of(6);
	begin_map();
	cr_assert_not(spread->patient);
	leave(2);
	spread->quiet_end = psn_of(5);
	rc_scoreboard_probed(qp, true);
	cr_assert_not(spread->patient);
	spread->quiet_end = psn_of(8);
	rc_scoreboard_probed(qp, true);
	cr_assert(spread->patient);
	spread->quiet_end = psn_of(9);
	rc_scoreboard_probed(qp, true);
	cr_assert_not(spread->patient);
}

/* Half of all PSNs later what was received, and what was silent, seem to lie ahead. */
Test(scoreboard, stale_watermarks_of_paths_count_no_more)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	leave(6);
	hear(T0);
	rc_scoreboard_probed(qp, true);
	cr_assert(rc_scoreboard_heard(qp, psn_of(5), false, T0));
	cr_assert_not(rc_scoreboard_heard(qp, psn_of(4), false, T0));
	qp->win.snd_una = qp->win.snd_nxt = qp->win.snd_max = psn_add(psn_of(5), PSN_WINDOW + 100);
	leave(6);
	cr_assert(spread->patient);
	begin_map();
	cr_assert_not(spread->patient);
	cr_assert(rc_scoreboard_heard(qp, qp->win.snd_una, false, T0));
}
