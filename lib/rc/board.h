/* board.h - memory that a QP has only while it repairs what was lost, from a pool of its lcore */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is needed after a loss only would cost each idle QP its place. So a QP borrows a board: one for the responses
 * that it misses (holes.h), one for the parts of READs that its peer misses (parts.h). When the pool has none left the
 * QP does without, and everything from the loss on goes out again.
 */
#ifndef RC_BOARD_H
#define RC_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/limits.h"
#include "rc/psn.h"
#include "rc/replay.h"

/* PSNs of one request whose responses have not come, though later ones have: holes.h. */
struct rc_hole {
	psn_t psn;
	uint32_t count;
	uint32_t asked_us; /* when it was asked for again, by a clock that wraps; if it was */
	uint16_t slot;     /* of the request: the low bits */
	bool asked;
	uint8_t tries; /* how often it was asked for: each wait is twice as long as the one before */
};

struct rc_holes {
	psn_t end; /* no response at or behind it has come */
	uint32_t count;
	uint32_t clear;   /* of requests before this slot none lands across the places of an older one's */
	uint64_t look_ns; /* when the first one was asked for long ago */
	struct rc_hole holes[LIMIT_HOLES]; /* as their PSNs follow each other; the first one begins at snd_una */
};

/* Parts of READs that are owed once more, a ring: parts.h. */
struct rc_parts {
	uint32_t first, count;
	struct rc_stretch parts[LIMIT_HOLES];
};

struct rc_board {
	union {
		struct rc_boards *pool; /* that has lent it */
		struct rc_board *next;  /* in the pool */
	};
	union {
		struct rc_holes holes;
		struct rc_parts parts;
	};
};

/* Boards that nobody has borrowed: those that came back, and those never touched, which have cost no memory yet. */
struct rc_boards {
	struct rc_board *free;
	struct rc_board *next, *end;
};

/* The pool lends so many boards, which are the caller's. */
static inline void boards_init(struct rc_boards *pool, struct rc_board *boards, uint32_t count)
{
	*pool = (struct rc_boards){ .next = boards, .end = boards + count };
}

/* Has it one to lend? NULL: there is no pool. */
static inline bool boards_has_one(const struct rc_boards *pool)
{
	return pool && (pool->free || pool->next != pool->end);
}

/* One that it has. What lies on it is undefined. */
static inline struct rc_board *boards_lend(struct rc_boards *pool)
{
	struct rc_board *board = pool->free;

	if (board)
		pool->free = board->next;
	else
		board = pool->next++;
	board->pool = pool;
	return board;
}

static inline void board_give_back(struct rc_board *board)
{
	struct rc_boards *pool = board->pool;

	board->next = pool->free;
	pool->free = board;
}

#endif
