/* ackreq.h - when a packet asks for an ACK because a pause follows, and whether a response is owed */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A packet need not ask for an ACK if more packets are to follow. But the next packets may have to wait: for room at
 * the port, for other QPs, for the window, or for the rate. Meanwhile the peer would be silent only because no packet
 * asked it, and its silence would look like a loss. So the last packet before such a pause asks. Where the queue runs
 * empty behind unsignaled requests, no application waits for the ACK: then only one in a few packets asks, or else a
 * probe asks later (deadlines_put_off_ask()).
 */
#ifndef RC_ACKREQ_H
#define RC_ACKREQ_H

#include "rc/cc.h"
#include "rc/deadlines.h"
#include "rc/qp_state.h"

#define ACKREQ_INTERVAL (WINDOW_PACKETS / 2) /* one of this many packets asks, at least */
#define ACKREQ_BEFORE_STALL 32u              /* a window ends with at most so many packets that do not ask */
#define ACKREQ_DEFERRED 8u                   /* once the queue is empty, at most so many packets in a row do not ask */

static_assert(ACKREQ_BEFORE_STALL < ACKREQ_INTERVAL, "or the end of the window makes no difference");

/* Has one of the in_flight packets, snd_una ... snd_nxt - 1, asked for a response? A READ or atomic always asks. */
static inline bool ackreq_ack_is_due(const struct rc_qp *qp, uint32_t in_flight)
{
	return in_flight > qp->requester.since_ackreq;
}

/*
 * Must the newest packet ask for an ACK because a pause follows? Yes, if nothing in flight has asked, or if the window
 * is full and none of the last ACKREQ_BEFORE_STALL packets has asked.
 */
static inline bool ackreq_is_due(const struct rc_qp *qp)
{
	uint32_t in_flight = psn_distance(qp->win.snd_nxt, qp->win.snd_una), window = cc_window(qp);
	uint32_t most = window / 2 < ACKREQ_BEFORE_STALL ? window / 2 : ACKREQ_BEFORE_STALL;

	return !ackreq_ack_is_due(qp, in_flight) || (in_flight >= window && qp->requester.since_ackreq >= most);
}

/*
 * The queue has run empty behind a request whose ACK no application waits for. Returns true when the ACK request is put
 * off. It is not put off while no round trip has been measured, for a QP without probes, or while an application may
 * wait for an ACK: because it drains the send queue, or because more than half of the queue is in use.
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

/* An application waits for an ACK of the packets in flight: if no packet in flight has asked, a probe asks at once. */
static inline void ackreq_hurry(struct rc_qp *qp)
{
	uint32_t in_flight = psn_distance(qp->win.snd_nxt, qp->win.snd_una);

	if (in_flight > 0 && !ackreq_ack_is_due(qp, in_flight))
		deadlines_ask_now(qp);
}

#endif
