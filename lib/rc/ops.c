/* ops.c - the operations: what each does, and its row */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/op.h"

#include <string.h>

#include "rc/ack.h"
#include "rc/codes.h"
#include "rc/counters.h"
#include "rc/emit.h"
#include "rc/flush.h"
#include "rc/request.h"
#include "rc/responder.h"
#include "rc/scatter.h"

/* ---- READ ---- */

static void write_read(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t slot, uint32_t index,
		       uint32_t responses, struct rc_outbox *out)
{
	uint64_t done = (uint64_t)index << qp->mtu_shift, part = (uint64_t)responses << qp->mtu_shift;
	uint64_t left = wqe->length_bytes - done;
	struct wire_headers headers = emit_bth(qp, OP_READ_REQUEST, 0, psn_add(wqe->first_psn, index), true);

	(void)slot;
	emit_add_reth(&headers, wqe->remote_va + done, wqe->rkey, (uint32_t)(left < part ? left : part));
	emit(&headers, NULL, 0, out);
}

/* S-9: a duplicate asks for the whole READ, or for a part that begins at a packet and does not go beyond the end. */
static bool read_matches(const struct rc_qp *qp, const struct rc_replay_entry *entry, const struct wire_packet *packet)
{
	uint64_t done = (uint64_t)psn_distance(psn_make(packet->psn), entry->first_psn) << qp->mtu_shift;

	return packet->va == entry->va + done && packet->dma_length <= entry->length_bytes - done;
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

static void write_compare_swap(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t slot, uint32_t index,
			       uint32_t responses, struct rc_outbox *out)
{
	const struct rc_atomic_operands *operands = sendwin_operands(&qp->win, slot);
	struct wire_packet packet = { .swap_add = operands->swap, .compare = operands->compare_add };

	(void)index;
	(void)responses;
	write_packet(qp, wqe, &packet, out);
}

static void write_fetch_add(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t slot, uint32_t index,
			    uint32_t responses, struct rc_outbox *out)
{
	struct wire_packet packet = { .swap_add = sendwin_operands(&qp->win, slot)->compare_add };

	(void)index;
	(void)responses;
	write_packet(qp, wqe, &packet, out);
}

/* S-7: executes one hardware atomic on memory in host byte order. */
static void execute_compare_swap(const struct wire_packet *packet, const struct rc_scatter *place,
				 struct rc_replay_entry *entry)
{
	uint64_t *word = (uint64_t *)(void *)place->places[0];

	entry->swap_add = packet->swap_add;
	entry->compare = entry->original = packet->compare;
	__atomic_compare_exchange_n(word, &entry->original, packet->swap_add, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
}

static void execute_fetch_add(const struct wire_packet *packet, const struct rc_scatter *place,
			      struct rc_replay_entry *entry)
{
	uint64_t *word = (uint64_t *)(void *)place->places[0];

	entry->swap_add = packet->swap_add;
	entry->compare = packet->compare;
	entry->original = __atomic_fetch_add(word, packet->swap_add, __ATOMIC_SEQ_CST);
}

static enum rc_mr_verdict respond_atomic(struct rc_qp *qp, struct rc_replay_entry *entry, struct rc_outbox *out,
					 bool *ended)
{
	struct wire_packet packet = {
		.opcode = OP_ATOMIC_ACKNOWLEDGE,
		.syndrome = qp_ack_syndrome(qp),
		.msn = entry->msn,
		.original = entry->original,
	};

	emit_packet(qp, &packet, entry->first_psn, out);
	*ended = true;
	return MR_OK;
}

static bool atomic_matches(const struct rc_qp *qp, const struct rc_replay_entry *entry,
			   const struct wire_packet *packet)
{
	(void)qp;
	return packet->va == entry->va && packet->swap_add == entry->swap_add && packet->compare == entry->compare;
}

/* ---- ATOMIC WRITE ---- */

static void write_atomic_write(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t slot, uint32_t index,
			       uint32_t responses, struct rc_outbox *out)
{
	struct wire_headers headers = emit_bth(qp, OP_ATOMIC_WRITE, 0, wqe->first_psn, true);
	enum uroce_cause cause = UROCE_CAUSE_NONE;

	(void)slot;
	(void)index;
	(void)responses;
	emit_add_reth(&headers, wqe->remote_va, wqe->rkey, wqe->length_bytes);
	emit(&headers, request_find_bytes(qp, wqe, 0, wqe->length_bytes, &cause), wqe->length_bytes, out);
}

/* The value of an ATOMIC WRITE, with its bytes in the order of the packet (S-20). */
static uint64_t value_of(const struct wire_packet *packet)
{
	uint64_t value;

	memcpy(&value, packet->payload, sizeof(value));
	return value;
}

static void execute_atomic_write(const struct wire_packet *packet, const struct rc_scatter *place,
				 struct rc_replay_entry *entry)
{
	entry->swap_add = value_of(packet);
	__atomic_store_n((uint64_t *)(void *)place->places[0], entry->swap_add, __ATOMIC_SEQ_CST);
}

/* Answers with an empty READ response (S-20). */
static enum rc_mr_verdict respond_empty(struct rc_qp *qp, struct rc_replay_entry *entry, struct rc_outbox *out,
					bool *ended)
{
	struct wire_headers headers = emit_bth(qp, OP_READ_RESPONSE_ONLY, 0, entry->first_psn, false);

	emit_add_aeth(&headers, qp_ack_syndrome(qp), entry->msn);
	emit(&headers, NULL, 0, out);
	*ended = true;
	return MR_OK;
}

static bool atomic_write_matches(const struct rc_qp *qp, const struct rc_replay_entry *entry,
				 const struct wire_packet *packet)
{
	(void)qp;
	return packet->va == entry->va && packet->payload_bytes == 8 && value_of(packet) == entry->swap_add;
}

/* ---- FLUSH ---- */

/* The FETH on the wire: placement type in bits 3:0, selectivity in bits 5:4. */
static uint32_t feth_of(const struct rc_send_wqe *wqe)
{
	uint32_t reach = wqe->imm & (UROCE_FLUSH_GLOBAL | UROCE_FLUSH_PERSISTENT);

	return reach | (wqe->imm & UROCE_FLUSH_WHOLE_REGION ? FETH_WHOLE_REGION : 0);
}

static void write_flush(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t slot, uint32_t index,
			uint32_t responses, struct rc_outbox *out)
{
	struct wire_packet packet = {
		.dma_length = wqe->length_bytes, /* as long as a whole message may be, although a FLUSH is one packet */
		.feth = feth_of(wqe),
	};

	(void)slot;
	(void)index;
	(void)responses;
	write_packet(qp, wqe, &packet, out);
}

static uint32_t flush_rights_of(const struct wire_packet *packet)
{
	return (packet->feth & FETH_SELECTIVITY) > FETH_WHOLE_REGION ? 0 : rc_flush_rights(packet->feth);
}

static enum rc_mr_verdict check_flush(struct rc_qp *qp, const struct wire_packet *packet)
{
	uint32_t rights = flush_rights_of(packet);
	uint64_t va = packet->va, bytes = packet->dma_length;
	uint8_t *host;

	if (packet->feth & FETH_WHOLE_REGION)
		return rc_mr_extent(qp->mrs, packet->rkey, qp->pd, qp->qpn, rights, &va, &bytes);
	return bytes > 0 ? qp_check_memory(qp, packet->rkey, va, bytes, rights, &host) : MR_OK;
}

/* A FLUSH flushes when its response is made. */
static void execute_flush(const struct wire_packet *packet, const struct rc_scatter *place,
			  struct rc_replay_entry *entry)
{
	(void)place;
	entry->flush = (uint8_t)packet->feth;
}

static enum rc_mr_verdict respond_flush(struct rc_qp *qp, struct rc_replay_entry *entry, struct rc_outbox *out,
					bool *ended)
{
	enum rc_mr_verdict why;

	*ended = rc_flush_some(qp, entry, &why);
	if (*ended)
		entry->original = 0; /* a duplicate begins again from the start */
	return *ended && why == MR_OK ? respond_empty(qp, entry, out, ended) : why;
}

static bool flush_matches(const struct rc_qp *qp, const struct rc_replay_entry *entry, const struct wire_packet *packet)
{
	(void)qp;
	return packet->va == entry->va && packet->dma_length == entry->length_bytes &&
	       (uint8_t)packet->feth == entry->flush;
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

/* The fields that the rows of all SENDs share, those of all WRITEs, and those of the two atomics. */
/* clang-format off */
#define SEND .name = "SEND", .completion = UROCE_WC_SEND, .flags = ALL_FLAGS, .pieces = PIECES_ANY, \
	.needs = NEEDS_RECEIVE, .is_cut = true, .first = OP_SEND_FIRST, .middle = OP_SEND_MIDDLE
#define WRITE .name = "RDMA_WRITE", .completion = UROCE_WC_RDMA_WRITE, .flags = ALL_FLAGS, .pieces = PIECES_ANY, \
	.is_cut = true, .first = OP_WRITE_FIRST, .middle = OP_WRITE_MIDDLE, .reth = FRAME_RETH, \
	.rights = UROCE_ACCESS_REMOTE_WRITE
#define ATOMIC .flags = NOT_INLINE, .pieces = PIECES_EIGHT_BYTES, .needs = NEEDS_RESPONSE, \
	.response = OP_ATOMIC_ACKNOWLEDGE, .brings_data = true, .rights = UROCE_ACCESS_REMOTE_ATOMIC, \
	.target_bytes = 8, .aligned = true, .counter = CNT_RX_ATOMIC_REQUESTS, .respond = respond_atomic, \
	.matches = atomic_matches

const struct rc_op rc_ops[UROCE_WR_OPCODES] = {
	[UROCE_WR_SEND] = { SEND, .last = OP_SEND_LAST, .only = OP_SEND_ONLY },
	[UROCE_WR_SEND_WITH_IMM] = { SEND, .last = OP_SEND_LAST_IMM, .only = OP_SEND_ONLY_IMM, .imm = FRAME_4_BYTES },
	[UROCE_WR_SEND_WITH_INV] = { SEND, .last = OP_SEND_LAST_INV, .only = OP_SEND_ONLY_INV, .imm = FRAME_4_BYTES,
		.ieth = true },
	[UROCE_WR_RDMA_WRITE] = { WRITE, .last = OP_WRITE_LAST, .only = OP_WRITE_ONLY },
	[UROCE_WR_RDMA_WRITE_WITH_IMM] = { WRITE, .last = OP_WRITE_LAST_IMM, .only = OP_WRITE_ONLY_IMM,
		.imm = FRAME_4_BYTES, .needs = NEEDS_RECEIVE },
	[UROCE_WR_RDMA_READ] = { .name = "RDMA_READ", .completion = UROCE_WC_RDMA_READ, .flags = NOT_INLINE,
		.pieces = PIECES_ANY, .needs = NEEDS_RESPONSE, .is_cut = true, .only = OP_READ_REQUEST,
		.brings_data = true, .rights = UROCE_ACCESS_REMOTE_READ, .counter = CNT_RX_READ_REQUESTS,
		.write = write_read, .matches = read_matches },
	[UROCE_WR_ATOMIC_CMP_AND_SWP] = { ATOMIC, .name = "COMP_SWAP", .completion = UROCE_WC_COMP_SWAP,
		.only = OP_COMPARE_SWAP, .write = write_compare_swap, .execute = execute_compare_swap },
	[UROCE_WR_ATOMIC_FETCH_AND_ADD] = { ATOMIC, .name = "FETCH_ADD", .completion = UROCE_WC_FETCH_ADD,
		.only = OP_FETCH_ADD, .write = write_fetch_add, .execute = execute_fetch_add },
	[UROCE_WR_ATOMIC_WRITE] = { .name = "ATOMIC_WRITE", .completion = UROCE_WC_ATOMIC_WRITE, .is_new = true,
		.flags = ALL_FLAGS, .pieces = PIECES_EIGHT_BYTES, .needs = NEEDS_RESPONSE,
		.only = OP_ATOMIC_WRITE, .request_bytes = 8, .target_bytes = 8, .aligned = true,
		.response = OP_READ_RESPONSE_ONLY, .rights = UROCE_ACCESS_REMOTE_WRITE,
		.counter = CNT_RX_ATOMIC_WRITE_REQUESTS,
		.write = write_atomic_write, .execute = execute_atomic_write, .respond = respond_empty,
		.matches = atomic_write_matches },
	[UROCE_WR_FLUSH] = { .name = "FLUSH", .completion = UROCE_WC_FLUSH, .is_new = true, .flags = NOT_INLINE,
		.pieces = PIECES_RANGE, .needs = NEEDS_RESPONSE, .only = OP_FLUSH,
		.response = OP_READ_RESPONSE_ONLY, .counter = CNT_RX_FLUSH_REQUESTS, .write = write_flush,
		.rights_of = flush_rights_of, .check = check_flush, .execute = execute_flush, .respond = respond_flush,
		.matches = flush_matches },
	[UROCE_WR_LOCAL_INV] = { .name = "LOCAL_INV", .completion = UROCE_WC_LOCAL_INV, .flags = NOT_INLINE,
		.pieces = PIECES_NONE, .needs = NEEDS_NO_PACKET, .carry_out = invalidate,
		.failure = UROCE_WC_LOC_QP_OP_ERR },
	[UROCE_WR_BIND_MW] = { .name = "BIND_MW", .completion = UROCE_WC_BIND_MW, .flags = NOT_INLINE,
		.pieces = PIECES_BIND, .needs = NEEDS_NO_PACKET, .carry_out = bind_window,
		.failure = UROCE_WC_MW_BIND_ERR },
};

#define PACKET_OF_SEND(rules) { .op = &rc_ops[UROCE_WR_SEND], .rule = RULE_SEND | RULE_EARLY | (rules) }
#define PACKET_OF_WRITE(rules) { .op = &rc_ops[UROCE_WR_RDMA_WRITE], .rule = (rules) }
#define ANSWERED(name) { .op = &rc_ops[UROCE_WR_##name], .rule = RULE_ANSWERED | RULE_ONLY }

const struct rc_op_packet rc_ops_packets[OPCODES_OF_RC] = {
	[OP_SEND_FIRST] = PACKET_OF_SEND(RULE_STARTS | RULE_TAKES),
	[OP_SEND_MIDDLE] = PACKET_OF_SEND(0),
	[OP_SEND_LAST] = PACKET_OF_SEND(RULE_ENDS | RULE_REPORTS),
	[OP_SEND_LAST_IMM] = PACKET_OF_SEND(RULE_ENDS | RULE_REPORTS),
	[OP_SEND_LAST_INV] = PACKET_OF_SEND(RULE_ENDS | RULE_REPORTS | RULE_INVALIDATES),
	[OP_SEND_ONLY] = PACKET_OF_SEND(RULE_ONLY | RULE_TAKES | RULE_REPORTS),
	[OP_SEND_ONLY_IMM] = PACKET_OF_SEND(RULE_ONLY | RULE_TAKES | RULE_REPORTS),
	[OP_SEND_ONLY_INV] = PACKET_OF_SEND(RULE_ONLY | RULE_TAKES | RULE_REPORTS | RULE_INVALIDATES),
	[OP_WRITE_FIRST] = PACKET_OF_WRITE(RULE_STARTS),
	[OP_WRITE_MIDDLE] = PACKET_OF_WRITE(RULE_EARLY),
	[OP_WRITE_LAST] = PACKET_OF_WRITE(RULE_ENDS),
	[OP_WRITE_LAST_IMM] = PACKET_OF_WRITE(RULE_ENDS | RULE_TAKES | RULE_REPORTS),
	[OP_WRITE_ONLY] = PACKET_OF_WRITE(RULE_ONLY),
	[OP_WRITE_ONLY_IMM] = PACKET_OF_WRITE(RULE_ONLY | RULE_TAKES | RULE_REPORTS),
	[OP_READ_REQUEST] = ANSWERED(RDMA_READ),
	[OP_COMPARE_SWAP] = ANSWERED(ATOMIC_CMP_AND_SWP),
	[OP_FETCH_ADD] = ANSWERED(ATOMIC_FETCH_AND_ADD),
	[OP_FLUSH] = ANSWERED(FLUSH),
	[OP_ATOMIC_WRITE] = ANSWERED(ATOMIC_WRITE),
};
/* clang-format on */

const struct rc_op *rc_ops_find_completion(uint8_t completion)
{
	for (uint32_t op = 0; op < UROCE_WR_OPCODES; op++) {
		if (rc_ops[op].pieces != PIECES_NO_OPERATION && rc_ops[op].completion == completion)
			return &rc_ops[op];
	}
	return NULL;
}
