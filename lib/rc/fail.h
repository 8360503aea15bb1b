/* fail.h - how a QP goes to ERR */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_FAIL_H
#define RC_FAIL_H

#include "rc/qp_state.h"

/* Fails the request at `acked` with this status; the QP goes to ERR. */
void rc_fail_send(struct rc_qp *qp, uint8_t status, uint8_t cause);

/*
 * No keep-alive was answered: the connection ends. If the QP has no request an event tells the application; requests
 * posted from now on are flushed (E-1).
 */
void rc_fail_peer_is_silent(struct rc_qp *qp, uint64_t now_ns);

/*
 * Ends what the requester waits for, as part of going to ERR. It runs before `post_state` is stored: a post that sees
 * ERR is accepted, and flushed.
 */
void rc_fail_stop_requests(struct rc_qp *qp);

/* The QP goes to ERR, and the event is raised. */
void rc_fail_enter_error(struct rc_qp *qp, uint8_t event);

#endif
