/* parts.h - parts of READs to be answered once more, because the peer lacks only these responses */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A requester that places responses before their turn asks for missing responses part by part, perhaps while the rest
 * of the READ is still on its way (S-9). The responder sends the parts in the order in which they were asked for, in
 * front of that rest, which it still sends. The QP has a board for the parts while there are any (board.h).
 */
#ifndef RC_PARTS_H
#define RC_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/board.h"
#include "rc/qp_state.h"

/* Adds a part, unless it is there already. Returns false if there is no room for it; then nothing has changed. */
bool rc_parts_add(struct rc_qp *qp, const struct rc_stretch *part);

/* Returns the part that is answered next, or NULL if there is none. The caller moves the part's send_psn. */
struct rc_stretch *rc_parts_first(struct rc_qp *qp);

/* The first part has been answered, or is given up. */
void rc_parts_pop(struct rc_qp *qp);

/* Forgets all parts. */
void rc_parts_forget(struct rc_qp *qp);

#endif
