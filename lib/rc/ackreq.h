/* ackreq.h - when a packet asks for an ACK because a pause follows, and whether a response is owed */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A packet that more is to follow need not ask. But what follows may have to wait: for room at the port, for other QPs,
 * for the window. Until then nothing would come back, and a peer that is only silent because nobody asked it looks like
 * one that has lost something. Where the queue runs empty behind unsignaled requests nobody waits for the ACK: every
 * few packets ask, or a probe does later (deadlines_put_off_ask()).
 */
#ifndef RC_ACKREQ_H
#define RC_ACKREQ_H

#include "rc/cc.h"
#include "rc/deadlines.h"
#include "rc/qp_state.h"

#define ACKREQ_INTERVAL (WINDOW_PACKETS / 2) /* the most that lie between two packets that ask */
#define ACKREQ_BEFORE_STALL 32u              /* and so many if the window ends behind them */
#define ACKREQ_DEFERRED 8u                   /* and so many where the queue runs empty */

static_assert(ACKREQ_BEFORE_STALL < ACKREQ_INTERVAL, "or the end of the window makes no difference");

/* Has one of the in_flight packets, snd_una ... snd_nxt - 1, asked for an answer? A READ or atomic always asks. */
static inline bool ackreq_ack_is_due(const struct rc_qp *qp, uint32_t in_flight)
{
	return in_flight > qp->requester.since_ackreq;
}

/*
 * Has the newest packet to ask, because a pause follows? If nothing that is in flight has asked. And if the window is
 * full, unless a packet shortly before it has.
 */
static inline bool ackreq_is_due(const struct rc_qp *qp)
{
	uint32_t in_flight = psn_distance(qp->win.snd_nxt, qp->win.snd_una), window = cc_window(qp);
	uint32_t most = window / 2 < ACKREQ_BEFORE_STALL ? window / 2 : ACKREQ_BEFORE_STALL;

	return !ackreq_ack_is_due(qp, in_flight) || (in_flight >= window && qp->requester.since_ackreq >= most);
}

/*
 * The queue has run empty behind a request that nobody waits for: true when the ask is put off. Not before it is known
 * for how long, nor for a QP without probes, nor while anyone may wait for an ACK: one who drains the queue, or has
 * little of it left.
 */
static inline bool ackreq_defer(struct rc_qp *qp, uint64_t now_ns)
{
	const struct rc_sendwin *win = &qp->win;

	if (qp->requester.since_ackreq >= ACKREQ_DEFERRED || !qp->probe.enabled || qp->probe.due || !qp->rtt.srtt_ns ||
	    qp->state != UROCE_QPS_RTS || (win->tail - win->head) * 2 > win->depth)
		return false;
	deadlines_put_off_ask(qp, now_ns);
	return true;
}

/* Someone waits for an ACK of what is in flight: if nothing of it has asked, a probe does at once. */
static inline void ackreq_hurry(struct rc_qp *qp)
{
	uint32_t in_flight = psn_distance(qp->win.snd_nxt, qp->win.snd_una);

	if (in_flight > 0 && !ackreq_ack_is_due(qp, in_flight))
		deadlines_ask_now(qp);
}

#endif
