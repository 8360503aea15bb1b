/* retry.h - told what happened, it decides deadlines, restarts and when to give up */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two timers that never run together: the ACK timer (T-1) and the RNR wait. Two budgets that never pay
 * for each other: retry_cnt (T-3) and rnr_retry. A failure either rewinds the send window to snd_una or
 * fails the request that owns snd_una.
 *
 * One loss shows many times: the rest of the flight is still on its way, and a slow peer answers it for long. The
 * first restart at a PSN is at once. Another one is not before what comes can be a response to what was sent again: a
 * round trip and its deviation later (T-5), and after each further restart twice as long. So the budget is spent by
 * time-outs and by responses to what was last sent, never by echoes. Stale responses are signs of life: they put the
 * ACK timer off and give back what silence has cost, within bounds that the copies sent have set.
 */
#ifndef RC_RETRY_H
#define RC_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/qp_state.h"

void rc_retry_reset(struct rc_retry *retry);

/* So many packets from psn on went out, for the first time or again. asks: the peer owes a response to the last. */
void rc_retry_packets_sent(struct rc_qp *qp, psn_t psn, uint32_t packets, bool first, bool asks, uint64_t now_ns);

/*
 * Does rc_retry_packets_sent() want to hear of packets from psn on? Only when the oldest in flight is among them, which
 * starts the ACK timer, when one of them is to be timed, or when the last one is the first to be owed a response.
 */
static inline bool retry_wants_to_know(const struct rc_qp *qp, psn_t psn, bool asks)
{
	return psn_equal(psn, qp->win.snd_una) || rtt_wants(&qp->rtt, asks) ||
	       (asks && (qp->probe.deadline_ns == RC_NEVER || qp->probe.deferred));
}

/* snd_una moved forward: budgets are full again (T-3, R-5), the timer starts anew (T-1). */
void rc_retry_progress_made(struct rc_qp *qp, uint64_t now_ns);

/* The QP has another path: full budget, its timeout, and everything unanswered goes out again. */
void rc_retry_path_changed(struct rc_qp *qp);

/* The alternate path becomes the path, and everything unanswered goes out again over it. Only in ARMED. */
void rc_retry_migrate(struct rc_qp *qp);

/* The ACK timer expired. */
void rc_retry_timer_expired(struct rc_qp *qp, uint64_t now_ns);

/* A sequence NAK for snd_una arrived (K-SEQ-REQ). */
void rc_retry_sequence_nak_arrived(struct rc_qp *qp, uint64_t now_ns);

/* A response at `trigger` showed that the response at snd_una was lost. */
void rc_retry_response_missing(struct rc_qp *qp, psn_t trigger, uint64_t now_ns);

/* An ACK of `trigger`, or a NAK of the PSN behind it, showed the same; it may be the answer to the probe of a READ. */
void rc_retry_ack_skipped_response(struct rc_qp *qp, psn_t trigger, uint64_t now_ns);

/* Software sets another budget, which is full. */
void rc_retry_set_count(struct rc_qp *qp, uint8_t retry_cnt);

/* Software sets another ACK timeout, 0: none. What is in flight is timed by it from now on. */
void rc_retry_set_timeout(struct rc_qp *qp, uint64_t timeout_ns);

/* Has the peer taken the packet at psn, which is unanswered? Known of what it has answered something behind. */
bool rc_retry_peer_has(const struct rc_qp *qp, psn_t psn);

/* An ACK of the packet before snd_una has come: perhaps the answer to an empty WRITE of ours, or credits unasked. */
void rc_retry_una_still_missing(struct rc_qp *qp, bool unasked, uint64_t now_ns);

/* It was the answer, and nothing has come behind it: what snd_una waits for was lost. */
void rc_retry_probe_answered(struct rc_qp *qp, uint64_t now_ns);

/* A copy of something that may be answered already has left: it may draw so many responses, or ACKs. */
void rc_retry_copy_sent(struct rc_qp *qp, uint32_t responses, uint32_t acks);

/* Has the way been losing packets lately? Then an ACK that shows a loss likely shows one. */
bool rc_retry_is_losing(const struct rc_qp *qp);

/*
 * A response has come that is of no use: responses of that kind may be owed for copies, and are signs of life. false:
 * nobody owes it.
 */
bool rc_retry_echo_arrived(struct rc_qp *qp, bool ack, uint64_t now_ns);

/*
 * Packets up to `end` have gone out once more, so many of them SENDs and WRITEs. A peer that has them already answers
 * each copy, whether that asks or not (S-8). takes_receive: they are of a request that the peer may refuse.
 */
static inline void retry_resent(struct rc_qp *qp, psn_t end, uint32_t messages, bool takes_receive)
{
	qp->retry.resent_end = end;
	qp->retry.refusable |= takes_receive;
	if (messages > 0)
		rc_retry_copy_sent(qp, 0, messages);
}

/* An RNR NAK for psn arrived, of the oldest request, whatever kind that is, with this timer code. */
void rc_retry_rnr_nak_arrived(struct rc_qp *qp, psn_t psn, uint32_t code, uint64_t now_ns);

/* All that was to be sent again has been. */
static inline void retry_caught_up(struct rc_retry *retry)
{
	retry->resending = false;
}

static inline bool retry_waits_for_receiver(const struct rc_retry *retry)
{
	return retry->rnr_deadline_ns != RC_NEVER;
}

static inline uint64_t retry_deadline(const struct rc_retry *retry)
{
	return retry->ack_deadline_ns < retry->rnr_deadline_ns ? retry->ack_deadline_ns : retry->rnr_deadline_ns;
}

#endif
