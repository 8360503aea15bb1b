/* responder.c - judge a request in the order of S-1, then execute it */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/responder.h"

#include "rc/ack.h"
#include "rc/anomaly.h"
#include "rc/codes.h"
#include "rc/credit.h"
#include "rc/duplicate.h"
#include "rc/fail.h"
#include "rc/kept.h"
#include "rc/memory_fault.h"
#include "rc/op.h"
#include "rc/outbox.h"
#include "rc/ports.h"
#include "rc/report.h"
#include "rc/scatter.h"
#include "wire/hints.h"

/* ---- the table of verdicts (K-INV, K-ACC, K-OP, K-RESP, R-1) ---- */

#define SYNDROME(class, value) ((class) << 5 | (value))

/* The row of an invalid request. */
#define INVALID                                                                                                      \
	{                                                                                                            \
		.syndrome = SYNDROME(SYNDROME_NAK, NAK_INVALID_REQUEST), .receive_status = UROCE_WC_REM_INV_REQ_ERR, \
		.cause = UROCE_CAUSE_INVALID_REQUEST, .event = UROCE_EVENT_QP_REQ_ERR,                               \
		.counter = CNT_RESP_REMOTE_INVALID_REQUEST,                                                          \
	}

const struct verdict_row rc_verdicts[VERDICTS] = {
	[VERDICT_BAD_SEQUENCE] = INVALID,
	[VERDICT_UNSUPPORTED] = INVALID,
	[VERDICT_NOT_ENABLED] = INVALID,
	[VERDICT_BAD_LENGTH] = INVALID,
	[VERDICT_UNALIGNED] = INVALID,
	[VERDICT_TOO_DEEP] = INVALID,
	[VERDICT_DMA_LENGTH] = INVALID,
	[VERDICT_SEND_TOO_LONG] = {
		.syndrome = SYNDROME(SYNDROME_NAK, NAK_INVALID_REQUEST),
		.receive_status = UROCE_WC_LOC_LEN_ERR,
		.cause = UROCE_CAUSE_LENGTH,
		.event = UROCE_EVENT_QP_REQ_ERR,
		.counter = CNT_RESP_LOCAL_LENGTH_ERROR,
	},
	[VERDICT_NO_RECEIVE] = {
		.syndrome = SYNDROME(SYNDROME_RNR_NAK, 0), /* the responder adds the QP's own timer code */
		.counter = CNT_OUT_OF_BUFFER,
		.retry = true,
	},
	[VERDICT_ACCESS] = {
		.syndrome = SYNDROME(SYNDROME_NAK, NAK_REMOTE_ACCESS),
		.receive_status = UROCE_WC_REM_ACCESS_ERR,
		.event = UROCE_EVENT_QP_ACCESS_ERR,
		.counter = CNT_RESP_REMOTE_ACCESS_ERRORS,
	},
	[VERDICT_RECEIVE_UNUSABLE] = {
		.syndrome = SYNDROME(SYNDROME_NAK, NAK_REMOTE_OPERATIONAL),
		.receive_status = UROCE_WC_LOC_QP_OP_ERR,
		.event = UROCE_EVENT_QP_FATAL,
		.counter = CNT_RESP_LOCAL_OPERATIONAL,
	},
};

/* ---- judging ---- */

#define SET(opcode) (1u << (opcode))
#define REST_OF_SEND (SET(OP_SEND_MIDDLE) | SET(OP_SEND_LAST) | SET(OP_SEND_LAST_IMM) | SET(OP_SEND_LAST_INV))
#define REST_OF_WRITE (SET(OP_WRITE_MIDDLE) | SET(OP_WRITE_LAST) | SET(OP_WRITE_LAST_IMM))

/* The opcodes that may come next, by the kind of the message under way (S-3). */
static const uint32_t in_sequence[] = {
	[WIRE_KIND_RESERVED] = ~(REST_OF_SEND | REST_OF_WRITE),
	[WIRE_KIND_SEND] = REST_OF_SEND,
	[WIRE_KIND_WRITE] = REST_OF_WRITE,
};

/*
 * Sets the opcodes that the QP takes at any time. A request that names the rights it needs in its packet is not among
 * them: explain_opcode() judges it.
 */
void rc_responder_enable(struct rc_qp *qp)
{
	qp->enabled = 0;
	for (uint8_t opcode = 0; opcode < OPCODES_OF_RC; opcode++) {
		const struct rc_op *op = rc_ops_packets[opcode].op;
		uint32_t rule = rc_ops_packets[opcode].rule;

		if (op && !op->rights_of && (qp->access & op->rights) == op->rights &&
		    (qp->replay.depth || !(rule & RULE_ANSWERED)))
			qp->enabled |= SET(opcode);
	}
}

static enum verdict check_sequence(const struct rc_responder *resp, const struct wire_opcode_row *op)
{
	bool message = op->kind == WIRE_KIND_SEND || op->kind == WIRE_KIND_WRITE;

	if (message && !op->first)
		return resp->in_progress == op->kind ? VERDICT_ACCEPT : VERDICT_BAD_SEQUENCE;
	return resp->in_progress ? VERDICT_BAD_SEQUENCE : VERDICT_ACCEPT;
}

/* How many bytes of memory the request names. */
static inline uint32_t target_bytes(const struct rc_op *op, const struct wire_packet *packet)
{
	return op->target_bytes ? op->target_bytes : packet->dma_length;
}

/* Returns the rights that the request needs, or 0 if there is no such request. */
static uint32_t rights_for(const struct rc_op *op, const struct wire_packet *packet)
{
	if (op == NULL)
		return 0;
	return op->rights_of ? op->rights_of(packet) : op->rights;
}

/*
 * The verdict for an opcode that is not enabled or does not come in sequence: the first reason in the order of S-1.
 * Each FLUSH is judged here, because its packet names the rights that it needs; it may be accepted.
 */
NOINLINE enum verdict explain_opcode(const struct rc_qp *qp, const struct wire_packet *packet)
{
	enum verdict verdict = check_sequence(&qp->responder, wire_opcode(packet->opcode));
	uint32_t needed = rights_for(rc_ops_packets[packet->opcode].op, packet);

	if (verdict != VERDICT_ACCEPT)
		return verdict;
	if (needed == 0)
		return VERDICT_UNSUPPORTED;
	if ((qp->access & needed) != needed)
		return VERDICT_NOT_ENABLED;
	return qp->replay.depth == 0 ? VERDICT_UNSUPPORTED : VERDICT_ACCEPT;
}

/*
 * W-6: do payload and pad have the length that the packet's position asks for? judge_answered() looks at the other
 * lengths.
 */
static inline bool length_fits(const struct rc_qp *qp, uint32_t rule, const struct wire_packet *packet)
{
	uint32_t bytes = packet->payload_bytes;

	if (packet->pad_bytes != packet_pad_bytes(bytes))
		return false;
	return rule & RULE_ENDS ? bytes <= qp->mtu_bytes && (bytes > 0 || (rule & RULE_STARTS)) :
				  bytes == qp->mtu_bytes;
}

static inline enum verdict judge_send(struct rc_qp *qp, uint32_t rule, const struct wire_packet *packet,
				      struct rc_scatter *place)
{
	const struct rc_recv_wqe *wqe = recvq_peek(&qp->recvq);
	uint64_t offset = rule & RULE_STARTS ? 0 : qp->responder.message_bytes;

	if (offset + packet->payload_bytes > wqe->total_bytes)
		return VERDICT_SEND_TOO_LONG;
	if ((rule & RULE_INVALIDATES) && !rc_mr_may_invalidate(qp->mrs, packet->invalidate_key, qp->pd, qp->qpn)) {
		place->why = MR_BAD_KEY;
		return VERDICT_ACCESS;
	}
	return scatter_find(qp, wqe->sges, wqe->sge_count, offset, packet->payload_bytes, place) ?
		       VERDICT_ACCEPT :
		       VERDICT_RECEIVE_UNUSABLE;
}

/* S-5, S-4: judges the whole DMALen with the first packet, and with each packet its part of the memory. */
static inline enum verdict judge_write(struct rc_qp *qp, uint32_t rule, const struct wire_packet *packet,
				       struct rc_scatter *place)
{
	const struct rc_responder *resp = &qp->responder;
	bool starts = rule & RULE_STARTS;
	uint64_t va = starts ? packet->va : resp->write_va;
	uint32_t left = starts ? packet->dma_length : resp->write_left;
	uint32_t rkey = starts ? packet->rkey : resp->write_rkey;
	uint32_t checked = starts ? left : packet->payload_bytes;

	if (left > LIMIT_MESSAGE_BYTES ||
	    (rule & RULE_ENDS ? packet->payload_bytes != left : packet->payload_bytes >= left))
		return VERDICT_DMA_LENGTH;
	if (checked == 0)
		return VERDICT_ACCEPT;
	place->count = 1;
	place->lengths[0] = packet->payload_bytes;
	place->why = qp_check_memory(qp, rkey, va, checked, UROCE_ACCESS_REMOTE_WRITE, &place->places[0]);
	return place->why == MR_OK ? VERDICT_ACCEPT : VERDICT_ACCESS;
}

NOINLINE enum verdict judge_answered(struct rc_qp *qp, const struct wire_packet *packet, struct rc_scatter *place)
{
	const struct rc_op *op = rc_ops_packets[packet->opcode].op;
	uint32_t bytes = target_bytes(op, packet);

	if (packet->payload_bytes != op->request_bytes ||
	    (op->request_bytes && packet->dma_length != op->request_bytes)) /* S-20 */
		return VERDICT_BAD_LENGTH;
	if (op->aligned && (packet->va & 7))
		return VERDICT_UNALIGNED;
	if (qp->replay.unfinished >= qp->replay.depth)
		return VERDICT_TOO_DEEP;
	if (bytes > LIMIT_MESSAGE_BYTES)
		return VERDICT_DMA_LENGTH;
	if (op->check)
		place->why = op->check(qp, packet);
	else if (bytes > 0)
		place->why = qp_check_memory(qp, packet->rkey, packet->va, bytes, op->rights, &place->places[0]);
	if (place->why != MR_OK)
		return VERDICT_ACCESS;
	/* without atomic rights a region's host address may be aligned otherwise than its VA */
	if (op->aligned && ((uintptr_t)place->places[0] & 7))
		return VERDICT_UNALIGNED;
	return VERDICT_ACCEPT;
}

/*
 * Judges all of S-1 that follows the PSN; changes nothing. A packet is accepted after four checks: its opcode's bit in
 * two sets, its length, a place for its payload, and its key. Only a refusal finds out which rule comes first.
 */
static inline enum verdict judge(struct rc_qp *qp, uint32_t rule, const struct wire_packet *packet,
				 struct rc_scatter *place)
{
	if (!(in_sequence[qp->responder.in_progress] & qp->enabled & SET(packet->opcode))) {
		enum verdict verdict = explain_opcode(qp, packet);

		if (verdict != VERDICT_ACCEPT)
			return verdict;
	}
	if (!length_fits(qp, rule, packet))
		return VERDICT_BAD_LENGTH;
	if ((rule & RULE_TAKES) && rc_recvq_need(&qp->recvq) == NULL)
		return VERDICT_NO_RECEIVE;
	if (rule & RULE_SEND)
		return judge_send(qp, rule, packet, place);
	return rule & RULE_ANSWERED ? judge_answered(qp, packet, place) : judge_write(qp, rule, packet, place);
}

/* ---- executing ---- */

/* Executes a packet of a SEND or WRITE whose payload has been placed. */
static inline void execute_message(struct rc_qp *qp, uint32_t rule, const struct wire_packet *packet,
				   struct rc_outbox *out)
{
	struct rc_responder *resp = &qp->responder;
	bool starts = rule & RULE_STARTS;
	uint32_t bytes = packet->payload_bytes + (starts ? 0 : resp->message_bytes);

	resp->epsn = resp->newest_request = psn_next(resp->epsn);
	if (qp->replay.used)
		rc_replay_expire(&qp->replay, resp->epsn);
	if (packet->flags & WIRE_ACKREQ)
		ack_asked_for(&resp->ack);
	if (!(rule & RULE_ENDS)) {
		resp->in_progress = rule & RULE_SEND ? WIRE_KIND_SEND : WIRE_KIND_WRITE;
		resp->write_va = (starts ? packet->va : resp->write_va) + packet->payload_bytes;
		resp->write_left = (starts ? packet->dma_length : resp->write_left) - packet->payload_bytes;
		resp->write_rkey = starts ? packet->rkey : resp->write_rkey;
		resp->message_bytes = bytes;
		return;
	}
	resp->in_progress = WIRE_KIND_RESERVED;
	resp->msn = (resp->msn + 1) & PSN_MASK;
	qp->counters[rule & RULE_SEND ? CNT_RX_SEND_REQUESTS : CNT_RX_WRITE_REQUESTS]++;
	if (rule & RULE_INVALIDATES)
		rc_mr_invalidate(qp->mrs, packet->invalidate_key, qp->pd, qp->qpn);
	if (rule & RULE_REPORTS)
		rc_report_receive(qp, recvq_peek(&qp->recvq), packet, bytes, out);
}

/* Executes a READ, atomic or the like as far as that happens now, and has its response queued. */
NOINLINE void execute_rd_atomic(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_scatter *place)
{
	const struct rc_op *op = rc_ops_packets[packet->opcode].op;
	struct rc_responder *resp = &qp->responder;
	uint32_t count = op->is_cut ? qp_packets(qp, packet->dma_length) : 1;
	struct rc_replay_entry *entry = rc_replay_insert(&qp->replay, psn_make(packet->psn), count);

	entry->va = packet->va;
	entry->rkey = packet->rkey;
	entry->opcode = packet->opcode;
	entry->msn = (resp->msn + 1) & PSN_MASK;
	entry->length_bytes = target_bytes(op, packet);
	if (op->execute)
		op->execute(packet, place, entry);
	resp->msn = entry->msn;
	qp->counters[op->counter]++;
	rc_replay_queue(&qp->replay, entry, entry->first_psn, count, entry->length_bytes);
	resp->newest_request = resp->epsn;
	resp->epsn = psn_add(resp->epsn, count);
	ack_said_by_response(&resp->ack);
	rc_replay_expire(&qp->replay, resp->epsn);
}

static void send_nak(struct rc_responder *resp, uint8_t syndrome)
{
	ack_refused(&resp->ack, syndrome, resp->epsn);
	resp->nak_outstanding = true;
}

/* Was a receive entry in use when the request failed? (K-RESP) */
static bool receive_in_use(const struct rc_qp *qp, uint32_t rule, enum verdict verdict)
{
	if (qp->responder.in_progress == WIRE_KIND_SEND)
		return true;
	return (rule & RULE_TAKES) && verdict > VERDICT_NO_RECEIVE;
}

/* The cause to report (E-4). For a refused key the cause is the reason that the check of the key gave. */
static enum uroce_cause cause_of(const struct rc_qp *qp, enum verdict verdict, enum rc_mr_verdict why)
{
	if (verdict == VERDICT_ACCESS)
		return qp_remote_cause(qp, why);
	return verdict == VERDICT_RECEIVE_UNUSABLE ? qp_local_cause(qp, why) : rc_verdicts[verdict].cause;
}

NOINLINE void refuse(struct rc_qp *qp, const struct wire_packet *packet, enum verdict verdict, enum rc_mr_verdict why)
{
	const struct verdict_row *row = &rc_verdicts[verdict];
	bool in_use = receive_in_use(qp, rc_ops_packets[packet->opcode].rule, verdict);

	qp->counters[row->counter]++;
	if (qp_keeps(qp))
		rc_kept_refused(qp);
	if (row->retry) {
		send_nak(&qp->responder, (uint8_t)(row->syndrome | qp->responder.min_rnr_timer));
		return;
	}
	send_nak(&qp->responder, row->syndrome);
	report_receive_failed(qp, in_use);
	rc_report_responder_failed(qp, row->receive_status, cause_of(qp, verdict, why), qp->responder.epsn);
	rc_fail_enter_error(qp, in_use ? UROCE_EVENT_QP_FATAL : row->event);
}

/*
 * May the payload be placed before its ICRC is known? Yes for SENDs, whose buffer is undefined until the receive
 * completes, and for middle packets of WRITEs: their address is our own, and the peer sends a damaged packet again. No
 * while an earlier READ is still being answered, because its response might show damaged data (decisions/0004).
 */
static inline bool may_place_early(const struct rc_qp *qp, uint32_t rule, const struct rc_scatter *place,
				   const struct rc_origin *origin)
{
	return (rule & RULE_EARLY) && origin->ip && place->count > 0 &&
	       ((rule & RULE_SEND) || qp->replay.queue_head == REPLAY_NONE);
}

/* A PSN in the half window behind ePSN is a duplicate; a PSN in the other half shows a gap (S-2, P-6). */
NOINLINE bool receive_out_of_order(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin,
				   uint64_t now_ns)
{
	struct rc_responder *resp = &qp->responder;
	psn_t psn = psn_make(packet->psn);
	bool known = false;

	if (!origin_icrc_is_right(origin, packet->payload))
		return false;
	if (psn_before(psn, resp->epsn)) {
		known = rc_duplicate_receive(qp, packet, now_ns);
	} else if (qp_keeps(qp) && ports_are_known(qp)) { /* S-21, S-22 */
		qp->counters[CNT_OUT_OF_SEQUENCE] += !resp->nak_outstanding;
		rc_kept_offer(qp, packet, origin->source_port, now_ns);
		resp->nak_outstanding = true;
	} else if (resp->nak_outstanding) {
		qp->counters[CNT_AFTER_NAK]++;
	} else { /* K-SEQ; in RTR also of a peer that has agreed to SACKs */
		qp->counters[CNT_OUT_OF_SEQUENCE]++;
		if (qp_keeps(qp))
			rc_kept_refused(qp);
		send_nak(resp, syndrome_make(SYNDROME_NAK, NAK_PSN_SEQUENCE));
	}
	if (!known && anomaly_is_far(psn, resp->epsn))
		rc_anomaly_note(qp, now_ns);
	return true;
}

/*
 * An RNR NAK is due and has not left. The packets behind the refused one are dropped, and the peer learns only from
 * that NAK that it has to send them again. So a copy of the refused packet that comes before the NAK has left is
 * dropped as well.
 */
static inline bool owes_rnr_nak(const struct rc_responder *resp)
{
	return (resp->ack.due & WORK_NAK) && syndrome_class(resp->ack.nak_syndrome) == SYNDROME_RNR_NAK;
}

static bool receive_after_nak(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin,
			      uint64_t now_ns, struct rc_outbox *out);

static bool drop_after_nak(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin)
{
	if (!origin_icrc_is_right(origin, packet->payload))
		return false;
	qp->counters[CNT_AFTER_NAK]++;
	return true;
}

/*
 * Takes the packet at ePSN. After an RNR NAK it takes that packet even before the wait is over. The packet
 * takes effect before the next one (S-17). Until its ICRC is known, only memory changes that no application may look at
 * yet.
 */
INLINE bool receive_next(struct rc_qp *qp, uint32_t rule, const struct wire_packet *packet,
			 const struct rc_origin *origin, uint64_t now_ns, struct rc_outbox *out)
{
	struct rc_responder *resp = &qp->responder;
	struct rc_scatter place;
	enum verdict verdict;
	bool placed;

	if (__builtin_expect(resp->nak_outstanding, 0))
		return receive_after_nak(qp, packet, origin, now_ns, out);
	/* judging may take an entry from the shared queue, which a forged packet must not bring about */
	if (qp->shares_receives && (rule & RULE_TAKES) && !origin_icrc_is_right(origin, packet->payload))
		return false;
	place.why = MR_OK;
	place.count = 0; /* the other fields are not set, because this runs for every packet */
	verdict = judge(qp, rule, packet, &place);
	placed = verdict == VERDICT_ACCEPT && may_place_early(qp, rule, &place, origin);
	if (!(placed ? scatter_copy_checking(&place, packet, origin) : origin_icrc_is_right(origin, packet->payload)))
		return false;
	if (__builtin_expect(verdict != VERDICT_ACCEPT, 0)) {
		refuse(qp, packet, verdict, place.why);
	} else if (rule & RULE_ANSWERED) {
		execute_rd_atomic(qp, packet, &place);
	} else {
		if (!placed)
			scatter_copy(&place, packet->payload);
		execute_message(qp, rule, packet, out);
	}
	return true;
}

static bool has_completion_room(const struct rc_outbox *out)
{
	return out->completion_count + OUTBOX_RECEIVE_COMPLETIONS <= OUTBOX_COMPLETIONS;
}

/*
 * Gives the packets that were kept behind ePSN their turn, one by one (S-21). The ACK tells the peer up to which packet
 * that went. Returns false if the outbox has no room for the completions of all.
 */
bool rc_responder_take_kept(struct rc_qp *qp, struct rc_outbox *out)
{
	const struct rc_origin checked = { 0 };
	const struct wire_packet *packet;
	struct rc_responder *resp = &qp->responder;
	psn_t epsn = resp->epsn;

	if (rc_kept_next(qp) == NULL)
		return true;
	resp->nak_outstanding = false;
	while (!resp->nak_outstanding && (packet = rc_kept_next(qp)) != NULL && has_completion_room(out))
		rc_responder_receive(qp, packet, &checked, 0, out);
	if (resp->nak_outstanding) /* a kept packet was refused, and nothing is kept any more */
		return true;
	if (!psn_equal(epsn, resp->epsn))
		ack_asked_for(&resp->ack);
	resp->nak_outstanding = rc_kept_remains(qp);
	return !resp->nak_outstanding || rc_kept_next(qp) == NULL;
}

/* The missing packet has come: takes the packets that were kept behind it. */
static void take_after_gap(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	struct rc_responder *resp = &qp->responder;

	if (!qp->kept.refused) /* after a NAK the peer sends everything again, and asks for the ACKs that it wants */
		ack_asked_for(&resp->ack);
	rc_kept_filled(qp, now_ns);
	rc_responder_take_kept(qp, out);
	if (qp->kept.refused) /* a kept packet: the NAK is due */
		return;
	resp->nak_outstanding |= rc_kept_remains(qp);
	if (resp->nak_outstanding)
		ack_sack_is_due(&resp->ack);
	else
		rc_kept_closed(qp);
}

/*
 * Takes the packet at ePSN after a NAK or, of a peer that has agreed to SACKs, after a gap. The NAK or the SACKs ask
 * for just this packet, so a NAK is not due any more, unless the packet is refused as well. While an RNR NAK is due the
 * packet is dropped, for that NAK asks for it.
 */
NOINLINE bool receive_after_nak(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin,
				uint64_t now_ns, struct rc_outbox *out)
{
	struct rc_responder *resp = &qp->responder;

	if (owes_rnr_nak(resp))
		return drop_after_nak(qp, packet, origin);
	resp->nak_outstanding = false;
	if (!rc_responder_receive(qp, packet, origin, now_ns, out)) {
		resp->nak_outstanding = true;
		return false;
	}
	if (resp->nak_outstanding)
		return true;
	ack_nak_is_answered(&resp->ack);
	if (qp_keeps(qp))
		take_after_gap(qp, now_ns, out);
	return true;
}

/* The most frequent opcodes have calls of their own, in which the compiler knows the rule. */
bool rc_responder_receive(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin,
			  uint64_t now_ns, struct rc_outbox *out)
{
	if (packet->psn != qp->responder.epsn.v)
		return receive_out_of_order(qp, packet, origin, now_ns);
	if (packet->opcode == OP_WRITE_ONLY)
		return receive_next(qp, RULE_ONLY, packet, origin, now_ns, out);
	if (packet->opcode == OP_WRITE_MIDDLE)
		return receive_next(qp, RULE_EARLY, packet, origin, now_ns, out);
	return receive_next(qp, rc_ops_packets[packet->opcode].rule, packet, origin, now_ns, out);
}

void rc_responder_reset(struct rc_qp *qp)
{
	qp->responder = (struct rc_responder){
		.epsn = qp->rq_psn,
		.newest_request = qp->rq_psn,
		.min_rnr_timer = qp->responder.min_rnr_timer,
	};
}
