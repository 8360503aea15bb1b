/* ops.c - the operations: what each does, and its row */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/op.h"

#include "rc/codes.h"
#include "rc/emit.h"
#include "rc/request.h"

/* ---- READ ---- */

static void write_read(struct rc_qp *qp, uint32_t slot, uint32_t index, uint32_t responses, struct rc_outbox *out)
{
	const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, slot);
	uint64_t done = (uint64_t)index << qp->mtu_shift, part = (uint64_t)responses << qp->mtu_shift;
	uint64_t left = wqe->length_bytes - done;
	struct wire_headers headers = emit_bth(qp, OP_READ_REQUEST, 0, psn_add(wqe->first_psn, index), true);

	emit_add_reth(&headers, wqe->remote_va + done, wqe->rkey, (uint32_t)(left < part ? left : part));
	emit(&headers, NULL, 0, out);
}

/* ---- atomics ---- */

/* Writes a packet with extension headers of its own, of which the caller has filled in the other fields. */
static void write_packet(const struct rc_qp *qp, const struct rc_send_wqe *wqe, struct wire_packet *packet,
			 struct rc_outbox *out)
{
	packet->opcode = rc_ops[wqe->opcode].only;
	packet->flags = WIRE_ACKREQ;
	packet->va = wqe->remote_va;
	packet->rkey = wqe->rkey;
	emit_packet(qp, packet, wqe->first_psn, out);
}

static void write_compare_swap(struct rc_qp *qp, uint32_t slot, uint32_t index, uint32_t responses,
			       struct rc_outbox *out)
{
	const struct rc_atomic_operands *operands = sendwin_operands(&qp->win, slot);
	struct wire_packet packet = { .swap_add = operands->swap, .compare = operands->compare_add };

	(void)index, (void)responses;
	write_packet(qp, sendwin_slot(&qp->win, slot), &packet, out);
}

static void write_fetch_add(struct rc_qp *qp, uint32_t slot, uint32_t index, uint32_t responses, struct rc_outbox *out)
{
	struct wire_packet packet = { .swap_add = sendwin_operands(&qp->win, slot)->compare_add };

	(void)index, (void)responses;
	write_packet(qp, sendwin_slot(&qp->win, slot), &packet, out);
}

/* ---- ATOMIC WRITE ---- */

static void write_atomic_write(struct rc_qp *qp, uint32_t slot, uint32_t index, uint32_t responses,
			       struct rc_outbox *out)
{
	const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, slot);
	struct wire_headers headers = emit_bth(qp, OP_ATOMIC_WRITE, 0, wqe->first_psn, true);
	enum uroce_cause cause = UROCE_CAUSE_NONE;

	(void)index, (void)responses;
	emit_add_reth(&headers, wqe->remote_va, wqe->rkey, wqe->length_bytes);
	emit(&headers, request_find_bytes(qp, wqe, 0, wqe->length_bytes, &cause), wqe->length_bytes, out);
}

/* ---- FLUSH ---- */

/* The FETH on the wire: placement type in bits 3:0, selectivity in bits 5:4. */
static uint32_t feth_of(const struct rc_send_wqe *wqe)
{
	uint32_t reach = wqe->imm & (UROCE_FLUSH_GLOBAL | UROCE_FLUSH_PERSISTENT);

	return reach | (wqe->imm & UROCE_FLUSH_WHOLE_REGION ? FETH_WHOLE_REGION : 0);
}

static void write_flush(struct rc_qp *qp, uint32_t slot, uint32_t index, uint32_t responses, struct rc_outbox *out)
{
	const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, slot);
	struct wire_packet packet = {
		.dma_length = wqe->length_bytes, /* up to a whole message, more than a packet has */
		.feth = feth_of(wqe),
	};

	(void)index, (void)responses;
	write_packet(qp, wqe, &packet, out);
}

/* ---- what is carried out here ---- */

static bool invalidate(struct rc_qp *qp, const struct rc_send_wqe *wqe)
{
	return rc_mr_invalidate(qp->mrs, wqe->rkey, qp->pd, qp->qpn);
}

static bool bind_window(struct rc_qp *qp, const struct rc_send_wqe *wqe)
{
	const struct rc_mr_bind bind = wqe_bind(wqe);

	return rc_mr_bind(qp->mrs, qp->pd, qp->qpn, &bind);
}

/* ---- the rows ---- */

#define NOT_INLINE (UROCE_SEND_SIGNALED | UROCE_SEND_SOLICITED | UROCE_SEND_FENCE)
#define ALL_FLAGS (NOT_INLINE | UROCE_SEND_INLINE)

/* What all SENDs, and what all WRITEs have in common; and what two atomics have. */
/* clang-format off */
#define SEND .name = "SEND", .completion = UROCE_WC_SEND, .flags = ALL_FLAGS, .needs = NEEDS_RECEIVE, .is_cut = true, \
	.first = OP_SEND_FIRST, .middle = OP_SEND_MIDDLE
#define WRITE .name = "RDMA_WRITE", .completion = UROCE_WC_RDMA_WRITE, .flags = ALL_FLAGS, .is_cut = true, \
	.first = OP_WRITE_FIRST, .middle = OP_WRITE_MIDDLE, .reth = FRAME_RETH
#define ATOMIC .flags = NOT_INLINE, .pieces = PIECES_EIGHT_BYTES, .needs = NEEDS_RESPONSE, \
	.response = OP_ATOMIC_ACKNOWLEDGE, .brings_data = true

const struct rc_op rc_ops[UROCE_WR_OPCODES] = {
	[UROCE_WR_SEND] = { SEND, .last = OP_SEND_LAST, .only = OP_SEND_ONLY },
	[UROCE_WR_SEND_WITH_IMM] = { SEND, .last = OP_SEND_LAST_IMM, .only = OP_SEND_ONLY_IMM, .imm = FRAME_4_BYTES },
	[UROCE_WR_SEND_WITH_INV] = { SEND, .last = OP_SEND_LAST_INV, .only = OP_SEND_ONLY_INV, .imm = FRAME_4_BYTES,
		.ieth = true },
	[UROCE_WR_RDMA_WRITE] = { WRITE, .last = OP_WRITE_LAST, .only = OP_WRITE_ONLY },
	[UROCE_WR_RDMA_WRITE_WITH_IMM] = { WRITE, .last = OP_WRITE_LAST_IMM, .only = OP_WRITE_ONLY_IMM,
		.imm = FRAME_4_BYTES, .needs = NEEDS_RECEIVE },
	[UROCE_WR_RDMA_READ] = { .name = "RDMA_READ", .completion = UROCE_WC_RDMA_READ, .flags = NOT_INLINE,
		.needs = NEEDS_RESPONSE, .is_cut = true, .only = OP_READ_REQUEST, .brings_data = true,
		.write = write_read },
	[UROCE_WR_ATOMIC_CMP_AND_SWP] = { ATOMIC, .name = "COMP_SWAP", .completion = UROCE_WC_COMP_SWAP,
		.only = OP_COMPARE_SWAP, .write = write_compare_swap },
	[UROCE_WR_ATOMIC_FETCH_AND_ADD] = { ATOMIC, .name = "FETCH_ADD", .completion = UROCE_WC_FETCH_ADD,
		.only = OP_FETCH_ADD, .write = write_fetch_add },
	[UROCE_WR_ATOMIC_WRITE] = { .name = "ATOMIC_WRITE", .completion = UROCE_WC_ATOMIC_WRITE, .is_new = true,
		.flags = ALL_FLAGS, .pieces = PIECES_EIGHT_BYTES, .needs = NEEDS_RESPONSE,
		.only = OP_ATOMIC_WRITE, .request_bytes = 8, .response = OP_READ_RESPONSE_ONLY,
		.write = write_atomic_write },
	[UROCE_WR_FLUSH] = { .name = "FLUSH", .completion = UROCE_WC_FLUSH, .is_new = true, .flags = NOT_INLINE,
		.pieces = PIECES_RANGE, .needs = NEEDS_RESPONSE, .only = OP_FLUSH,
		.response = OP_READ_RESPONSE_ONLY, .write = write_flush },
	[UROCE_WR_LOCAL_INV] = { .name = "LOCAL_INV", .completion = UROCE_WC_LOCAL_INV, .flags = NOT_INLINE,
		.pieces = PIECES_NONE, .needs = NEEDS_NO_PACKET, .carry_out = invalidate,
		.failure = UROCE_WC_LOC_QP_OP_ERR },
	[UROCE_WR_BIND_MW] = { .name = "BIND_MW", .completion = UROCE_WC_BIND_MW, .flags = NOT_INLINE,
		.pieces = PIECES_BIND, .needs = NEEDS_NO_PACKET, .carry_out = bind_window,
		.failure = UROCE_WC_MW_BIND_ERR },
};
/* clang-format on */

const struct rc_op *rc_ops_find_completion(uint8_t completion)
{
	for (uint32_t op = 0; op < UROCE_WR_OPCODES; op++) {
		if (rc_ops[op].completion == completion)
			return &rc_ops[op];
	}
	return NULL;
}
