/* responder.h - requests from the peer: judge in order, execute, answer */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_RESPONDER_H
#define RC_RESPONDER_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/psn.h"

struct rc_qp;
struct rc_outbox;
struct rc_origin;
struct wire_packet;

struct rc_responder {
	psn_t epsn;
	psn_t newest_request; /* epsn, or the READ or atomic that was the last request: an ACK stays before it */
	uint32_t msn;         /* 24 bits */
	uint8_t in_progress;  /* enum wire_kind of the message under way: SEND, WRITE, or RESERVED for none */
	bool silenced;        /* a NAK is out; drop new requests until ePSN comes (K-SEQ, R-3) */
	bool ack_due;         /* an ACK of epsn - 1 is owed */
	bool repeat_ack_due;  /* an ACK is owed to the duplicate repeat_psn, the newest of them (S-8) */
	bool nak_due;
	uint8_t nak_syndrome;
	uint8_t min_rnr_timer;
	psn_t nak_psn;
	psn_t repeat_psn;

	/* the message under way */
	uint32_t message_bytes; /* SEND and WRITE: received so far */
	uint64_t write_va;      /* WRITE: where the next byte goes */
	uint32_t write_left;    /* WRITE: bytes of DMALen still to come */
	uint32_t write_rkey;
};

/*
 * Judges and executes one request; needs room for one completion in the outbox. false: its ICRC, left to us by the
 * origin, is wrong, and it is as if it had never come.
 */
bool rc_responder_receive(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin,
			  uint64_t now_ns, struct rc_outbox *out);

/* Adds READ responses, atomic answers, ACKs and NAKs, in request order. true: more to send than room. */
bool rc_responder_transmit(struct rc_qp *qp, struct rc_outbox *out);

#endif
