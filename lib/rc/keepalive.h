/* keepalive.h - asking a peer that has nothing to answer, so that its death does not go unnoticed (C-33) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When nothing has been in flight for an interval, a connection sends an empty WRITE with the PSN before the next one:
 * a duplicate, which needs no PSN and no send queue entry and changes nothing at the peer, who acknowledges it. As for
 * a request, the ACK timer runs for it, each resend spends a retry, and when all are spent an armed QP migrates. The
 * deadline is not moved while there is work: when it passes, the time of the last sign of life decides.
 *
 * An lcore that was away reports to its SACK peers for how long, so that a person at the peer learns why responses were
 * late. The report is an empty WRITE of the same kind. Of such a WRITE the responder reads neither address nor R_Key:
 * the address is the time in ms, and KEEPALIVE_AWAY_RKEY marks the report. With requests in flight the report serves as
 * their request for an ACK, in place of a probe. No timer runs for a report, and a lost report is not sent again. It is
 * a hint, and easily forged: the receiver stores it for uroce_qp_why(), and uses it for nothing else.
 */
#ifndef RC_KEEPALIVE_H
#define RC_KEEPALIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/qp_state.h"

/* The R_Key of a report, "AWAY", and the longest absence that a report may have. */
#define KEEPALIVE_AWAY_RKEY 0x41574159u
#define KEEPALIVE_AWAY_MS_MAX (3600u * 1000)

struct wire_packet;

/* RESET: the keep-alive is off, and no report is known. */
void rc_keepalive_reset(struct rc_qp *qp);

/* Sets the interval; 0: off. */
void rc_keepalive_set(struct rc_qp *qp, uint32_t interval_ms);

/* The deadline has passed: asks the peer if the connection has been idle for the interval. */
void rc_keepalive_expired(struct rc_qp *qp, uint64_t now_ns);

/* The empty WRITE has left. */
void rc_keepalive_sent(struct rc_qp *qp, uint64_t now_ns);

/* The ACK timer has expired for the empty WRITE: asks again, migrates, or fails. */
void rc_keepalive_unanswered(struct rc_qp *qp, uint64_t now_ns);

/*
 * The lcore of the QP was away for so long: the peer gets a report if it is a SACK peer and if the QP may send
 * requests. Returns true if there is a report to send.
 */
bool rc_keepalive_report_away(struct rc_qp *qp, uint32_t away_ms);

/* An empty WRITE is about to leave. Returns the time in ms that it has to report, once, or 0. */
static inline uint32_t keepalive_take_report(struct rc_qp *qp)
{
	uint32_t away_ms = qp->keepalive.away_ms;

	qp->keepalive.away_ms = 0;
	return away_ms;
}

/* A duplicate WRITE has come: notes the time that it reports, if it is a report of a SACK peer. */
void rc_keepalive_duplicate_arrived(struct rc_qp *qp, const struct wire_packet *packet, uint64_t now_ns);

#endif
