/* cc_dcqcn.c - the algorithm `dcqcn`: the window of `fixed`, and a rate that congestion notifications lower (N-2) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * As NICs have it (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015); the names behind
 * the constants are those of their settings. alpha estimates how much of what is sent gets marked. A notification
 * lowers the rate by alpha/2; without any the rate goes back in steps, half of the way to what it was first, then
 * beyond. A QP begins without a limit, and has none again when its rate has reached that of the link. Time is looked at
 * only when the QP sends or hears of congestion, so that an idle one needs no timer.
 */
#include "rc/cc.h"
#include "rc/pace.h"

#define ALPHA_ONE (1u << 20)
#define ALPHA_SHIFT 8u            /* dce_tcp_g: a new sample weighs 1/256 */
#define ALPHA_PERIOD_NS 55000u    /* dce_tcp_rtt */
#define TIME_PERIOD_NS 300000u    /* rpg_time_reset */
#define BYTE_PERIOD 10000000u     /* rpg_byte_reset */
#define FAST_STEPS 5u             /* rpg_threshold: so many steps go half of the way back */
#define ACTIVE_MBPS 40u           /* rpg_ai_rate: further ones aim that much higher */
#define HYPER_MBPS 400u           /* rpg_hai_rate: and that much when time and bytes both say so */
#define LEAST_MBPS 1u             /* rpg_min_rate */
#define REDUCE_PERIOD_NS 4000u    /* rate_reduce_monitor_period: the rate falls no more often */
#define UNKNOWN_LINE_MBPS 100000u /* of a link that does not tell its rate */

static void reset(struct rc_qp *qp)
{
	rc_cc_fixed.reset(qp);
	qp->dcqcn = (struct rc_dcqcn){ .alpha = ALPHA_ONE };
	rc_pace_stop(qp);
}

static void delivered(struct rc_qp *qp)
{
	rc_cc_fixed.delivered(qp);
}

static void lost(struct rc_qp *qp, uint64_t trip_ns, uint64_t now_ns)
{
	rc_cc_fixed.lost(qp, trip_ns, now_ns);
}

/* The rate stays: silence says nothing about marks. */
static void timed_out(struct rc_qp *qp)
{
	rc_cc_fixed.timed_out(qp);
}

static void undo(struct rc_qp *qp)
{
	rc_cc_fixed.undo(qp);
}

static uint32_t line_mbps(const struct rc_qp *qp)
{
	return qp->line_mbps ? qp->line_mbps : UNKNOWN_LINE_MBPS;
}

/* Each period without a notification, since the first one, makes alpha smaller. */
static void age_alpha(struct rc_dcqcn *dcqcn, uint64_t now_ns)
{
	while (dcqcn->alpha_ns && now_ns - dcqcn->alpha_ns >= ALPHA_PERIOD_NS) {
		uint32_t less = dcqcn->alpha >> ALPHA_SHIFT;

		if (less == 0) {
			dcqcn->alpha_ns = now_ns;
			return;
		}
		dcqcn->alpha -= less;
		dcqcn->alpha_ns += ALPHA_PERIOD_NS;
	}
}

/* A period has ended, of time or of bytes: the rate rises. */
static void raise_rate(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_dcqcn *dcqcn = &qp->dcqcn;
	uint32_t more = dcqcn->time_steps > dcqcn->byte_steps ? dcqcn->time_steps : dcqcn->byte_steps,
		 fewer = dcqcn->time_steps + dcqcn->byte_steps - more, mbps;

	if (fewer > FAST_STEPS)
		dcqcn->target_mbps += HYPER_MBPS;
	else if (more > FAST_STEPS)
		dcqcn->target_mbps += ACTIVE_MBPS;
	mbps = (dcqcn->target_mbps + qp->pace.mbps + 1) / 2;
	if (mbps >= line_mbps(qp))
		rc_pace_stop(qp);
	else
		rc_pace_set(qp, mbps, now_ns);
}

static uint8_t next_step(uint8_t steps)
{
	return steps < UINT8_MAX ? (uint8_t)(steps + 1) : steps;
}

static void elapsed(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_dcqcn *dcqcn = &qp->dcqcn;

	while (qp->pace.on && now_ns - dcqcn->time_ns >= TIME_PERIOD_NS) {
		dcqcn->time_ns += TIME_PERIOD_NS;
		dcqcn->time_steps = next_step(dcqcn->time_steps);
		raise_rate(qp, now_ns);
	}
}

static void sent(struct rc_qp *qp, uint64_t bytes, uint64_t now_ns)
{
	struct rc_dcqcn *dcqcn = &qp->dcqcn;

	dcqcn->bytes += (uint32_t)bytes;
	if (dcqcn->bytes < BYTE_PERIOD)
		return;
	dcqcn->bytes = 0;
	dcqcn->byte_steps = next_step(dcqcn->byte_steps);
	raise_rate(qp, now_ns);
}

static void notified(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_dcqcn *dcqcn = &qp->dcqcn;
	uint32_t mbps;

	elapsed(qp, now_ns);
	if (qp->pace.on && dcqcn->time_steps == 0 && now_ns - dcqcn->time_ns < REDUCE_PERIOD_NS)
		return;
	age_alpha(dcqcn, now_ns);
	dcqcn->target_mbps = qp->pace.on ? qp->pace.mbps : line_mbps(qp);
	mbps = dcqcn->target_mbps - (uint32_t)((uint64_t)dcqcn->target_mbps * dcqcn->alpha / (2 * ALPHA_ONE));
	dcqcn->alpha += (ALPHA_ONE - dcqcn->alpha) >> ALPHA_SHIFT;
	dcqcn->time_ns = dcqcn->alpha_ns = now_ns;
	dcqcn->bytes = 0;
	dcqcn->time_steps = dcqcn->byte_steps = 0;
	rc_pace_set(qp, mbps > LEAST_MBPS ? mbps : LEAST_MBPS, now_ns);
}

const struct rc_cc_row rc_cc_dcqcn = {
	.reset = reset,
	.delivered = delivered,
	.lost = lost,
	.timed_out = timed_out,
	.undo = undo,
	.notified = notified,
	.elapsed = elapsed,
	.sent = sent,
};
