/* holes.h - places responses that come before their turn, and asks again for the missing ones */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A QP with read repair (read_repair) places a response behind snd_una at once: the response says where it belongs, and
 * the buffers of a READ are undefined until it completes. The PSNs of the responses that are missing before it
 * are a hole. Only READs, atomics, FLUSHes and ATOMIC WRITEs have holes: a peer that has answered something has
 * received every request before it. Requests still complete in order: snd_una is the first PSN of the first hole, and
 * when that hole is filled moves to the next hole.
 *
 * Of the holes in one READ only the first is asked for at a time, unless the peer is known to answer in any order
 * once Linux was asked for a part of a READ, it never answers parts before that one again.
 *
 * While a QP has holes it has a board for them (board.h). If there is no board, or there are too many holes, responses
 * that come early are dropped, and everything from snd_una on is asked for again (loss.h).
 */
#ifndef RC_HOLES_H
#define RC_HOLES_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/board.h"
#include "rc/qp_state.h"

/* No response is missing any more, or nothing waits for one: returns the board to its pool. */
void rc_holes_forget(struct rc_qp *qp);

/* A response behind snd_una has come to the request in this slot: is a response before it missing? */
static inline bool qp_misses_response(const struct rc_qp *qp, uint32_t slot)
{
	uint32_t oldest = qp->win.acked;

	while (oldest != slot && !wqe_needs_response(sendwin_slot(&qp->win, oldest)))
		oldest++;
	return oldest != slot || slot == qp->win.acked;
}

/*
 * The response at psn, to the request in this slot, has come while a response before it is missing: may it be placed
 * now? Yes if it has not come before, if there is room to remember what is missing, and if no older request has the
 * same memory, except one whose responses land there packet for packet in the same places.
 */
bool rc_holes_may_take(const struct rc_qp *qp, psn_t psn, uint32_t slot);

/*
 * Has the response to a newer request already been placed where this response would land? Then this response is not
 * copied, so that in the end memory is as if all responses had come in order. Only while there are holes.
 */
bool rc_holes_newer_has_come(const struct rc_qp *qp, psn_t psn, uint32_t slot);

/* How many holes there are. */
uint32_t rc_holes_count(const struct rc_qp *qp);

/* The response at psn has been placed. Returns the PSN before which the peer has answered everything. */
psn_t rc_holes_take(struct rc_qp *qp, psn_t psn, uint32_t slot, uint64_t now_ns);

/* The peer has answered everything before `end`. Only for a QP with holes. */
void rc_holes_see(struct rc_qp *qp, psn_t end, uint64_t now_ns);

/*
 * The response at snd_una, the first missing one, has come; if it filled a hole snd_una moves to the next hole. Only
 * for a QP with holes. Returns how many requests this completes that need a response of their own.
 */
uint32_t rc_holes_close(struct rc_qp *qp, uint64_t now_ns);

/* Requests for holes may have been lost: every hole is asked for again. */
void rc_holes_doubt(struct rc_qp *qp);

/*
 * The window is about to be rewound. Only for a QP with holes, which may have none afterwards. Returns the PSN from
 * which on everything is sent again; responses that are missing before that PSN are asked for hole by hole.
 */
psn_t rc_holes_rewind(struct rc_qp *qp);

/*
 * The window has been rewound, and responses have come meanwhile. Requests that were answered are not sent again:
 * sending goes on behind the newest response, and responses that are missing before it are asked for hole by hole. Only
 * for a QP with holes, which may have none afterwards. Returns false if nothing is left to send again.
 */
bool rc_holes_skip(struct rc_qp *qp);

/* Will the next transmit ask for the oldest hole? */
bool rc_holes_asks_for_oldest(const struct rc_qp *qp);

/* Returns the hole to ask for next, or NULL if there is none for now. Only for a QP with holes. */
const struct rc_hole *rc_holes_next(struct rc_qp *qp, uint64_t now_ns);

/* The slot of the request that this hole lies in. */
uint32_t rc_holes_slot(const struct rc_qp *qp, const struct rc_hole *hole);

/* The hole that begins at psn has been asked for. */
void rc_holes_asked(struct rc_qp *qp, psn_t psn, uint64_t now_ns);

/* Something has to be sent again with the next transmit. */
static inline void holes_ask_again(struct rc_qp *qp)
{
	qp->gaps.asks_again = true;
}

/* Everything that had to be sent again has left. */
static inline void holes_have_asked(struct rc_qp *qp)
{
	qp->gaps.asks_again = false;
}

/* Has a response been placed before its turn while earlier ones are missing? */
static inline bool qp_has_holes(const struct rc_qp *qp)
{
	return qp->gaps.has_holes;
}

#endif
