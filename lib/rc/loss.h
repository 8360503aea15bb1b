/* loss.h - loss detection: callers tell it what happened; it sets deadlines, sends again, migrates, gives up */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loss detection owns the deadlines of the packets in flight, both budgets and the round trip (rtt.h), and says when
 * a wait for an answer begins and what its end means (ask.h). Besides loss.c and this header only deadlines.h writes
 * struct rc_loss: it ends all deadlines in ERR. Which transmission an answer belongs to is decided in flight.h.
 *
 * Two timers that never run together: the ACK timer (T-1) and the RNR wait. Two budgets that never pay for each
 * other: retry_cnt (T-3) and rnr_retry. A failure either rewinds the send window to snd_una or fails the request
 * that owns snd_una.
 *
 * One loss shows many times: the rest of the flight is still on its way, and a slow peer answers it for long. The first
 * retransmission of a PSN leaves at once. The second one waits until a response to the first one can have come: a round
 * trip and its deviation (T-5). Each further retransmission waits twice as long as the one before. So the budget is
 * spent by time-outs and by responses to what was last sent, never by echoes of earlier packets. Stale responses are
 * signs of life: they restart the ACK timer and give back the retries that silence has cost, as often as there are
 * copies that may draw them.
 */
#ifndef RC_LOSS_H
#define RC_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/ask.h"
#include "rc/flight.h"
#include "rc/qp_state.h"

#define LOSS_AT_ONCE 0u /* a deadline of this value: the timer starts at the next call that knows the time */

/* ---- settings ---- */

/* RESET: nothing is in flight. The settings stay. */
void rc_loss_reset(struct rc_qp *qp);

/* Fills the retry budget, so that there are no retries of silences left to give back. */
static inline void loss_fill_budget(struct rc_loss *loss)
{
	loss->retries_left = loss->retry_cnt;
	loss->silences = loss->asked = 0;
}

/* Software sets another retry budget, which starts full. */
static inline void rc_loss_set_retry_count(struct rc_qp *qp, uint8_t retry_cnt)
{
	qp->loss.retry_cnt = retry_cnt;
	loss_fill_budget(&qp->loss);
}

static inline void rc_loss_set_rnr_count(struct rc_qp *qp, uint8_t rnr_retry)
{
	qp->loss.rnr_retry = qp->loss.rnr_left = rnr_retry;
}

/* Software sets another ACK timeout, 0: none. The ACK timer of packets in flight starts anew with this timeout. */
static inline void rc_loss_set_timeout(struct rc_qp *qp, uint64_t timeout_ns)
{
	bool runs = timeout_ns && !psn_equal(qp->win.snd_nxt, qp->win.snd_una);

	qp->loss.timeout_ns = timeout_ns;
	qp->loss.ack_deadline_ns = runs ? LOSS_AT_ONCE : RC_NEVER;
	ask_stop_untimed(qp);
}

/* ---- what has happened ---- */

/* Has the path been losing packets lately? Then an ACK that shows a loss is probably right. */
static inline bool loss_is_losing(const struct rc_qp *qp)
{
	return qp->loss.lately == LATELY_LOSS;
}

/* Many packets have left since the last loss or time-out. */
static inline void loss_recovered(struct rc_qp *qp)
{
	qp->loss.lately = LATELY_NOTHING;
}

/*
 * The packets from psn on have left, for the first time or again. asks: the peer owes a response to the last of them.
 */
void rc_loss_sent(struct rc_qp *qp, psn_t psn, uint32_t packets, bool first, bool asks, uint64_t now_ns);

/*
 * Does rc_loss_sent() need to be told of packets from psn on? Yes if the oldest packet in flight is among them, which
 * starts the ACK timer; if one of them is to be timed; or if the last of them is the first packet in flight that asks
 * for a response.
 */
static inline bool loss_wants_to_know(const struct rc_qp *qp, psn_t psn, bool asks)
{
	return psn_equal(psn, qp->win.snd_una) || rtt_wants(&qp->rtt, asks) || (asks && ask_is_open(&qp->ask));
}

/* snd_una moved forward: budgets are full again (T-3, R-5), the timer starts anew (T-1). */
void rc_loss_acknowledged(struct rc_qp *qp, uint64_t now_ns);

/* A sequence NAK for snd_una came (K-SEQ-REQ). */
void rc_loss_sequence_nak(struct rc_qp *qp, uint64_t now_ns);

/* An RNR NAK with this timer code came for psn, which belongs to the oldest request, of any kind. */
void rc_loss_rnr_nak(struct rc_qp *qp, psn_t psn, uint32_t code, uint64_t now_ns);

/* A response to `trigger` shows that the response at snd_una was lost. */
void rc_loss_response_hole(struct rc_qp *qp, psn_t trigger, uint64_t now_ns);

/*
 * The peer has said which packets it has received, and holes remember the responses that are missing before that
 * . If the window was rewound, sending goes on behind everything that the peer has received. The timer runs for
 * the holes, because perhaps nothing leaves until they are filled.
 */
void rc_loss_skip_taken(struct rc_qp *qp, uint64_t now_ns);

/*
 * The packet before `end` has reached the peer. If the packet that is being timed lies before `end`, its round trip
 * ends. If the timed packet has not come, but is lost or on a longer path, the measure is that of a packet that left
 * behind it.
 */
static inline void rc_loss_heard_through(struct rc_qp *qp, psn_t end, uint64_t now_ns)
{
	if (!rtt_answered(&qp->rtt, end, qp->loss.timeout_ns, now_ns))
		return;
	cc_trip(qp, now_ns);
	ask_forget_tries(&qp->ask);
}

/*
 * A SACK has told that something new has come: the peer has received everything before `end`. progress: retries are
 * given back for it.
 */
void rc_loss_more_has_come(struct rc_qp *qp, psn_t end, bool progress, uint64_t now_ns);

/*
 * A response behind snd_una has been placed: the peer has received everything before `end`. loss: the response
 * shows a loss that was not known, or repairs one, so that asking was right (T-6).
 */
static inline void rc_loss_response_came_early(struct rc_qp *qp, psn_t end, bool loss, uint64_t now_ns)
{
	if (loss)
		ask_forget_tries(&qp->ask);
	rtt_forget(&qp->rtt); /* a response that waited behind parts that were asked for again measures no round trip */
	rc_loss_more_has_come(qp, end, true, now_ns);
}

/* A hole has been asked for again, which draws `responses` responses. */
void rc_loss_hole_asked(struct rc_qp *qp, uint32_t responses, uint64_t now_ns);

/*
 * A packet that SACKs say is lost has left once more. It draws `responses` responses, or an ACK if `responses` is 0. A
 * running wait for a probe goes on: otherwise a QP that sends again and again would never probe.
 */
static inline void rc_loss_sent_again(struct rc_qp *qp, uint32_t responses, uint64_t now_ns)
{
	rc_flight_copy_sent(qp, responses, responses == 0);
	if (qp->ask.waits == ASK_NOTHING)
		rc_loss_hole_asked(qp, 0, now_ns); /* after a rewind no timer runs */
}

/*
 * An ACK of `trigger`, or a NAK of the PSN behind it, shows that the response at snd_una was lost. It may answer a
 * probe.
 */
void rc_loss_ack_skipped_response(struct rc_qp *qp, psn_t trigger, uint64_t now_ns);

/*
 * An ACK of the packet before snd_una has come. It answers an empty WRITE of ours, or, if `unasked`, may bring credits.
 */
void rc_loss_una_still_missing(struct rc_qp *qp, bool unasked, uint64_t now_ns);

/*
 * A response or ACK that is of no use has come. If one of our copies may have caused it, it counts as a sign of life;
 * otherwise returns false.
 */
bool rc_loss_echo_arrived(struct rc_qp *qp, bool ack, uint64_t now_ns);

/*
 * The peer lives and misses something, perhaps because a path is dead. If nothing else comes, a probe leaves after
 * patience_ns or, if that is sooner, when a response must have come (T-5).
 */
static inline void rc_loss_something_is_missing(struct rc_qp *qp, uint64_t patience_ns, uint64_t now_ns)
{
	uint64_t bound_ns = rtt_bound_ns(&qp->rtt, qp->loss.timeout_ns);

	if (qp->rtt.srtt_ns == 0)
		return;
	if (patience_ns == 0)
		ask_suspect(&qp->ask);
	else
		ask_sooner(&qp->ask, patience_ns < bound_ns ? patience_ns : bound_ns, now_ns);
}

/*
 * The QP has another path: the budget is full, the new path's timeout holds, and all unanswered packets go out again
 * (A-4).
 */
void rc_loss_path_changed(struct rc_qp *qp);

/* Rewinds the window to the oldest unacknowledged packet, which costs no retry. */
void rc_loss_go_back(struct rc_qp *qp);

/* This QP has migrated by itself, not after its peer: as rc_loss_path_changed(), and the peer gets a packet. */
void rc_loss_path_left(struct rc_qp *qp);

/* The alternate path becomes the path, and all unanswered packets go out again over it. Only in ARMED. */
void rc_loss_migrate(struct rc_qp *qp);

/* To be called when rc_qp_deadline() has passed, or may have passed. Returns true if the ACK timer has expired. */
bool rc_loss_timer(struct rc_qp *qp, uint64_t now_ns);

/* The ACK timer has expired for the packets in flight. */
void rc_loss_timer_expired(struct rc_qp *qp, uint64_t now_ns);

/* A keep-alive or a report was answered: the peer lives. */
static inline void rc_loss_answered_beside(struct rc_qp *qp, uint64_t now_ns)
{
	rc_loss_echo_arrived(qp, true, now_ns);
	ask_forget_beside(&qp->ask);
	loss_fill_budget(&qp->loss);
	if (!ask_is_idle(qp))
		return; /* the timer runs for what has been sent since */
	qp->loss.since_ns = now_ns;
	ask_stop(qp, now_ns);
}

/* ---- what callers may ask ---- */

static inline bool loss_waits_for_receiver(const struct rc_qp *qp)
{
	return qp->loss.rnr_deadline_ns != RC_NEVER;
}

#endif
