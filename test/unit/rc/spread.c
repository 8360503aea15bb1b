/* spread.c - which path a packet takes, which paths still work, and what a SACK or an answer tells of each */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rule.h"
#include "spread_paths.h"

/* ---- the set ---- */

Test(spread, recycled_board_is_cleared)
{
	const struct rc_spread *spread = open_paths(PATHS);

	RULE("W-10");
	cr_assert_eq(spread->count, PATHS);
	cr_assert_eq(spread->turns, PATHS);
	cr_assert_eq(spread->next, 0);
	cr_assert_eq(spread->waits, 0);
	cr_assert_eq(spread->marks[0].at_ns, 0);
	cr_assert_not(spread->seen_is_known);
	cr_assert(qp->seldom);
	cr_assert_eq(qp->standing_work, WORK_EVENT);
	for (uint8_t i = 0; i < PATHS; i++) {
		cr_assert_eq(spread->turn[i], i);
		cr_assert_eq(spread->paths[i].state, SPREAD_GOOD);
	}
}

Test(spread, one_path_or_no_board_disables_spreading)
{
	RULE("W-10");
	open_paths(1);
	cr_assert_not(qp_spreads(qp));
	cr_assert_eq(rc_spread_count(qp), 0);
	cr_assert_not(qp->seldom);
	cr_assert_eq(pool.next, boards);
	rc_spread_over(qp, 2);
	cr_assert_eq(rc_spread_count(qp), 2);
	rc_spread_over(qp, 3);
	cr_assert_eq(rc_spread_count(qp), 3);
	cr_assert_eq(pool.next, boards + 1, "the board of before is the one that it borrows");
	rc_spread_forget(qp);
	rc_spread_forget(qp);
	cr_assert_not(qp_spreads(qp));
	cr_assert_not(qp->seldom);
	cr_assert_eq(pool.free, boards);
	cr_assert_null(boards[0].next);
	pool.boards.pool.used = 3;
	rc_spread_over(qp, PATHS);
	cr_assert_not(qp_spreads(qp));
	rc_board_set_pool(qp, NULL);
	rc_spread_over(qp, PATHS);
	cr_assert_not(qp_spreads(qp));
}

/* Spreading uses a board permanently, and each loss needs one for a while. */
Test(spread, half_of_the_boards_are_for_losses)
{
	RULE("W-10");
	open_paths(1);
	pool.boards.pool.used = 2; /* by other QPs; there are three boards */
	rc_spread_over(qp, PATHS);
	cr_assert_not(qp_spreads(qp));
	pool.boards.pool.used = 1;
	rc_spread_over(qp, PATHS);
	cr_assert(qp_spreads(qp));
	cr_assert_eq(pool.boards.pool.used, 2);
	rc_spread_forget(qp);
	cr_assert_eq(pool.boards.pool.used, 1);
}

/* ---- turns ---- */

Test(spread, good_paths_alternate_and_a_lossy_one_skips_a_rotation)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("W-10");
	for (uint32_t i = 0; i < 2 * PATHS; i++)
		cr_assert_eq(leave(1), i % PATHS);
	cr_assert_eq(leave(1), 0);
	rc_spread_lost(qp, psn_of(2));
	cr_assert_eq(spread->paths[2].state, SPREAD_SKIP);
	cr_assert_eq(spread->turns, PATHS - 1);
	cr_assert_eq(leave(1), 1);
	cr_assert_eq(leave(1), 3);
	for (uint32_t i = 0; i < PATHS; i++)
		cr_assert_eq(leave(1), i, "the rotation is over");
	cr_assert_eq(spread->paths[2].state, SPREAD_GOOD);
	cr_assert_eq(spread->skipped, 0);
}

/* The copy of what path 1 has lost would take path 1 again, at the end of a rotation or in its middle. */
Test(spread, copy_takes_another_path_than_the_lost_packet)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("W-10");
	leave(2);
	spread->path_of[FIRST % KEPT_SPAN] = 2 | SPREAD_LOST;
	spread_leaves(qp, psn_of(0), &out);
	cr_assert_eq(spread->path_of[FIRST % KEPT_SPAN], 3);
	cr_assert_eq(port_of_frame(), spread->paths[3].port);
	spread->path_of[FIRST % KEPT_SPAN] = 3 | SPREAD_LOST;
	spread_leaves(qp, psn_of(0), &out);
	cr_assert_eq(spread->path_of[FIRST % KEPT_SPAN], 0);
}

Test(spread, least_failed_path_is_used_while_all_are_bad)
{
	struct rc_spread *spread = open_paths(PATHS);
	static const struct {
		uint8_t tries[PATHS], goes_on;
	} rows[] = { { { 2, 1, 1, 3 }, 1 }, { { 0, 0, 0, 0 }, 0 }, { { 1, 1, 1, 0 }, 3 }, { { 1, 2, 3, 4 }, 0 } };

	RULE("W-10");
	leave(1);
	for (uint32_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		for (uint32_t i = 0; i < PATHS; i++)
			make_bad(i, rows[row].tries[i]);
		spread->skipped = 1; /* so that the turn is filled anew */
		rc_spread_turn(spread);
		cr_assert_eq(spread->turns, 1);
		cr_assert_eq(spread->turn[0], rows[row].goes_on, "row %u", row);
	}
}

/* ---- losses ---- */

/* After two losses without an arrival in between the path is bad, and is tried later. */
Test(spread, two_losses_in_a_row_make_a_path_bad)
{
	struct rc_spread *spread = open_paths(PATHS);
	struct rc_spread_path *path = &spread->paths[1];

	RULE("W-10");
	leave(5 * PATHS);
	spread->now_ns = T0;
	begin_map();
	rc_spread_lost(qp, psn_of(1));
	cr_assert_eq(path->state, SPREAD_SKIP);
	cr_assert_eq(path->missed, 1);
	cr_assert_eq(spread->skipped, 1);
	cr_assert_eq(spread->path_of[psn_of(1).v % KEPT_SPAN], 1 | SPREAD_LOST);
	path->tries = 5;
	rc_spread_lost(qp, psn_of(5));
	cr_assert_eq(path->state, SPREAD_BAD);
	cr_assert_eq(path->tries, 0);
	cr_assert_eq(path->retry_ns, T0 + SPREAD_RETRY_NS);
	cr_assert_eq(spread->turns, PATHS - 1);
	path->tries = 3;
	rc_spread_lost(qp, psn_of(9));
	cr_assert_eq(path->missed, 2, "nothing is counted of a path that is bad");
	cr_assert_eq(path->tries, 3);
	cr_assert_eq(spread->path_of[psn_of(9).v % KEPT_SPAN], 1 | SPREAD_LOST);
}

/* A loss before a received packet of the path does not count as consecutive. */
Test(spread, received_packet_after_a_loss_shows_a_working_path)
{
	struct rc_spread *spread = open_paths(PATHS);
	struct rc_spread_path *path = &spread->paths[1];

	RULE("W-10");
	leave(5 * PATHS);
	begin_map();
	rc_spread_lost(qp, psn_of(1));
	come(13);
	cr_assert_eq(path->missed, 0);
	cr_assert_eq(path->newest.v, psn_of(13).v);
	rc_spread_lost(qp, psn_of(5));
	rc_spread_lost(qp, psn_of(9));
	cr_assert_eq(path->state, SPREAD_SKIP);
	cr_assert_eq(path->missed, 0);
	rc_spread_lost(qp, psn_of(13));
	cr_assert_eq(path->missed, 0, "it has come once, so this is a later copy");
	rc_spread_lost(qp, psn_of(17));
	cr_assert_eq(path->missed, 1);
	come(5);
	cr_assert_eq(path->newest.v, psn_of(13).v, "an older one changes nothing");
	cr_assert_eq(path->missed, 0);
	cr_assert_eq(spread->paths[0].missed, 0);
}

/* The newest received packet lies behind the window or at its end: it does not judge packets in flight. */
Test(spread, acknowledged_packet_is_not_the_newest_of_its_path)
{
	struct rc_spread *spread = open_paths(PATHS);
	struct rc_spread_path *path = &spread->paths[1];

	RULE("W-10");
	leave(5 * PATHS);
	begin_map();
	for (uint32_t i = 0; i < PATHS; i++)
		cr_assert_eq(spread->paths[i].newest.v, psn_previous(qp->win.snd_una).v);
	come(1);
	cr_assert_eq(path->newest.v, psn_of(1).v);
	path->newest = qp->win.snd_max;
	come(5);
	cr_assert_eq(path->newest.v, psn_of(5).v);
	qp->win.snd_una = psn_of(6);
	rc_spread_lost(qp, psn_of(9));
	cr_assert_eq(path->missed, 1);
	path->newest = qp->win.snd_max;
	rc_spread_lost(qp, psn_of(13));
	cr_assert_eq(path->missed, 2);
}

/* ---- time ---- */

Test(spread, time_is_marked_twice_per_round_trip)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	leave(3);
	rc_spread_begin(qp, T0, &out);
	cr_assert_eq(spread->now_ns, T0);
	cr_assert_eq(spread->quiet_end.v, psn_of(3).v, "what left before anything is silent");
	cr_assert_eq(spread->marks[spread->mark].at_ns, T0);
	leave(1);
	rc_spread_begin(qp, T0 + TRIP_NS / 2 - 1, &out);
	cr_assert_eq(spread->quiet_end.v, psn_of(3).v);
	cr_assert_eq(spread->now_ns, T0 + TRIP_NS / 2 - 1);
	cr_assert_eq(spread->marks[spread->mark].at_ns, T0);
	rc_spread_begin(qp, T0 + TRIP_NS / 2, &out);
	cr_assert_eq(spread->marks[spread->mark].at_ns, T0 + TRIP_NS / 2);
	cr_assert_eq(spread->marks[spread->mark].psn.v, psn_of(4).v);
	cr_assert_eq(spread->mark, 2);
	for (uint32_t i = 2; i < 2 * SPREAD_MARKS; i++)
		rc_spread_begin(qp, T0 + i * TRIP_NS / 2, &out);
	cr_assert_eq(spread->mark, 0);
	hear(T0 + SPREAD_MARKS * TRIP_NS);
	cr_assert_eq(spread->mark, 1);
	cr_assert_eq(spread->quiet_end.v, psn_of(4).v);
}

/* A packet leaves every half round trip, and one has arrived: packets sent two round trips earlier are lost. */
Test(spread, packet_two_round_trips_older_than_a_received_one_is_aged)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	for (uint32_t i = 0; i < SPREAD_MARKS; i++) { /* a mark before each packet */
		rc_spread_begin(qp, T0 + i * TRIP_NS / 2, &out);
		leave(1);
	}
	for (uint32_t newest = 0; newest < SPREAD_MARKS; newest++) {
		qp->sack.newest = psn_of(newest);
		hear(T0 + 7 * TRIP_NS / 2);
		cr_assert_eq(spread->aged.v, psn_of(newest < 5 ? 0 : newest - 4).v, "%u: %#x", newest, spread->aged.v);
	}
	qp->sack.newest = qp->win.snd_max;
	hear(T0 + 7 * TRIP_NS / 2);
	cr_assert_eq(spread->aged.v, psn_of(0).v, "nothing that is in flight has come");
	qp->sack.newest = psn_of(7);
	qp->win.snd_una = psn_of(2);
	hear(T0 + 7 * TRIP_NS / 2);
	cr_assert_eq(spread->aged.v, psn_of(3).v, "a mark that snd_una has passed counts as well");
	qp->sack.newest = psn_of(3);
	qp->win.snd_una = psn_of(1);
	hear(T0 + 7 * TRIP_NS / 2);
	cr_assert_eq(spread->aged.v, psn_of(1).v, "none is long before");
	qp->sack.newest = psn_of(7);
	qp->rtt.srtt_ns = 0;
	hear(T0 + 7 * TRIP_NS / 2);
	cr_assert_eq(spread->aged.v, psn_of(1).v, "no round trip is known");
}

/* With fewer marks than there is room for. */
Test(spread, no_packet_is_aged_before_the_first_mark)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	for (uint32_t i = 0; i < 3; i++) {
		rc_spread_begin(qp, T0 + i * TRIP_NS, &out);
		leave(1);
	}
	qp->sack.newest = psn_of(1);
	hear(T0 + 2 * TRIP_NS);
	cr_assert_eq(spread->aged.v, psn_of(0).v);
	qp->sack.newest = psn_of(2);
	hear(T0 + 2 * TRIP_NS);
	cr_assert_eq(spread->aged.v, psn_of(0).v, "before the first mark lies nothing");
	leave(1);
	hear(T0 + 3 * TRIP_NS - 1);
	qp->sack.newest = psn_of(3);
	hear(T0 + 3 * TRIP_NS - 1);
	cr_assert_eq(spread->aged.v, psn_of(0).v);
}

Test(spread, path_change_restarts_with_the_same_ports)
{
	struct rc_spread *spread = open_paths(PATHS);
	uint16_t port = spread->paths[1].port;

	RULE("W-10");
	make_bad(2, 1);
	spread->next = 3;
	rc_spread_path_changed(qp);
	cr_assert_eq(spread->paths[1].port, port);
	cr_assert_eq(spread->paths[2].state, SPREAD_GOOD);
	cr_assert_eq(spread->count, PATHS);
	cr_assert_eq(spread->next, 0);
	rc_spread_forget(qp);
	rc_spread_path_changed(qp);
}
