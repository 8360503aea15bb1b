/* report.h - what the application is told: why a QP has failed, completions in order, flushed requests, events */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A QP fails once: in ERR nothing is sent or received that could fail. So there is one record of a failure, which the
 * completion of the failed request repeats (E-4). fail.h moves the QP to ERR.
 */
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

/* ---- failures: the caller moves the QP to ERR ---- */

/* The request at `acked` has failed with this status. */
void rc_report_send_failed(struct rc_qp *qp, uint8_t status, uint8_t cause);

/* The peer is given up while no request is under way. */
void rc_report_idle_failed(struct rc_qp *qp, uint8_t status, uint8_t cause, uint64_t now_ns);

/* The peer's request at psn has failed. status: of the receive, if one was in use. */
void rc_report_responder_failed(struct rc_qp *qp, uint8_t status, uint8_t cause, psn_t psn);

/* The record of the failure since RESET; all zeros if there is none. */
static inline const struct uroce_qp_error *report_failure(const struct rc_qp *qp)
{
	return &qp->failure.error;
}

/* What the host has found out about the failure, if that is one of a request of ours. */
void rc_report_found(struct rc_qp *qp, uint8_t finding);

/* ---- completions and events ---- */

/*
 * Adds completions and events while there is room: answered requests in posting order, and in ERR the failed request
 * and the flushed ones. Returns true if something did not fit.
 */
bool rc_report_run(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out);

/* Adds completions for answered requests that want one, while there is room. Returns true if something did not fit. */
bool rc_report_answered(struct rc_qp *qp, struct rc_outbox *out);

/* Forgets everything that was to be reported: a new connection begins. */
void rc_report_reset(struct rc_qp *qp);

/* The event is raised once, with the next report. */
static inline void report_raise(struct rc_qp *qp, enum uroce_event_type event)
{
	qp->report.events |= 1u << event;
}

/* The QP has failed. in_use: a message has begun to use the oldest receive, which completes with the error. */
static inline void report_receive_failed(struct rc_qp *qp, bool in_use)
{
	qp->report.recv_failed = in_use;
}

/* The send queue is to drain: once it has drained, SQ_DRAINED is raised. */
static inline void report_drain(struct rc_qp *qp)
{
	qp->report.drained = false;
}

/*
 * Completes the oldest receive with success and the data of its message (S-16). packet is the message's last one. The
 * outbox has room.
 */
void rc_report_receive(struct rc_qp *qp, struct rc_recv_wqe *wqe, const struct wire_packet *packet, uint32_t byte_len,
		       struct rc_outbox *out);

#endif
