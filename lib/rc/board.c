/* board.c - which QP may borrow a board, and for which use */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/board.h"

void rc_board_set_pool(struct rc_qp *qp, struct rc_boards *pool)
{
	qp->borrowed = (struct rc_borrowed){ .pool = pool };
}

uint16_t rc_board_peer(const struct rc_qp *qp)
{
	return share_peer(qp->borrowed.pool->key, qp->path.dest.bytes);
}

/*
 * How many boards a QP asks for. What is kept may be dropped, and a QP that spreads its packets has its board for long:
 * for these two half of all boards must stay free, which the repair of losses may use.
 */
static uint32_t wanted(const struct rc_boards *pool, enum rc_board_use use)
{
	return 1 + (use == BOARD_KEPT || use == BOARD_SPREAD ? pool->boards.pool.size / 2 : 0);
}

bool rc_board_may_borrow(const struct rc_qp *qp, enum rc_board_use use)
{
	const struct rc_boards *pool = qp->borrowed.pool;

	return pool && share_peers_allow(&pool->boards, rc_board_peer(qp), wanted(pool, use));
}

bool rc_board_may_borrow_after(const struct rc_qp *qp, enum rc_board_use use, uint16_t giver)
{
	const struct rc_boards *pool = qp->borrowed.pool;

	return share_peers_allow_after(&pool->boards, giver, 1, rc_board_peer(qp), wanted(pool, use));
}

struct rc_board *rc_board_take(struct rc_qp *qp, enum rc_board_use use)
{
	struct rc_boards *pool = qp->borrowed.pool;
	struct rc_board *board = pool->free;

	if (board)
		pool->free = board->next;
	else
		board = pool->next++;
	board->peer = rc_board_peer(qp); /* noted, because the path of the QP may change */
	share_peers_add(&pool->boards, board->peer, 1);
	qp->borrowed.by[use] = board;
	return board;
}

struct rc_board *rc_board_borrow(struct rc_qp *qp, enum rc_board_use use)
{
	return rc_board_may_borrow(qp, use) ? rc_board_take(qp, use) : NULL;
}

void rc_board_return(struct rc_qp *qp, enum rc_board_use use)
{
	struct rc_boards *pool = qp->borrowed.pool;
	struct rc_board *board = qp->borrowed.by[use];

	if (board == NULL)
		return;
	qp->borrowed.by[use] = NULL;
	share_peers_give(&pool->boards, board->peer, 1);
	board->next = pool->free;
	pool->free = board;
}
