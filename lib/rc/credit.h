/* credit.h - end-to-end credits: how many messages that need a receive entry may be on their way (F) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requester: each AETH says how many receive entries the peer had when it had seen MSN messages. Of the messages
 * behind that MSN at most so many may need an entry; with none left the requester waits for news, and after an ACK
 * timeout sends one message as a probe, so that lost news cannot stop it for ever.
 * Responder: says how many entries are free in each AETH of class ACK, and unasked when it had said none.
 * A QP without flow control says "no limit" and does not listen.
 */
#ifndef RC_CREDIT_H
#define RC_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/qp_state.h"

struct rc_send_wqe;

void rc_credit_reset(struct rc_credit *credit);

/* The clock has reached the probe's deadline, or may have. */
void rc_credit_timer(struct rc_credit *credit, uint64_t now_ns);

/* An AETH of class ACK came, in the window or repeated: msn and credit code. */
void rc_credit_arrived(struct rc_qp *qp, uint32_t msn, uint32_t code);

/* May the next message start? If not, the probe's timer runs from now. */
bool rc_credit_allows(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint64_t now_ns);

/* The message starts, of a QP that counts credits. */
void rc_credit_message_started(struct rc_qp *qp, const struct rc_send_wqe *wqe);

/* No further message that needs an entry may start: ask for an ACK with this one. */
bool rc_credit_is_used_up(const struct rc_qp *qp);

/* The code for an AETH that leaves now. */
uint8_t rc_credit_say(struct rc_qp *qp);

/* With credits: the peer was told "none", or nothing yet, and now there are entries: an unasked ACK is due (F-4). */
bool rc_credit_unsolicited_due(struct rc_qp *qp);

/* May the peer tell credits without being asked? Only one who has said that there are none, or nothing yet (F-4). */
bool rc_credit_may_come_unasked(const struct rc_qp *qp);

#endif
