/* cc_fixed.c - the algorithm fixed: a whole window until a loss, then about what arrived between the last two losses */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets behind a lost packet are sent in vain, and so are responses behind a lost response. A peer that is slow, or
 * that finishes each response before it looks at the next request, spends its time on such packets, and where packets
 * overtake each other each NAK would send a whole window again. So after a loss the window is about as large as what
 * arrived between the last two losses, and doubles whenever a whole window has arrived without a loss. Packets that
 * wait in a queue do not count: in front of a peer that is slower than its link nearly a whole window waits.
 */
#include "rc/cc.h"

/* The window after the first loss. Each further loss at most halves the window, except where packets queue. */
#define FIRST 256u

static void reset(struct rc_qp *qp)
{
	qp->cc_past = (struct rc_cc_past){ .lost_una = qp->win.snd_una, .grown_una = qp->win.snd_una };
	burst_reset(&qp->cc.burst);
	cc_set_window(qp, CC_OPEN);
}

/* Doubles the window when a whole window has arrived since it last changed. */
static void delivered(struct rc_qp *qp)
{
	struct rc_cc_past *past = &qp->cc_past;

	if (psn_distance(qp->win.snd_una, past->grown_una) < past->limit)
		return;
	past->grown_una = qp->win.snd_una;
	cc_set_window(qp, 2 * past->limit);
}

/*
 * Sets the window to twice the packets that have arrived since the last loss; where packets queue, to at most twice the
 * packets that travel in a round trip.
 */
static void lost(struct rc_qp *qp, uint64_t trip_ns, uint64_t now_ns)
{
	struct rc_cc_past *past = &qp->cc_past;
	uint32_t got = psn_distance(qp->win.snd_una, past->lost_una);
	uint32_t half = past->limit / 2 < FIRST ? past->limit / 2 : FIRST, window = 2 * got > half ? 2 * got : half;

	if (trip_ns && past->lost_ns && now_ns > past->lost_ns) {
		uint64_t carried = got * trip_ns / (now_ns - past->lost_ns); /* what a round trip carried */

		if (2 * carried < window)
			window = (uint32_t)(2 * carried);
	}
	if (window < CC_LEAST)
		window = CC_LEAST;
	past->lost_una = past->grown_una = qp->win.snd_una;
	past->lost_ns = now_ns;
	burst_notice_loss(&qp->cc.burst);
	cc_set_window(qp, window < CC_OPEN ? window : CC_OPEN);
}

/* Starts from the smallest window: what a round trip carries has to be found out again. */
static void timed_out(struct rc_qp *qp)
{
	reset(qp);
	burst_notice_loss(&qp->cc.burst);
	cc_set_window(qp, CC_LEAST);
}

const struct rc_cc_row rc_cc_fixed = {
	.reset = reset,
	.delivered = delivered,
	.lost = lost,
	.timed_out = timed_out,
	.undo = reset,
};
