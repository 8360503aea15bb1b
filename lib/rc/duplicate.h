/* duplicate.h - requests that come once more */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_DUPLICATE_H
#define RC_DUPLICATE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/packet.h"
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

#endif
