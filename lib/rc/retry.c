/* retry.c - retransmission: budgets, timers, and which triggers are one and the same loss */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/retry.h"

#include "rc/ackreq.h"
#include "rc/codes.h"
#include "rc/fail.h"
#include "rc/migration.h"
#include "wire/hints.h"

#define RNR_WITHOUT_LIMIT 7

void rc_retry_reset(struct rc_retry *retry)
{
	*retry = (struct rc_retry){
		.ack_deadline_ns = RC_NEVER,
		.rnr_deadline_ns = RC_NEVER,
		.timeout_ns = retry->timeout_ns,
		.retry_cnt = retry->retry_cnt,
		.retries_left = retry->retry_cnt,
		.rnr_retry = retry->rnr_retry,
		.rnr_left = retry->rnr_retry,
	};
}

/* ---- what copies are still answered with ---- */

void rc_retry_copy_sent(struct rc_qp *qp, uint32_t responses, uint32_t acks)
{
	struct rc_owed *owed = &qp->retry.owed;

	owed->responses += responses;
	owed->acks += acks;
	owed->limit = qp->win.snd_max;
	if (!qp->retry.echoes)
		owed->first = owed->limit;
	qp->retry.echoes = true;
}

static uint8_t at_most_255(uint32_t count)
{
	return count < UINT8_MAX ? (uint8_t)count : UINT8_MAX;
}

/*
 * snd_una has moved: a peer that has answered what first left behind the last copy has answered the copies before.
 * Until then an ACK that repeats itself may be the answer to one of them, if the oldest packet left behind any.
 */
NOINLINE void review_echoes(struct rc_qp *qp)
{
	struct rc_retry *retry = &qp->retry;
	struct rc_owed *owed = &retry->owed;

	if (psn_before(owed->limit, qp->win.snd_una)) {
		*owed = (struct rc_owed){ 0 };
		retry->echoes = false;
	}
	qp->probe.unsure = psn_before(qp->win.snd_una, owed->first) ? 0 : at_most_255(owed->acks);
}

bool rc_retry_is_losing(const struct rc_qp *qp)
{
	return qp->retry.loses && !loss_quota_is_full(&qp->requester.loss_quota);
}

/* Responses to READs and the like that were asked for and have not come, before the window is rewound. */
static uint32_t responses_due(const struct rc_qp *qp, psn_t heard)
{
	const struct rc_sendwin *win = &qp->win;
	uint32_t asked = psn_distance(win->snd_nxt, win->snd_una), got = psn_distance(heard, win->snd_una), due = 0;

	if (qp->requester.rd_atomic_outstanding == 0)
		return 0;
	if (got > asked)
		got = 0;
	for (uint32_t slot = win->acked; slot != win->started; slot++) {
		const struct rc_send_wqe *wqe = sendwin_slot(win, slot);
		uint32_t begin = psn_distance(wqe->first_psn, win->snd_una), end = begin + wqe->psn_count;

		if (slot == win->acked) /* which may lie on both sides of snd_una */
			begin = 0, end = wqe->psn_count - psn_distance(win->snd_una, wqe->first_psn);
		if (begin < got)
			begin = got;
		if (end > asked)
			end = asked;
		if (wqe_needs_response(wqe) && begin < end)
			due += end - begin;
	}
	return due;
}

/* A sign of life that neither brings progress nor shows a loss: the silence that the timer measures begins anew. */
static void put_off_timer(struct rc_retry *retry, uint64_t now_ns)
{
	if (retry->ack_deadline_ns != RC_NEVER && retry->timeout_ns)
		retry->ack_deadline_ns = now_ns + retry->timeout_ns;
}

/*
 * Who still answers copies will come to snd_una after them, however often it stands still meanwhile: what silence has
 * cost is given back. A peer that repeats itself for ever ends this, for copies that leave later add no reprieve.
 */
static void take_back_silence(struct rc_retry *retry)
{
	if (!retry->rewound || retry->silences == 0 || retry->reprieves == 0)
		return;
	retry->reprieves--;
	retry->retries_left += retry->silences;
	retry->silences = retry->asked = 0;
}

/* false: nobody owes it. */
static bool take_echo(struct rc_retry *retry, uint32_t *owed, uint64_t now_ns)
{
	if (!retry->echoes || *owed == 0)
		return false;
	--*owed;
	put_off_timer(retry, now_ns);
	return true;
}

bool rc_retry_echo_arrived(struct rc_qp *qp, bool ack, uint64_t now_ns)
{
	struct rc_retry *retry = &qp->retry;
	bool owed = take_echo(retry, ack ? &retry->owed.acks : &retry->owed.responses, now_ns);

	if (owed && !ack)
		take_back_silence(retry);
	return owed;
}

/* ---- what has left, and what has come ---- */

void rc_retry_packets_sent(struct rc_qp *qp, psn_t psn, uint32_t packets, bool first, bool asks, uint64_t now_ns)
{
	struct rc_retry *retry = &qp->retry;
	bool begins = first && psn_equal(psn, qp->win.snd_una);

	if (begins) { /* a timer that runs is a keep-alive's, which need not wait any more */
		retry->since_ns = now_ns;
		retry->ack_deadline_ns = RC_NEVER;
		retry->retries_left = retry->retry_cnt;
		qp->keepalive.waiting = false;
	}
	if (retry->ack_deadline_ns == RC_NEVER && retry->timeout_ns)
		retry->ack_deadline_ns = now_ns + retry->timeout_ns;
	if (asks && (qp->probe.deadline_ns == RC_NEVER || qp->probe.deferred))
		probe_start(&qp->probe, &qp->rtt, retry->timeout_ns, now_ns);
	if (retry->rewound && !retry->resent && psn_equal(psn, retry->rewind_psn)) {
		retry->resent = true;
		retry->resent_ns = now_ns;
	}
	if (psn_equal(qp->win.snd_nxt, qp->win.snd_max))
		retry_caught_up(retry);
	if (first && !retry->rewound && rtt_wants(&qp->rtt, asks))
		rtt_begin(&qp->rtt, qp->rtt.srtt_ns ? psn_add(psn, packets - 1) : psn, now_ns);
}

/* Does snd_una still lie at or before the packet that the receiver was not ready for? */
static bool is_before_rnr(const struct rc_qp *qp)
{
	return psn_distance(qp->retry.rnr_psn, qp->win.snd_una) < sendwin_outstanding(&qp->win);
}

/*
 * Does the peer go on with what it was sent before the time-out? So it does when it has answered something that has
 * not been sent again. When it has answered just what has, and a READ is next, nobody knows: it likely does, for a
 * loss would have been found by asking early, and if it does not that finds it now. But where a request went out again
 * that needs a receive, the peer may have refused it at first, dropped all behind it, and taken the copy.
 */
static bool goes_on_with_first_flight(const struct rc_qp *qp)
{
	const struct rc_retry *retry = &qp->retry;
	psn_t snd_una = qp->win.snd_una;

	if (!retry->timed_out || retry->refusable || !psn_before(snd_una, retry->flight_end))
		return false;
	if (psn_before(retry->resent_end, snd_una))
		return true;
	return psn_equal(retry->resent_end, snd_una) && qp->probe.enabled && qp->rtt.srtt_ns &&
	       wqe_needs_response(sendwin_slot(&qp->win, qp->win.acked));
}

/*
 * Silence alone has rewound the window, and the peer was only slow: what it was sent first need not be sent again.
 * Returns how much is in flight.
 */
NOINLINE uint32_t look_back(struct rc_qp *qp, uint32_t in_flight)
{
	struct rc_retry *retry = &qp->retry;

	if (!goes_on_with_first_flight(qp))
		return in_flight;
	rc_sendwin_skip(&qp->win, retry->flight_end);
	if (psn_equal(qp->win.snd_nxt, qp->win.snd_max))
		retry_caught_up(retry);
	if (!rc_retry_is_losing(qp)) {
		read_quota_reset(&qp->quota, qp->win.snd_una);
		loss_quota_reset(&qp->requester.loss_quota);
		qp_set_window(qp);
	}
	return psn_distance(qp->win.snd_nxt, qp->win.snd_una);
}

void rc_retry_progress_made(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_retry *retry = &qp->retry;
	uint32_t in_flight = psn_distance(qp->win.snd_nxt, qp->win.snd_una);

	/* Packets are being lost: that we had to ask tells nothing about the peer. */
	if (rtt_answered(&qp->rtt, qp->win.snd_una, retry->timeout_ns, now_ns) ||
	    !loss_quota_is_full(&qp->requester.loss_quota))
		qp->probe.tries = 0;
	if (qp->requester.window < WINDOW_PACKETS) {
		read_quota_grow(&qp->quota, qp->win.snd_una);
		qp_set_window(qp);
	}
	retry->retries_left = retry->retry_cnt;
	retry->rnr_left = retry->rnr_retry;
	retry->rewound = false;
	retry->since_ns = now_ns;
	qp->probe.behind_una = 0;
	if (__builtin_expect(retry->echoes, 0))
		review_echoes(qp);
	if (__builtin_expect(retry->resending, 0))
		in_flight = look_back(qp, in_flight);
	if (retry_waits_for_receiver(retry) && is_before_rnr(qp))
		return; /* responses to what came before it do not end the wait */
	retry->rnr_deadline_ns = RC_NEVER;
	/* Nothing in flight (all done, or all of it waits to be sent again): the next packet starts the timer. */
	retry->ack_deadline_ns = in_flight && retry->timeout_ns ? now_ns + retry->timeout_ns : RC_NEVER;
	if (ackreq_ack_is_due(qp, in_flight))
		probe_start(&qp->probe, &qp->rtt, retry->timeout_ns, now_ns);
	else if (in_flight && qp->probe.enabled)
		probe_defer(&qp->probe, &qp->rtt, retry->timeout_ns, now_ns);
	else
		probe_stop(&qp->probe);
}

void rc_retry_set_count(struct rc_qp *qp, uint8_t retry_cnt)
{
	struct rc_retry *retry = &qp->retry;

	retry->retry_cnt = retry->retries_left = retry_cnt;
	retry->silences = retry->asked = 0; /* they have cost nothing of this budget */
}

void rc_retry_set_timeout(struct rc_qp *qp, uint64_t timeout_ns)
{
	struct rc_retry *retry = &qp->retry;

	retry->timeout_ns = timeout_ns;
	probe_stop(&qp->probe);
	if (timeout_ns == 0 || psn_equal(qp->win.snd_nxt, qp->win.snd_una))
		retry->ack_deadline_ns = RC_NEVER;
	else
		retry->ack_deadline_ns = RETRY_AT_ONCE;
}

/* T-2: the oldest PSN that is not acknowledged goes out next, and everything behind it. */
static void rewind_to_una(struct rc_qp *qp, psn_t heard, bool timed_out)
{
	struct rc_retry *retry = &qp->retry;
	bool first = !retry->rewound;

	retry->rewound = true;
	retry->resent = false;
	retry->rewind_psn = qp->win.snd_una;
	retry->rewind_limit = qp->win.snd_max;
	retry->heard = heard;
	if (!retry->resending || !retry->timed_out) {
		retry->flight_end = qp->win.snd_nxt;
		retry->refusable = false;
	}
	retry->resent_end = qp->win.snd_una;
	retry->timed_out = timed_out;
	retry->after_rnr = false;
	rtt_forget(&qp->rtt);
	retry->ack_deadline_ns = RC_NEVER;
	probe_stop(&qp->probe);
	rc_retry_copy_sent(qp, responses_due(qp, heard), 0);
	retry->again = !first;
	if (first) {
		retry->silences = retry->asked = 0;
		retry->reprieves = retry->owed.responses;
	}
	qp->probe.unsure = at_most_255(retry->owed.acks);
	retry->resending = rc_sendwin_rewind(&qp->win);
}

void rc_retry_path_changed(struct rc_qp *qp)
{
	struct rc_retry *retry = &qp->retry;

	retry->timeout_ns = rc_codes_timeout_ns(qp->timeout);
	retry->retries_left = retry->retry_cnt;
	retry->silences = retry->asked = 0; /* of the other path: they have cost nothing of this budget */
	retry->loses = false;
	rc_rtt_reset(&qp->rtt);
	loss_quota_reset(&qp->requester.loss_quota);
	read_quota_reset(&qp->quota, qp->win.snd_una);
	qp_set_window(qp);
	qp->probe.tries = 0;
	/* In an RNR wait the window is rewound already. */
	if (!psn_equal(qp->win.snd_una, qp->win.snd_max) && !retry_waits_for_receiver(retry))
		rewind_to_una(qp, qp->win.snd_una, false);
}

void rc_retry_migrate(struct rc_qp *qp)
{
	rc_migration_switch(qp);
	rc_retry_path_changed(qp);
}

/* heard: everything before it has reached the peer. */
static void transport_failed(struct rc_qp *qp, enum uroce_cause cause, psn_t heard, uint64_t now_ns)
{
	struct rc_retry *retry = &qp->retry;

	if (retry->retries_left == 0 && qp->migration.state == UROCE_PATH_ARMED) {
		rc_retry_migrate(qp); /* */
		return;
	}
	if (retry->retries_left == 0) { /* T-4 */
		rc_fail_send(qp, UROCE_WC_RETRY_EXC_ERR, cause);
		return;
	}
	retry->retries_left--;
	retry->loses = rc_retry_is_losing(qp) || cause != UROCE_CAUSE_TIMEOUT;
	loss_quota_notice_loss(&qp->requester.loss_quota);
	if (cause == UROCE_CAUSE_TIMEOUT)
		read_quota_notice_silence(&qp->quota, qp->win.snd_una);
	else
		read_quota_notice_loss(&qp->quota, qp->win.snd_una, rtt_without_queue_ns(&qp->rtt), now_ns);
	qp_set_window(qp);
	rewind_to_una(qp, heard, cause == UROCE_CAUSE_TIMEOUT);
	retry->silences += cause == UROCE_CAUSE_TIMEOUT;
}

/*
 * Is it enough to ask what has become of snd_una? A READ that the peer may not have can be repeated as a whole only
 * (S-9), and a peer that is only slow answers each copy in full. So one copy goes out, and while nothing comes none
 * besides: an empty WRITE draws an ACK that says whether the peer has the READ. A peer that does not answer such
 * a WRITE gets another copy with the last retry.
 */
static bool asking_suffices(const struct rc_qp *qp)
{
	const struct rc_retry *retry = &qp->retry;
	const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, qp->win.acked);

	return retry->rewound && retry->resent && retry->timed_out && qp->probe.enabled && retry->retries_left > 1 &&
	       !retry->loses && wqe->opcode == UROCE_WR_RDMA_READ && wqe->psn_count > READ_QUOTA_LEAST &&
	       !rc_retry_peer_has(qp, qp->win.snd_una) && psn_equal(wqe->first_psn, qp->win.snd_una);
}

void rc_retry_timer_expired(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_retry *retry = &qp->retry;

	qp->counters[CNT_LOCAL_ACK_TIMEOUT_ERR]++;
	if (!asking_suffices(qp)) {
		transport_failed(qp, UROCE_CAUSE_TIMEOUT, qp->win.snd_una, now_ns);
		return;
	}
	retry->retries_left--;
	retry->silences++;
	retry->asked++;
	retry->ack_deadline_ns = now_ns + retry->timeout_ns;
	qp->probe.due = true;
}

/*
 * Can what has come not be a response to what was last sent for snd_una (T-5)? Then it is an echo of an earlier flight:
 * the packet is on its way, or about to leave.
 */
static bool is_echo(const struct rc_qp *qp, uint64_t now_ns)
{
	const struct rc_retry *retry = &qp->retry;
	uint32_t restarts;

	if (retry->resending && psn_equal(qp->win.snd_nxt, qp->win.snd_una))
		return true;
	if (!retry->rewound)
		return false;
	/* At snd_una; a wait for receives costs none, and an ask goes out behind what was last sent. */
	restarts = (uint32_t)(retry->retry_cnt - retry->retries_left - retry->asked);
	return !retry->resent || now_ns - retry->resent_ns < rtt_bound_ns(&qp->rtt, retry->timeout_ns)
								     << (restarts > 1 ? restarts - 1 : 0);
}

void rc_retry_sequence_nak_arrived(struct rc_qp *qp, uint64_t now_ns)
{
	probe_heard(&qp->probe, &qp->rtt, qp->retry.timeout_ns, now_ns);
	if (retry_waits_for_receiver(&qp->retry) || is_echo(qp, now_ns)) {
		qp->counters[CNT_REPEATED_NAK]++;
		return;
	}
	qp->counters[CNT_PACKET_SEQ_ERR]++;
	transport_failed(qp, UROCE_CAUSE_SEQUENCE_NAK, qp->win.snd_una, now_ns);
}

bool rc_retry_peer_has(const struct rc_qp *qp, psn_t psn)
{
	uint32_t heard = psn_distance(qp->retry.heard, qp->win.snd_una), outstanding = sendwin_outstanding(&qp->win);

	/* before snd_una: the peer has answered some of a READ */
	return psn_distance(psn, qp->win.snd_una) >= outstanding ||
	       (heard <= outstanding && psn_distance(psn, qp->win.snd_una) < heard);
}

/*
 * Is this response of the flight before the last rewind, whatever progress that has made meanwhile? Of what is
 * being sent again, one at or behind `snd_nxt` can be of no other. And a flight goes forward: one that is newer than
 * all that came since then goes on with the old flight, up to its end; the new one begins again at snd_una.
 */
static bool goes_on_with_old_flight(struct rc_qp *qp, psn_t psn)
{
	const struct rc_sendwin *win = &qp->win;
	struct rc_retry *retry = &qp->retry;
	uint32_t ahead = psn_distance(psn, win->snd_una), heard = psn_distance(retry->heard, win->snd_una);
	bool newer = heard > sendwin_outstanding(win) || ahead >= heard;

	if (newer)
		retry->heard = psn_next(psn);
	if (retry->resending && ahead >= psn_distance(win->snd_nxt, win->snd_una))
		return true;
	return retry->rewound && newer && ahead < psn_distance(retry->rewind_limit, win->snd_una);
}

/* The response at snd_una was lost, if this is no echo. heard: everything before it has reached the peer. */
static void response_was_lost(struct rc_qp *qp, psn_t heard, uint64_t now_ns)
{
	if (retry_waits_for_receiver(&qp->retry) || is_echo(qp, now_ns))
		return;
	qp->counters[CNT_IMPLIED_NAK_SEQ_ERR]++;
	transport_failed(qp, UROCE_CAUSE_IMPLIED_NAK, heard, now_ns);
}

/*
 * A response of what was sent before the last rewind: where they come out of order, nothing tells one of the old flight
 * from one of the new. It shows that the peer lives: whether the last retry was in vain is for the ACK timer to say.
 */
static bool is_for_the_timer(const struct rc_qp *qp, psn_t psn)
{
	const struct rc_retry *retry = &qp->retry;

	return retry->rewound && retry->retries_left == 0 && retry->timeout_ns &&
	       psn_distance(psn, qp->win.snd_una) < psn_distance(retry->rewind_limit, qp->win.snd_una);
}

void rc_retry_response_missing(struct rc_qp *qp, psn_t trigger, uint64_t now_ns)
{
	bool old = goes_on_with_old_flight(qp, trigger);

	if (old && qp->probe.answered) /* the peer is answering what the verdict would say that it lacks */
		probe_start(&qp->probe, &qp->rtt, qp->retry.timeout_ns, now_ns);
	probe_heard(&qp->probe, &qp->rtt, qp->retry.timeout_ns, now_ns);
	take_echo(&qp->retry, &qp->retry.owed.responses, now_ns);
	if (!old && !is_for_the_timer(qp, trigger))
		response_was_lost(qp, psn_next(trigger), now_ns);
}

void rc_retry_ack_skipped_response(struct rc_qp *qp, psn_t trigger, uint64_t now_ns)
{
	bool old = goes_on_with_old_flight(qp, trigger), probed = qp->probe.behind_una > 0;

	qp->probe.behind_una = 0;
	take_echo(&qp->retry, &qp->retry.owed.acks, now_ns);
	probe_heard(&qp->probe, &qp->rtt, qp->retry.timeout_ns, now_ns);
	if (!old || probed)
		response_was_lost(qp, psn_next(trigger), now_ns);
}

void rc_retry_una_still_missing(struct rc_qp *qp, bool unasked, uint64_t now_ns)
{
	if (!unasked)
		take_echo(&qp->retry, &qp->retry.owed.acks, now_ns);
	if (!probe_is_answer(&qp->probe, unasked))
		probe_heard(&qp->probe, &qp->rtt, qp->retry.timeout_ns, now_ns);
	else if (rc_retry_is_losing(qp))
		rc_retry_probe_answered(qp, now_ns);
	else
		probe_await_reason(&qp->probe, &qp->rtt, now_ns);
}

void rc_retry_probe_answered(struct rc_qp *qp, uint64_t now_ns)
{
	probe_start(&qp->probe, &qp->rtt, qp->retry.timeout_ns, now_ns);
	response_was_lost(qp, qp->win.snd_una, now_ns);
}

void rc_retry_rnr_nak_arrived(struct rc_qp *qp, psn_t psn, uint32_t code, uint64_t now_ns)
{
	struct rc_retry *retry = &qp->retry;

	if (retry_waits_for_receiver(retry)) {
		qp->counters[CNT_REPEATED_NAK]++;
		return;
	}
	qp->counters[CNT_RNR_NAK_RETRY_ERR]++;
	if (retry->rnr_left == 0) { /* */
		rc_fail_send(qp, UROCE_WC_RNR_RETRY_EXC_ERR, UROCE_CAUSE_RNR);
		return;
	}
	if (retry->rnr_retry != RNR_WITHOUT_LIMIT)
		retry->rnr_left--;
	rewind_to_una(qp, qp->win.snd_una, false);
	retry->owed.first = qp->win.snd_una; /* what was behind has been dropped: it leaves anew, behind all copies */
	retry->after_rnr = true;
	retry->rnr_psn = psn;
	retry->rnr_deadline_ns = now_ns + rc_codes_rnr_ns(code);
}
