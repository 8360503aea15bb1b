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

/* ---- verdicts: what each judgement of a request brings about ---- */

/* How a request with PSN = ePSN was judged, in the order of S-1. */
enum verdict {
	VERDICT_ACCEPT,
	VERDICT_BAD_SEQUENCE,     /* S-3 */
	VERDICT_UNSUPPORTED,      /* opcode reserved or not supported */
	VERDICT_NOT_ENABLED,      /* the QP does not allow this kind of access */
	VERDICT_BAD_LENGTH,       /* pad or payload length (W-6) */
	VERDICT_UNALIGNED,        /* address of an atomic (S-7) or of an ATOMIC WRITE (S-20) */
	VERDICT_TOO_DEEP,         /* S-12 */
	VERDICT_NO_RECEIVE,       /* */
	VERDICT_SEND_TOO_LONG,    /* S-6 */
	VERDICT_DMA_LENGTH,       /* S-5 */
	VERDICT_ACCESS,           /* key, domain, rights, range (S-4) */
	VERDICT_RECEIVE_UNUSABLE, /* the memory of the receive entry itself may not be used (K-OP) */
	VERDICTS
};

struct verdict_row {
	uint8_t syndrome;       /* syndrome of the NAK */
	uint8_t receive_status; /* enum uroce_wc_status of the receive, if one was in use */
	uint8_t cause;          /* enum uroce_cause; for VERDICT_ACCESS the memory check gives it */
	uint8_t event;          /* enum uroce_event_type that is raised if no receive was in use */
	uint8_t counter;        /* enum rc_counter */
	bool retry;             /* the QP does not fail: it waits for the request to come again */
};

extern const struct verdict_row rc_verdicts[VERDICTS];

/* ---- requests ---- */

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
