/* echoes.h - answers that copies of packets may still draw */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A peer that has a packet already answers each copy of it. Such an answer, an echo, is no progress: it shows only that
 * the peer lives. So every file that sends a packet again says so here, and loss detection (loss.h) asks here what to
 * make of an answer that is of no other use. No more echoes are believed than copies have left.
 */
#ifndef RC_ECHOES_H
#define RC_ECHOES_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/qp_state.h"

/*
 * Copies have left of packets that the peer may have answered already: the copies may draw so many more responses and
 * ACKs.
 */
void rc_echoes_copy_sent(struct rc_qp *qp, uint32_t responses, uint32_t acks);

/* A response or an ACK that is of no other use has come. Returns false if no copy can have drawn it. */
bool rc_echoes_take(struct rc_qp *qp, bool ack);

/* snd_una has moved. Call it only while qp->loss.echoes.expected is true. */
void rc_echoes_acknowledged(struct rc_qp *qp);

/*
 * The window was rewound, or a packet leaves while nothing else is in flight: the ACKs that copies and keep-alives may
 * draw may come before the ACKs of packets that are sent from now on.
 */
void rc_echoes_come_first(struct rc_qp *qp);

/* The peer has dropped all packets from snd_una on: they are sent anew, behind all copies. */
static inline void rc_echoes_dropped(struct rc_qp *qp)
{
	qp->loss.owed.first = qp->win.snd_una;
}

#endif
