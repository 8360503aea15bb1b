/* credit.h - end-to-end credits: how many messages that need a receive entry may be on their way (F) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requester: each AETH says how many receive entries the peer had when it had received MSN messages. Of the messages
 * behind that MSN at most so many may need an entry. With no credit left the requester waits for another AETH. When the
 * peer has owed no answer for the length of an ACK timeout the requester sends one message as a probe, so that a lost
 * AETH cannot stop it for ever. Responder: each AETH of class ACK says how many entries are free. After it has said
 * "none" the responder sends an ACK unasked as soon as there are entries. A QP without flow control says "no limit" and
 * ignores what the peer says.
 */
#ifndef RC_CREDIT_H
#define RC_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/qp_state.h"

struct rc_send_wqe;

void rc_credit_reset(struct rc_credit *credit);

/* To be called when the probe's deadline has passed, or may have passed. */
void rc_credit_timer(struct rc_credit *credit, uint64_t now_ns);

/* An AETH of class ACK came, new or repeated: takes its MSN and its credit code. */
void rc_credit_arrived(struct rc_qp *qp, uint32_t msn, uint32_t code);

/*
 * May the next message start? If it may not, and all earlier messages have been answered, the probe's timer runs from
 * now on.
 */
bool rc_credit_allows(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint64_t now_ns);

/* The message wqe starts. Only for a QP with flow control. */
void rc_credit_message_started(struct rc_qp *qp, const struct rc_send_wqe *wqe);

/* Is no credit left for another message that needs an entry? Then this message asks for an ACK. */
bool rc_credit_is_used_up(const struct rc_qp *qp);

/* The credit code for an AETH that leaves now. */
uint8_t rc_credit_say(struct rc_qp *qp);

/*
 * With flow control: is an unasked ACK due? It is when the last AETH said "no entries", or none has left, and there are
 * entries now (F-4).
 */
bool rc_credit_unsolicited_due(struct rc_qp *qp);

/* May the peer send credits unasked? Only after it has said that it has no entries, or before its first AETH (F-4). */
bool rc_credit_may_come_unasked(const struct rc_qp *qp);

#endif
