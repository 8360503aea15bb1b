/* requester.h - which packets of requests leave next */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_REQUESTER_H
#define RC_REQUESTER_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/wr.h>

#include "rc/qp_state.h"

struct rc_outbox;
struct wire_packet;

/*
 * Adds packets to the outbox while window, rules and room allow. Returns true if it stopped for want of room and has
 * more to send now.
 */
bool rc_requester_transmit(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out);

/* Does psn, at snd_una or behind it, belong to a part of a READ that was asked for again? */
static inline bool qp_was_restarted(const struct rc_qp *qp, psn_t psn)
{
	uint32_t end = psn_distance(qp->requester.read_restart_end, qp->win.snd_una);

	return qp->requester.read_restarted && end - 1 < sendwin_outstanding(&qp->win) &&
	       psn_distance(psn, qp->win.snd_una) < end;
}

static inline bool qp_una_was_restarted(const struct rc_qp *qp)
{
	return qp_was_restarted(qp, qp->win.snd_una);
}

/* READs, or parts of READs, were asked for again up to `end`. */
static inline void qp_note_read_restart(struct rc_qp *qp, psn_t end)
{
	struct rc_requester *req = &qp->requester;

	if (!qp_una_was_restarted(qp) ||
	    psn_distance(end, qp->win.snd_una) > psn_distance(req->read_restart_end, qp->win.snd_una))
		req->read_restart_end = end;
	req->read_restarted = true;
}

/* The READ or atomic at `acked` has been answered: snd_una has moved behind it. */
static inline void requester_answered(struct rc_qp *qp)
{
	qp->requester.rd_atomic_outstanding--;
	if (qp->requester.read_restarted)
		qp->requester.read_restarted = qp_una_was_restarted(qp);
}

/* Sets how many READs and atomics may be outstanding. */
static inline void requester_set_depth(struct rc_qp *qp, uint8_t depth)
{
	qp->requester.max_rd_atomic = depth;
}

/* Nothing is in flight any more. */
static inline void requester_reset(struct rc_qp *qp)
{
	qp->requester.read_restarted = false;
	qp->requester.rd_atomic_outstanding = 0;
	qp->requester.since_ackreq = 0;
}

#endif
