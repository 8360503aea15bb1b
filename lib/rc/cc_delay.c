/* cc_delay.c - the algorithm delay: a window that keeps the queues of the path short, told by the round trip (N-4) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The algorithm asks nothing of switches or of the peer. What a round trip takes longer than the shortest one was spent
 * in queues (Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM
 * 2020). One packet a round trip is timed (rtt.h), which is as often as the window may change: the next packet that is
 * timed left after the change. READs count with the responses that they ask for, so that a requester that reads limits
 * the responder.
 *
 * A thread that lost its core for a moment makes one round trip long; a queue makes all round trips through it long. So
 * the shorter one of the last two counts.
 *
 * A window of less than a packet is one packet that leaves less often than once in a round trip. A connection begins
 * with one packet, because the first windows of all connections that begin at the same moment meet in one queue, and
 * because a loss is noticed late while no round trip is known.
 */
#include "rc/cc.h"
#include "rc/pace.h"

#define ONE 256u                /* one packet: windows are in parts of it */
#define MOST (4096u * ONE)      /* 16 MB of the largest MTU */
#define LEAST (ONE / 64)        /* one packet in 64 round trips */
#define ALLOWED_LEAST_NS 10000u /* extra time that a round trip may always take in queues and at a busy host */
/* extra time as a part of the shortest round trip: counts if it is more than ALLOWED_LEAST_NS */
#define ALLOWED_PART 2u
/* further extra time with a window of one packet; half of it with four packets, and so on */
#define SHARE_NS 30000u
#define CUT_NUMERATOR 4u /* a round trip that is too long shrinks the window by 4/5 of the excess */
#define CUT_DENOMINATOR 5u
#define CUT_MOST 2u /* a cut takes away at most this part of the window */
/* after this many short round trips in a row the window grows by CALM_PART of it, not by a packet */
#define CALM_TRIPS 5u
#define CALM_PART 8u /* an eighth of the window */
/* after this many long round trips in a row with the least window, the path itself must have become longer */
#define STUCK_TRIPS 64u
#define PATIENCE 16u /* the least number of packets that leave in an ACK timeout */

/*
 * Returns a rate in Mbit/s: `frames` packets of the MTU in a round trip, but at least PATIENCE packets in an ACK
 * timeout, so that a peer with our timeout does not take the wait for a loss.
 */
static uint32_t rate_mbps(const struct rc_qp *qp, uint32_t frames)
{
	uint64_t bits = (uint64_t)qp->mtu_bytes * 8, trip_ns = qp->rtt.srtt_ns ? qp->rtt.srtt_ns : RTT_UNKNOWN_NS;
	uint64_t mbps = bits * 1000 * frames / (ONE * trip_ns) + 1,
		 least = qp->loss.timeout_ns ? bits * 1000 * PATIENCE / qp->loss.timeout_ns + 1 : 1;

	return (uint32_t)(mbps > least ? mbps : least);
}

static void set_frames(struct rc_qp *qp, uint32_t frames, uint64_t now_ns)
{
	frames = frames < LEAST ? LEAST : frames > MOST ? MOST : frames;
	qp->delay.frames = frames;
	cc_set_window(qp, frames < ONE ? 1 : frames / ONE);
	if (frames < ONE)
		rc_pace_set(qp, rate_mbps(qp, frames), now_ns);
	else if (qp->pace.on)
		rc_pace_stop(qp);
}

static void reset(struct rc_qp *qp)
{
	burst_reset(&qp->cc.burst);
	qp->delay = (struct rc_delay){ .starts = true, .cut_at = qp->win.snd_una, .timed_packets = 1 };
	set_frames(qp, ONE, 0);
}

/*
 * How long a round trip may take. A smaller window allows a longer one, about by its square root: many QPs that share a
 * link need a longer queue than few, and the QP with the largest window gives way first.
 */
static uint64_t target_ns(const struct rc_delay *delay)
{
	uint32_t part_ns = delay->shortest_ns / ALLOWED_PART, frames = delay->frames < ONE ? ONE : delay->frames;
	uint32_t halves = (31 - (uint32_t)__builtin_clz(frames / ONE)) / 2;

	return (uint64_t)delay->shortest_ns + (part_ns > ALLOWED_LEAST_NS ? part_ns : ALLOWED_LEAST_NS) +
	       (SHARE_NS >> halves);
}

/* The window does not double any more. */
static void end_start(struct rc_delay *delay)
{
	delay->starts = false;
	delay->calm = 0;
}

/* Shrinks the window. A loss among the packets that are in flight now does not shrink it once more. */
static void begin_cut(struct rc_qp *qp, uint32_t frames, uint64_t now_ns)
{
	end_start(&qp->delay);
	qp->delay.cut_at = qp->win.snd_nxt;
	set_frames(qp, frames, now_ns);
}

static void shrink(struct rc_qp *qp, uint64_t took_ns, uint64_t now_ns)
{
	struct rc_delay *delay = &qp->delay;
	uint64_t over_ns = took_ns - target_ns(delay);
	uint32_t less = (uint32_t)(delay->frames * over_ns * CUT_NUMERATOR / (took_ns * CUT_DENOMINATOR));

	if (delay->frames <= LEAST && ++delay->stuck >= STUCK_TRIPS) {
		delay->stuck = 0;
		delay->shortest_ns = (uint32_t)took_ns;
	}
	if (less > delay->frames / CUT_MOST)
		less = delay->frames / CUT_MOST;
	begin_cut(qp, delay->frames - less, now_ns);
}

static void grow(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_delay *delay = &qp->delay;
	uint32_t more = ONE;

	delay->stuck = 0;
	if (!delay->full)
		return; /* the window was not used up, so a larger one is not known to fit */
	if (delay->calm < CALM_TRIPS)
		delay->calm++;
	if (delay->starts)
		more = delay->frames;
	else if (delay->frames < ONE)
		more = delay->frames / 2 + 1; /* one more packet in a round trip would be many times the window */
	else if (delay->calm == CALM_TRIPS && delay->frames / CALM_PART > ONE)
		more = delay->frames / CALM_PART;
	set_frames(qp, delay->frames + more, now_ns);
}

static void timed(struct rc_qp *qp, uint32_t packets)
{
	qp->delay.timed_packets = packets;
	qp->delay.full = 2 * ONE * psn_distance(qp->win.snd_nxt, qp->win.snd_una) >= qp->delay.frames;
}

/*
 * Subtracts the time for which packets that were sent together with the timed one keep the link busy, which they do
 * even if all queues are empty. Subtracts nothing if the rate of the link is not known.
 */
static uint32_t without_own_time(const struct rc_qp *qp, uint64_t took_ns)
{
	uint64_t bits = (uint64_t)(qp->delay.timed_packets - 1) * qp->mtu_bytes * 8,
		 own_ns = qp->line_mbps ? bits * 1000 / qp->line_mbps : 0;

	took_ns = took_ns > own_ns ? took_ns - own_ns : 1;
	return took_ns < UINT32_MAX ? (uint32_t)took_ns : UINT32_MAX;
}

static void trip(struct rc_qp *qp, uint64_t took_ns, uint64_t now_ns)
{
	struct rc_delay *delay = &qp->delay;
	uint32_t took = without_own_time(qp, took_ns), shorter = took;

	if (delay->shortest_ns == 0 || took < delay->shortest_ns)
		delay->shortest_ns = took;
	if (delay->last_ns && delay->last_ns < took)
		shorter = delay->last_ns;
	delay->last_ns = took;
	if (!psn_before(qp->win.snd_una, delay->cut_at))
		/* moves cut_at along with snd_una: half of all PSNs later an old cut_at would seem to lie ahead */
		delay->cut_at = qp->win.snd_una;
	if (shorter > target_ns(delay))
		shrink(qp, shorter, now_ns);
	else if (delay->starts && took > target_ns(delay))
		end_start(delay);
	else
		grow(qp, now_ns);
}

/* The window halves, but only once for the packets that were in flight together. */
static void lost(struct rc_qp *qp, uint64_t trip_ns, uint64_t now_ns)
{
	(void)trip_ns;
	burst_notice_loss(&qp->cc.burst);
	if (!psn_before(qp->win.snd_una, qp->delay.cut_at))
		begin_cut(qp, qp->delay.frames / CUT_MOST, now_ns);
}

/* Starts from one packet. */
static void timed_out(struct rc_qp *qp)
{
	struct rc_delay *delay = &qp->delay;

	burst_notice_loss(&qp->cc.burst);
	if (delay->frames <= ONE)
		return;
	delay->starts = true;
	delay->before = delay->frames;
	set_frames(qp, ONE, 0);
}

static void undo(struct rc_qp *qp)
{
	struct rc_delay *delay = &qp->delay;

	burst_reset(&qp->cc.burst);
	if (delay->before > delay->frames) {
		end_start(delay);
		set_frames(qp, delay->before, 0);
	}
	delay->before = 0;
}

const struct rc_cc_row rc_cc_delay = {
	.reset = reset,
	.timed = timed,
	.trip = trip,
	.lost = lost,
	.timed_out = timed_out,
	.undo = undo,
};
