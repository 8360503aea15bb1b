/* ack.h - an ACK as two words, without a packet value: one that comes, and one that is all there is to send */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_ACK_H
#define RC_ACK_H

#include "rc/credit.h"
#include "rc/work.h"
#include "wire/packet.h"

/* May rc_completer_take_ack() take this ACK? It has to be one of a packet in flight, with no READ outstanding. */
static inline bool qp_ack_is_plain(const struct rc_qp *qp, const struct wire_ack *ack)
{
	return !qp->flow_control && qp->requester.rd_atomic_outstanding == 0 &&
	       syndrome_class((uint8_t)(ack_aeth(ack) >> 24)) == SYNDROME_ACK &&
	       psn_distance(psn_make(ack_psn(ack)), qp->win.snd_una) < sendwin_outstanding(&qp->win);
}

/* Does this ACK, which is plain as well, acknowledge more than the one before it, which has not been taken yet? */
static inline bool qp_ack_goes_on(const struct rc_qp *qp, const struct wire_ack *ack, const struct wire_ack *before)
{
	psn_t snd_una = qp->win.snd_una;

	return psn_distance(psn_make(ack_psn(ack)), snd_una) > psn_distance(psn_make(ack_psn(before)), snd_una) &&
	       qp_ack_is_plain(qp, ack);
}

/* Is an ACK or NAK all the work? Then qp_take_ack() does it, and rc_qp_transmit() need not be called. */
static inline bool work_is_an_ack(uint32_t work)
{
	return work && !(work & ~(uint32_t)(WORK_ACK | WORK_NAK));
}

static inline struct wire_ack qp_ack_of(const struct rc_qp *qp, psn_t psn, uint32_t syndrome)
{
	return (struct wire_ack){
		.begin = qp->bth | OP_ACKNOWLEDGE,
		.rest = __builtin_bswap32(psn.v) | (uint64_t)__builtin_bswap32(syndrome << 24 | qp->responder.msn)
							   << 32,
	};
}

/* The syndrome of an ACK, which tells the peer how many receives there are where those are counted (F-2). */
static inline uint8_t qp_ack_syndrome(struct rc_qp *qp)
{
	return syndrome_make(SYNDROME_ACK, qp->flow_control ? rc_credit_say(qp) : CREDIT_UNLIMITED);
}

/* The ACK or NAK that is due. A NAK acknowledges everything before its PSN, so an ACK need not go along. */
static inline struct wire_ack qp_take_ack(struct rc_qp *qp)
{
	struct rc_ack *ack = &qp->responder.ack;
	bool nak = ack->due & WORK_NAK;

	ack->due = 0;
	return nak ? qp_ack_of(qp, ack->nak_psn, ack->nak_syndrome) :
		     qp_ack_of(qp, psn_previous(qp->responder.epsn), qp_ack_syndrome(qp));
}

/* ---- what it is told ---- */

/* A request that asks for an ACK was executed. */
static inline void ack_asked_for(struct rc_ack *ack)
{
	ack->due |= WORK_ACK;
}

/* A response will leave that acknowledges everything before it. */
static inline void ack_said_by_response(struct rc_ack *ack)
{
	ack->due &= (uint8_t)~WORK_ACK;
}

/* The packet at psn is refused. */
static inline void ack_refused(struct rc_ack *ack, uint8_t syndrome, psn_t psn)
{
	ack->due |= WORK_NAK;
	ack->nak_syndrome = syndrome;
	ack->nak_psn = psn;
}

/* The packet has come that the NAK asks for, which has not left yet. */
static inline void ack_nak_is_answered(struct rc_ack *ack)
{
	ack->due &= (uint8_t)~WORK_NAK;
}

/* A SEND or WRITE came again: the newest of them is acknowledged (S-8). */
static inline void ack_repeated(struct rc_ack *ack, psn_t psn)
{
	if ((ack->due & WORK_REPEAT_ACK) && psn_before(psn, ack->repeat_psn))
		return;
	ack->due |= WORK_REPEAT_ACK;
	ack->repeat_psn = psn;
}

/* That has been acknowledged. */
static inline void ack_repeat_said(struct rc_ack *ack)
{
	ack->due &= (uint8_t)~WORK_REPEAT_ACK;
}

/* Nothing is owed any more. */
static inline void ack_forget(struct rc_ack *ack)
{
	ack->due = 0;
}

#endif
