/* responder.h - requests from the peer: judged in order, executed, answered */
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
 * Judges and executes one request; the outbox needs room for one completion. Returns false if the ICRC, which the
 * origin had left unchecked, is wrong; then nothing has changed.
 */
bool rc_responder_receive(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin,
			  uint64_t now_ns, struct rc_outbox *out);

/*
 * Executes the kept packets whose turn has come (S-21). Returns false if the outbox has no room for the completions of
 * all.
 */
bool rc_responder_take_kept(struct rc_qp *qp, struct rc_outbox *out);

/* The peer's rights have changed, or the number of READs and atomics that may wait for their responses. */
void rc_responder_enable(struct rc_qp *qp);

/* Adds READ responses, atomic responses, ACKs and NAKs, in request order. Returns true if something did not fit. */
bool rc_responder_transmit(struct rc_qp *qp, struct rc_outbox *out);

/* rc_responder_transmit() has returned true for a QP that has a rate: does the next response wait for the rate? */
bool rc_responder_waits_for_rate(const struct rc_qp *qp);

/* Forgets everything about the connection. */
void rc_responder_reset(struct rc_qp *qp);

/* Sets the PSN of the first request. */
static inline void responder_begin(struct rc_qp *qp, psn_t epsn)
{
	qp->responder.epsn = qp->responder.newest_request = epsn;
}

/* Sets the RNR timer code that an RNR NAK carries. */
static inline void responder_set_rnr_timer(struct rc_qp *qp, uint8_t code)
{
	qp->responder.min_rnr_timer = code;
}

#endif
