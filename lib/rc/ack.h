/* ack.h - an ACK as two words, without a packet value: one that comes, and one that is all there is to send */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_ACK_H
#define RC_ACK_H

#include "rc/work.h"
#include "wire/packet.h"

/* Does an ACK speak of what is in flight, with nothing special about either? Then rc_completer_take_ack() takes it. */
static inline bool qp_ack_is_plain(const struct rc_qp *qp, const struct wire_ack *ack)
{
	return !qp->flow_control && qp->requester.rd_atomic_outstanding == 0 &&
	       syndrome_class((uint8_t)(ack_aeth(ack) >> 24)) == SYNDROME_ACK &&
	       psn_distance(psn_make(ack_psn(ack)), qp->win.snd_una) < sendwin_outstanding(&qp->win);
}

/* Such an ACK behind another one that has not been taken yet: does it say all that the other one does, and more? */
static inline bool qp_ack_goes_on(const struct rc_qp *qp, const struct wire_ack *ack, const struct wire_ack *before)
{
	psn_t snd_una = qp->win.snd_una;

	return psn_distance(psn_make(ack_psn(ack)), snd_una) > psn_distance(psn_make(ack_psn(before)), snd_una) &&
	       qp_ack_is_plain(qp, ack);
}

/* Is one ACK or NAK all of it? Then qp_take_ack() has it, and rc_qp_transmit() need not be called. */
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

/* A NAK acknowledges everything before its PSN, so an ACK need not go along. */
static inline struct wire_ack qp_take_ack(struct rc_qp *qp)
{
	struct rc_responder *resp = &qp->responder;
	bool nak = resp->due & WORK_NAK;

	resp->due = 0;
	return nak ? qp_ack_of(qp, resp->nak_psn, resp->nak_syndrome) :
		     qp_ack_of(qp, psn_previous(resp->epsn), syndrome_make(SYNDROME_ACK, CREDIT_UNLIMITED));
}

#endif
