/* retry.c - retransmission: budgets, timers, and which triggers are one and the same loss */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/asking.h"
#include "rc/codes.h"
#include "rc/qp.h"

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

void rc_retry_packet_sent(struct rc_qp *qp, psn_t psn, bool first, bool answered, uint64_t now_ns)
{
	struct rc_retry *retry = &qp->retry;

	if (retry->ack_deadline_ns == RC_NEVER && retry->timeout_ns)
		retry->ack_deadline_ns = now_ns + retry->timeout_ns;
	if (answered && qp->probe.deadline_ns == RC_NEVER)
		probe_start(&qp->probe, &qp->round_trip, retry->timeout_ns, now_ns);
	if (first && psn_equal(psn, qp->win.una))
		retry->since_ns = now_ns;
	if (retry->rewound && !retry->resent && psn_equal(psn, retry->rewind_psn)) {
		retry->resent = true;
		retry->resent_ns = now_ns;
	}
	if (psn_equal(qp->win.next, qp->win.limit))
		retry_caught_up(retry);
	if (answered && first && !qp->round_trip.timing && !retry->rewound)
		round_trip_begin(&qp->round_trip, psn, now_ns);
}

void rc_retry_progress_made(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_retry *retry = &qp->retry;
	uint32_t in_flight = psn_distance(qp->win.next, qp->win.una);

	/* Packets are being lost: that we had to ask tells nothing about the peer. */
	if (round_trip_answered(&qp->round_trip, qp->win.una, retry->timeout_ns, now_ns) ||
	    !burst_is_full(&qp->requester.burst))
		qp->probe.tries = 0;
	retry->retries_left = retry->retry_cnt;
	retry->rnr_left = retry->rnr_retry;
	retry->rewound = false;
	retry->since_ns = now_ns;
	retry->rnr_deadline_ns = RC_NEVER;
	/* Nothing in flight (all done, or all of it waits to be sent again): the next packet starts the timer. */
	retry->ack_deadline_ns = in_flight && retry->timeout_ns ? now_ns + retry->timeout_ns : RC_NEVER;
	if (asking_answer_is_due(qp, in_flight))
		probe_start(&qp->probe, &qp->round_trip, retry->timeout_ns, now_ns);
	else
		probe_pause(&qp->probe, !psn_equal(qp->win.next, qp->win.limit));
}

/* T-2: the oldest PSN that is not acknowledged goes out next, and everything behind it. */
static void rewind_to_una(struct rc_qp *qp, psn_t trigger)
{
	struct rc_retry *retry = &qp->retry;

	retry->rewound = true;
	retry->resent = false;
	retry->rewind_psn = qp->win.una;
	retry->rewind_limit = qp->win.limit;
	retry->trigger = trigger;
	round_trip_forget(&qp->round_trip);
	retry->ack_deadline_ns = RC_NEVER;
	probe_stop(&qp->probe);
	retry->resending = rc_sendwin_rewind(&qp->win);
}

void rc_retry_path_changed(struct rc_qp *qp, uint64_t timeout_ns)
{
	struct rc_retry *retry = &qp->retry;

	retry->timeout_ns = timeout_ns;
	retry->retries_left = retry->retry_cnt;
	rc_round_trip_reset(&qp->round_trip);
	burst_reset(&qp->requester.burst);
	qp->probe.tries = 0;
	/* In an RNR wait the window is rewound already. */
	if (!psn_equal(qp->win.una, qp->win.limit) && !retry_waits_for_receiver(retry))
		rewind_to_una(qp, psn_previous(qp->win.limit));
}

static void transport_failed(struct rc_qp *qp, enum uroce_cause cause, psn_t trigger)
{
	struct rc_retry *retry = &qp->retry;

	if (retry->retries_left == 0 && qp->migration.state == UROCE_PATH_ARMED) {
		rc_migration_start(qp); /* */
		return;
	}
	if (retry->retries_left == 0) { /* T-4 */
		rc_qp_fail_send(qp, UROCE_WC_RETRY_EXC_ERR, cause);
		return;
	}
	retry->retries_left--;
	burst_notice_loss(&qp->requester.burst);
	rewind_to_una(qp, trigger);
}

void rc_retry_timer_expired(struct rc_qp *qp)
{
	qp->counters[CNT_LOCAL_ACK_TIMEOUT_ERR]++;
	transport_failed(qp, UROCE_CAUSE_TIMEOUT, psn_previous(qp->win.limit));
}

/* The rewind for una has happened, and its packet cannot have been answered yet (T-5). */
static bool answer_is_on_its_way(const struct rc_qp *qp, uint64_t now_ns)
{
	const struct rc_retry *retry = &qp->retry;

	if (!retry->rewound)
		return false;
	if (!retry->resent)
		return true;
	return qp->round_trip.shortest_ns != UINT64_MAX && now_ns - retry->resent_ns < qp->round_trip.shortest_ns;
}

void rc_retry_sequence_nak_arrived(struct rc_qp *qp, uint64_t now_ns)
{
	if (retry_waits_for_receiver(&qp->retry) || answer_is_on_its_way(qp, now_ns)) {
		qp->counters[CNT_REPEATED_NAK]++;
		return;
	}
	qp->counters[CNT_PACKET_SEQ_ERR]++;
	transport_failed(qp, UROCE_CAUSE_SEQUENCE_NAK, psn_previous(qp->win.limit));
}

/*
 * After a rewind the rest of the old flight still arrives, perhaps out of order: PSNs newer than the one that showed
 * the loss, none beyond what had been sent. Only a response at or before that one, or one that the old flight cannot
 * hold, speaks of the repeated packets, and of those only what has gone out again, whatever progress an old answer has
 * made meanwhile. What is lost behind that one a second time is left to the ACK timer.
 */
static bool belongs_to_old_flight(const struct rc_qp *qp, psn_t trigger)
{
	const struct rc_retry *retry = &qp->retry;

	if (retry->resending && psn_distance(trigger, qp->win.una) >= psn_distance(qp->win.next, qp->win.una))
		return true;
	return retry->rewound && psn_before(retry->trigger, trigger) && psn_before(trigger, retry->rewind_limit);
}

void rc_retry_answer_missing(struct rc_qp *qp, psn_t trigger, uint64_t now_ns)
{
	if (retry_waits_for_receiver(&qp->retry) || belongs_to_old_flight(qp, trigger) ||
	    answer_is_on_its_way(qp, now_ns))
		return;
	qp->counters[CNT_IMPLIED_NAK_SEQ_ERR]++;
	transport_failed(qp, UROCE_CAUSE_IMPLIED_NAK, trigger);
}

void rc_retry_rnr_nak_arrived(struct rc_qp *qp, uint32_t code, uint64_t now_ns)
{
	struct rc_retry *retry = &qp->retry;

	if (retry_waits_for_receiver(retry)) {
		qp->counters[CNT_REPEATED_NAK]++;
		return;
	}
	qp->counters[CNT_RNR_NAK_RETRY_ERR]++;
	if (retry->rnr_left == 0) { /* */
		rc_qp_fail_send(qp, UROCE_WC_RNR_RETRY_EXC_ERR, UROCE_CAUSE_RNR);
		return;
	}
	if (retry->rnr_retry != RNR_WITHOUT_LIMIT)
		retry->rnr_left--;
	rewind_to_una(qp, psn_previous(qp->win.limit));
	retry->rnr_deadline_ns = now_ns + rc_codes_rnr_ns(code);
}
