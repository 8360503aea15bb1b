/* request.c - finds payload that lies in several pieces, and judges the memory of READs, atomics and the like */
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
			return qp_local_cause(qp, verdict);
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
			return qp_local_cause(qp, verdict);
	}
	return UROCE_CAUSE_NONE;
}

enum uroce_cause rc_request_check_rd_atomic(struct rc_qp *qp, const struct rc_send_wqe *wqe)
{
	enum uroce_cause cause = UROCE_CAUSE_NONE;

	if (rc_ops[wqe->opcode].request_bytes == 0)
		return check_response_buffers(qp, wqe);
	request_find_bytes(qp, wqe, 0, wqe->length_bytes, &cause);
	return cause;
}
