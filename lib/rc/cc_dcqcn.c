/* cc_dcqcn.c - the algorithm dcqcn: the window of cc_fixed.c, and a rate that congestion notifications lower (N-2) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The algorithm of NICs (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015); the names
 * behind the constants are those of the NICs' settings. alpha estimates how much of what is sent gets marked. A
 * notification lowers the rate by alpha/2. Without notifications the rate rises in steps: the first steps go half of
 * the way back to the earlier rate, later steps go beyond that rate. A QP begins without a limit, and has none again
 * when its rate has reached that of the link. Time is looked at only when the QP sends or hears of congestion, so that
 * an idle QP needs no timer.
 *
 * NICs are made for round trips of some 10 us and for notifications each 50 us. Four things make the algorithm fit
 * longer paths and slower links. Periods grow with the time between notifications while round trips show a queue,
 * because a slow link sends notifications as seldom as its packets. No period is shorter than a round trip, because a
 * change of the rate is not felt earlier. A step is at most a sixteenth of the rate it begins from. The first
 * notification halves what the QP has sent in a round trip, if that is known.
 *
 * Notifications are not authenticated. So notifications that no queue causes must not hold the rate down: periods have
 * their usual length while round trips show no queue, and a notification that arrives a whole period after the last one
 * lowers the rate, but does not restart the period and the count of periods. Each notification must belong to a frame
 * of its own: notifications beyond the frames that left are not expected.
 *
 * The first windows of many senders, or of one sender in front of a slow link, make a queue that is marked as long as
 * it drains, and no earlier round trip tells how long the queue takes to drain. So a packet that was in flight when the
 * rate was lowered does not lower the rate by alpha again: it lowers the rate at most to what the path carries.
 */
#include "rc/cc.h"
#include "rc/pace.h"

#define ALPHA_ONE (1u << 20)
#define ALPHA_SHIFT 8u        /* dce_tcp_g: a new sample weighs 1/256 */
#define ALPHA_PERIOD_US 55u   /* dce_tcp_rtt */
#define TIME_PERIOD_US 300u   /* rpg_time_reset */
#define BYTE_PERIOD 10000000u /* rpg_byte_reset */
#define FAST_STEPS 5u         /* rpg_threshold: this many steps go half of the way back */
#define ACTIVE_MBPS 40u       /* rpg_ai_rate: later steps aim higher by this */
#define HYPER_MBPS 400u       /* rpg_hai_rate: steps aim higher by this once time and bytes have both had FAST_STEPS */
#define LEAST_MBPS 1u         /* rpg_min_rate */
#define SAMPLE 16u            /* this many delivered packets show what the path carries */
/* one sample divides the rate at most by this, because a sample may show only a part of what the path carries */
#define FALL 16u
#define PATIENCE 16u              /* the least number of packets that leave in an ACK timeout */
#define REDUCE_PERIOD_US 4u       /* rate_reduce_monitor_period: the least time between two cuts of the rate */
#define USUAL_GAP_US 50u          /* the usual time between notifications: min_time_between_cnps */
#define LONGEST_GAP_US 10000u     /* a longer time between notifications counts as this long */
#define FRAMES_MOST 2047u         /* notifications about so many frames may still arrive */
#define UNKNOWN_LINE_MBPS 100000u /* the assumed rate of a link that does not tell its own */

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

/* The window shrinks, but the rate stays: silence says nothing about marks. */
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

/* Returns us, but at least a round trip: a change of the rate is not felt earlier. */
static uint32_t at_least_a_trip(const struct rc_qp *qp, uint32_t us)
{
	return qp->rtt.srtt_ns / 1000 > us ? (uint32_t)(qp->rtt.srtt_ns / 1000) : us;
}

/*
 * Returns the length of a period that lasts usual_us while notifications come as often as usual, or while round trips
 * show no queue.
 */
static uint32_t period_us(const struct rc_qp *qp, uint32_t usual_us)
{
	if (rtt_without_queue_ns(&qp->rtt))
		usual_us = usual_us * qp->dcqcn.gap_us / USUAL_GAP_US;
	return at_least_a_trip(qp, usual_us);
}

/*
 * Averages the time between notifications, because a busy peer sends them in bunches. With the first notification of a
 * congestion the average is set to the usual gap.
 */
static void measure_gap(struct rc_qp *qp, uint32_t now_us)
{
	struct rc_dcqcn *dcqcn = &qp->dcqcn;
	uint32_t gap_us = now_us - dcqcn->heard_us;

	dcqcn->heard_us = now_us;
	if (gap_us > LONGEST_GAP_US)
		gap_us = LONGEST_GAP_US;
	gap_us = qp->pace.on ? (7 * dcqcn->gap_us + gap_us) / 8 : USUAL_GAP_US;
	dcqcn->gap_us = (uint16_t)(gap_us > USUAL_GAP_US ? gap_us : USUAL_GAP_US);
}

/* Each period since the last notification makes alpha smaller. */
static void age_alpha(struct rc_qp *qp, uint32_t now_us)
{
	struct rc_dcqcn *dcqcn = &qp->dcqcn;
	uint32_t periods = (now_us - dcqcn->heard_us) / period_us(qp, ALPHA_PERIOD_US);

	while (periods-- > 0) {
		uint32_t less = dcqcn->alpha >> ALPHA_SHIFT;

		if (less == 0)
			return;
		dcqcn->alpha -= less;
	}
}

/* From now on the packets that are delivered are counted, to tell what the path carries. */
static void begin_sample(struct rc_qp *qp, uint32_t now_us)
{
	qp->carried.una = qp->win.snd_una;
	qp->carried.us = now_us;
}

/* A period has ended, of time or of bytes: the rate rises. */
static void raise_rate(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_dcqcn *dcqcn = &qp->dcqcn;
	uint32_t more = dcqcn->time_steps > dcqcn->byte_steps ? dcqcn->time_steps : dcqcn->byte_steps,
		 fewer = dcqcn->time_steps + dcqcn->byte_steps - more, mbps;
	uint32_t step = fewer > FAST_STEPS ? HYPER_MBPS : more > FAST_STEPS ? ACTIVE_MBPS : 0;

	if (step > dcqcn->target_mbps / 16)
		step = dcqcn->target_mbps / 16 + 1;
	dcqcn->target_mbps += step;
	if (!psn_before(qp->win.snd_una, dcqcn->cut_at)) {
		/* moves cut_at along with snd_una: half of all PSNs later an old cut_at would seem to lie ahead */
		dcqcn->cut_at = qp->win.snd_una;
		begin_sample(qp, (uint32_t)(now_ns / 1000));
	}
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
	uint32_t each_us = period_us(qp, TIME_PERIOD_US), now_us = (uint32_t)(now_ns / 1000);

	while (qp->pace.on && now_us - dcqcn->time_us >= each_us) {
		dcqcn->time_us += each_us;
		dcqcn->time_steps = next_step(dcqcn->time_steps);
		raise_rate(qp, now_ns);
	}
}

/* Returns how many frames may be on their way that left while the QP had no rate. */
static uint32_t frames_in_flight(const struct rc_qp *qp)
{
	uint32_t requests = psn_distance(qp->win.snd_nxt, qp->win.snd_una);

	/* nobody counts READ responses on their way */
	return qp->replay.used || requests > FRAMES_MOST ? FRAMES_MOST : requests;
}

static bool expects(struct rc_qp *qp)
{
	struct rc_dcqcn *dcqcn = &qp->dcqcn;

	if (!qp->pace.on)
		return true;
	if (dcqcn->frames == 0)
		return false;
	dcqcn->frames--;
	return true;
}

static void sent(struct rc_qp *qp, uint32_t frames, uint64_t bytes, uint64_t now_ns)
{
	struct rc_dcqcn *dcqcn = &qp->dcqcn;

	frames += dcqcn->frames;
	dcqcn->frames = frames < FRAMES_MOST ? frames : FRAMES_MOST;
	dcqcn->bytes += (uint32_t)bytes;
	if (dcqcn->bytes < BYTE_PERIOD)
		return;
	dcqcn->bytes = 0;
	dcqcn->byte_steps = next_step(dcqcn->byte_steps);
	raise_rate(qp, now_ns);
}

/*
 * The lowest rate: each packet of the MTU leaves within a sixteenth of our ACK timeout. A peer with the same timeout
 * must not mistake the wait for a response for a loss.
 */
static uint32_t least_mbps(const struct rc_qp *qp)
{
	uint64_t patience_ns = qp->loss.timeout_ns / PATIENCE, mbps;

	if (patience_ns == 0)
		return LEAST_MBPS;
	mbps = (uint64_t)qp->mtu_bytes * 8 * 1000 / patience_ns + 1;
	return mbps > LEAST_MBPS ? (uint32_t)mbps : LEAST_MBPS;
}

/*
 * Returns the rate for a QP that had no limit: the bytes in flight per round trip, if a round trip is known, else the
 * rate of the link.
 */
static uint32_t first_mbps(const struct rc_qp *qp)
{
	uint64_t bits = (uint64_t)psn_distance(qp->win.snd_nxt, qp->win.snd_una) * qp->mtu_bytes * 8, mbps;

	if (qp->rtt.srtt_ns == 0 || bits == 0)
		return line_mbps(qp);
	mbps = bits * 1000 / qp->rtt.srtt_ns + 1;
	return mbps < line_mbps(qp) ? (uint32_t)mbps : line_mbps(qp);
}

/*
 * Was the packet that is marked now sent after the rate was last lowered? A requester knows by the packets that were
 * answered since. A responder has nothing in flight, and waits for a mean round trip instead. Neither waits longer than
 * a timeout, because a packet that was lost, or found no receive, is never answered.
 */
static bool last_cut_is_felt(const struct rc_qp *qp, uint32_t now_us)
{
	const struct rc_dcqcn *dcqcn = &qp->dcqcn;
	uint32_t since_us = now_us - qp->carried.cut_us;
	uint64_t timeout_ns = qp->loss.timeout_ns ? qp->loss.timeout_ns : RTT_UNKNOWN_NS;

	return since_us >= at_least_a_trip(qp, REDUCE_PERIOD_US) &&
	       (!psn_before(qp->win.snd_una, dcqcn->cut_at) || since_us >= timeout_ns / 1000);
}

/*
 * Returns the rate, or what the path has carried if that is less. What was carried says something only of a QP whose
 * window is full: another QP may have had nothing to send.
 */
static uint32_t carried_mbps(const struct rc_qp *qp, uint32_t now_us)
{
	uint32_t got = psn_distance(qp->win.snd_una, qp->carried.una), us = now_us - qp->carried.us;
	uint64_t mbps;

	if (psn_distance(qp->win.snd_nxt, qp->win.snd_una) < cc_window(qp) || got < SAMPLE || us == 0)
		return qp->pace.mbps;
	mbps = (uint64_t)got * qp->mtu_bytes * 8 / us + 1;
	if (mbps < qp->pace.mbps / FALL)
		return qp->pace.mbps / FALL;
	return mbps < qp->pace.mbps ? (uint32_t)mbps : qp->pace.mbps;
}

/*
 * Each notification, even one that does not lower the rate, begins a period of bytes. If it arrives within a period of
 * time after the last one, or is the first one, the wait before the rate may rise begins anew as well.
 */
static void begin_recovery(struct rc_qp *qp, uint32_t gap_us, uint32_t now_us)
{
	struct rc_dcqcn *dcqcn = &qp->dcqcn;

	dcqcn->bytes = 0;
	if (qp->pace.on && gap_us >= at_least_a_trip(qp, TIME_PERIOD_US))
		return;
	dcqcn->time_us = now_us;
	dcqcn->time_steps = dcqcn->byte_steps = 0;
}

static void lower_rate(struct rc_qp *qp, uint32_t mbps, uint64_t now_ns)
{
	rc_pace_set(qp, mbps > least_mbps(qp) ? mbps : least_mbps(qp), now_ns);
}

/*
 * The marked packet left before the rate was last lowered, so alpha does not lower the rate again. But a rate of more
 * than twice what the path carries is too much in any case.
 */
static void notified_again(struct rc_qp *qp, uint64_t now_ns)
{
	uint32_t mbps = carried_mbps(qp, (uint32_t)(now_ns / 1000));

	if (2 * (uint64_t)mbps >= qp->pace.mbps)
		return;
	qp->dcqcn.target_mbps = mbps;
	lower_rate(qp, mbps, now_ns);
}

static void notified(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_dcqcn *dcqcn = &qp->dcqcn;
	uint32_t now_us = (uint32_t)(now_ns / 1000), gap_us = now_us - dcqcn->heard_us, mbps;
	bool first = dcqcn->gap_us == 0;

	elapsed(qp, now_ns);
	if (!first)
		age_alpha(qp, now_us); /* before measure_gap(): a longer mean gap makes alpha smaller */
	measure_gap(qp, now_us);
	if (!qp->pace.on)
		dcqcn->frames = frames_in_flight(qp);
	begin_recovery(qp, gap_us, now_us);
	if (qp->pace.on && !last_cut_is_felt(qp, now_us)) {
		notified_again(qp, now_ns);
		return;
	}
	dcqcn->target_mbps = qp->pace.on ? carried_mbps(qp, now_us) : first_mbps(qp);
	mbps = dcqcn->target_mbps - (uint32_t)((uint64_t)dcqcn->target_mbps * dcqcn->alpha / (2 * ALPHA_ONE));
	dcqcn->alpha += (ALPHA_ONE - dcqcn->alpha) >> ALPHA_SHIFT;
	qp->carried.cut_us = now_us;
	dcqcn->cut_at = qp->win.snd_nxt;
	begin_sample(qp, now_us);
	lower_rate(qp, mbps, now_ns);
}

const struct rc_cc_row rc_cc_dcqcn = {
	.reset = reset,
	.delivered = delivered,
	.lost = lost,
	.timed_out = timed_out,
	.undo = undo,
	.expects = expects,
	.notified = notified,
	.elapsed = elapsed,
	.sent = sent,
};
