/* board.c - which QP may borrow a board, and that boards are shared between peers */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "rc/board.h"
#include "rule.h"
#include "shared_pool.h"

#define BOARDS 64u
#define QPS 128u

static struct rc_board boards[BOARDS];
static struct rc_boards pool;
static struct rc_qp qps[2][QPS];
static uint32_t count[2];

static void open_pool(uint32_t size)
{
	memset(boards, 0x5A, sizeof(boards));
	memset(qps, 0, sizeof(qps));
	boards_init(&pool, boards, size);
	for (uint32_t peer = 0; peer < 2; peer++) {
		count[peer] = 0;
		for (uint32_t i = 0; i < QPS; i++) {
			qps[peer][i].path.dest.bytes[15] = (uint8_t)(1 + peer);
			rc_board_set_pool(&qps[peer][i], &pool);
		}
	}
}

/* The next QP of the peer borrows a board. */
static bool take(void *use, uint32_t peer)
{
	if (rc_board_borrow(&qps[peer][count[peer]], *(const enum rc_board_use *)use) == NULL)
		return false;
	count[peer]++;
	return true;
}

static void give(void *use, uint32_t peer)
{
	rc_board_return(&qps[peer][--count[peer]], *(const enum rc_board_use *)use);
}

Test(board, a_greedy_peer_leaves_another_one_its_part_of_each_use)
{
	RULE("Q-15");
	RULE("S-21");
	for (int use = 0; use < BOARD_USES; use++) {
		open_pool(BOARDS);
		shared_pool_check(&(struct shared_pool){ .context = &use, .take = take, .give = give, .least = 8 });
		cr_assert_eq(pool.boards.pool.used, 0);
	}
}

/* What is kept may be dropped, and a QP that spreads its packets has its board for long. */
Test(board, half_of_the_boards_are_for_losses)
{
	int spread = BOARD_SPREAD, holes = BOARD_HOLES;

	RULE("W-10");
	open_pool(BOARDS);
	for (uint32_t peer = 0; peer < 2; peer++) {
		while (take(&spread, peer))
			continue;
	}
	cr_assert_eq(count[0], BOARDS / 4);
	cr_assert_eq(count[1], BOARDS / 8);
	cr_assert(take(&holes, 0));
	cr_assert(take(&holes, 1));
}

Test(board, a_qp_has_one_board_for_each_use)
{
	struct rc_qp *qp = &qps[0][0];

	RULE("S-21");
	open_pool(BOARDS);
	for (int use = 0; use < BOARD_USES; use++) {
		cr_assert_null(qp_board(qp, (enum rc_board_use)use));
		cr_assert_eq(rc_board_borrow(qp, (enum rc_board_use)use), &boards[use]);
		cr_assert_eq(qp_board(qp, (enum rc_board_use)use), &boards[use]);
	}
	rc_board_return(qp, BOARD_SACK);
	rc_board_return(qp, BOARD_SACK);
	cr_assert_null(qp_board(qp, BOARD_SACK));
	cr_assert_eq(pool.boards.pool.used, BOARD_USES - 1u);
	cr_assert_eq(rc_board_borrow(&qps[1][0], BOARD_KEPT), &boards[BOARD_SACK], "the board of before");
}

/* The path of a QP may change while it has boards. */
Test(board, a_board_comes_back_to_the_peer_that_took_it)
{
	struct rc_qp *qp = &qps[0][0];

	RULE("S-21");
	open_pool(4);
	rc_board_borrow(qp, BOARD_HOLES);
	cr_assert_eq(pool.boards.held[rc_board_peer(&qps[0][1])], 1);
	qp->path = qps[1][0].path;
	rc_board_return(qp, BOARD_HOLES);
	cr_assert_eq(pool.boards.held[rc_board_peer(&qps[0][1])], 0);
	cr_assert_eq(pool.boards.held[rc_board_peer(&qps[1][1])], 0);
}

Test(board, without_a_pool_or_a_free_board_there_is_none)
{
	RULE("Q-15");
	open_pool(1);
	cr_assert(rc_board_may_borrow(&qps[1][0], BOARD_HOLES));
	cr_assert_not_null(rc_board_borrow(&qps[0][0], BOARD_HOLES));
	cr_assert_not(rc_board_may_borrow(&qps[1][0], BOARD_HOLES));
	cr_assert_null(rc_board_borrow(&qps[1][0], BOARD_HOLES));
	rc_board_return(&qps[0][0], BOARD_HOLES);
	rc_board_set_pool(&qps[1][0], NULL);
	cr_assert_not(rc_board_may_borrow(&qps[1][0], BOARD_HOLES));
	cr_assert_null(rc_board_borrow(&qps[1][0], BOARD_PARTS));
}

/* Peers cannot choose whom to share a counter with. */
Test(board, the_counter_of_a_peer_depends_on_the_key)
{
	uint16_t before;

	RULE("S-21");
	open_pool(1);
	before = rc_board_peer(&qps[0][0]);
	cr_assert_neq(before, rc_board_peer(&qps[1][0]));
	pool.key[0] = 1;
	cr_assert_neq(before, rc_board_peer(&qps[0][0]));
}
