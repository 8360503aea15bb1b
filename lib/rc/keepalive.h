/* keepalive.h - asking a peer that has nothing to answer, so that its death does not go unnoticed (C-33) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When nothing has been in flight for an interval, a connection sends an empty WRITE with the PSN before the next one:
 * a duplicate, which needs no PSN and no send queue entry and changes nothing at the peer, who acknowledges it. As for
 * a request, the ACK timer runs for it, each resend spends a retry, and when all are spent an armed QP migrates. The
 * deadline is not moved while there is work: when it passes, the time of the last sign of life decides.
 */
#ifndef RC_KEEPALIVE_H
#define RC_KEEPALIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/qp_state.h"

/* Sets the interval; 0: off. */
void rc_keepalive_set(struct rc_qp *qp, uint32_t interval_ms);

/* The deadline has passed: asks the peer if the connection has been idle for the interval. */
void rc_keepalive_expired(struct rc_qp *qp, uint64_t now_ns);

/* The empty WRITE has left. */
void rc_keepalive_sent(struct rc_qp *qp, uint64_t now_ns);

/* The ACK timer has expired for the empty WRITE: asks again, migrates, or fails. */
void rc_keepalive_unanswered(struct rc_qp *qp, uint64_t now_ns);

#endif
