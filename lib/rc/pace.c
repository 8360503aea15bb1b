/* pace.c - spreads what a QP sends over time, at the rate that congestion control allows */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/pace.h"

#define BIT_NS_AT_1_MBPS 1000u
#define LOOK_NS 1000000u /* who waits looks so often whether the rate has risen */

/* How long `bytes` bytes take at the rate. */
static uint64_t duration_ns(const struct rc_pace *pace, uint64_t bytes)
{
	return bytes * 8 * BIT_NS_AT_1_MBPS / pace->mbps;
}

void rc_pace_set(struct rc_qp *qp, uint32_t mbps, uint64_t now_ns)
{
	struct rc_pace *pace = &qp->pace;

	if (pace->on) {
		/* What it is ahead is a matter of bytes. */
		if (pace->next_ns > now_ns)
			pace->next_ns = now_ns + (pace->next_ns - now_ns) * pace->mbps / mbps;
		pace->mbps = mbps;
		return;
	}
	*pace = (struct rc_pace){ .on = true, .mbps = mbps, .next_ns = now_ns };
	qp_note_attributes(qp);
}

void rc_pace_stop(struct rc_qp *qp)
{
	qp->pace = (struct rc_pace){ .on = false };
	qp_note_attributes(qp);
}

void rc_pace_begin(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_pace *pace = &qp->pace;
	uint64_t frames = (uint64_t)pace->mbps * PACE_BURST_NS / (8 * BIT_NS_AT_1_MBPS) / qp->mtu_bytes;

	pace->room = 0;
	if (pace->next_ns + PACE_BURST_NS < now_ns)
		pace->next_ns = now_ns - PACE_BURST_NS;
	if (now_ns >= pace->next_ns)
		pace->room = (uint16_t)(frames < 1 ? 1 : frames < OUTBOX_PACKETS ? frames : OUTBOX_PACKETS);
}

void rc_pace_ask(struct rc_qp *qp, uint64_t bytes, uint64_t now_ns, struct rc_outbox *out)
{
	qp->pace.next_ns += duration_ns(&qp->pace, bytes);
	if (qp->pace.next_ns > now_ns)
		outbox_hold_back(out, 0);
}

bool rc_pace_end(struct rc_qp *qp, uint64_t bytes, bool more, uint64_t now_ns)
{
	struct rc_pace *pace = &qp->pace;

	if (!pace->on)
		return more;
	pace->next_ns += duration_ns(pace, bytes);
	pace->holds = more && pace->next_ns > now_ns;
	pace->wake_ns = pace->next_ns < now_ns + LOOK_NS ? pace->next_ns : now_ns + LOOK_NS;
	return more && !pace->holds;
}
