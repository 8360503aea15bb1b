/* pace.h - spreads what a QP sends over time, at the rate that congestion control allows */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * While the QP is ahead of its rate it sends no SEND, WRITE, READ response or new request. It still sends short
 * packets, because peers wait for them: ACKs, NAKs, probes, requests for missing responses, and responses to atomics
 * and FLUSHes. Short packets do not count against the rate: a peer may draw more of them than the rate allows, and then
 * everything else would wait for ever. The responses that our READs ask for fill the path as well, and are counted
 * apart. Our next requests wait for these responses. The responses that we owe do not wait, because our READs may take
 * seconds, and a peer does not wait that long. A QP that is not paced pays for one comparison.
 */
#ifndef RC_PACE_H
#define RC_PACE_H

#include "rc/outbox.h"
#include "rc/qp_state.h"

/*
 * How far, in ns at the rate, a QP that is behind its rate may catch up at once. It is two ticks of the host's timers,
 * because a timer may wake a QP that much too late.
 */
#define PACE_BURST_NS 16384u

static inline bool qp_is_paced(const struct rc_qp *qp)
{
	return __builtin_expect(qp->seldom, 0) && qp->pace.on;
}

/* From now on the frames that leave are limited to `mbps` Mbit/s, at least 1. */
void rc_pace_set(struct rc_qp *qp, uint32_t mbps, uint64_t now_ns);
void rc_pace_stop(struct rc_qp *qp);

/* A call of rc_qp_transmit() begins: finds out how many frames may leave in it. */
void rc_pace_begin(struct rc_qp *qp, uint64_t now_ns);

/* pace_room(): how many more frames may leave in this call. pace_request_room(): how many more frames of requests. */
static inline uint32_t pace_room(const struct rc_qp *qp)
{
	return qp->pace.room;
}

static inline uint32_t pace_request_room(const struct rc_qp *qp)
{
	return qp->pace.asks_much ? 0 : qp->pace.room;
}

/* Returns the time from which on a request may leave, computed from what earlier calls have sent and asked for. */
static inline uint64_t pace_request_ns(const struct rc_qp *qp)
{
	return qp->asked_ns > qp->pace.next_ns ? qp->asked_ns : qp->pace.next_ns;
}

/* The outbox has got the frames from number `before` on, which are no more than the room allowed. */
void rc_pace_spend(struct rc_qp *qp, uint32_t before, const struct rc_outbox *out);

/*
 * A READ that asks for so many bytes has been added. Nothing leaves behind it in this call; later requests wait while
 * the responses that READs ask for are ahead of the rate.
 */
void rc_pace_ask(struct rc_qp *qp, uint64_t bytes, uint64_t now_ns, struct rc_outbox *out);

/* Time has passed: ends the wait if it is over. The host calls rc_qp_transmit() next. */
static inline void pace_timer(struct rc_qp *qp, uint64_t now_ns)
{
	if (qp->pace.wake_ns <= now_ns)
		qp->pace.holds = false;
}

/*
 * The call of rc_qp_transmit() ends. responses, requests: the QP has more of them to send. Returns whether some may
 * leave at once.
 */
bool rc_pace_end(struct rc_qp *qp, bool responses, bool requests, uint64_t now_ns);

#endif
