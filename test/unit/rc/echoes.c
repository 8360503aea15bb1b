/* echoes.c - how many answers the copies of packets may still draw */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "rc/echoes.h"
#include "rc/sackmap.h"
#include "rule.h"

#define FIRST 0xFFFFFEu

static struct rc_board boards[1];
static struct rc_boards pool;
static struct rc_qp at;
static struct rc_qp *const qp = &at;

static psn_t psn_of(uint32_t index)
{
	return psn_make(FIRST + index);
}

/* So many packets have left, and nothing has come. */
static void begin(uint32_t packets)
{
	at = (struct rc_qp){ .win.snd_una = psn_of(0) };
	boards_init(&pool, boards, 1);
	qp->board.pool = &pool;
	qp->win.snd_nxt = qp->win.snd_max = psn_of(packets);
}

static void acknowledge(uint32_t packets)
{
	qp->win.snd_una = psn_of(packets);
	rc_echoes_acknowledged(qp);
}

Test(echoes, echoes_are_limited_by_sent_copies)
{
	RULE("T-3");
	begin(4);
	cr_assert_not(rc_echoes_take(qp, true));
	rc_echoes_copy_sent(qp, 1, 2);
	rc_echoes_copy_sent(qp, 1, 0);
	for (uint32_t i = 0; i < 2; i++) {
		cr_assert(rc_echoes_take(qp, true));
		cr_assert(rc_echoes_take(qp, false));
	}
	cr_assert_not(rc_echoes_take(qp, true));
	cr_assert_not(rc_echoes_take(qp, false));
}

/* The answer to what first left behind the last copy is the last of all. */
Test(echoes, answer_to_a_newer_packet_ends_echoes)
{
	RULE("T-3");
	begin(4);
	rc_echoes_copy_sent(qp, 2, 2);
	qp->win.snd_max = psn_of(6);
	rc_echoes_copy_sent(qp, 0, 1);
	qp->win.snd_max = psn_of(8);
	acknowledge(6);
	cr_assert(qp->loss.echoes.expected);
	cr_assert_eq(qp->loss.owed.acks, 3);
	acknowledge(7);
	cr_assert_not(qp->loss.echoes.expected);
	cr_assert_eq(qp->loss.owed.acks, 0);
	cr_assert_eq(qp->loss.owed.responses, 0);
	rc_echoes_copy_sent(qp, 0, 1);
	cr_assert_eq(qp->loss.owed.first.v, psn_of(8).v, "these are the first again");
}

/* An ACK of the packet before snd_una may answer copies, if one has left before the oldest packet in flight. */
Test(echoes, acks_are_ambiguous_from_the_first_copy_on)
{
	RULE("T-6");
	begin(4);
	rc_echoes_copy_sent(qp, 0, 3);
	acknowledge(3);
	cr_assert_eq(qp->ask.unsure, 0);
	acknowledge(4);
	cr_assert_eq(qp->ask.unsure, 3);
	begin(4);
	rc_echoes_copy_sent(qp, 0, 255);
	acknowledge(4);
	cr_assert_eq(qp->ask.unsure, 255);
	begin(4);
	rc_echoes_copy_sent(qp, 0, 256);
	acknowledge(4);
	cr_assert_eq(qp->ask.unsure, 255, "it counts no further");
}

Test(echoes, rewind_and_drop_keep_acks_ambiguous)
{
	RULE("T-6");
	begin(4);
	rc_echoes_copy_sent(qp, 0, 3);
	rc_echoes_come_first(qp);
	cr_assert_eq(qp->ask.unsure, 3);
	rc_echoes_dropped(qp);
	acknowledge(1);
	cr_assert_eq(qp->ask.unsure, 3);
}

/* Beside the copies the map is told, as long as there is one. */
Test(echoes, sack_map_follows_each_acknowledgement)
{
	RULE("T-7");
	begin(4);
	cr_assert(rc_sackmap_borrow(qp));
	rc_echoes_copy_sent(qp, 0, 0);
	rc_sackmap_set(qp, psn_of(1), SACK_LOST);
	rc_sackmap_set(qp, psn_of(6), SACK_KEPT);
	qp->win.snd_max = qp->win.snd_nxt = psn_of(8);
	acknowledge(5);
	cr_assert(qp->loss.echoes.expected, "there is a map");
	cr_assert_eq(qp->sack.map->sack.base.v, psn_of(5).v);
	cr_assert_eq(qp->sack.map->sack.lost, 0);
	acknowledge(7);
	cr_assert_null(qp->sack.map);
	acknowledge(8);
	cr_assert_not(qp->loss.echoes.expected);
}
