/* anomaly.h - packets that no honest peer sends: somebody may be guessing PSNs */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A guess that misses does no harm and is dropped or answered like any other packet. Many of them are told as an event,
 * so that somebody looks before one hits. What counts: responses outside of what was ever sent, and packets farther
 * from where the connection is than any flight reaches, READs asked for again excepted.
 */
#ifndef RC_ANOMALY_H
#define RC_ANOMALY_H

#include <stdbool.h>
#include <stdint.h>

#include "config/limits.h"
#include "rc/qp_state.h"

/* One more; the event comes with the ANOMALY_PACKETS'th of a second. */
void rc_anomaly_note(struct rc_qp *qp, uint64_t now_ns);

/* A new connection has sent none. */
static inline void anomaly_reset(struct rc_qp *qp)
{
	qp->anomaly = (struct rc_anomaly){ 0 };
}

/* Is psn farther from where than a flight reaches, in either direction? */
static inline bool anomaly_is_far(psn_t psn, psn_t where)
{
	return psn_distance(psn_add(psn, ANOMALY_DISTANCE), where) > 2 * ANOMALY_DISTANCE;
}

#endif
