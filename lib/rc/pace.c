/* pace.c - spreads what a QP sends over time, at the rate that congestion control allows */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/pace.h"

#define BIT_NS_AT_1_MBPS 1000u
#define LOOK_NS 1000000u /* how often a QP that waits looks whether the rate has risen */

/* How long `bytes` bytes take at the rate. */
static uint64_t duration_ns(const struct rc_pace *pace, uint64_t bytes)
{
	return bytes * 8 * BIT_NS_AT_1_MBPS / pace->mbps;
}

/* Moves a time that was computed at one rate to another rate: the bytes that lie ahead stay the same. */
static void rescale(uint64_t *until_ns, uint32_t from_mbps, uint32_t to_mbps, uint64_t now_ns)
{
	if (*until_ns > now_ns)
		*until_ns = now_ns + (*until_ns - now_ns) * from_mbps / to_mbps;
}

void rc_pace_set(struct rc_qp *qp, uint32_t mbps, uint64_t now_ns)
{
	struct rc_pace *pace = &qp->pace;

	if (pace->on) {
		rescale(&pace->next_ns, pace->mbps, mbps, now_ns);
		rescale(&qp->asked_ns, pace->mbps, mbps, now_ns);
		pace->mbps = mbps;
		return;
	}
	*pace = (struct rc_pace){ .on = true, .mbps = mbps, .next_ns = now_ns };
	qp_note_attributes(qp);
}

void rc_pace_stop(struct rc_qp *qp)
{
	qp->pace = (struct rc_pace){ .on = false };
	qp->asked_ns = 0;
	qp_note_attributes(qp);
}

void rc_pace_begin(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_pace *pace = &qp->pace;
	uint64_t frames = (uint64_t)pace->mbps * PACE_BURST_NS / (8 * BIT_NS_AT_1_MBPS) / qp->mtu_bytes;

	pace->holds = false;
	pace->asks_much = qp->asked_ns > now_ns;
	pace->room = 0;
	pace->bytes = 0;
	if (pace->next_ns + PACE_BURST_NS < now_ns)
		pace->next_ns = now_ns - PACE_BURST_NS;
	if (now_ns >= pace->next_ns)
		pace->room = (uint16_t)(frames < 1 ? 1 : frames < OUTBOX_PACKETS ? frames : OUTBOX_PACKETS);
}

void rc_pace_ask(struct rc_qp *qp, uint64_t bytes, uint64_t now_ns, struct rc_outbox *out)
{
	if (qp->asked_ns < now_ns)
		qp->asked_ns = now_ns;
	qp->asked_ns += duration_ns(&qp->pace, bytes);
	outbox_hold_back(out, 0);
}

void rc_pace_spend(struct rc_qp *qp, uint32_t before, const struct rc_outbox *out)
{
	struct rc_pace *pace = &qp->pace;

	for (uint32_t i = before; i < out->packet_count && pace->room > 0; i++) {
		pace->room--;
		pace->bytes += out->frame_bytes[i];
	}
}

bool rc_pace_end(struct rc_qp *qp, bool responses, bool requests, uint64_t now_ns)
{
	struct rc_pace *pace = &qp->pace;
	uint64_t request_ns;

	if (!pace->on)
		return responses || requests;
	pace->next_ns += duration_ns(pace, pace->bytes);
	request_ns = pace_request_ns(qp);
	if ((responses && pace->next_ns <= now_ns) || (requests && request_ns <= now_ns))
		return true;
	pace->holds = responses || requests;
	pace->wake_ns = responses ? pace->next_ns : request_ns;
	if (pace->wake_ns > now_ns + LOOK_NS)
		pace->wake_ns = now_ns + LOOK_NS;
	return false;
}
