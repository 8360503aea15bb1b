/* duplicate.h - requests that come once more */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_DUPLICATE_H
#define RC_DUPLICATE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/packet.h"
#include "rc/board.h"
#include "rc/qp_state.h"

/*
 * Takes a request whose PSN lies in the half window behind ePSN. It draws no NAK and does not disturb a message in
 * progress. Returns true if the replay cache has the request.
 */
bool rc_duplicate_receive(struct rc_qp *qp, const struct wire_packet *packet, uint64_t now_ns);

/*
 * The PSN that the ACK for duplicates acknowledges (S-8): that of the newest executed packet, but not beyond a READ or
 * atomic that came after the duplicate.
 */
psn_t rc_duplicate_acknowledged(const struct rc_qp *qp);

/* RESET: the peer has not reported that its lcore was away. */
static inline void duplicate_forget_report(struct rc_qp *qp)
{
	qp->peer_away_ms = 0;
	qp->peer_away_at_ns = 0;
}

/* ---- parts of READs that are answered once more, because the peer lacks only these responses ---- */

/*
 * A requester that places responses before their turn asks for missing responses part by part, perhaps while the rest
 * of the READ is still on its way (S-9). The responder sends the parts in the order in which they were asked for, in
 * front of that rest, which it still sends. The QP has a board for the parts while there are any (board.h).
 */

/* Returns the part that is answered next, or NULL if there is none. The caller moves the part's send_psn. */
struct rc_stretch *rc_duplicate_first_part(struct rc_qp *qp);

/* The first part has been answered, or is given up. */
void rc_duplicate_pop_part(struct rc_qp *qp);

/* Forgets all parts. */
void rc_duplicate_forget_parts(struct rc_qp *qp);

#endif
