/* keepalive.c - the empty WRITE of an idle connection, and what its silence means */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/keepalive.h"

#include "rc/emit.h"
#include "rc/fail.h"
#include "rc/report.h"
#include "rc/retry.h"

#define NS_PER_MS 1000000ull

static bool is_idle(const struct rc_qp *qp)
{
	return psn_equal(qp->win.snd_una, qp->win.snd_max);
}

void rc_keepalive_set(struct rc_qp *qp, uint32_t interval_ms)
{
	struct rc_keepalive *keepalive = &qp->keepalive;

	if (rc_keepalive_is_asking(qp))
		qp->retry.ack_deadline_ns = RC_NEVER;
	*keepalive = (struct rc_keepalive){
		.interval_ns = interval_ms * NS_PER_MS,
		.deadline_ns = interval_ms ? RETRY_AT_ONCE : RC_NEVER, /* from when the clock is next seen */
	};
	qp_note_attributes(qp);
}

void rc_keepalive_expired(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_keepalive *keepalive = &qp->keepalive;
	bool begins = keepalive->deadline_ns == RETRY_AT_ONCE;

	keepalive->deadline_ns = now_ns + keepalive->interval_ns;
	/* Where something is on its way, or asked for already, the ACK timer waits for it. */
	if (begins || qp->state != UROCE_QPS_RTS || !is_idle(qp) || rc_keepalive_is_asking(qp))
		return;
	if (now_ns - qp->retry.since_ns < keepalive->interval_ns)
		keepalive->deadline_ns = qp->retry.since_ns + keepalive->interval_ns;
	else
		qp->probe.due = true;
}

void rc_keepalive_send(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	uint64_t timeout_ns = qp->retry.timeout_ns ? qp->retry.timeout_ns : qp->keepalive.interval_ns;

	qp->probe.due = false;
	qp->keepalive.waiting = true;
	qp->retry.ack_deadline_ns = now_ns + timeout_ns;
	rc_retry_copy_sent(qp, 0, 1);
	emit_empty_write(qp, 0, 0, out);
	qp->counters[CNT_KEEPALIVES]++;
}

bool rc_keepalive_is_asking(const struct rc_qp *qp)
{
	return qp->keepalive.waiting && is_idle(qp) && qp->retry.ack_deadline_ns != RC_NEVER;
}

/* No request has failed, so none completes with it; those that are posted from now on are flushed (E-1). */
static void give_up(struct rc_qp *qp, uint64_t now_ns)
{
	if (rc_qp_has_requests(qp)) {
		rc_fail_send(qp, UROCE_WC_RETRY_EXC_ERR, UROCE_CAUSE_KEEPALIVE);
		return;
	}
	rc_report_idle_failed(qp, UROCE_WC_RETRY_EXC_ERR, UROCE_CAUSE_KEEPALIVE, now_ns);
	rc_fail_enter_error(qp, UROCE_EVENT_QP_FATAL);
}

void rc_keepalive_unanswered(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_retry *retry = &qp->retry;

	qp->counters[CNT_LOCAL_ACK_TIMEOUT_ERR]++;
	retry->ack_deadline_ns = RC_NEVER;
	if (retry->retries_left == 0 && qp->migration.state != UROCE_PATH_ARMED) {
		give_up(qp, now_ns);
		return;
	}
	if (retry->retries_left == 0)
		rc_retry_migrate(qp); /* */
	else
		retry->retries_left--;
	qp->probe.due = true;
}

void rc_keepalive_answered(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_retry *retry = &qp->retry;

	rc_retry_echo_arrived(qp, true, now_ns);
	qp->keepalive.waiting = false;
	retry->retries_left = retry->retry_cnt;
	if (!is_idle(qp))
		return; /* the timer is for what has been sent since */
	retry->ack_deadline_ns = RC_NEVER;
	retry->since_ns = now_ns;
}
