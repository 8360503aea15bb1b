/* fail.c - how a QP goes to ERR */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/fail.h"

#include "rc/deadlines.h"
#include "rc/holes.h"
#include "rc/kept.h"
#include "rc/report.h"
#include "rc/scoreboard.h"

void rc_fail_stop_requests(struct rc_qp *qp)
{
	sendwin_refuse_rd_atomic(&qp->win, false); /* READs may be posted again: whatever is posted in ERR is flushed */
	deadlines_end(qp);
	rc_holes_forget(qp);
	rc_scoreboard_forget(qp);
}

void rc_fail_enter_error(struct rc_qp *qp, uint8_t event)
{
	qp_set_state(qp, UROCE_QPS_ERR);
	rc_kept_forget(qp);
	rc_fail_stop_requests(qp);
	/* E-7: a post sees ERR before the application sees any completion */
	sendwin_set_post_state(&qp->win, UROCE_QPS_ERR);
	report_raise(qp, event);
}

void rc_fail_send(struct rc_qp *qp, uint8_t status, uint8_t cause)
{
	rc_report_send_failed(qp, status, cause);
	rc_fail_enter_error(qp, UROCE_EVENT_QP_FATAL);
}

void rc_fail_peer_is_silent(struct rc_qp *qp, uint64_t now_ns)
{
	if (rc_qp_has_requests(qp)) {
		rc_fail_send(qp, UROCE_WC_RETRY_EXC_ERR, UROCE_CAUSE_KEEPALIVE);
		return;
	}
	rc_report_idle_failed(qp, UROCE_WC_RETRY_EXC_ERR, UROCE_CAUSE_KEEPALIVE, now_ns);
	rc_fail_enter_error(qp, UROCE_EVENT_QP_FATAL);
}
