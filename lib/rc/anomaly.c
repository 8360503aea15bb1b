/* anomaly.c - counts packets that no honest peer sends, and raises the event */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/anomaly.h"

#include "rc/report.h"

void rc_anomaly_note(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_anomaly *anomaly = &qp->anomaly;
	uint32_t now_ms = (uint32_t)(now_ns / 1000000);

	if (now_ms - anomaly->since_ms >= ANOMALY_MS) {
		anomaly->since_ms = now_ms;
		anomaly->count = 0;
	}
	if (++anomaly->count == ANOMALY_PACKETS)
		report_raise(qp, UROCE_EVENT_ANOMALY);
}
