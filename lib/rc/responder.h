/* responder.h - requests from the peer: judge in order, execute, answer */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_RESPONDER_H
#define RC_RESPONDER_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/qp_state.h"

struct rc_outbox;
struct rc_origin;
struct wire_packet;

/*
 * Judges and executes one request; needs room for one completion in the outbox. false: its ICRC, left to us by the
 * origin, is wrong, and it is as if it had never come.
 */
bool rc_responder_receive(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin,
			  uint64_t now_ns, struct rc_outbox *out);

/* The rights of the peer have changed, or how many READs and atomics may wait for their responses. */
void rc_responder_enable(struct rc_qp *qp);

/* Adds READ responses, atomic responses, ACKs and NAKs, in request order. true: more to send than room. */
bool rc_responder_transmit(struct rc_qp *qp, struct rc_outbox *out);

/* Everything of the connection is forgotten. */
void rc_responder_reset(struct rc_qp *qp);

/* Requests begin at this PSN. */
static inline void responder_begin(struct rc_qp *qp, psn_t epsn)
{
	qp->responder.epsn = qp->responder.newest_request = epsn;
}

/* The code of the wait that an RNR NAK tells. */
static inline void responder_set_rnr_timer(struct rc_qp *qp, uint8_t code)
{
	qp->responder.min_rnr_timer = code;
}

#endif
