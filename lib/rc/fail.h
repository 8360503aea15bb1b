/* fail.h - the way of a QP to ERR */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_FAIL_H
#define RC_FAIL_H

#include "rc/qp_state.h"

/* The request at `acked` fails, the QP goes to ERR. */
void rc_fail_send(struct rc_qp *qp, uint8_t status, uint8_t cause);

/*
 * The part of going to ERR that stops what the requester waits for. Before `post_state` is stored: a post that sees ERR
 * is taken, to be flushed.
 */
void rc_fail_stop_requests(struct rc_qp *qp);

/* The QP goes to ERR with an event. */
void rc_fail_enter_error(struct rc_qp *qp, uint8_t event);

#endif
