/* responder.c - judge a request in the order of S-1, then execute it */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/responder.h"

#include <string.h>

#include "rc/anomaly.h"
#include "rc/codes.h"
#include "rc/credit.h"
#include "rc/duplicate.h"
#include "rc/fail.h"
#include "rc/flush.h"
#include "rc/outbox.h"
#include "rc/report.h"
#include "rc/scatter.h"
#include "rc/verdict.h"
#include "wire/bytes.h"

static bool needs_receive(const struct wire_opcode_row *op)
{
	return op->kind == WIRE_KIND_SEND || (op->kind == WIRE_KIND_WRITE && op->immdt);
}

/* Answered one by one, and kept for duplicates (S-11). */
static bool is_answered(const struct wire_opcode_row *op)
{
	const uint32_t answered = 1u << WIRE_KIND_READ_REQUEST | 1u << WIRE_KIND_ATOMIC | 1u << WIRE_KIND_ATOMIC_WRITE |
				  1u << WIRE_KIND_FLUSH;

	return 1u << op->kind & answered;
}

static enum verdict check_sequence(const struct rc_responder *resp, const struct wire_opcode_row *op)
{
	bool message = op->kind == WIRE_KIND_SEND || op->kind == WIRE_KIND_WRITE;

	if (op->kind == WIRE_KIND_RESERVED)
		return resp->in_progress ? VERDICT_BAD_SEQUENCE : VERDICT_UNSUPPORTED;
	if (message && !op->first)
		return resp->in_progress == op->kind ? VERDICT_ACCEPT : VERDICT_BAD_SEQUENCE;
	return resp->in_progress ? VERDICT_BAD_SEQUENCE : VERDICT_ACCEPT;
}

static enum verdict check_enabled(const struct rc_qp *qp, const struct wire_opcode_row *op,
				  const struct wire_packet *packet)
{
	uint32_t needed = 0;

	switch ((enum wire_kind)op->kind) {
	case WIRE_KIND_SEND:
		return VERDICT_ACCEPT;
	case WIRE_KIND_WRITE:
	case WIRE_KIND_ATOMIC_WRITE:
		needed = UROCE_ACCESS_REMOTE_WRITE;
		break;
	case WIRE_KIND_READ_REQUEST:
		needed = UROCE_ACCESS_REMOTE_READ;
		break;
	case WIRE_KIND_ATOMIC:
		needed = UROCE_ACCESS_REMOTE_ATOMIC;
		break;
	case WIRE_KIND_FLUSH:
		needed = rc_flush_rights(packet->feth);
		if (needed == 0 || (packet->feth & FETH_SELECTIVITY) > FETH_WHOLE_REGION)
			return VERDICT_UNSUPPORTED;
		break;
	case WIRE_KIND_RESERVED:
	case WIRE_KIND_READ_RESPONSE:
	case WIRE_KIND_ACKNOWLEDGE:
	case WIRE_KIND_ATOMIC_ACKNOWLEDGE:
	case WIRE_KIND_UD_SEND:
	case WIRE_KIND_CNP:
		return VERDICT_UNSUPPORTED;
	}
	if ((qp->access & needed) != needed)
		return VERDICT_NOT_ENABLED;
	if (is_answered(op) && qp->replay.depth == 0)
		return VERDICT_UNSUPPORTED;
	return VERDICT_ACCEPT;
}

/* W-6: pad and payload length by position, and atomic alignment. */
static enum verdict check_length(const struct rc_qp *qp, const struct wire_opcode_row *op,
				 const struct wire_packet *packet)
{
	bool aligned = ((packet->payload_bytes + packet->pad_bytes) & 3) == 0;

	if (op->kind == WIRE_KIND_ATOMIC_WRITE) { /* S-20 */
		if (packet->payload_bytes != 8 || packet->pad_bytes != 0 || packet->dma_length != 8)
			return VERDICT_BAD_LENGTH;
		return packet->va & 7 ? VERDICT_UNALIGNED : VERDICT_ACCEPT;
	}
	if (!op->payload)
		return packet->payload_bytes == 0 && packet->pad_bytes == 0 ?
			       (op->kind == WIRE_KIND_ATOMIC && (packet->va & 7) ? VERDICT_UNALIGNED : VERDICT_ACCEPT) :
			       VERDICT_BAD_LENGTH;
	if (!op->last)
		return packet->payload_bytes == qp->mtu_bytes && packet->pad_bytes == 0 ? VERDICT_ACCEPT :
											  VERDICT_BAD_LENGTH;
	if (!aligned || packet->payload_bytes > qp->mtu_bytes || (!op->first && packet->payload_bytes == 0))
		return VERDICT_BAD_LENGTH;
	return VERDICT_ACCEPT;
}

/* a SEND at its first packet, a WRITE at the one that carries the immediate. */
static bool takes_receive_now(const struct wire_opcode_row *op)
{
	return needs_receive(op) && (op->kind == WIRE_KIND_WRITE || op->first);
}

static enum verdict judge_send(struct rc_qp *qp, const struct wire_opcode_row *op, const struct wire_packet *packet,
			       struct rc_scatter *place)
{
	const struct rc_recv_wqe *wqe = recvq_peek(&qp->recvq);
	uint64_t offset = op->first ? 0 : qp->responder.message_bytes;

	if (offset + packet->payload_bytes > wqe->total_bytes)
		return VERDICT_SEND_TOO_LONG;
	if (op->ieth && !rc_mr_may_invalidate(qp->mrs, packet->invalidate_key, qp->pd, qp->qpn)) {
		place->why = MR_BAD_KEY;
		return VERDICT_ACCESS;
	}
	return rc_scatter_find(qp, wqe->sges, wqe->sge_count, offset, packet->payload_bytes, place) ?
		       VERDICT_ACCEPT :
		       VERDICT_RECEIVE_UNUSABLE;
}

/* S-5, S-4: the whole DMALen at the first packet, and this packet's part of it at each. */
static enum verdict judge_write(struct rc_qp *qp, const struct wire_opcode_row *op, const struct wire_packet *packet,
				struct rc_scatter *place)
{
	const struct rc_responder *resp = &qp->responder;
	uint64_t va = op->first ? packet->va : resp->write_va;
	uint32_t left = op->first ? packet->dma_length : resp->write_left;
	uint32_t rkey = op->first ? packet->rkey : resp->write_rkey;
	uint32_t checked = op->first ? left : packet->payload_bytes;

	if (op->first && left > LIMIT_MESSAGE_BYTES)
		return VERDICT_DMA_LENGTH;
	if (op->last ? packet->payload_bytes != left : packet->payload_bytes >= left)
		return VERDICT_DMA_LENGTH;
	if (checked == 0)
		return VERDICT_ACCEPT;
	place->why = qp_check_memory(qp, rkey, va, checked, UROCE_ACCESS_REMOTE_WRITE, &place->places[0]);
	if (place->why != MR_OK)
		return VERDICT_ACCESS;
	place->lengths[0] = packet->payload_bytes;
	place->count = 1;
	return VERDICT_ACCEPT;
}

static uint32_t rights_for(const struct wire_opcode_row *op, const struct wire_packet *packet)
{
	if (op->kind == WIRE_KIND_ATOMIC)
		return UROCE_ACCESS_REMOTE_ATOMIC;
	if (op->kind == WIRE_KIND_ATOMIC_WRITE)
		return UROCE_ACCESS_REMOTE_WRITE;
	return op->kind == WIRE_KIND_FLUSH ? rc_flush_rights(packet->feth) : UROCE_ACCESS_REMOTE_READ;
}

static enum verdict judge_answered(struct rc_qp *qp, const struct wire_opcode_row *op, const struct wire_packet *packet,
				   struct rc_scatter *place)
{
	uint32_t bytes = op->kind == WIRE_KIND_ATOMIC ? 8 : packet->dma_length;
	uint32_t rights = rights_for(op, packet);
	uint64_t va = packet->va, whole;

	if (bytes > LIMIT_MESSAGE_BYTES)
		return VERDICT_DMA_LENGTH;
	if (op->kind == WIRE_KIND_FLUSH && (packet->feth & FETH_WHOLE_REGION))
		place->why = rc_mr_extent(qp->mrs, packet->rkey, qp->pd, qp->qpn, rights, &va, &whole);
	else if (bytes > 0)
		place->why = qp_check_memory(qp, packet->rkey, va, bytes, rights, &place->places[0]);
	if (place->why != MR_OK)
		return VERDICT_ACCESS;
	/* A region without atomic rights may lie at a host address that is not aligned like its VA. */
	if (op->kind == WIRE_KIND_ATOMIC_WRITE && ((uintptr_t)place->places[0] & 7))
		return VERDICT_UNALIGNED;
	return VERDICT_ACCEPT;
}

/* The whole order of S-1 behind the PSN. Changes nothing. */
static enum verdict judge(struct rc_qp *qp, const struct wire_packet *packet, struct rc_scatter *place)
{
	const struct wire_opcode_row *op = wire_opcode(packet->opcode);
	enum verdict verdict;

	verdict = check_sequence(&qp->responder, op);
	if (verdict != VERDICT_ACCEPT)
		return verdict;
	verdict = check_enabled(qp, op, packet);
	if (verdict != VERDICT_ACCEPT)
		return verdict;
	verdict = check_length(qp, op, packet);
	if (verdict != VERDICT_ACCEPT)
		return verdict;
	if (is_answered(op) && qp->replay.unfinished >= qp->replay.depth)
		return VERDICT_TOO_DEEP;
	if (takes_receive_now(op) && rc_recvq_need(&qp->recvq) == NULL)
		return VERDICT_NO_RECEIVE;
	if (op->kind == WIRE_KIND_SEND)
		return judge_send(qp, op, packet, place);
	if (op->kind == WIRE_KIND_WRITE)
		return judge_write(qp, op, packet, place);
	return judge_answered(qp, op, packet, place);
}

/* A packet of a SEND or WRITE whose payload is in its place. */
static inline void execute_message(struct rc_qp *qp, const struct wire_opcode_row *op, const struct wire_packet *packet,
				   struct rc_outbox *out)
{
	struct rc_responder *resp = &qp->responder;

	resp->epsn = resp->newest_request = psn_next(resp->epsn);
	if (qp->replay.used)
		rc_replay_expire(&qp->replay, resp->epsn);
	if (packet->flags & WIRE_ACKREQ)
		resp->ack_due = true;
	if (op->first) {
		resp->message_bytes = 0;
		resp->write_va = packet->va;
		resp->write_left = packet->dma_length;
		resp->write_rkey = packet->rkey;
	}
	resp->message_bytes += packet->payload_bytes;
	resp->write_va += packet->payload_bytes;
	resp->write_left -= packet->payload_bytes;
	resp->in_progress = op->last ? WIRE_KIND_RESERVED : op->kind;
	if (!op->last)
		return;
	resp->msn = (resp->msn + 1) & PSN_MASK;
	qp->counters[op->kind == WIRE_KIND_SEND ? CNT_RX_SEND_REQUESTS : CNT_RX_WRITE_REQUESTS]++;
	if (op->ieth)
		rc_mr_invalidate(qp->mrs, packet->invalidate_key, qp->pd, qp->qpn);
	if (needs_receive(op))
		rc_report_receive(qp, recvq_peek(&qp->recvq), packet, resp->message_bytes, out);
}

/* S-7: one hardware atomic on host-order memory. */
static uint64_t perform_atomic(const struct wire_packet *packet, uint8_t *host)
{
	uint64_t *word = (uint64_t *)(void *)host;
	uint64_t original = packet->compare;

	if (packet->opcode == OP_FETCH_ADD)
		return __atomic_fetch_add(word, packet->swap_add, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(word, &original, packet->swap_add, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return original;
}

/* What the replay entry keeps of a request, and its effect; a READ's and a FLUSH's comes with the answer. */
static void execute_kind(struct rc_qp *qp, const struct wire_opcode_row *op, const struct wire_packet *packet,
			 const struct rc_scatter *place, struct rc_replay_entry *entry)
{
	if (op->kind == WIRE_KIND_READ_REQUEST) {
		entry->length_bytes = packet->dma_length;
		qp->counters[CNT_RX_READ_REQUESTS]++;
	} else if (op->kind == WIRE_KIND_FLUSH) {
		entry->length_bytes = packet->dma_length;
		entry->flush = (uint8_t)packet->feth;
		qp->counters[CNT_RX_FLUSH_REQUESTS]++;
	} else if (op->kind == WIRE_KIND_ATOMIC_WRITE) {
		entry->swap_add = atomic_write_value(packet);
		__atomic_store_n((uint64_t *)(void *)place->places[0], entry->swap_add, __ATOMIC_SEQ_CST);
		qp->counters[CNT_RX_ATOMIC_WRITE_REQUESTS]++;
	} else {
		entry->swap_add = packet->swap_add;
		entry->compare = packet->compare;
		entry->original = perform_atomic(packet, place->places[0]);
		qp->counters[CNT_RX_ATOMIC_REQUESTS]++;
	}
}

static void execute_answered(struct rc_qp *qp, const struct wire_opcode_row *op, const struct wire_packet *packet,
			     const struct rc_scatter *place)
{
	struct rc_responder *resp = &qp->responder;
	uint32_t count = op->kind == WIRE_KIND_READ_REQUEST ? qp_packets(qp, packet->dma_length) : 1;
	struct rc_replay_entry *entry = rc_replay_insert(&qp->replay, psn_make(packet->psn), count);

	resp->msn = (resp->msn + 1) & PSN_MASK;
	entry->va = packet->va;
	entry->rkey = packet->rkey;
	entry->opcode = packet->opcode;
	entry->msn = resp->msn;
	execute_kind(qp, op, packet, place, entry);
	rc_replay_queue(&qp->replay, entry, entry->first_psn, count, entry->length_bytes);
	resp->newest_request = resp->epsn;
	resp->epsn = psn_add(resp->epsn, count);
	resp->ack_due = false; /* its answer acknowledges everything before it */
}

static void send_nak(struct rc_responder *resp, uint8_t syndrome)
{
	resp->nak_due = true;
	resp->nak_syndrome = syndrome;
	resp->nak_psn = resp->epsn;
	resp->nak_outstanding = true;
}

/* Was a receive entry in use when the request failed? (K-RESP) */
static bool receive_in_use(const struct rc_qp *qp, const struct wire_opcode_row *op, enum verdict verdict)
{
	if (qp->responder.in_progress == WIRE_KIND_SEND)
		return true;
	return takes_receive_now(op) && verdict > VERDICT_NO_RECEIVE;
}

/* Why, as a person would ask: a key check tells which (E-4). */
static enum uroce_cause cause_of(enum verdict verdict, enum rc_mr_verdict why)
{
	if (verdict == VERDICT_ACCESS)
		return rc_codes_remote_cause(why);
	return verdict == VERDICT_RECEIVE_UNUSABLE ? rc_codes_local_cause(why) : rc_verdicts[verdict].cause;
}

static void refuse(struct rc_qp *qp, const struct wire_packet *packet, enum verdict verdict, enum rc_mr_verdict why)
{
	const struct verdict_row *row = &rc_verdicts[verdict];
	bool in_use = receive_in_use(qp, wire_opcode(packet->opcode), verdict);

	qp->counters[row->counter]++;
	if (row->retry) {
		send_nak(&qp->responder, (uint8_t)(row->syndrome | qp->responder.min_rnr_timer));
		return;
	}
	send_nak(&qp->responder, row->syndrome);
	rc_report_responder_failed(qp, row->receive_status, cause_of(verdict, why), qp->responder.epsn);
	qp->report.recv_failed = in_use;
	rc_fail_enter_error(qp, in_use ? UROCE_EVENT_QP_FATAL : row->event);
}

/*
 * What may be placed before its ICRC is known: SENDs, whose buffer is undefined until the receive completes, and the
 * middle of WRITEs, whose address is our own and which the peer sends again (docs/decisions/0004).
 */
static bool may_place_early(const struct wire_opcode_row *op, const struct wire_packet *packet)
{
	return packet->payload_bytes > 0 && (op->kind == WIRE_KIND_SEND || (op->kind == WIRE_KIND_WRITE && op->middle));
}

/*
 * Judged as it comes: early or late after an RNR NAK, and takes effect before the next one (S-17). false:
 * its ICRC is wrong, so nothing has happened but to memory that nobody may look at yet.
 */
static bool receive_new(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin,
			struct rc_outbox *out)
{
	const struct wire_opcode_row *op = wire_opcode(packet->opcode);
	struct rc_responder *resp = &qp->responder;
	struct rc_scatter place;
	enum verdict verdict;
	bool placed = false;

	place.why = MR_OK;
	place.count = 0; /* not all of it: this runs for every packet */
	/* Judging may take an entry from a shared queue, which no stranger shall bring about. */
	if (qp->recvq.srq && takes_receive_now(op) && !origin_icrc_is_right(origin, packet))
		return false;
	verdict = judge(qp, packet, &place);
	if (verdict == VERDICT_ACCEPT && origin->ip && may_place_early(op, packet)) {
		if (!rc_scatter_copy_checking(&place, packet, origin))
			return false;
		placed = true;
	} else if (!origin_icrc_is_right(origin, packet)) {
		return false;
	}
	resp->nak_outstanding = false;
	resp->nak_due = false; /* a NAK that has not left yet asked for just this packet */
	if (verdict != VERDICT_ACCEPT) {
		refuse(qp, packet, verdict, place.why);
	} else if (is_answered(op)) {
		execute_answered(qp, op, packet, &place);
		rc_replay_expire(&qp->replay, resp->epsn);
	} else {
		if (!placed)
			rc_scatter_copy(&place, packet->payload);
		execute_message(qp, op, packet, out);
	}
	return true;
}

/* Position and length of a packet in its message, as check_sequence() and check_length() want them. */
static inline bool fits_plainly(const struct rc_qp *qp, const struct wire_opcode_row *op,
				const struct wire_packet *packet)
{
	const struct rc_responder *resp = &qp->responder;

	if (resp->in_progress != (op->first ? WIRE_KIND_RESERVED : op->kind))
		return false;
	if (!op->last)
		return packet->payload_bytes == qp->mtu_bytes && packet->pad_bytes == 0;
	return packet->payload_bytes - 1 < qp->mtu_bytes &&
	       packet->pad_bytes == packet_pad_bytes(packet->payload_bytes);
}

/* Where the payload of a WRITE goes, or NULL: the judge shall say why not (judge_write()). */
static inline uint8_t *find_write(struct rc_qp *qp, const struct wire_opcode_row *op, const struct wire_packet *packet)
{
	const struct rc_responder *resp = &qp->responder;
	uint64_t va = op->first ? packet->va : resp->write_va;
	uint32_t left = op->first ? packet->dma_length : resp->write_left;
	uint32_t rkey = op->first ? packet->rkey : resp->write_rkey;
	uint8_t *host;

	if (op->immdt || !(qp->access & UROCE_ACCESS_REMOTE_WRITE) || left > LIMIT_MESSAGE_BYTES ||
	    (op->last ? packet->payload_bytes != left : packet->payload_bytes >= left))
		return NULL;
	return qp_check_memory(qp, rkey, va, op->first ? left : packet->payload_bytes, UROCE_ACCESS_REMOTE_WRITE,
			       &host) == MR_OK ?
		       host :
		       NULL;
}

/* The same for a SEND into a receive of one piece. */
static inline uint8_t *find_send(struct rc_qp *qp, const struct wire_opcode_row *op, const struct wire_packet *packet)
{
	uint64_t offset = op->first ? 0 : qp->responder.message_bytes;
	const struct rc_recv_wqe *wqe;
	uint8_t *host;

	if (op->ieth || qp->recvq.srq)
		return NULL;
	wqe = recvq_peek(&qp->recvq);
	if (wqe == NULL || wqe->sge_count != 1 || offset + packet->payload_bytes > wqe->total_bytes)
		return NULL;
	return qp_check_memory(qp, wqe->sges[0].lkey, wqe->sges[0].addr + offset, packet->payload_bytes,
			       UROCE_ACCESS_LOCAL_WRITE, &host) == MR_OK ?
		       host :
		       NULL;
}

/* What became of a packet on a short way, which only accepts: NOT: nothing; WRONG: its ICRC is. */
enum plain { PLAIN_NOT, PLAIN_DONE, PLAIN_WRONG };

/* receive_plainly() for a WRITE of one packet: with all that is known of it there is less to look at. */
static enum plain receive_only_write(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin)
{
	struct rc_responder *resp = &qp->responder;
	uint32_t bytes = packet->payload_bytes;
	uint8_t *host;

	if (resp->nak_outstanding || qp->long_way || resp->in_progress != WIRE_KIND_RESERVED ||
	    !(qp->access & UROCE_ACCESS_REMOTE_WRITE) || bytes != packet->dma_length || bytes - 1 >= qp->mtu_bytes ||
	    packet->pad_bytes != packet_pad_bytes(bytes) ||
	    qp_check_memory(qp, packet->rkey, packet->va, bytes, UROCE_ACCESS_REMOTE_WRITE, &host) != MR_OK)
		return PLAIN_NOT;
	if (!origin_icrc_is_right(origin, packet))
		return PLAIN_WRONG;
	memcpy(host, packet->payload, bytes);
	resp->epsn = resp->newest_request = psn_next(resp->epsn);
	if (qp->replay.used)
		rc_replay_expire(&qp->replay, resp->epsn);
	resp->ack_due |= (packet->flags & WIRE_ACKREQ) != 0;
	resp->msn = (resp->msn + 1) & PSN_MASK;
	qp->counters[CNT_RX_WRITE_REQUESTS]++;
	return PLAIN_DONE;
}

/*
 * The short way of what nearly always comes: the next packet of a SEND or WRITE with a place for its payload. As
 * receive_new() would; it only accepts, and what it does not take goes there.
 */
static enum plain receive_plainly(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin,
				  struct rc_outbox *out)
{
	const struct wire_opcode_row *op = wire_opcode(packet->opcode);
	bool write = op->kind == WIRE_KIND_WRITE;
	uint8_t *host;

	if (qp->responder.nak_outstanding || qp->long_way || !(write || op->kind == WIRE_KIND_SEND) ||
	    !fits_plainly(qp, op, packet))
		return PLAIN_NOT;
	host = write ? find_write(qp, op, packet) : find_send(qp, op, packet);
	if (host == NULL)
		return PLAIN_NOT;
	/* What may be placed early: see may_place_early(). */
	if (write && !op->middle ? !origin_icrc_is_right(origin, packet) : !origin_copy_checking(origin, packet, host))
		return PLAIN_WRONG;
	if (write && !op->middle)
		memcpy(host, packet->payload, packet->payload_bytes);
	execute_message(qp, op, packet, out);
	return PLAIN_DONE;
}

/* ePSN executes, the half window behind it is a duplicate, the other half a gap (S-2, P-6). */
static __attribute__((noinline)) bool receive_any(struct rc_qp *qp, const struct wire_packet *packet,
						  const struct rc_origin *origin, uint64_t now_ns,
						  struct rc_outbox *out)
{
	struct rc_responder *resp = &qp->responder;
	psn_t psn = psn_make(packet->psn);
	bool known = false;

	if (psn_equal(psn, resp->epsn)) {
		enum plain plain = origin->ip ? receive_plainly(qp, packet, origin, out) : PLAIN_NOT;

		return plain == PLAIN_NOT ? receive_new(qp, packet, origin, out) : plain == PLAIN_DONE;
	}
	if (!origin_icrc_is_right(origin, packet))
		return false;
	if (psn_before(psn, resp->epsn)) {
		known = rc_duplicate_receive(qp, packet);
	} else if (resp->nak_outstanding) {
		qp->counters[CNT_SILENCED_REQUEST]++;
	} else { /* K-SEQ */
		qp->counters[CNT_OUT_OF_SEQUENCE]++;
		send_nak(resp, syndrome_make(SYNDROME_NAK, NAK_PSN_SEQUENCE));
	}
	if (!known && anomaly_is_far(psn, resp->epsn))
		rc_anomaly_note(qp, now_ns);
	return true;
}

bool rc_responder_receive(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin,
			  uint64_t now_ns, struct rc_outbox *out)
{
	if (packet->opcode == OP_WRITE_ONLY && packet->psn == qp->responder.epsn.v && origin->ip) {
		enum plain plain = receive_only_write(qp, packet, origin);

		if (plain != PLAIN_NOT)
			return plain == PLAIN_DONE;
	}
	return receive_any(qp, packet, origin, now_ns, out);
}
