/* holes.c - the list of what is missing of READs, without a peer: how it grows, shrinks, and what is asked for next */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "holes_window.h"
#include "rule.h"

static const struct rc_holes *list(void)
{
	return &qp_board(qp, BOARD_HOLES)->holes;
}

static void expect_hole(uint32_t place, uint32_t index, uint32_t count, uint32_t slot)
{
	const struct rc_hole *hole = &list()->holes[place];

	cr_assert_lt(place, list()->count);
	cr_assert_eq(index_of(hole->psn), index, "hole %u begins at %u", place, index_of(hole->psn));
	cr_assert_eq(hole->count, count, "hole %u has %u", place, hole->count);
	cr_assert_eq(rc_holes_slot(qp, hole), slot);
}

/* ---- the list ---- */

Test(holes, borrowed_board_starts_empty_and_is_returned)
{
	RULE("Q-15");
	open_window(UROCE_READ_REPAIR_UPWARDS);
	cr_assert_not(qp_has_holes(qp));
	add_reads(2, 4);
	take_at(3, T0);
	cr_assert(qp_has_holes(qp));
	cr_assert_eq(list()->count, 1);
	cr_assert_eq(list()->look_ns, RC_NEVER);
	cr_assert_eq(list()->clear, 1);
	cr_assert_eq(index_of(list()->end), 4);
	expect_hole(0, 0, 3, 0);
	cr_assert_eq(list()->holes[0].tries, 0);
	cr_assert_not(list()->holes[0].asked);
	cr_assert_eq(list()->holes[0].asked_us, T0 / 1000);
	rc_holes_forget(qp);
	cr_assert_not(qp_has_holes(qp));
	cr_assert_eq(pool.boards.pool.used, 0);
	cr_assert_eq(pool.free, boards);
	rc_holes_forget(qp);
	cr_assert_eq(pool.boards.pool.used, 0);
}

/* Losses reported by SACKs are still resent; otherwise no request is pending. */
Test(holes, without_holes_nothing_is_requested)
{
	RULE("Q-15");
	for (uint32_t with_map = 0; with_map < 2; with_map++) {
		open_window(UROCE_READ_REPAIR_UPWARDS);
		qp->borrowed.by[BOARD_SACK] = with_map ? &boards[2] : NULL;
		add_reads(1, 4);
		take_at(1, T0);
		cr_assert(qp->gaps.asks_again);
		rc_holes_forget(qp);
		cr_assert_eq(qp->gaps.asks_again, with_map);
	}
}

Test(holes, each_response_shrinks_or_splits_its_hole)
{
	RULE("Q-15");
	open_window(UROCE_READ_REPAIR_ANY_ORDER);
	add_reads(1, 16);
	take_at(15, T0);
	expect_hole(0, 0, 15, 0);
	qp_board(qp, BOARD_HOLES)->holes.holes[0].asked = true;
	qp_board(qp, BOARD_HOLES)->holes.holes[0].tries = 3;
	take_at(7, T0 + 5000);
	cr_assert_eq(list()->count, 2);
	expect_hole(0, 0, 7, 0);
	expect_hole(1, 8, 7, 0);
	for (uint32_t i = 0; i < 2; i++) {
		cr_assert_eq(list()->holes[i].tries, 0, "the peer is answering");
		cr_assert(list()->holes[i].asked);
	}
	cr_assert_eq(list()->holes[0].asked_us, T0 / 1000);
	cr_assert_eq(list()->holes[1].asked_us, T0 / 1000 + 5, "the next one is waited for from now on");
	qp_board(qp, BOARD_HOLES)->holes.holes[1].tries = 2;
	take_at(8, T0 + 6000);
	expect_hole(1, 9, 6, 0);
	cr_assert_eq(list()->holes[1].tries, 0);
	cr_assert_eq(list()->holes[1].asked_us, T0 / 1000 + 6);
	qp_board(qp, BOARD_HOLES)->holes.holes[1].tries = 2;
	take_at(14, T0 + 7000);
	expect_hole(1, 9, 5, 0);
	cr_assert_eq(list()->holes[1].tries, 0);
	cr_assert_eq(list()->holes[1].asked_us, T0 / 1000 + 6);
	for (uint32_t i = 9; i < 13; i++)
		take_at(i, T0);
	expect_hole(1, 13, 1, 0);
	take_at(3, T0);
	cr_assert_eq(list()->count, 3);
	expect_hole(2, 13, 1, 0);
	qp->gaps.asks_again = false;
	take_at(13, T0);
	cr_assert_eq(list()->count, 2);
	expect_hole(0, 0, 3, 0);
	expect_hole(1, 4, 3, 0);
	cr_assert(qp->gaps.asks_again, "another one may have its turn");
	cr_assert_not(may_take(13), "it has come");
	cr_assert_eq(index_of(list()->end), 16);
}

/* Those behind it move by one place, and nothing behind the list does: the next board is another QP's. */
Test(holes, filled_or_split_hole_leaves_the_others_unchanged)
{
	struct rc_board before;

	RULE("Q-15");
	for (uint32_t split = 0; split < 2; split++) {
		uint32_t width = split ? 4 : 2, count = LIMIT_HOLES - split;

		open_window(UROCE_READ_REPAIR_ANY_ORDER);
		add_reads(1, width * LIMIT_HOLES);
		for (uint32_t i = 0; i < count; i++)
			take_at(width * i + width - 1, T0);
		cr_assert_eq(list()->count, count);
		cr_assert_eq(qp_board(qp, BOARD_HOLES), &boards[0]);
		for (uint32_t i = 0; i < sizeof(boards[1]); i++)
			((uint8_t *)&boards[1])[i] = (uint8_t)(i * 7 + i / 256);
		before = boards[1];
		take_at(width * 200 + split, T0);
		cr_assert_eq(list()->count, split ? count + 1 : count - 1);
		for (uint32_t i = 0; i < 200; i++)
			expect_hole(i, width * i, width - 1, 0);
		for (uint32_t i = 201; i < count; i++)
			expect_hole(split ? i + 1 : i - 1, width * i, width - 1, 0);
		if (split)
			expect_hole(201, width * 200 + 2, 1, 0);
		cr_assert_eq(memcmp(&before, &boards[1], sizeof(before)), 0);
	}
}

/* ---- its room ---- */

Test(holes, requests_with_holes_are_limited_by_the_list)
{
	RULE("Q-15");
	open_window(UROCE_READ_REPAIR_UPWARDS);
	add_reads(LIMIT_HOLES + 40, 1);
	cr_assert(may_take(LIMIT_HOLES));
	cr_assert_not(may_take(LIMIT_HOLES + 1));
	pool.boards.pool.used = pool.boards.pool.size;
	cr_assert_not(may_take(LIMIT_HOLES), "there is no board");
	pool.boards.pool.used = 0;
	take_at(2, T0);
	cr_assert_eq(list()->count, 2);
	cr_assert(may_take(3));
	cr_assert(may_take(LIMIT_HOLES + 1), "that is one hole less");
	cr_assert_not(may_take(LIMIT_HOLES + 2));
	qp->read_repair = UROCE_READ_REPAIR_OFF;
	cr_assert_not(may_take(3));
}

/* The peer has answered more than there is room for: it counts as answered as far as holes are remembered. */
Test(holes, answered_requests_are_recorded_as_far_as_room_permits)
{
	RULE("Q-15");
	open_window(UROCE_READ_REPAIR_UPWARDS);
	add_reads(LIMIT_HOLES + 1, 1);
	add(UROCE_WR_RDMA_WRITE, 1, 0);
	add_reads(20, 1);
	take_at(2, T0);
	qp->gaps.asks_again = false;
	rc_holes_see(qp, psn_of(3), T0);
	rc_holes_see(qp, psn_of(1), T0);
	cr_assert_not(qp->gaps.asks_again, "that was known");
	rc_holes_see(qp, psn_of(LIMIT_HOLES + 10), T0 + 3000);
	cr_assert(qp->gaps.asks_again);
	cr_assert_eq(list()->count, LIMIT_HOLES);
	cr_assert_eq(index_of(list()->end), LIMIT_HOLES + 2, "%u: behind the WRITE", index_of(list()->end));
	expect_hole(LIMIT_HOLES - 1, LIMIT_HOLES, 1, LIMIT_HOLES);
	cr_assert_eq(list()->holes[LIMIT_HOLES - 1].asked_us, T0 / 1000 + 3);
}

/* WRITEs have no holes, and a hole ends with its READ and with what is seen. */
Test(holes, holes_end_where_requests_do)
{
	RULE("Q-15");
	open_window(UROCE_READ_REPAIR_UPWARDS);
	add(UROCE_WR_RDMA_WRITE, 2, 0);
	add_reads(1, 4);
	add(UROCE_WR_RDMA_WRITE, 3, 0);
	add_reads(2, 4);
	take_at(11, T0);
	cr_assert_eq(list()->count, 2);
	expect_hole(0, 2, 4, 1);
	expect_hole(1, 9, 2, 3);
	take_at(14, T0);
	cr_assert_eq(list()->count, 4);
	expect_hole(2, 12, 1, 3);
	expect_hole(3, 13, 1, 4);
	cr_assert_eq(list()->clear, 5);
	take_at(9, T0);
	cr_assert_eq(list()->clear, 5, "an older one changes nothing");
}

/* After a rewind, packets sent again or about to be sent count as requested. */
Test(holes, resent_packets_count_as_requested_holes)
{
	RULE("Q-15");
	for (uint32_t rewound = 0; rewound < 2; rewound++) {
		open_window(UROCE_READ_REPAIR_ANY_ORDER);
		add_reads(3, 4);
		qp->flight.rewound = rewound;
		qp->win.snd_nxt = psn_of(8);
		take_at(10, T0);
		cr_assert_eq(list()->holes[0].asked, rewound);
		cr_assert_eq(list()->holes[1].asked, rewound);
		cr_assert_not(list()->holes[2].asked);
	}
}

/* ---- in turn ---- */

Test(holes, the_window_moves_to_the_next_hole)
{
	RULE("Q-15");
	open_window(UROCE_READ_REPAIR_ANY_ORDER);
	add_reads(3, 4);
	take_at(2, T0);
	take_at(3, T0);
	take_at(6, T0);
	expect_hole(0, 0, 2, 0);
	expect_hole(1, 4, 2, 1);
	qp_board(qp, BOARD_HOLES)->holes.holes[0].tries = 2;
	qp->win.snd_una = psn_of(1);
	qp->gaps.asks_again = false;
	/* What is at snd_una has come: the window says so itself, and the list loses its first PSN. */
	qp->win.snd_una = psn_of(0);
	cr_assert_eq(rc_holes_close(qp, T0 + 2000), 0);
	expect_hole(0, 1, 1, 0);
	cr_assert_eq(list()->holes[0].tries, 0);
	cr_assert_eq(list()->holes[0].asked_us, T0 / 1000 + 2);
	cr_assert_not(qp->gaps.asks_again);
	qp->win.snd_una = psn_of(2);
	cr_assert_eq(rc_holes_close(qp, T0), 1);
	cr_assert_eq(index_of(qp->win.snd_una), 4);
	cr_assert_eq(qp->win.acked, 1);
	cr_assert(qp->gaps.asks_again);
	cr_assert_eq(list()->count, 1);
	qp->win.snd_una = psn_of(5);
	cr_assert_eq(rc_holes_close(qp, T0), 0);
	qp->win.snd_una = psn_of(6);
	cr_assert_eq(rc_holes_close(qp, T0), 0);
	cr_assert_eq(index_of(qp->win.snd_una), 7, "%u", index_of(qp->win.snd_una));
	cr_assert_not(qp_has_holes(qp));
}

/* ---- asking again ---- */

static uint32_t next_index(uint64_t now_ns)
{
	const struct rc_hole *hole = rc_holes_next(qp, now_ns);

	return hole ? index_of(hole->psn) : UINT32_MAX;
}

/* Upwards the first hole of each READ, in any order all of them. */
Test(holes, repair_mode_selects_the_first_hole_or_all)
{
	RULE("Q-16");
	open_window(UROCE_READ_REPAIR_UPWARDS);
	add_reads(2, 4);
	take_at(1, T0);
	take_at(6, T0);
	cr_assert_eq(list()->count, 3);
	cr_assert_eq(next_index(T0), 0);
	rc_holes_asked(qp, psn_of(0), T0 + 1000);
	cr_assert(list()->holes[0].asked);
	cr_assert_eq(list()->holes[0].asked_us, T0 / 1000 + 1);
	cr_assert_eq(next_index(T0), 4);
	rc_holes_asked(qp, psn_of(4), T0 + 1000);
	cr_assert(qp->gaps.asks_again);
	cr_assert_eq(next_index(T0 + 1000), UINT32_MAX);
	cr_assert_not(qp->gaps.asks_again);
	cr_assert_eq(list()->look_ns, T0 + 1000 + TRIP_NS);
	qp->read_repair = UROCE_READ_REPAIR_ANY_ORDER;
	cr_assert_eq(next_index(T0), 2);
	rc_holes_doubt(qp);
	cr_assert(qp->gaps.asks_again);
	cr_assert_eq(next_index(T0), 0);
	for (uint32_t i = 0; i < 3; i++)
		cr_assert_not(list()->holes[i].asked);
}

/* The oldest request is checked first, and each wait doubles. */
Test(holes, overdue_hole_is_requested_again)
{
	struct rc_holes *holes;

	RULE("T-5");
	open_window(UROCE_READ_REPAIR_ANY_ORDER);
	add_reads(1, 8);
	take_at(1, T0);
	take_at(3, T0);
	take_at(5, T0);
	holes = &qp_board(qp, BOARD_HOLES)->holes;
	rc_holes_asked(qp, psn_of(0), T0 + 2000);
	rc_holes_asked(qp, psn_of(2), T0);
	rc_holes_asked(qp, psn_of(4), T0 + 1000);
	cr_assert_eq(next_index(T0 + TRIP_NS - 1000), UINT32_MAX);
	cr_assert_eq(holes->look_ns, T0 + TRIP_NS);
	take_at(7, T0 + TRIP_NS - 1);
	cr_assert(holes->holes[1].asked);
	take_at(6, T0 + TRIP_NS);
	cr_assert_not(holes->holes[1].asked);
	cr_assert_eq(holes->holes[1].tries, 1);
	cr_assert(holes->holes[0].asked && holes->holes[2].asked);
	cr_assert_eq(holes->look_ns, T0 + 1000 + TRIP_NS);
	cr_assert(qp->gaps.asks_again);
	rc_holes_asked(qp, psn_of(2), T0 + TRIP_NS);
	qp->gaps.asks_again = false;
	cr_assert_eq(next_index(T0 + 2000 + TRIP_NS), UINT32_MAX);
	cr_assert(qp->gaps.asks_again, "0 and 4 are overdue");
	cr_assert_not(holes->holes[0].asked || holes->holes[2].asked);
	cr_assert_eq(holes->look_ns, T0 + 3 * TRIP_NS, "that had been asked for twice");
	holes->holes[1].tries = RTT_TRIES_MAX;
	cr_assert_eq(next_index(T0), 0);
	rc_holes_asked(qp, psn_of(0), T0);
	rc_holes_asked(qp, psn_of(4), T0);
	next_index(T0 + TRIP_NS + (TRIP_NS << RTT_TRIES_MAX));
	cr_assert_eq(holes->holes[1].tries, RTT_TRIES_MAX);
	cr_assert_eq(holes->look_ns, RC_NEVER);
}

/* In upwards mode only the first hole may be overdue. */
Test(holes, hole_behind_the_first_is_not_overdue_upwards)
{
	RULE("Q-16");
	open_window(UROCE_READ_REPAIR_UPWARDS);
	add_reads(1, 8);
	take_at(1, T0);
	take_at(3, T0);
	rc_holes_asked(qp, psn_of(2), T0);
	rc_holes_asked(qp, psn_of(0), T0 + 1000);
	cr_assert_eq(next_index(T0 + TRIP_NS), UINT32_MAX);
	cr_assert(list()->holes[1].asked);
	cr_assert_eq(list()->look_ns, T0 + 1000 + TRIP_NS);
}

/* ---- rewinding ---- */

/* A READ of which the end was not seen begins again at its first hole; one that was seen to its end keeps its holes. */
Test(holes, rewind_restarts_a_read_with_a_missing_end)
{
	RULE("Q-16");
	open_window(UROCE_READ_REPAIR_UPWARDS);
	add_reads(3, 4);
	take_at(1, T0);
	take_at(4, T0);
	take_at(6, T0);
	cr_assert_eq(list()->count, 3);
	rc_holes_asked(qp, psn_of(0), T0);
	cr_assert_eq(index_of(rc_holes_rewind(qp)), 5);
	cr_assert_eq(list()->count, 2);
	cr_assert_eq(index_of(list()->end), 5);
	cr_assert_not(list()->holes[0].asked);
	take_at(7, T0);
	expect_hole(2, 5, 2, 1);
	cr_assert_eq(index_of(rc_holes_rewind(qp)), 8);
	cr_assert_eq(list()->count, 3);
	cr_assert_eq(index_of(list()->end), 8);
}

Test(holes, a_rewind_of_the_only_read_leaves_no_hole)
{
	RULE("Q-16");
	open_window(UROCE_READ_REPAIR_UPWARDS);
	add_reads(1, 8);
	take_at(1, T0);
	take_at(3, T0);
	cr_assert_eq(index_of(rc_holes_rewind(qp)), 0);
	cr_assert_not(qp_has_holes(qp));
}

/* The window continues after the answered packets; for Linux from the first hole of the last READ on. */
Test(holes, rewound_window_skips_answered_packets)
{
	RULE("Q-15");
	open_window(UROCE_READ_REPAIR_ANY_ORDER);
	add_reads(3, 4);
	take_at(5, T0);
	qp->win.snd_nxt = psn_of(6);
	for (uint32_t upwards = 0; upwards < 2; upwards++) {
		qp->read_repair = upwards ? UROCE_READ_REPAIR_UPWARDS : UROCE_READ_REPAIR_ANY_ORDER;
		cr_assert(rc_holes_skip(qp));
		cr_assert_eq(index_of(qp->win.snd_nxt), 6, "it is there");
	}
	qp->read_repair = UROCE_READ_REPAIR_ANY_ORDER;
	rc_sendwin_go_to(&qp->win, psn_of(2));
	cr_assert(rc_holes_skip(qp));
	cr_assert_eq(index_of(qp->win.snd_nxt), 6);
	rc_sendwin_go_to(&qp->win, psn_of(2));
	qp->read_repair = UROCE_READ_REPAIR_UPWARDS;
	cr_assert(rc_holes_skip(qp));
	cr_assert_eq(index_of(qp->win.snd_nxt), 4);
	cr_assert_eq(list()->count, 1);
}
