/* emit.h - writes a QP's packets as frames into the outbox */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_EMIT_H
#define RC_EMIT_H

#include "rc/outbox.h"
#include "rc/qp_state.h"

/* The BTH of a packet. flags: WIRE_SOLICITED or 0. */
static inline struct wire_headers emit_bth(const struct rc_qp *qp, uint8_t opcode, uint32_t flags, psn_t psn,
					   bool ackreq)
{
	return (struct wire_headers){
		.begin = qp->bth | opcode | flags << 8,
		.bth_end = packet_bth_end_of(psn.v, ackreq),
	};
}

static inline void emit_add_reth(struct wire_headers *headers, uint64_t va, uint32_t rkey, uint32_t dma_length)
{
	headers->extensions |= FRAME_RETH;
	headers->va = __builtin_bswap64(va);
	headers->key_and_length = packet_reth_end(rkey, dma_length);
}

/* Adds an ImmDt or an IETH. */
static inline void emit_add_imm(struct wire_headers *headers, uint32_t value)
{
	headers->extensions |= FRAME_4_BYTES;
	headers->bth_end |= (uint64_t)__builtin_bswap32(value) << 32;
}

static inline void emit_add_aeth(struct wire_headers *headers, uint8_t syndrome, uint32_t msn)
{
	emit_add_imm(headers, (uint32_t)syndrome << 24 | msn);
}

/* Writes a frame; the outbox must have room for it. */
static inline void emit(const struct wire_headers *headers, const uint8_t *payload, uint32_t bytes,
			struct rc_outbox *out)
{
	outbox_take_frame(out, frame_write(out->template, headers, payload, bytes, outbox_place(out)));
}

/*
 * Writes a packet whose extension headers struct wire_headers cannot hold. The fields that all packets of the QP share
 * are filled in here.
 */
static inline void emit_packet(const struct rc_qp *qp, struct wire_packet *packet, psn_t psn, struct rc_outbox *out)
{
	packet->flags |= (uint32_t)(qp->bth >> 8) & WIRE_MIGREQ;
	packet->psn = psn.v;
	packet->dest_qpn = qp->dest_qpn;
	packet->pkey = qp->pkey;
	outbox_take_frame(out, wire_frame_build(out->template, packet, outbox_place(out)));
}

/* The R_Key "AWAY" of an empty WRITE that reports how long our lcore was away: its address is the time in ms (C-33). */
#define EMIT_AWAY_RKEY 0x41574159u

/*
 * Writes an empty WRITE with the PSN before the oldest unacknowledged one: a duplicate, which changes nothing, but
 * which the peer answers with an ACK after all responses that it owes.
 */
static inline void emit_empty_write(const struct rc_qp *qp, uint64_t va, uint32_t rkey, struct rc_outbox *out)
{
	struct wire_headers headers = emit_bth(qp, OP_WRITE_ONLY, 0, psn_previous(qp->win.snd_una), true);

	emit_add_reth(&headers, va, rkey, 0);
	emit(&headers, NULL, 0, out);
}

#endif
