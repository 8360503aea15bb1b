/* spread.c - which path a packet takes, which paths still work, and what a SACK or an answer tells of each */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "rc/path.h"
#include "rc/qp.h"
#include "rc/sackmap.h"
#include "rc/spread.h"
#include "rule.h"

#define PATHS 4u
#define FIRST 0xFFFFF8u /* PSNs wrap within the window */
#define TRIP_NS 10000ull
#define T0 1000000ull

static struct rc_boards pool;
static struct rc_board boards[3];
static struct wire_frame_template frame;
static struct rc_outbox out;
static struct rc_qp at;
static struct rc_qp *const qp = &at;

/* A QP whose window is empty, with a round trip, and boards that another QP has left full of ones. */
static struct rc_spread *open_paths(uint32_t paths)
{
	memset(boards, 0xFF, sizeof(boards));
	boards_init(&pool, boards, 3);
	memset(qp, 0, sizeof(*qp));
	qp->qpn = 0x11;
	qp->dest_qpn = 0x12;
	qp->sq_psn = qp->win.snd_una = qp->win.snd_nxt = qp->win.snd_max = psn_make(FIRST);
	qp->replay.queue_head = REPLAY_NONE;
	qp->board.pool = &pool;
	qp->rtt.srtt_ns = TRIP_NS;
	memset(&frame, 0, sizeof(frame));
	frame.bth_offset = FRAME_BTH_AT;
	out.template = &frame;
	out.packet_limit = 1;
	rc_spread_over(qp, paths);
	return paths < 2 ? NULL : spread_of(qp);
}

static psn_t psn_of(uint32_t index)
{
	return psn_make(FIRST + index);
}

static uint16_t port_of_frame(void)
{
	uint16_t port = (uint16_t)(frame.bytes[FRAME_BTH_AT - WIRE_UDP_BYTES] << 8);

	return port | frame.bytes[FRAME_BTH_AT - WIRE_UDP_BYTES + 1];
}

/* So many more packets leave. Returns the index of the last one's path. */
static uint32_t leave(uint32_t packets)
{
	uint32_t path = 0;

	for (uint32_t i = 0; i < packets; i++) {
		spread_leaves(qp, qp->win.snd_max, &out);
		path = spread_of(qp)->path_of[qp->win.snd_max.v % KEPT_SPAN];
		cr_assert_eq(port_of_frame(), spread_of(qp)->paths[path].port);
		qp->win.snd_nxt = qp->win.snd_max = psn_next(qp->win.snd_max);
	}
	return path;
}

static void make_bad(uint32_t path, uint8_t tries)
{
	spread_of(qp)->paths[path].state = SPREAD_BAD;
	spread_of(qp)->paths[path].tries = tries;
}

/* ---- the set ---- */

Test(spread, what_a_board_held_before_is_gone)
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

Test(spread, one_path_or_no_board_is_no_spreading)
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
	for (uint32_t i = 0; i < 3; i++)
		boards_lend(&pool);
	rc_spread_over(qp, PATHS);
	cr_assert_not(qp_spreads(qp));
	qp->board.pool = NULL;
	rc_spread_over(qp, PATHS);
	cr_assert_not(qp_spreads(qp));
}

/* The ports of QPs with all of 64 paths: none twice, none that is not dynamic, and the first one that of W-2. */
Test(spread, ports_of_a_set_differ)
{
	RULE("W-10");
	RULE("W-2");
	for (uint32_t qpn = 1; qpn < 400; qpn++) {
		const struct rc_spread *spread = open_paths(PATHS);
		bool seen[0x4000] = { false };

		qp->qpn = qpn;
		rc_spread_over(qp, SPREAD_MOST);
		cr_assert_eq(spread->paths[0].port, path_source_port(qpn, qp->dest_qpn));
		for (uint32_t i = 0; i < SPREAD_MOST; i++) {
			cr_assert_geq(spread->paths[i].port, 0xC000);
			cr_assert_not(seen[spread->paths[i].port - 0xC000], "QPN %u, path %u", qpn, i);
			seen[spread->paths[i].port - 0xC000] = true;
		}
	}
}

/* They follow from both QPNs, the first PSN and how often the QP has migrated, and from nothing else. */
Test(spread, ports_follow_from_what_both_ends_know)
{
	struct rc_spread *spread = open_paths(PATHS);
	uint16_t port = spread->paths[1].port;

	RULE("W-10");
	qp->qpn++;
	rc_spread_over(qp, PATHS);
	cr_assert_neq(spread->paths[1].port, port);
	qp->qpn--;
	qp->dest_qpn++;
	rc_spread_over(qp, PATHS);
	cr_assert_neq(spread->paths[1].port, port);
	qp->dest_qpn--;
	qp->sq_psn = psn_of(1);
	rc_spread_over(qp, PATHS);
	cr_assert_neq(spread->paths[1].port, port);
	qp->sq_psn = psn_of(0);
	qp->migration.count++;
	rc_spread_path_changed(qp);
	cr_assert_neq(spread->paths[1].port, port);
	qp->migration.count--;
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

/* ---- turns ---- */

Test(spread, good_paths_take_turns_and_one_that_has_lost_misses_a_rotation)
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
Test(spread, a_copy_takes_another_path_than_the_one_that_lost_it)
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

Test(spread, while_all_are_bad_the_one_goes_on_that_has_failed_least_often)
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

/* Two in a row between which nothing has come over the path: it is bad, and is tried after a while. */
Test(spread, two_losses_in_a_row_make_a_path_bad)
{
	struct rc_spread *spread = open_paths(PATHS);
	struct rc_spread_path *path = &spread->paths[1];

	RULE("W-10");
	leave(5 * PATHS);
	spread->now_ns = T0;
	rc_spread_map_begins(qp);
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

/* A loss in front of what has come over the path is not one more in a row. */
Test(spread, what_has_come_behind_a_loss_shows_that_the_path_works)
{
	struct rc_spread *spread = open_paths(PATHS);
	struct rc_spread_path *path = &spread->paths[1];

	RULE("W-10");
	leave(5 * PATHS);
	rc_spread_map_begins(qp);
	rc_spread_lost(qp, psn_of(1));
	rc_spread_came(qp, psn_of(13));
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
	rc_spread_came(qp, psn_of(5));
	cr_assert_eq(path->newest.v, psn_of(13).v, "an older one changes nothing");
	cr_assert_eq(path->missed, 0);
	cr_assert_eq(spread->paths[0].missed, 0);
}

/* The newest that has come lies behind the window, or at its end: it tells nothing of what is in flight. */
Test(spread, what_has_left_the_window_is_no_newest)
{
	struct rc_spread *spread = open_paths(PATHS);
	struct rc_spread_path *path = &spread->paths[1];

	RULE("W-10");
	leave(5 * PATHS);
	rc_spread_map_begins(qp);
	for (uint32_t i = 0; i < PATHS; i++)
		cr_assert_eq(spread->paths[i].newest.v, psn_previous(qp->win.snd_una).v);
	rc_spread_came(qp, psn_of(1));
	cr_assert_eq(path->newest.v, psn_of(1).v);
	path->newest = qp->win.snd_max;
	rc_spread_came(qp, psn_of(5));
	cr_assert_eq(path->newest.v, psn_of(5).v);
	qp->win.snd_una = psn_of(6);
	rc_spread_lost(qp, psn_of(9));
	cr_assert_eq(path->missed, 1);
	path->newest = qp->win.snd_max;
	rc_spread_lost(qp, psn_of(13));
	cr_assert_eq(path->missed, 2);
}

/* ---- time ---- */

/* A SACK comes now that has brought nothing new. */
static void hear(uint64_t now_ns)
{
	rc_spread_heard(qp, psn_of(0), false, now_ns);
}

Test(spread, time_is_marked_twice_a_round_trip)
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

/* A packet leaves every half of a round trip, and one has come: what left two round trips earlier is lost. */
Test(spread, what_left_two_round_trips_before_what_has_come_has_aged)
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
Test(spread, before_the_first_mark_nothing_has_aged)
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

/* ---- what is heard ---- */

Test(spread, an_overtaken_sack_tells_of_no_loss)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	leave(8);
	cr_assert(rc_spread_heard(qp, psn_of(5), false, T0));
	cr_assert_eq(spread->now_ns, T0);
	cr_assert(rc_spread_heard(qp, psn_of(5), false, T0));
	cr_assert_not(rc_spread_heard(qp, psn_of(4), false, T0));
	cr_assert_not(rc_spread_heard(qp, psn_of(4), false, T0), "what it says is not the newest");
	cr_assert(rc_spread_heard(qp, psn_of(4), true, T0), "an answer tells in any case");
	cr_assert(rc_spread_heard(qp, psn_of(4), false, T0));
	rc_spread_heard(qp, psn_of(6), false, T0);
	rc_spread_rewound(qp);
	cr_assert(rc_spread_heard(qp, psn_of(1), false, T0));
	rc_spread_forget(qp);
	rc_spread_rewound(qp);
}

/* ---- what others have overtaken ---- */

static uint64_t patience(uint32_t missing, uint64_t now_ns)
{
	return rc_spread_patience(qp, psn_of(missing), now_ns);
}

/* Half of the time after which a response must have come. */
#define WAIT_NS (TRIP_NS / 2 + 2 * 1000)

/* Packet 0 is missing and packet 1 has come. */
static struct rc_spread *open_overtaken(void)
{
	struct rc_spread *spread = open_paths(PATHS);

	leave(8);
	rc_sackmap_borrow(qp);
	qp->rtt.rttvar_ns = 1000;
	qp->sack.newest = psn_of(1);
	rc_sackmap_set(qp, psn_of(1), SACK_KEPT);
	return spread;
}

Test(spread, what_others_have_overtaken_is_asked_about_after_a_while)
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

Test(spread, nothing_is_asked_about_that_is_known_or_was_asked_about)
{
	struct rc_spread *spread = open_overtaken();

	RULE("S-23");
	qp->sack.newest = psn_of(0);
	cr_assert_eq(patience(0, T0), RC_NEVER, "it has come itself");
	qp->sack.newest = qp->win.snd_max;
	cr_assert_eq(patience(0, T0), RC_NEVER, "nothing in flight has come");
	qp->sack.newest = psn_of(4);
	rc_sackmap_set(qp, psn_of(0), SACK_LOST);
	cr_assert_eq(patience(0, T0), RC_NEVER);
	rc_sackmap_set(qp, psn_of(0), SACK_RESENT | 8);
	cr_assert_eq(patience(0, T0), RC_NEVER);
	rc_sackmap_set(qp, psn_of(0), SACK_IN_FLIGHT);
	patience(0, T0);
	cr_assert_eq(patience(0, T0 + TRIP_NS), 0);
	rc_spread_probe_paths(qp, false);
	cr_assert_eq(patience(0, T0 + TRIP_NS), 0, "that was another PROBE");
	rc_spread_probe_paths(qp, true);
	cr_assert_eq(patience(0, T0 + TRIP_NS), RC_NEVER);
	cr_assert_eq(patience(2, T0 + TRIP_NS), WAIT_NS, "another packet");
	rc_spread_rewound(qp);
	cr_assert_eq(patience(2, T0 + 3 * TRIP_NS), WAIT_NS, "a rewind begins anew");
	make_bad(spread->path_of[psn_of(2).v % KEPT_SPAN], 0);
	cr_assert_eq(patience(2, T0 + 3 * TRIP_NS), 0, "its path is known to be bad");
}

/* Only about what others have overtaken, and that is what an answer over another path tells of. */
Test(spread, a_suspicion_asks_over_the_paths_of_what_was_overtaken)
{
	struct rc_spread *spread = open_overtaken();

	RULE("S-23");
	qp->sack.newest = psn_of(3);
	rc_sackmap_set(qp, psn_of(3), SACK_KEPT);
	patience(0, T0);
	spread->quiet_end = qp->win.snd_max;
	spread->next = 1; /* the paths that a timer asks over as well: 1 and 2 */
	cr_assert_eq(rc_spread_probe_paths(qp, true), 1 << 0 | 1 << 1 | 1 << 2);
	cr_assert(spread->patient);
	cr_assert_eq(spread->patient_end.v, psn_of(4).v);
	cr_assert_eq(rc_spread_probe_paths(qp, true), 0xF, "after silence about all");
	cr_assert_eq(spread->patient_end.v, psn_of(8).v);
}

/* ---- answers of ours ---- */

/* The next good path, when the peer asks though nothing is missing: then answers may not have come. */
Test(spread, answers_take_another_path_when_the_peer_asks_in_vain)
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

Test(spread, answers_stay_on_their_path_while_responses_are_owed)
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
Test(spread, without_room_nothing_is_written)
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

Test(spread, each_path_that_misses_something_is_probed)
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

/* Two more by a timer, the next ones in their turn, for the path of what is missing may be dead. */
Test(spread, a_timer_asks_over_two_further_paths)
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

Test(spread, a_bad_path_is_tried_after_ever_longer_waits)
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

Test(spread, a_probe_has_a_number_of_its_own_and_its_paths_port)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	leave(2);
	cr_assert_eq(rc_spread_probe(qp, 3, &out), 1 * SPREAD_MOST + 3);
	cr_assert_eq(spread->paths[3].probe_id, 1 * SPREAD_MOST + 3);
	cr_assert_eq(spread->paths[3].probe_end.v, psn_of(2).v);
	cr_assert_eq(port_of_frame(), spread->paths[3].port);
	cr_assert_eq(rc_spread_probe(qp, 0, &out), 2 * SPREAD_MOST);
	spread->probes = 1021;
	cr_assert_eq(rc_spread_probe(qp, 0, &out), 1022 * SPREAD_MOST);
	cr_assert_eq(rc_spread_probe(qp, 1, &out), 1023 * SPREAD_MOST + 1);
	cr_assert_eq(rc_spread_probe(qp, 2, &out), 1 * SPREAD_MOST + 2);
}

Test(spread, only_the_answer_to_the_last_probe_over_a_path_counts)
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
	spread->paths[PATHS].probe_id = SPREAD_MOST + PATHS;
	cr_assert_not(rc_spread_answered(qp, SPREAD_MOST + PATHS));
}

Test(spread, a_path_of_which_no_probe_has_left_has_no_answer)
{
	open_paths(PATHS);

	RULE("S-23");
	cr_assert_not(rc_spread_answered(qp, 0));
	cr_assert_not(rc_spread_answered(qp, 1));
}

Test(spread, probes_of_the_peer_wait_for_their_turn)
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

Test(spread, an_answer_tells_of_what_left_before_over_its_path)
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
Test(spread, after_silence_an_answer_tells_of_all_paths)
{
	struct rc_spread *spread = open_paths(PATHS);

	RULE("S-23");
	leave(6);
	hear(T0);
	rc_spread_probe(qp, 1, &out); /* before the timer's */
	leave(4);
	cr_assert(rc_spread_answered(qp, spread->paths[1].probe_id));
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

/* What was sent again by a rewind may have come twice. */
Test(spread, of_what_a_rewind_has_sent_again_silence_tells_nothing)
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

/* All that was silent has been acknowledged, or nothing of it has left: there is no end to look for. */
Test(spread, silence_ends_with_what_was_silent)
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
