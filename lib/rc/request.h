/* request.h - a posted request as packets: their fields, and where their payload lies */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans only: it fills slots of the outbox, which the requester or a probe then takes, and changes nothing of the QP.
 */
#ifndef RC_REQUEST_H
#define RC_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/outbox.h"
#include "rc/qp_state.h"

/*
 * Points the payload of a SEND or WRITE's packet at [offset, offset + bytes) of its pieces, at most 16 of them.
 * UROCE_CAUSE_NONE, or why those may not be read.
 */
enum uroce_cause rc_request_gather(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint64_t offset, uint32_t bytes,
				   struct wire_packet *packet, struct rc_outbox *out);

/*
 * Fills *packet with that of the request in `slot`, which is answered by itself. A READ asks for its responses from
 * number `index` on, which is the first one missing, and for so many. UROCE_CAUSE_NONE, or what is wrong with
 * its memory.
 */
enum uroce_cause rc_request_plan_answered(struct rc_qp *qp, uint32_t slot, uint32_t index, uint32_t responses,
					  struct wire_packet *packet);

/* Opcodes of a message that is cut into packets. */
struct message_opcodes {
	uint8_t first, middle, last, only;
};

static const struct message_opcodes message_opcodes[] = {
	[UROCE_WR_SEND] = { OP_SEND_FIRST, OP_SEND_MIDDLE, OP_SEND_LAST, OP_SEND_ONLY },
	[UROCE_WR_SEND_WITH_IMM] = { OP_SEND_FIRST, OP_SEND_MIDDLE, OP_SEND_LAST_IMM, OP_SEND_ONLY_IMM },
	[UROCE_WR_SEND_WITH_INV] = { OP_SEND_FIRST, OP_SEND_MIDDLE, OP_SEND_LAST_INV, OP_SEND_ONLY_INV },
	[UROCE_WR_RDMA_WRITE] = { OP_WRITE_FIRST, OP_WRITE_MIDDLE, OP_WRITE_LAST, OP_WRITE_ONLY },
	[UROCE_WR_RDMA_WRITE_WITH_IMM] = { OP_WRITE_FIRST, OP_WRITE_MIDDLE, OP_WRITE_LAST_IMM, OP_WRITE_ONLY_IMM },
};

/* What every packet of the QP has; one of one piece at most. */
static inline void request_put_common(const struct rc_qp *qp, psn_t psn, uint32_t flags, struct wire_packet *packet)
{
	packet->flags = qp->migration.request_flag | flags;
	packet->pad_bytes = 0;
	packet->span_count = 1;
	packet->psn = psn.v;
	packet->dest_qpn = qp->dest_qpn;
	packet->pkey = qp->pkey;
}

/*
 * `count` packets of a SEND or WRITE that has begun, from its number `index` on; payload is what the first one carries.
 * Fields that the opcode has no header for may be filled.
 */
static inline void request_put_message(const struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t index,
				       uint32_t count, uint32_t psn_count, const uint8_t *payload,
				       struct wire_packet *packet)
{
	const struct message_opcodes *opcodes = &message_opcodes[wqe->opcode];

	if (index == 0) {
		packet->va = wqe->remote_va;
		packet->rkey = wqe->rkey;
		packet->dma_length = wqe->length_bytes;
	}
	for (; count > 0; count--, packet++, index++, payload += qp->mtu_bytes) {
		psn_t psn = psn_add(wqe->first_psn, index);

		packet->payload = payload;
		if (index + 1 < psn_count) {
			request_put_common(qp, psn, 0, packet);
			packet->opcode = index ? opcodes->middle : opcodes->first;
			packet->payload_bytes = qp->mtu_bytes;
			continue;
		}
		request_put_common(qp, psn, wqe->flags & UROCE_SEND_SOLICITED ? WIRE_SOLICITED : 0, packet);
		packet->opcode = index ? opcodes->last : opcodes->only;
		packet->payload_bytes = wqe->length_bytes - (index << qp->mtu_shift);
		packet->pad_bytes = packet_pad_bytes(packet->payload_bytes);
		packet->imm = wqe->opcode == UROCE_WR_SEND_WITH_INV ? wqe->rkey : wqe->imm;
	}
}

/* Where those bytes are, of one piece or inline; a request without bytes has them anywhere. NULL: *cause says why. */
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
	*cause = rc_codes_local_cause(verdict);
	return NULL;
}

/*
 * Fills the slots at `packet` with `count` packets of a SEND or WRITE from number `index` on. Memory is looked up once
 * for all that go out now, for a region stays for the length of a poll; of several pieces there is one packet a call.
 */
static inline enum uroce_cause request_plan_message(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t index,
						    uint32_t count, uint32_t psn_count, struct wire_packet *packet,
						    struct rc_outbox *out)
{
	uint64_t offset = (uint64_t)index << qp->mtu_shift, bytes = wqe->length_bytes - offset;
	enum uroce_cause cause = UROCE_CAUSE_NONE;
	const uint8_t *payload;

	if (index + count < psn_count)
		bytes = (uint64_t)count << qp->mtu_shift;
	if (__builtin_expect(wqe->sge_count > 1, 0)) {
		request_put_message(qp, wqe, index, 1, psn_count, (const uint8_t *)wqe->sges, packet);
		return rc_request_gather(qp, wqe, offset, (uint32_t)bytes, packet, out);
	}
	payload = request_find_bytes(qp, wqe, offset, bytes, &cause);
	if (payload)
		request_put_message(qp, wqe, index, count, psn_count, payload, packet);
	return cause;
}

#endif
