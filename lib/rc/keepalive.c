/* keepalive.c - the empty WRITE of an idle connection, and what its silence means */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/keepalive.h"

#include <uroce/event.h>

#include "rc/fail.h"
#include "rc/kept.h"
#include "rc/loss.h"
#include "rc/report.h"
#include "wire/packet.h"

#define NS_PER_MS 1000000ull

static uint64_t interval_ns(const struct rc_qp *qp)
{
	return qp->keepalive.interval_ms * NS_PER_MS;
}

static bool is_idle(const struct rc_qp *qp)
{
	return psn_equal(qp->win.snd_una, qp->win.snd_max);
}

void rc_keepalive_set(struct rc_qp *qp, uint32_t interval_ms)
{
	rc_loss_forget_beside(qp);
	qp->keepalive.interval_ms = interval_ms;
	qp->keepalive.deadline_ns = interval_ms ? LOSS_AT_ONCE : RC_NEVER;
	qp_note_attributes(qp);
}

void rc_keepalive_reset(struct rc_qp *qp)
{
	qp->keepalive.away_ms = 0;
	qp->peer_away_ms = 0;
	qp->peer_away_at_ns = 0;
	rc_keepalive_set(qp, 0);
}

void rc_keepalive_expired(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_keepalive *keepalive = &qp->keepalive;
	bool begins = keepalive->deadline_ns == LOSS_AT_ONCE;

	keepalive->deadline_ns = now_ns + interval_ns(qp);
	/* While something is in flight, or a question is under way, the ACK timer already watches the peer. */
	if (begins || qp->state != UROCE_QPS_RTS || !is_idle(qp) || loss_waits_beside(qp))
		return;
	if (now_ns - qp->loss.since_ns < interval_ns(qp))
		keepalive->deadline_ns = qp->loss.since_ns + interval_ns(qp);
	else
		loss_ask_beside(qp);
}

void rc_keepalive_sent(struct rc_qp *qp, uint64_t now_ns)
{
	if (qp->loss.asks_beside)
		rc_loss_asked_beside(qp, qp->loss.timeout_ns ? qp->loss.timeout_ns : interval_ns(qp), now_ns);
	else
		rc_loss_sent_beside(qp);
}

/*
 * Ends the connection. If the QP has no request an event tells the application; requests posted from now on are flushed
 * (E-1).
 */
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
	qp->counters[CNT_LOCAL_ACK_TIMEOUT_ERR]++;
	if (rc_loss_take_retry_beside(qp))
		return;
	if (qp->keepalive.interval_ms || rc_qp_has_requests(qp))
		give_up(qp, now_ns);
	else
		rc_loss_forget_beside(qp); /* the packet was to show a new path, and nobody waits for its answer */
}

bool rc_keepalive_report_away(struct rc_qp *qp, uint32_t away_ms)
{
	if (qp->state != UROCE_QPS_RTS || !qp_keeps(qp))
		return false;
	qp->keepalive.away_ms = away_ms < KEEPALIVE_AWAY_MS_MAX ? away_ms : KEEPALIVE_AWAY_MS_MAX;
	loss_send_beside(qp);
	return true;
}

void rc_keepalive_duplicate_arrived(struct rc_qp *qp, const struct wire_packet *packet, uint64_t now_ns)
{
	const struct wire_opcode_row *op = wire_opcode(packet->opcode);

	if (packet->rkey != KEEPALIVE_AWAY_RKEY || !op->reth || !op->last || op->immdt || packet->dma_length ||
	    packet->payload_bytes || !qp_keeps(qp))
		return;
	qp->counters[CNT_PEER_AWAY]++;
	if (packet->va == 0 || packet->va > KEEPALIVE_AWAY_MS_MAX)
		return;
	qp->peer_away_ms = (uint32_t)packet->va;
	qp->peer_away_at_ns = now_ns;
}
