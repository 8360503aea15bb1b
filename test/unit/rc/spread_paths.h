/* spread_paths.h - a QP with several paths, for the tests of spread.c and scoreboard.c */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_RC_SPREAD_PATHS_H
#define TEST_UNIT_RC_SPREAD_PATHS_H

#include <criterion/criterion.h>
#include <string.h>

#include "rc/path.h"
#include "rc/qp.h"
#include "rc/scoreboard.h"
#include "rc/spread.h"

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
static inline struct rc_spread *open_paths(uint32_t paths)
{
	memset(boards, 0xFF, sizeof(boards));
	boards_init(&pool, boards, 3);
	memset(qp, 0, sizeof(*qp));
	qp->qpn = 0x11;
	qp->dest_qpn = 0x12;
	qp->sq_psn = qp->win.snd_una = qp->win.snd_nxt = qp->win.snd_max = psn_make(FIRST);
	qp->replay.queue_head = REPLAY_NONE;
	rc_board_set_pool(qp, &pool);
	qp->rtt.srtt_ns = TRIP_NS;
	memset(&frame, 0, sizeof(frame));
	frame.bth_offset = FRAME_BTH_AT;
	out.template = &frame;
	out.packet_limit = 1;
	rc_spread_over(qp, paths);
	return paths < 2 ? NULL : spread_of(qp);
}

static inline psn_t psn_of(uint32_t index)
{
	return psn_make(FIRST + index);
}

static inline uint16_t port_of_frame(void)
{
	uint16_t port = (uint16_t)(frame.bytes[FRAME_BTH_AT - WIRE_UDP_BYTES] << 8);

	return port | frame.bytes[FRAME_BTH_AT - WIRE_UDP_BYTES + 1];
}

/* So many more packets leave. Returns the index of the last one's path. */
static inline uint32_t leave(uint32_t packets)
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

static inline void make_bad(uint32_t path, uint8_t tries)
{
	spread_of(qp)->paths[path].state = SPREAD_BAD;
	spread_of(qp)->paths[path].tries = tries;
}

/* The scoreboard has this state for packet number `index`. */
static inline void note(uint32_t index, uint16_t state)
{
	psn_t psn = psn_of(index);
	struct rc_sack_map *map;
	uint16_t *noted;

	if (!scoreboard_has_map(qp)) {
		cr_assert_not_null(rc_board_borrow(qp, BOARD_SACK));
		memset(&qp_board(qp, BOARD_SACK)->sack, 0, sizeof(qp_board(qp, BOARD_SACK)->sack));
		qp_board(qp, BOARD_SACK)->sack.base = qp_board(qp, BOARD_SACK)->sack.end = qp->win.snd_una;
		qp_board(qp, BOARD_SACK)->sack.news = true;
	}
	map = &qp_board(qp, BOARD_SACK)->sack;
	noted = &map->states[psn.v % KEPT_SPAN];
	map->lost += (state == SACK_LOST) - (*noted == SACK_LOST);
	*noted = state;
	if (psn_distance(psn, qp->win.snd_una) >= psn_distance(map->end, qp->win.snd_una))
		map->end = psn_next(psn);
}

/* A SACK without a map of its own comes: nothing that is in flight is known to have come. */
static inline void begin_map(void)
{
	cr_assert_not(scoreboard_has_map(qp));
	rc_scoreboard_paths_work(qp, qp->win.snd_una, 0, sendwin_outstanding(&qp->win));
}

/* A SACK tells that packet number `index` has come. */
static inline void come(uint32_t index)
{
	note(index, SACK_IN_FLIGHT);
	rc_scoreboard_paths_work(qp, psn_of(index), 1, sendwin_outstanding(&qp->win));
}

/* A SACK comes now that has brought nothing new. */
static inline void hear(uint64_t now_ns)
{
	rc_scoreboard_heard(qp, psn_of(0), false, now_ns);
}

#endif
