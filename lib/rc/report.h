/* report.h - what the application is told: completions in order, flushes, events */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_REPORT_H
#define RC_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/event.h>
#include <uroce/qp.h>

#include "rc/qp_state.h"

struct rc_outbox;
struct rc_recv_wqe;
struct wire_packet;

/* Why the request at `acked` failed; and why the peer's request at psn did. The caller moves the QP to ERR. */
void rc_report_send_failed(struct rc_qp *qp, uint8_t status, uint8_t cause);
/* The same of a QP that had no request at work when its peer was given up. */
void rc_report_idle_failed(struct rc_qp *qp, uint8_t status, uint8_t cause, uint64_t now_ns);
void rc_report_responder_failed(struct rc_qp *qp, uint8_t status, uint8_t cause, psn_t psn);

/*
 * Adds completions and events while there is room: finished requests in posting order, and in ERR the failed one
 * and the flushed ones. true: something did not fit.
 */
bool rc_report_run(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out);

/* Completes what is answered and wants it, as far as there is room. true: there was not enough. */
bool rc_report_answered(struct rc_qp *qp, struct rc_outbox *out);

/* Nothing is to be told any more: a new connection. */
void rc_report_reset(struct rc_qp *qp);

/* The event is raised with the next report, once. */
static inline void report_raise(struct rc_qp *qp, enum uroce_event_type event)
{
	qp->report.events |= 1u << event;
}

/* in_use: the oldest receive was begun when the QP failed, and completes with the error. */
static inline void report_receive_failed(struct rc_qp *qp, bool in_use)
{
	qp->report.recv_failed = in_use;
}

/* The send queue is to drain: SQ_DRAINED is raised when it has. */
static inline void report_drain(struct rc_qp *qp)
{
	qp->report.drained = false;
}

/* The oldest receive completes with success and what came (S-16); packet is the last of its message. Needs room. */
void rc_report_receive(struct rc_qp *qp, struct rc_recv_wqe *wqe, const struct wire_packet *packet, uint32_t byte_len,
		       struct rc_outbox *out);

#endif
