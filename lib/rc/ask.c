/* ask.c - packets to a peer that has nothing to answer: keep-alives, and reports that our lcore was away */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/ask.h"

#include "rc/kept.h"

void rc_ask_set_interval(struct rc_qp *qp, uint32_t interval_ms)
{
	qp->keepalive.interval_ms = interval_ms;
	qp->ask.keeps_alive = interval_ms > 0;
	if (!ask_is_idle(qp) || ask_due(&qp->ask) == ASK_IDLE)
		return; /* the interval begins when the connection is idle, or the packet that is due was answered */
	ask_forget_beside(&qp->ask);
	ask_stop_untimed(qp);
}

void rc_ask_forget_keepalive(struct rc_qp *qp)
{
	ask_take_report(qp);
	rc_ask_set_interval(qp, 0);
}

void rc_ask_idle_expired(struct rc_qp *qp, uint64_t now_ns)
{
	if (qp->ask.deadline_ns == ASK_AT_ONCE || qp->state != UROCE_QPS_RTS || !ask_is_idle(qp))
		ask_stop(qp, now_ns);
	else
		ask_peer(qp);
}

bool rc_ask_report_away(struct rc_qp *qp, uint32_t away_ms)
{
	if (qp->state != UROCE_QPS_RTS || !qp_keeps(qp))
		return false;
	qp->keepalive.away_ms = away_ms < ASK_AWAY_MS_MAX ? away_ms : ASK_AWAY_MS_MAX;
	qp->ask.due |= ASK_REPORT;
	if (qp->ask.waits == ASK_ACKREQ) /* one empty WRITE does both */
		ask_set_due(&qp->ask, ASK_ACKREQ);
	return true;
}
