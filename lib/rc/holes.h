/* holes.h - responses that come before their turn are placed, and what is missing between them is asked for again */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A QP with read repair (read_repair) places a response behind snd_una at once, for it says where it belongs, and the
 * buffers of a READ are undefined until it completes. What is missing before it is a hole. Holes lie in READs
 * and the like alone: a peer that has answered something has taken every request before it. Nothing completes before
 * its turn: snd_una stands in front of the first hole, and jumps to the next one when that is full.
 *
 * Of a READ only the first hole is asked for, and the next one when nothing before it is missing, unless the peer is
 * known to answer in any order: Linux never again answers a part that lies before one that it was asked for
 * later.
 *
 * A QP has a board for its holes while it has any (board.h). When there is none, or the holes are too many, what comes
 * early is dropped, and all from snd_una on is asked for again (loss.h).
 */
#ifndef RC_HOLES_H
#define RC_HOLES_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/board.h"
#include "rc/qp_state.h"

/* Where the QP borrows from; NULL: nowhere. It has no holes. */
void rc_holes_borrow_from(struct rc_qp *qp, struct rc_boards *pool);

/* Nothing is missing any more, or nobody waits for it: gives the board back. */
void rc_holes_forget(struct rc_qp *qp);

/* Is a response missing before one that is behind snd_una and answers the request in this slot? */
static inline bool qp_misses_response(const struct rc_qp *qp, uint32_t slot)
{
	uint32_t oldest = qp->win.acked;

	while (oldest != slot && !wqe_needs_response(sendwin_slot(&qp->win, oldest)))
		oldest++;
	return oldest != slot || slot == qp->win.acked;
}

/*
 * A response is missing before that at psn, which answers the request in this slot: may that be placed now? It has not
 * come yet, there is room to remember what is missing, and no response to an older request lands there, unless packet
 * for packet in the same places.
 */
bool rc_holes_may_take(const struct rc_qp *qp, psn_t psn, uint32_t slot);

/*
 * Has a newer request already brought what lies where this response would land? Then it is not copied there: in the end
 * memory is as if all had come in their order. Only while there are holes.
 */
bool rc_holes_newer_has_come(const struct rc_qp *qp, psn_t psn, uint32_t slot);

/* It has been placed. Returns the PSN before which the peer has answered everything. */
psn_t rc_holes_take(struct rc_qp *qp, psn_t psn, uint32_t slot, uint64_t now_ns);

/* The peer has answered everything before `end`. Only while there are holes. */
void rc_holes_see(struct rc_qp *qp, psn_t end, uint64_t now_ns);

/*
 * snd_una has moved by the response that was missing there: it goes on up to the next hole. Only while there are.
 * Returns how many requests are answered by this that need a response of their own.
 */
uint32_t rc_holes_close(struct rc_qp *qp, uint64_t now_ns);

/* Whatever was asked for may have been lost: it is asked for again. */
void rc_holes_doubt(struct rc_qp *qp);

/*
 * Everything from here on is to be sent again, for the window is rewound: what is missing before it is asked for by
 * itself. Only while there are holes; there may be none behind this.
 */
psn_t rc_holes_rewind(struct rc_qp *qp);

/*
 * The window is rewound: it goes on behind what the peer has taken, if it has not come to that, for what is missing of
 * it is asked for by itself. Only while there are holes; there may be none behind this. false: nothing is left to send
 * again.
 */
bool rc_holes_skip(struct rc_qp *qp);

/* What is to be asked for next; NULL: nothing, now. Only while there are. */
const struct rc_hole *rc_holes_next(struct rc_qp *qp, uint64_t now_ns);

/* The slot of the request in which it lies. */
uint32_t rc_holes_slot(const struct rc_qp *qp, const struct rc_hole *hole);

/* That which begins at psn has been asked for. */
void rc_holes_asked(struct rc_qp *qp, psn_t psn, uint64_t now_ns);

static inline struct rc_boards *qp_boards(const struct rc_qp *qp)
{
	return qp->gaps.has_holes ? qp->board.holes->pool : qp->board.pool;
}

/* Has any response come before its turn that has not had it yet? */
static inline bool qp_has_holes(const struct rc_qp *qp)
{
	return qp->gaps.has_holes;
}

#endif
