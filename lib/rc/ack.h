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

/* The short way of rc_qp_answer(): true when one ACK or NAK is all that the QP has to send or to tell. */
static inline bool qp_take_ack(struct rc_qp *qp, struct wire_ack *ack)
{
	struct rc_responder *resp = &qp->responder;
	psn_t psn = psn_previous(resp->epsn);
	uint8_t syndrome = syndrome_make(SYNDROME_ACK, CREDIT_UNLIMITED);

	if (!(resp->ack_due | resp->nak_due) || resp->repeat_ack_due || qp->replay.queue_head != REPLAY_NONE ||
	    qp->flow_control || qp_has_news(qp))
		return false;
	if (resp->nak_due) {
		psn = resp->nak_psn;
		syndrome = resp->nak_syndrome;
	}
	resp->nak_due = resp->ack_due = false;
	ack->begin = packet_bth_of(OP_ACKNOWLEDGE, qp->migration.request_flag, qp->pkey, qp->dest_qpn);
	ack->rest = __builtin_bswap32(psn.v) | (uint64_t)__builtin_bswap32((uint32_t)syndrome << 24 | resp->msn) << 32;
	return true;
}

#endif
