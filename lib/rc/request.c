/* request.c - packets of requests that are answered by themselves, and payload in several pieces */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/request.h"

#include "rc/codes.h"

enum uroce_cause rc_request_gather(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint64_t offset, uint32_t bytes,
				   struct wire_packet *packet, struct rc_outbox *out)
{
	struct wire_span *spans = &out->spans[out->span_count];
	uint32_t count = 0;

	packet->payload_bytes = bytes;
	for (const struct uroce_sge *sge = wqe->sges; bytes > 0; sge++) {
		uint32_t piece;
		uint8_t *host;
		enum rc_mr_verdict verdict;

		if (offset >= sge->length) {
			offset -= sge->length;
			continue;
		}
		piece = sge->length - (uint32_t)offset;
		if (piece > bytes)
			piece = bytes;
		verdict = qp_check_memory(qp, sge->lkey, sge->addr + offset, piece, MR_ACCESS_LOCAL, &host);
		if (verdict != MR_OK)
			return rc_codes_local_cause(verdict);
		spans[count].base = host;
		spans[count].bytes = piece;
		count++;
		bytes -= piece;
		offset = 0;
	}
	out->span_count += count;
	packet->span_count = (uint8_t)count;
	if (count == 1)
		packet->payload = spans[0].base;
	else
		packet->spans = spans;
	return UROCE_CAUSE_NONE;
}

/* FETH (wire): placement type in bits 3:0, selectivity in bits 5:4. */
static uint32_t feth_of(const struct rc_send_wqe *wqe)
{
	uint32_t reach = wqe->imm & (UROCE_FLUSH_GLOBAL | UROCE_FLUSH_PERSISTENT);

	return reach | (wqe->imm & UROCE_FLUSH_WHOLE_REGION ? FETH_WHOLE_REGION : 0);
}

/* The fields of rc_request_plan_answered()'s packet. */
static void put_answered(const struct rc_qp *qp, uint32_t slot, uint32_t index, uint32_t responses,
			 struct wire_packet *packet)
{
	const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, slot);
	const struct rc_atomic_operands *operands = sendwin_operands(&qp->win, slot);
	uint64_t done = (uint64_t)index << qp->mtu_shift, part = (uint64_t)responses << qp->mtu_shift;

	request_put_common(qp, psn_add(wqe->first_psn, index), 0, packet);
	packet->span_count = 0;
	packet->payload_bytes = 0;
	packet->va = wqe->remote_va + done;
	packet->rkey = wqe->rkey;
	packet->dma_length = wqe->length_bytes - done < part ? (uint32_t)(wqe->length_bytes - done) : (uint32_t)part;
	switch (wqe->opcode) {
	case UROCE_WR_RDMA_READ:
		packet->opcode = OP_READ_REQUEST;
		break;
	case UROCE_WR_FLUSH:
		packet->opcode = OP_FLUSH;
		packet->dma_length = wqe->length_bytes; /* which may be more than a packet has */
		packet->feth = feth_of(wqe);
		break;
	case UROCE_WR_ATOMIC_WRITE:
		packet->opcode = OP_ATOMIC_WRITE;
		break;
	case UROCE_WR_ATOMIC_CMP_AND_SWP:
		packet->opcode = OP_COMPARE_SWAP;
		packet->swap_add = operands->swap;
		packet->compare = operands->compare_add;
		break;
	default:
		packet->opcode = OP_FETCH_ADD;
		packet->swap_add = operands->compare_add;
		packet->compare = 0;
	}
}

/* Where the answer of a READ or atomic will go must be ours to write, before we ask. */
static enum uroce_cause check_answer_buffers(struct rc_qp *qp, const struct rc_send_wqe *wqe)
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

enum uroce_cause rc_request_plan_answered(struct rc_qp *qp, uint32_t slot, uint32_t index, uint32_t responses,
					  struct wire_packet *packet)
{
	const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, slot);
	enum uroce_cause cause = UROCE_CAUSE_NONE;

	put_answered(qp, slot, index, responses, packet);
	if (wqe->opcode != UROCE_WR_ATOMIC_WRITE)
		return check_answer_buffers(qp, wqe);
	packet->payload_bytes = wqe->length_bytes;
	packet->payload = request_find_bytes(qp, wqe, 0, wqe->length_bytes, &cause);
	return cause;
}
