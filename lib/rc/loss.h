/* loss.h - loss detection: told what happened, it decides deadlines, what is sent again, and when to give up */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * It owns the deadlines of what is in flight, both budgets, the early probe (probe.h) and the round trip (rtt.h).
 * Besides loss.c and this header only deadlines.h writes struct rc_loss: it ends what is waited for. The keep-alive
 * (keepalive.h) borrows timer and budget.
 *
 * Two timers that never run together: the ACK timer (T-1) and the RNR wait. Two budgets that never pay
 * for each other: retry_cnt (T-3) and rnr_retry. A failure either rewinds the send window to snd_una or
 * fails the request that owns snd_una.
 *
 * One loss shows many times: the rest of the flight is still on its way, and a slow peer answers it for long. The
 * first retransmission of a PSN is at once. Another one is not before what comes can be a response to what was sent
 * again: a round trip and its deviation later (T-5), and after each further one twice as long. So the budget is spent
 * by time-outs and by responses to what was last sent, never by echoes. Stale responses are signs of life: they put the
 * ACK timer off and give back what silence has cost, within bounds that the copies sent have set.
 */
#ifndef RC_LOSS_H
#define RC_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/qp_state.h"

#define LOSS_AT_ONCE 0u /* a deadline: the timer starts when the clock is next seen */

/* ---- settings ---- */

/* RESET: nothing is in flight. What software has set stays. */
void rc_loss_reset(struct rc_qp *qp);

/* The budget is full: nothing that silences have cost is left to be given back. */
static inline void loss_fill_budget(struct rc_loss *loss)
{
	loss->retries_left = loss->retry_cnt;
	loss->silences = loss->asked = 0;
}

/* Software sets another budget. */
static inline void rc_loss_set_retry_count(struct rc_qp *qp, uint8_t retry_cnt)
{
	qp->loss.retry_cnt = retry_cnt;
	loss_fill_budget(&qp->loss);
}

static inline void rc_loss_set_rnr_count(struct rc_qp *qp, uint8_t rnr_retry)
{
	qp->loss.rnr_retry = qp->loss.rnr_left = rnr_retry;
}

/* Software sets another ACK timeout, 0: none. What is in flight is timed by it from now on. */
static inline void rc_loss_set_timeout(struct rc_qp *qp, uint64_t timeout_ns)
{
	bool runs = timeout_ns && !psn_equal(qp->win.snd_nxt, qp->win.snd_una);

	qp->loss.timeout_ns = timeout_ns;
	qp->loss.ack_deadline_ns = runs ? LOSS_AT_ONCE : RC_NEVER;
	probe_stop(&qp->probe);
}

static inline void rc_loss_set_probes(struct rc_qp *qp, bool enabled)
{
	if (qp->probe.enabled == enabled)
		return;
	probe_enable(&qp->probe, enabled);
	probe_stop(&qp->probe);
}

/* ---- what it is told ---- */

/* So many packets from psn on went out, for the first time or again. asks: the peer owes a response to the last. */
void rc_loss_sent(struct rc_qp *qp, psn_t psn, uint32_t packets, bool first, bool asks, uint64_t now_ns);

/*
 * Does rc_loss_sent() want to hear of packets from psn on? Only when the oldest in flight is among them, which
 * starts the ACK timer, when one of them is to be timed, or when the last one is the first to be owed a response.
 */
static inline bool loss_wants_to_know(const struct rc_qp *qp, psn_t psn, bool asks)
{
	return psn_equal(psn, qp->win.snd_una) || rtt_wants(&qp->rtt, asks) ||
	       (asks && (qp->probe.deadline_ns == RC_NEVER || qp->probe.deferred));
}

/* A copy of something that may be answered already has left: it may draw so many responses, or ACKs. */
void rc_loss_copy_sent(struct rc_qp *qp, uint32_t responses, uint32_t acks);

/*
 * Packets up to `end` have gone out once more, so many of them SENDs and WRITEs. A peer that has them already answers
 * each copy, whether that asks or not (S-8). takes_receive: they are of a request that the peer may refuse.
 */
static inline void loss_resent(struct rc_qp *qp, psn_t end, uint32_t messages, bool takes_receive)
{
	qp->loss.resent_end = end;
	qp->loss.refusable |= takes_receive;
	if (messages > 0)
		rc_loss_copy_sent(qp, 0, messages);
}

/* An early probe has left, or an ask for an ACK that was put off: a response is owed. */
void rc_loss_probe_sent(struct rc_qp *qp, uint64_t now_ns);
void rc_loss_ask_sent(struct rc_qp *qp, uint64_t now_ns);

/* With either: an empty WRITE. unsolicited: the peer may tell credits without being asked. */
void rc_loss_empty_write_sent(struct rc_qp *qp, bool unsolicited);

/* snd_una moved forward: budgets are full again (T-3, R-5), the timer starts anew (T-1). */
void rc_loss_acknowledged(struct rc_qp *qp, uint64_t now_ns);

/* A sequence NAK for snd_una arrived (K-SEQ-REQ). */
void rc_loss_sequence_nak(struct rc_qp *qp, uint64_t now_ns);

/* An RNR NAK for psn arrived, of the oldest request, whatever kind that is, with this timer code. */
void rc_loss_rnr_nak(struct rc_qp *qp, psn_t psn, uint32_t code, uint64_t now_ns);

/* A response at `trigger` showed that the response at snd_una was lost. */
void rc_loss_response_hole(struct rc_qp *qp, psn_t trigger, uint64_t now_ns);

/*
 * The peer has told what it has taken, and what is missing of that is known as holes: who goes back sends
 * nothing of it again.
 */
void rc_loss_skip_taken(struct rc_qp *qp);

/* A response behind snd_una has been placed: the peer has taken everything before `end`. */
void rc_loss_response_came_early(struct rc_qp *qp, psn_t end, uint64_t now_ns);

/* So many responses that are missing before others have been asked for again. */
void rc_loss_hole_asked(struct rc_qp *qp, uint32_t responses, uint64_t now_ns);

/* An ACK of `trigger`, or a NAK of the PSN behind it, showed the same; it may be the answer to the probe of a READ. */
void rc_loss_ack_skipped_response(struct rc_qp *qp, psn_t trigger, uint64_t now_ns);

/* An ACK of the packet before snd_una has come: perhaps the answer to an empty WRITE of ours, or credits unasked. */
void rc_loss_una_still_missing(struct rc_qp *qp, bool unasked, uint64_t now_ns);

/*
 * A response has come that is of no use: responses of that kind may be owed for copies, and are signs of life. false:
 * nobody owes it.
 */
bool rc_loss_echo_arrived(struct rc_qp *qp, bool ack, uint64_t now_ns);

/* Something has come that says nothing but that the peer lives. */
static inline void loss_heard(struct rc_qp *qp, uint64_t now_ns)
{
	probe_heard(&qp->probe, &qp->rtt, qp->loss.timeout_ns, now_ns);
}

/* The QP has another path: full budget, its timeout, and everything unanswered goes out again. */
void rc_loss_path_changed(struct rc_qp *qp);

/* The alternate path becomes the path, and everything unanswered goes out again over it. Only in ARMED. */
void rc_loss_migrate(struct rc_qp *qp);

/* The clock has reached rc_qp_deadline(), or may have. true: the ACK timer has expired. */
bool rc_loss_timer(struct rc_qp *qp, uint64_t now_ns);

/* It has, and it ran for what is in flight. */
void rc_loss_timer_expired(struct rc_qp *qp, uint64_t now_ns);

/* A packet beside the window leaves with the next transmit, as a probe does. */
static inline void loss_ask_beside(struct rc_qp *qp)
{
	probe_ask(&qp->probe, false);
}

/* It has left, and no request stands for it: the ACK timer runs for it for so long (C-33). */
void rc_loss_asked_beside(struct rc_qp *qp, uint64_t timeout_ns, uint64_t now_ns);

/* It has been answered: the peer lives. */
void rc_loss_answered_beside(struct rc_qp *qp, uint64_t now_ns);

/* The timer has expired for it: it leaves once more, over another path perhaps. false: the budget is spent (T-4). */
bool rc_loss_take_retry_beside(struct rc_qp *qp);

/* ---- what it says ---- */

static inline bool loss_waits_for_receiver(const struct rc_qp *qp)
{
	return qp->loss.rnr_deadline_ns != RC_NEVER;
}

/* Does the ACK timer run for a packet beside the window? */
static inline bool loss_waits_beside(const struct rc_qp *qp)
{
	return qp->loss.beside && psn_equal(qp->win.snd_una, qp->win.snd_max) && qp->loss.ack_deadline_ns != RC_NEVER;
}

/* It is asked for no more. */
static inline void rc_loss_forget_beside(struct rc_qp *qp)
{
	if (loss_waits_beside(qp))
		qp->loss.ack_deadline_ns = RC_NEVER;
	qp->loss.beside = false;
}

/* Has the peer taken the packet at psn, which is unanswered? Known of what it has answered something behind. */
bool rc_loss_peer_has(const struct rc_qp *qp, psn_t psn);

/* Has the way been losing packets lately? Then an ACK that shows a loss likely shows one. */
bool rc_loss_is_losing(const struct rc_qp *qp);

#endif
