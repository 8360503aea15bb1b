/* anomaly.c - counting what no honest peer sends */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/anomaly.h"

#include "rc/report.h"

void rc_anomaly_note(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_anomaly *anomaly = &qp->anomaly;

	if (now_ns - anomaly->since_ns >= ANOMALY_NS) {
		anomaly->since_ns = now_ns;
		anomaly->count = 0;
	}
	if (++anomaly->count == ANOMALY_PACKETS)
		report_raise(qp, UROCE_EVENT_ANOMALY);
}
