/* keepalive.h - asking a peer that has nothing to answer, so that its death does not go unnoticed (C-33) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection with nothing on its way sends, once an interval, an empty WRITE in the place of its last packet: a
 * duplicate, which takes no PSN and no place in the queue and changes nothing at the peer, who acknowledges it. The ACK
 * timer runs for it, the retry budget pays for it, and an armed path is taken when that is spent, as for a request. The
 * deadline stays while there is work: when it passes, what was heard last decides.
 */
#ifndef RC_KEEPALIVE_H
#define RC_KEEPALIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/qp_state.h"

/* 0: off. */
void rc_keepalive_set(struct rc_qp *qp, uint32_t interval_ms);

/* The deadline has passed: asks, if it is time and the connection idle. */
void rc_keepalive_expired(struct rc_qp *qp, uint64_t now_ns);

/* The empty WRITE has left. */
void rc_keepalive_sent(struct rc_qp *qp, uint64_t now_ns);

/* The ACK timer has expired for it: asks again, migrates, or fails. */
void rc_keepalive_unanswered(struct rc_qp *qp, uint64_t now_ns);

#endif
