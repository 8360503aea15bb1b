/* fail.c - the way of a QP to ERR */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/fail.h"

#include <uroce/event.h>

#include "rc/deadlines.h"
#include "rc/report.h"

void rc_fail_stop_requests(struct rc_qp *qp)
{
	atomic_store_explicit(&qp->win.no_rd_atomic, false, memory_order_relaxed); /* whatever is posted is flushed */
	deadlines_end(qp);
}

void rc_fail_enter_error(struct rc_qp *qp, uint8_t event)
{
	qp_set_state(qp, UROCE_QPS_ERR);
	rc_fail_stop_requests(qp);
	/* E-7: posts see it before any completion does */
	atomic_store_explicit(&qp->win.post_state, UROCE_QPS_ERR, memory_order_release);
	qp->report.events |= 1u << event;
}

void rc_fail_send(struct rc_qp *qp, uint8_t status, uint8_t cause)
{
	rc_report_send_failed(qp, status, cause);
	rc_fail_enter_error(qp, UROCE_EVENT_QP_FATAL);
}
