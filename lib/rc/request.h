/* request.h - the packets of a posted request: their fields, and where their payload lies */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A caller first has the memory of the payload judged, and then writes the frames, which cannot fail. Neither step
 * changes the QP, except for the key slots that it remembers.
 */
#ifndef RC_REQUEST_H
#define RC_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/emit.h"
#include "rc/memory_fault.h"
#include "rc/qp_state.h"
#include "rc/spread.h"

/* Payload of a packet, in one or more pieces. */
struct request_pieces {
	uint32_t count;
	struct wire_span pieces[LIMIT_SGE];
};

/*
 * Finds the payload of packet number `index` of a SEND or WRITE. Returns UROCE_CAUSE_NONE, or why the payload may
 * not be read.
 */
enum uroce_cause rc_request_find_pieces(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t index,
					struct request_pieces *pieces);

/* May the memory of a READ, atomic or the like be used for its response, and for its payload? */
enum uroce_cause rc_request_check_rd_atomic(struct rc_qp *qp, const struct rc_send_wqe *wqe);

/*
 * Writes the packet of wqe, the READ, atomic or the like in `slot`. A READ asks for `responses` responses from number
 * `index` on, the first one that is missing.
 */
static inline void request_write_rd_atomic(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t slot,
					   uint32_t index, uint32_t responses, struct rc_outbox *out)
{
	if (qp_spreads(qp))
		spread_leaves(qp, psn_add(wqe->first_psn, index), out);
	rc_ops[wqe->opcode].write(qp, wqe, slot, index, responses, out);
}

/* The headers of packet number `index` of a SEND or WRITE. Fields of a RETH are set even if the packet has no RETH. */
static inline struct wire_headers request_headers(const struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t index,
						  uint32_t psn_count, bool ackreq)
{
	const struct rc_op *op = &rc_ops[wqe->opcode];
	bool last = index + 1 == psn_count;
	struct wire_headers headers;
	uint8_t opcode;

	if (index == 0)
		opcode = last ? op->only : op->first;
	else
		opcode = last ? op->last : op->middle;
	headers = emit_bth(qp, opcode, last && (wqe->flags & UROCE_SEND_SOLICITED) ? WIRE_SOLICITED : 0,
			   psn_add(wqe->first_psn, index), ackreq);
	emit_add_reth(&headers, wqe->remote_va, wqe->rkey, wqe->length_bytes);
	headers.extensions = index == 0 ? op->reth : 0;
	if (last && op->imm)
		emit_add_imm(&headers, op->ieth ? wqe->rkey : load_be32(&wqe->imm));
	return headers;
}

/* Finds bytes of a message that lies in one piece or inline. NULL: they may not be read, and *cause says why. */
static inline const uint8_t *request_find_bytes(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint64_t offset,
						uint64_t bytes, enum uroce_cause *cause)
{
	enum rc_mr_verdict verdict;
	uint8_t *host = NULL;

	if ((wqe->flags & UROCE_SEND_INLINE) || bytes == 0)
		return (const uint8_t *)wqe->sges + offset;
	verdict = qp_check_memory(qp, wqe->sges[0].lkey, wqe->sges[0].addr + offset, bytes, MR_ACCESS_LOCAL, &host);
	if (verdict == MR_OK)
		return host;
	*cause = qp_local_cause(qp, verdict);
	return NULL;
}

/* How many bytes of payload packet number `index` carries. */
static inline uint32_t request_packet_bytes(const struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t index,
					    uint32_t psn_count)
{
	return index + 1 < psn_count ? qp->mtu_bytes : wqe->length_bytes - (index << qp->mtu_shift);
}

/* request_find_bytes() for the payload of `count` packets from number `index` on. */
static inline const uint8_t *request_find_payload(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t index,
						  uint32_t count, uint32_t psn_count, enum uroce_cause *cause)
{
	uint64_t offset = (uint64_t)index << qp->mtu_shift, bytes = wqe->length_bytes - offset;

	return request_find_bytes(qp, wqe, offset, index + count < psn_count ? (uint64_t)count << qp->mtu_shift : bytes,
				  cause);
}

/*
 * Writes `count` packets of a SEND or WRITE from number `index` on; their payload lies in one piece. ackreq: the last
 * packet asks for an ACK.
 */
static inline void request_write_message(const struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t index,
					 uint32_t count, uint32_t psn_count, bool ackreq, const uint8_t *payload,
					 struct rc_outbox *out)
{
	for (; count > 0; count--, index++, payload += qp->mtu_bytes) {
		const struct wire_headers headers = request_headers(qp, wqe, index, psn_count, ackreq && count == 1);

		if (qp_spreads(qp))
			spread_leaves(qp, psn_add(wqe->first_psn, index), out);
		emit(&headers, payload, request_packet_bytes(qp, wqe, index, psn_count), out);
	}
}

/* Writes one packet of a SEND or WRITE whose payload rc_request_find_pieces() has found. */
static inline void request_write_pieces(const struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t index,
					bool ackreq, const struct request_pieces *pieces, struct rc_outbox *out)
{
	const struct wire_headers headers = request_headers(qp, wqe, index, wqe->psn_count, ackreq);

	if (qp_spreads(qp))
		spread_leaves(qp, psn_add(wqe->first_psn, index), out);
	outbox_take_frame(out, wire_frame_write_pieces(out->template, &headers, pieces->pieces, pieces->count,
						       outbox_place(out)));
}

#endif
