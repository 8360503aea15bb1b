/* ack.h - ACKs as two words, without a struct wire_packet: the usual ACK that arrives, the ACK or NAK that is due */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_ACK_H
#define RC_ACK_H

#include "rc/credit.h"
#include "rc/work.h"
#include "wire/packet.h"

/* May rc_completer_handle_ack() take this ACK? Only if its PSN is in flight and no READ or atomic is outstanding. */
static inline bool qp_ack_is_plain(const struct rc_qp *qp, const struct wire_ack *ack)
{
	return !qp->flow_control && qp->requester.rd_atomic_outstanding == 0 &&
	       syndrome_class((uint8_t)(ack_aeth(ack) >> 24)) == SYNDROME_ACK &&
	       psn_distance(psn_make(ack_psn(ack)), qp->win.snd_una) < sendwin_outstanding(&qp->win);
}

/* Two plain ACKs have come and neither has been taken yet: does the later one, ack, acknowledge more than `before`? */
static inline bool qp_ack_goes_on(const struct rc_qp *qp, const struct wire_ack *ack, const struct wire_ack *before)
{
	psn_t snd_una = qp->win.snd_una;

	return psn_distance(psn_make(ack_psn(ack)), snd_una) > psn_distance(psn_make(ack_psn(before)), snd_una) &&
	       qp_ack_is_plain(qp, ack);
}

/* Is an ACK or NAK the only work? Then qp_take_ack() does it, and the caller need not call rc_qp_transmit(). */
static inline bool work_is_an_ack(uint32_t work)
{
	return work && !(work & ~(uint32_t)(WORK_ACK | WORK_NAK));
}

/* Is there an ACK or NAK among this work, and no response to a READ or atomic, which would leave first (S-14)? */
static inline bool work_has_an_ack(uint32_t work)
{
	return work & (WORK_ACK | WORK_NAK | WORK_REPEAT_ACK | WORK_SACK) && !(work & WORK_RESPONSE);
}

static inline struct wire_ack qp_ack_of(const struct rc_qp *qp, psn_t psn, uint32_t syndrome)
{
	return (struct wire_ack){
		.begin = qp->bth | OP_ACKNOWLEDGE,
		.bth_end = __builtin_bswap32(psn.v) | (uint64_t)__builtin_bswap32(syndrome << 24 | qp->responder.msn)
							      << 32,
	};
}

/* The syndrome of an ACK. With flow control it tells the peer how many receive entries are free (F-2). */
static inline uint8_t qp_ack_syndrome(struct rc_qp *qp)
{
	return syndrome_make(SYNDROME_ACK, qp->flow_control ? rc_credit_say(qp) : CREDIT_UNLIMITED);
}

/* Returns the ACK or NAK that is due. A NAK acknowledges everything before its PSN, so no ACK leaves beside it. */
static inline struct wire_ack qp_take_ack(struct rc_qp *qp)
{
	struct rc_ack *ack = &qp->responder.ack;
	bool nak = ack->due & WORK_NAK;

	ack->due = 0;
	return nak ? qp_ack_of(qp, ack->nak_psn, ack->nak_syndrome) :
		     qp_ack_of(qp, psn_previous(qp->responder.epsn), qp_ack_syndrome(qp));
}

/* ---- what the responder tells it ---- */

/* A request that asks for an ACK was executed. */
static inline void ack_asked_for(struct rc_ack *ack)
{
	ack->due |= WORK_ACK;
}

/* A response will leave that acknowledges everything before it, so no ACK is due. */
static inline void ack_said_by_response(struct rc_ack *ack)
{
	ack->due &= (uint8_t)~WORK_ACK;
}

/* The responder refused the packet at psn: a NAK is due. */
static inline void ack_refused(struct rc_ack *ack, uint8_t syndrome, psn_t psn)
{
	ack->due |= WORK_NAK;
	ack->nak_syndrome = syndrome;
	ack->nak_psn = psn;
}

/* The packet that the NAK would ask for has come before the NAK left: no NAK is due. */
static inline void ack_nak_is_answered(struct rc_ack *ack)
{
	ack->due &= (uint8_t)~WORK_NAK;
}

/* A duplicate SEND or WRITE came: an ACK is due, for the newest such duplicate (S-8). */
static inline void ack_repeated(struct rc_ack *ack, psn_t psn)
{
	if ((ack->due & WORK_REPEAT_ACK) && psn_before(psn, ack->repeat_psn))
		return;
	ack->due |= WORK_REPEAT_ACK;
	ack->repeat_psn = psn;
}

/* The ACK for duplicates has left. */
static inline void ack_repeat_said(struct rc_ack *ack)
{
	ack->due &= (uint8_t)~WORK_REPEAT_ACK;
}

/* SACKs are due, or the turn of kept packets may have come. */
static inline void ack_sack_is_due(struct rc_ack *ack)
{
	ack->due |= WORK_SACK;
}

static inline void ack_sack_said(struct rc_ack *ack)
{
	ack->due &= (uint8_t)~WORK_SACK;
}

/* No ACK and no NAK is due any more. */
static inline void ack_forget(struct rc_ack *ack)
{
	ack->due = 0;
}

#endif
