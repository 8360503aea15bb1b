/* request.c - writes READs, atomics and the like, and finds payload that lies in several pieces */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/request.h"

#include "rc/codes.h"

/* Finds bytes [offset, offset + bytes) of a message that lies in one piece or several; bytes is not 0. */
static enum uroce_cause gather(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint64_t offset, uint32_t bytes,
			       struct request_pieces *pieces)
{
	for (const struct uroce_sge *sge = wqe->sges; bytes > 0; sge++) {
		struct wire_span *span = &pieces->pieces[pieces->count];
		enum rc_mr_verdict verdict;
		uint8_t *host;

		if (offset >= sge->length) {
			offset -= sge->length;
			continue;
		}
		span->bytes = sge->length - offset < bytes ? sge->length - offset : bytes;
		verdict = qp_check_memory(qp, sge->lkey, sge->addr + offset, span->bytes, MR_ACCESS_LOCAL, &host);
		if (verdict != MR_OK)
			return rc_codes_local_cause(verdict);
		span->base = host;
		pieces->count++;
		bytes -= (uint32_t)span->bytes;
		offset = 0;
	}
	return UROCE_CAUSE_NONE;
}

enum uroce_cause rc_request_find_pieces(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t index,
					struct request_pieces *pieces)
{
	uint32_t bytes = request_packet_bytes(qp, wqe, index, wqe->psn_count);
	uint64_t offset = (uint64_t)index << qp->mtu_shift;

	pieces->count = 0;
	if (bytes > 0 && !(wqe->flags & UROCE_SEND_INLINE))
		return gather(qp, wqe, offset, bytes, pieces);
	pieces->pieces[0] = (struct wire_span){ .base = (const uint8_t *)wqe->sges + offset, .bytes = bytes };
	pieces->count = 1;
	return UROCE_CAUSE_NONE;
}

/* The FETH on the wire: placement type in bits 3:0, selectivity in bits 5:4. */
static uint32_t feth_of(const struct rc_send_wqe *wqe)
{
	uint32_t reach = wqe->imm & (UROCE_FLUSH_GLOBAL | UROCE_FLUSH_PERSISTENT);

	return reach | (wqe->imm & UROCE_FLUSH_WHOLE_REGION ? FETH_WHOLE_REGION : 0);
}

/* The memory for the response to a READ or atomic must be the QP's to write before the request is sent. */
static enum uroce_cause check_response_buffers(struct rc_qp *qp, const struct rc_send_wqe *wqe)
{
	for (uint32_t i = 0; i < wqe->sge_count; i++) {
		const struct uroce_sge *sge = &wqe->sges[i];
		enum rc_mr_verdict verdict;
		uint8_t *host;

		if (sge->length == 0)
			continue;
		verdict = qp_check_memory(qp, sge->lkey, sge->addr, sge->length, UROCE_ACCESS_LOCAL_WRITE, &host);
		if (verdict != MR_OK)
			return rc_codes_local_cause(verdict);
	}
	return UROCE_CAUSE_NONE;
}

enum uroce_cause rc_request_check_rd_atomic(struct rc_qp *qp, const struct rc_send_wqe *wqe)
{
	enum uroce_cause cause = UROCE_CAUSE_NONE;

	if (wqe->opcode != UROCE_WR_ATOMIC_WRITE)
		return check_response_buffers(qp, wqe);
	request_find_bytes(qp, wqe, 0, wqe->length_bytes, &cause);
	return cause;
}

/* Writes a FLUSH, an atomic or an ATOMIC WRITE, which have extension headers of their own. */
static void write_packet(const struct rc_qp *qp, uint32_t slot, struct rc_outbox *out)
{
	const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, slot);
	const struct rc_atomic_operands *operands = sendwin_operands(&qp->win, slot);
	struct wire_packet packet = { .flags = WIRE_ACKREQ, .va = wqe->remote_va, .rkey = wqe->rkey };

	if (wqe->opcode == UROCE_WR_FLUSH) {
		packet.opcode = OP_FLUSH;
		packet.dma_length = wqe->length_bytes; /* up to a whole message, more than a packet has */
		packet.feth = feth_of(wqe);
	} else if (wqe->opcode == UROCE_WR_ATOMIC_CMP_AND_SWP) {
		packet.opcode = OP_COMPARE_SWAP;
		packet.swap_add = operands->swap;
		packet.compare = operands->compare_add;
	} else {
		packet.opcode = OP_FETCH_ADD;
		packet.swap_add = operands->compare_add;
	}
	emit_packet(qp, &packet, wqe->first_psn, out);
}

void rc_request_write_rd_atomic(struct rc_qp *qp, uint32_t slot, uint32_t index, uint32_t responses,
				struct rc_outbox *out)
{
	const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, slot);
	uint64_t done = (uint64_t)index << qp->mtu_shift, part = (uint64_t)responses << qp->mtu_shift;
	uint64_t left = wqe->length_bytes - done;
	enum uroce_cause cause = UROCE_CAUSE_NONE;
	struct wire_headers headers;

	if (wqe->opcode == UROCE_WR_RDMA_READ) {
		headers = emit_bth(qp, OP_READ_REQUEST, 0, psn_add(wqe->first_psn, index), true);
		emit_add_reth(&headers, wqe->remote_va + done, wqe->rkey, (uint32_t)(left < part ? left : part));
		emit(&headers, NULL, 0, out);
	} else if (wqe->opcode == UROCE_WR_ATOMIC_WRITE) {
		headers = emit_bth(qp, OP_ATOMIC_WRITE, 0, wqe->first_psn, true);
		emit_add_reth(&headers, wqe->remote_va, wqe->rkey, wqe->length_bytes);
		emit(&headers, request_find_bytes(qp, wqe, 0, wqe->length_bytes, &cause), wqe->length_bytes, out);
	} else {
		write_packet(qp, slot, out);
	}
}
