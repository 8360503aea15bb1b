/* anomaly.h - packets that no honest peer sends: somebody may be guessing PSNs */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A forged packet whose PSN is wrong does no harm: it is dropped or answered like any other packet. Many such packets
 * raise an event, so that an operator can act before one of them has the right PSN. Counted are responses to packets
 * that were never sent, SACKs that no honest peer makes, packets farther from the expected PSN than any flight reaches,
 * except READs that are requested again, packets from source ports that the peer does not use, PROBEs beyond the
 * allowance of answers, and congestion notifications beyond the frames that were sent.
 */
#ifndef RC_ANOMALY_H
#define RC_ANOMALY_H

#include <stdbool.h>
#include <stdint.h>

#include "config/limits.h"
#include "rc/qp_state.h"

/*
 * Counts a packet that no honest peer sends. The event is raised by the ANOMALY_PACKETS'th within a second, and by the
 * ANOMALY_TOTAL'th however slowly they arrive.
 */
void rc_anomaly_note(struct rc_qp *qp, uint64_t now_ns);

/* Was the event raised within this second? Further packets then change nothing. */
bool rc_anomaly_is_told(struct rc_qp *qp, uint64_t now_ns);

/* Raises the event: a packet shows by itself that somebody forges. The event is raised at most once per second. */
void rc_anomaly_raise(struct rc_qp *qp, uint64_t now_ns);

/* A new connection starts with a count of zero. */
static inline void anomaly_reset(struct rc_qp *qp)
{
	qp->anomaly = (struct rc_anomaly){ 0 };
}

/* Is psn farther from `where` than a flight reaches, in either direction? */
static inline bool anomaly_is_far(psn_t psn, psn_t where)
{
	return psn_distance(psn_add(psn, ANOMALY_DISTANCE), where) > 2 * ANOMALY_DISTANCE;
}

#endif
