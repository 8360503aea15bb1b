/* report.h - how a QP goes to ERR, and what the application is told: completions in order, flushed requests, events */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A QP fails once: in ERR nothing is sent or received that could fail. So there is one record of a failure, which the
 * completion of the failed request repeats (E-4).
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

/* ---- failures: the QP goes to ERR ---- */

/* The request at `acked` fails with this status. */
void rc_report_send_failed(struct rc_qp *qp, uint8_t status, uint8_t cause);

/*
 * No keep-alive was answered: the connection ends. If the QP has no request an event tells the application; requests
 * posted from now on are flushed (E-1).
 */
void rc_report_peer_is_silent(struct rc_qp *qp, uint64_t now_ns);

/* The peer's request at psn fails; the event is raised. status: of the receive, if one was in use. */
void rc_report_responder_failed(struct rc_qp *qp, uint8_t status, uint8_t cause, psn_t psn, uint8_t event);

/* No request has failed: the QP goes to ERR, and the event is raised. */
void rc_report_enter_error(struct rc_qp *qp, uint8_t event);

/*
 * Ends what the requester waits for, as part of going to ERR. It runs before `post_state` is stored: a post that sees
 * ERR is accepted, and flushed.
 */
void rc_report_stop_requests(struct rc_qp *qp);

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

/* The QP is about to fail. in_use: a message has begun to use the oldest receive, which completes with the error. */
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
