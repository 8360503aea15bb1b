/* parts.h - parts of READs that the peer misses, while it has what lies behind them */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A requester that places responses before their turn asks for what is missing, piece by piece, perhaps while the rest
 * of the READ is still on its way (S-9). Each piece leaves in front of that, in the order in which they were asked for,
 * and gives nothing up. The QP has a board for them while it owes any (board.h).
 */
#ifndef RC_PARTS_H
#define RC_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/board.h"
#include "rc/qp_state.h"

/* Is owed from now on, unless it is already. false: there is no room for it, and nothing has changed. */
bool rc_parts_add(struct rc_qp *qp, const struct rc_stretch *part);

/* What leaves next; NULL: nothing. The caller moves its send_psn. */
struct rc_stretch *rc_parts_first(struct rc_qp *qp);

/* That has left, or is given up. */
void rc_parts_pop(struct rc_qp *qp);

/* Nothing is owed any more. */
void rc_parts_forget(struct rc_qp *qp);

#endif
