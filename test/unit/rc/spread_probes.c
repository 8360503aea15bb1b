/* spread_probes.c - PROBEs and answers over several paths, and what they tell of each */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rule.h"
#include "spread_paths.h"

/* ---- answers of ours ---- */

/* The next good path is used when the peer probes without a gap, since answers may be lost. */
Test(spread_probes, probe_without_a_gap_changes_the_path_of_answers)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("W-10");
	memset(frame.ack, 0xEE, sizeof(frame.ack));
	rc_spread_begin(qp, T0, &out);
	cr_assert_eq(spread->ack_path, 0);
	cr_assert_eq(port_of_frame(), spread->paths[0].port);
	cr_assert_eq(frame.ack[FRAME_BTH_AT], 0xEE);
	qp->responder.nak_outstanding = true;
	rc_spread_probed(qp, 0);
	rc_spread_begin(qp, T0, &out);
	cr_assert_eq(spread->ack_path, 0, "it asks because something is missing");
	qp->responder.nak_outstanding = false;
	rc_spread_probed(qp, 0);
	cr_assert_eq(rc_spread_next_probe(qp, &out), 0);
	rc_spread_begin(qp, T0, &out);
	cr_assert_eq(spread->ack_path, 1);
	cr_assert_eq(port_of_frame(), spread->paths[1].port);
	cr_assert_eq(frame.ack[FRAME_BTH_AT], 0, "the next ACK is made anew");
	rc_spread_begin(qp, T0, &out);
	cr_assert_eq(spread->ack_path, 1, "once for each PROBE");
	make_bad(2, 1);
	spread->paths[3].state = SPREAD_SKIP;
	rc_spread_probed(qp, 0);
	rc_spread_begin(qp, T0, &out);
	cr_assert_eq(spread->ack_path, 3);
	rc_spread_probed(qp, 0);
	rc_spread_begin(qp, T0, &out);
	cr_assert_eq(spread->ack_path, 0);
	for (uint32_t i = 0; i < PATHS; i++)
		make_bad(i, 1);
	rc_spread_probed(qp, 0);
	rc_spread_begin(qp, T0, &out);
	cr_assert_eq(spread->ack_path, 0, "no other one works");
}

Test(spread_probes, answers_keep_their_path_while_responses_are_owed)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("W-10");
	qp->replay.queue_head = 0;
	rc_spread_probed(qp, 0);
	rc_spread_begin(qp, T0, &out);
	cr_assert_eq(spread->ack_path, 0);
	qp->replay.queue_head = REPLAY_NONE;
	rc_spread_begin(qp, T0, &out);
	cr_assert_eq(spread->ack_path, 0, "the PROBE has been answered");
	qp->replay.has_parts = true;
	rc_spread_probed(qp, 0);
	rc_spread_begin(qp, T0, &out);
	cr_assert_eq(spread->ack_path, 0);
	qp->replay.has_parts = false;
	rc_spread_probed(qp, 0);
	rc_spread_begin(qp, T0, &out);
	cr_assert_eq(spread->ack_path, 1);
}

/* Without room for a frame there may be no template either. */
Test(spread_probes, no_frame_is_built_without_room)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("W-10");
	out.packet_limit = 0;
	out.template = NULL;
	rc_spread_probed(qp, 64);
	rc_spread_begin(qp, T0, &out);
	rc_spread_answers(qp, &out);
	cr_assert_eq(spread->ack_path, 0);
	cr_assert_eq(spread->now_ns, T0);
	cr_assert_eq(rc_spread_next_probe(qp, &out), 64);
}

/* ---- PROBEs ---- */

Test(spread_probes, each_path_with_missing_packets_is_probed)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	cr_assert_eq(rc_spread_probe_paths(qp, false), 0);
	leave(3);
	cr_assert_eq(rc_spread_probe_paths(qp, false), 7);
	spread->path_of[psn_of(1).v % KEPT_SPAN] |= SPREAD_LOST;
	rc_sackmap_borrow(qp);
	rc_sackmap_set(qp, psn_of(0), SACK_KEPT);
	rc_sackmap_set(qp, psn_of(2), SACK_KEPT);
	cr_assert_eq(rc_spread_probe_paths(qp, false), 1 << 1);
	rc_sackmap_set(qp, psn_of(1), SACK_LOST);
	cr_assert_eq(rc_spread_probe_paths(qp, false), 1 << 1);
	qp->win.snd_max = psn_add(qp->win.snd_una, KEPT_SPAN + 1); /* no more PSNs than are remembered */
	for (uint32_t i = 3; i < KEPT_SPAN; i++)
		rc_sackmap_set(qp, psn_of(i), SACK_KEPT);
	cr_assert_eq(rc_spread_probe_paths(qp, false), 1 << 1);
}

/*
 * Each answer would bring about a PROBE over every path otherwise, more than a slow peer can answer: only what no PROBE
 * has left behind, or whose PROBE must be lost, because a later one has been answered.
 */
Test(spread_probes, pending_answer_blocks_other_probes_on_its_path)
{
	open_paths(PATHS);

	RULE("S-23");
	leave(3);
	cr_assert_eq(rc_spread_probe_paths(qp, false), 1 << 0 | 1 << 1 | 1 << 2);
	rc_spread_probe(qp, 0, &out);
	cr_assert_eq(rc_spread_probe_paths(qp, false), 1 << 1 | 1 << 2);
	rc_spread_probe(qp, 1, &out);
	cr_assert_eq(rc_spread_probe_paths(qp, false), 1 << 2);
	cr_assert_eq(leave(2), 0);
	cr_assert_eq(rc_spread_probe_paths(qp, false), 1 << 0 | 1 << 2 | 1 << 3, "behind the PROBE");
	cr_assert(rc_spread_answered(qp, rc_spread_probe(qp, 2, &out)));
	cr_assert_eq(rc_spread_probe_paths(qp, false), 1 << 0 | 1 << 1 | 1 << 3, "that of path 1 left before");
	cr_assert_eq(rc_spread_probe_paths(qp, true), 15, "a timer asks about all");
}

/* A timer probes two more paths round-robin, because the path of the missing packet may be dead. */
Test(spread_probes, timer_probes_two_further_paths)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	leave(1);
	cr_assert_eq(rc_spread_probe_paths(qp, true), 1 << 0 | 1 << 1 | 1 << 2);
	spread->next = 3;
	cr_assert_eq(rc_spread_probe_paths(qp, true), 1 << 0 | 1 << 3);
	spread->next = 4;
	cr_assert_eq(rc_spread_probe_paths(qp, true), 1 << 0 | 1 << 1);
	for (uint32_t i = 0; i < PATHS; i++)
		make_bad(i, i == 3 ? 0 : 1);
	spread->skipped = 1;
	rc_spread_turn(spread);
	cr_assert_eq(rc_spread_probe_paths(qp, true), 1 << 0 | 1 << 3, "there is one");
}

Test(spread_probes, bad_path_is_probed_at_growing_intervals)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("W-10");
	make_bad(1, 0);
	make_bad(3, 18);
	spread->paths[1].retry_ns = spread->paths[3].retry_ns = T0;
	spread->paths[0].retry_ns = T0; /* it is good */
	spread->skipped = 1;
	rc_spread_turn(spread);
	spread->now_ns = T0 - 1;
	cr_assert_eq(rc_spread_retries(qp), 0);
	spread->now_ns = T0;
	cr_assert_eq(rc_spread_retries(qp), 1 << 1 | 1 << 3);
	cr_assert_eq(spread->paths[1].retry_ns, T0 + 2 * SPREAD_RETRY_NS);
	cr_assert_eq(spread->paths[3].retry_ns, T0 + (SPREAD_RETRY_NS << 19));
	cr_assert_eq(rc_spread_retries(qp), 0);
	for (uint32_t i = 20; i < 23; i++) {
		spread->now_ns = spread->paths[3].retry_ns;
		rc_spread_retries(qp);
		cr_assert_eq(spread->paths[3].tries, 20);
		cr_assert_eq(spread->paths[3].retry_ns, spread->now_ns + (SPREAD_RETRY_NS << 20));
	}
}

Test(spread_probes, probe_has_its_own_number_and_the_port_of_its_path)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	leave(2);
	cr_assert_eq(rc_spread_probe(qp, 3, &out), 1 * SPREAD_MOST + 3);
	cr_assert_eq(spread->paths[3].probe, 1);
	cr_assert_eq(spread->paths[3].probe_end.v, psn_of(2).v);
	cr_assert_eq(port_of_frame(), spread->paths[3].port);
	cr_assert_eq(rc_spread_probe(qp, 0, &out), 2 * SPREAD_MOST);
	spread->probes = 1021;
	cr_assert_eq(rc_spread_probe(qp, 0, &out), 1022 * SPREAD_MOST);
	cr_assert_eq(rc_spread_probe(qp, 1, &out), 1023 * SPREAD_MOST + 1);
	cr_assert_eq(rc_spread_probe(qp, 2, &out), 1 * SPREAD_MOST + 2);
}

Test(spread_probes, only_the_answer_to_the_last_probe_over_a_path_counts)
{
	struct rc_spread *spread = open_paths(PATHS);
	uint16_t old, id;

	RULE("S-23");
	RULE("W-10");
	old = rc_spread_probe(qp, 2, &out);
	id = rc_spread_probe(qp, 2, &out);
	make_bad(2, 4);
	spread->paths[2].missed = 2;
	spread->skipped = 1;
	rc_spread_turn(spread);
	cr_assert_eq(spread->turns, PATHS - 1);
	cr_assert_not(rc_spread_answered(qp, 0));
	cr_assert_not(rc_spread_answered(qp, old));
	cr_assert_not(rc_spread_answered(qp, (uint16_t)(id + 1)));
	cr_assert_eq(spread->paths[2].state, SPREAD_BAD);
	cr_assert_eq(spread->answer_path, 0);
	cr_assert(rc_spread_answered(qp, id));
	cr_assert_eq(spread->paths[2].state, SPREAD_GOOD);
	cr_assert_eq(spread->paths[2].missed, 0);
	cr_assert_eq(spread->paths[2].tries, 0);
	cr_assert_eq(spread->answer_path, 2);
	cr_assert_eq(spread->turns, PATHS);
	spread->paths[2].state = SPREAD_SKIP;
	cr_assert(rc_spread_answered(qp, id));
	cr_assert_eq(spread->paths[2].state, SPREAD_SKIP);
	/* No such path, though something stands in its place. */
	spread->paths[PATHS].probe = 1;
	cr_assert_not(rc_spread_answered(qp, SPREAD_MOST + PATHS));
}

Test(spread_probes, unprobed_path_accepts_no_answer)
{
	open_paths(PATHS);

	RULE("S-23");
	cr_assert_not(rc_spread_answered(qp, 0));
	cr_assert_not(rc_spread_answered(qp, 1));
	for (uint32_t number = 0; number < 1024; number++)
		cr_assert_not(rc_spread_answered(qp, (uint16_t)(number * SPREAD_MOST)));
}

Test(spread_probes, probes_of_the_peer_are_answered_in_order)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	RULE("W-10");
	qp->responder.nak_outstanding = true;
	rc_spread_probed(qp, 0);
	rc_spread_probed(qp, 64 + 5);
	rc_spread_probed(qp, 64 + 2);
	rc_spread_probed(qp, 128 + 5);
	rc_spread_probed(qp, 128 + 7);
	rc_spread_begin(qp, T0, &out);
	make_bad(2, 1);
	cr_assert_eq(rc_spread_next_probe(qp, &out), 64 + 2);
	cr_assert_eq(port_of_frame(), spread->paths[1].port, "each over another path");
	cr_assert_eq(rc_spread_next_probe(qp, &out), 128 + 5);
	cr_assert_eq(port_of_frame(), spread->paths[3].port);
	cr_assert_eq(rc_spread_next_probe(qp, &out), 128 + 7);
	cr_assert_eq(port_of_frame(), spread->paths[0].port);
	cr_assert_eq(rc_spread_next_probe(qp, &out), 0);
	cr_assert_eq(spread->waits, 0);
	cr_assert_eq(spread->ack_path, 0, "what else answers keeps its path");
	rc_spread_answers(qp, &out);
	cr_assert_eq(port_of_frame(), spread->paths[0].port);
	rc_spread_probed(qp, 0);
	rc_spread_probed(qp, 64 + 1);
	rc_spread_next_probe(qp, &out);
	rc_spread_begin(qp, T0, &out);
	rc_spread_probed(qp, 64 + 1);
	rc_spread_next_probe(qp, &out);
	cr_assert_eq(port_of_frame(), spread->paths[1].port, "each call begins with the path of all answers");
}

/* ---- what an answer tells ---- */

Test(spread_probes, probe_answer_covers_earlier_packets_of_its_path)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	leave(6);
	cr_assert(rc_spread_answered(qp, rc_spread_probe(qp, 1, &out)));
	leave(4);
	cr_assert(rc_spread_answer_tells(qp, psn_of(1), false));
	cr_assert(rc_spread_answer_tells(qp, psn_of(5), false));
	cr_assert_not(rc_spread_answer_tells(qp, psn_of(9), false), "it left behind the PROBE");
	cr_assert(rc_spread_answer_tells(qp, psn_of(9), true));
	cr_assert_not(rc_spread_answer_tells(qp, psn_of(2), false), "that is another path's");
	spread->path_of[psn_of(5).v % KEPT_SPAN] |= SPREAD_LOST;
	cr_assert(rc_spread_answer_tells(qp, psn_of(5), false));
}

/* After silence the answer over one path tells of those that left before it over any path. */
Test(spread_probes, probe_answer_after_silence_covers_all_paths)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	leave(6);
	hear(T0);
	rc_spread_probe(qp, 1, &out); /* before the timer's */
	leave(4);
	cr_assert(rc_spread_answered(qp, SPREAD_MOST + 1));
	cr_assert_not(rc_spread_answer_tells(qp, psn_of(2), false));
	rc_spread_probe_paths(qp, true);
	cr_assert(spread->patient);
	cr_assert_not(rc_spread_answer_tells(qp, psn_of(2), false), "the one answered left before");
	cr_assert(rc_spread_answered(qp, rc_spread_probe(qp, 1, &out)));
	cr_assert(rc_spread_answer_tells(qp, psn_of(2), false));
	cr_assert(rc_spread_answer_tells(qp, psn_of(4), false));
	cr_assert_not(rc_spread_answer_tells(qp, psn_of(6), false), "the peer was heard before it left");
	cr_assert_not(rc_spread_answer_tells(qp, psn_of(2), true));
	cr_assert_not(rc_spread_answer_tells(qp, psn_of(6), false));
	make_bad(2, 0);
	cr_assert(rc_spread_answer_tells(qp, psn_of(2), true), "copies over bad paths do not come either");
	cr_assert_not(rc_spread_answer_tells(qp, psn_of(4), true));
	cr_assert(rc_spread_answer_tells(qp, psn_of(6), false), "of a bad path of all that left before the PROBE");
	cr_assert_not(rc_spread_answer_tells(qp, psn_of(7), false), "its path is none");
	qp->sack.again = true;
	qp->sack.again_end = psn_of(7);
	cr_assert_not(rc_spread_answer_tells(qp, psn_of(6), false));
	qp->sack.again = false;
	leave(1);
	cr_assert_not(rc_spread_answer_tells(qp, psn_of(10), false), "it left behind the PROBE");
	cr_assert(rc_spread_answered(qp, rc_spread_probe(qp, 3, &out)));
	cr_assert(rc_spread_answer_tells(qp, psn_of(2), false), "and so does each later one");
}

/* Packets resent by a rewind may have arrived twice. */
Test(spread_probes, rewound_packets_are_not_judged_after_silence)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	leave(6);
	hear(T0);
	qp->sack.again = true;
	qp->sack.again_end = psn_of(3);
	rc_spread_probe_paths(qp, true);
	cr_assert(rc_spread_answered(qp, rc_spread_probe(qp, 1, &out)));
	cr_assert_not(rc_spread_answer_tells(qp, psn_of(2), false));
	cr_assert(rc_spread_answer_tells(qp, psn_of(3), false));
	qp->sack.again = false;
	cr_assert(rc_spread_answer_tells(qp, psn_of(2), false));
	cr_assert_eq(spread->patient_end.v, psn_of(6).v);
}

/* Until all packets are resent a PROBE covers only those resent before it. */
Test(spread_probes, probe_before_a_rewind_does_not_cover_resent_packets)
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
	cr_assert(rc_spread_answer_tells(qp, psn_of(0), false));
	rc_spread_rewound(qp);
	cr_assert_not(rc_spread_answer_tells(qp, psn_of(0), false));
	qp->win.snd_nxt = psn_of(1);
	cr_assert(rc_spread_answered(qp, rc_spread_probe(qp, path, &out)));
	cr_assert(rc_spread_answer_tells(qp, psn_of(0), false));
	cr_assert_not(rc_spread_answer_tells(qp, psn_of(later), false));
}

/* All that was silent has been acknowledged, or nothing of it has left: there is no end to look for. */
Test(spread_probes, silence_ends_with_the_silent_packets)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	leave(6);
	hear(T0);
	rc_spread_probe_paths(qp, true);
	cr_assert(spread->patient);
	qp->win.snd_una = psn_of(5);
	rc_spread_map_begins(qp);
	cr_assert(spread->patient);
	qp->win.snd_una = psn_of(6);
	rc_spread_map_begins(qp);
	cr_assert_not(spread->patient);
	leave(2);
	spread->quiet_end = psn_of(5);
	rc_spread_probe_paths(qp, true);
	cr_assert_not(spread->patient);
	spread->quiet_end = psn_of(8);
	rc_spread_probe_paths(qp, true);
	cr_assert(spread->patient);
	spread->quiet_end = psn_of(9);
	rc_spread_probe_paths(qp, true);
	cr_assert_not(spread->patient);
}
