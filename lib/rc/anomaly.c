/* anomaly.c - counts packets that no honest peer sends, and raises the event */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/anomaly.h"

#include "rc/report.h"

/* One packet is forgotten after each ANOMALY_FORGET_MS. */
static void forget(struct rc_anomaly *anomaly, uint32_t now_ms)
{
	uint32_t packets = (now_ms - anomaly->forgot_ms) / ANOMALY_FORGET_MS;

	anomaly->forgot_ms += packets * ANOMALY_FORGET_MS;
	anomaly->total -= packets < anomaly->total ? packets : anomaly->total;
}

/* A new second begins if the last one is over. Returns the time in ms. */
static uint32_t begin_second(struct rc_anomaly *anomaly, uint64_t now_ns)
{
	uint32_t now_ms = (uint32_t)(now_ns / 1000000);

	if (now_ms - anomaly->since_ms >= ANOMALY_MS) {
		anomaly->since_ms = now_ms;
		anomaly->count = 0;
	}
	return now_ms;
}

/* Raises the event, and not again in this second. */
static void raise_once(struct rc_qp *qp)
{
	qp->anomaly.count = ANOMALY_PACKETS;
	qp->anomaly.total = 0;
	report_raise(qp, UROCE_EVENT_ANOMALY);
}

void rc_anomaly_note(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_anomaly *anomaly = &qp->anomaly;

	forget(anomaly, begin_second(anomaly, now_ns));
	anomaly->total++;
	if (anomaly->count == ANOMALY_PACKETS)
		return;
	if (++anomaly->count == ANOMALY_PACKETS || anomaly->total >= ANOMALY_TOTAL)
		raise_once(qp);
}

bool rc_anomaly_is_told(struct rc_qp *qp, uint64_t now_ns)
{
	begin_second(&qp->anomaly, now_ns);
	return qp->anomaly.count == ANOMALY_PACKETS;
}

void rc_anomaly_raise(struct rc_qp *qp, uint64_t now_ns)
{
	begin_second(&qp->anomaly, now_ns);
	if (qp->anomaly.count < ANOMALY_PACKETS)
		raise_once(qp);
}
