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
