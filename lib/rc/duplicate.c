/* duplicate.c - duplicate requests: answered or acknowledged once more, never executed again (S-8 to S-10) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/duplicate.h"

#include <string.h>

#include "rc/ack.h"
#include "rc/ask.h"
#include "rc/emit.h"
#include "rc/kept.h"
#include "rc/op.h"

static struct rc_parts *parts_of(const struct rc_qp *qp)
{
	return &qp_board(qp, BOARD_PARTS)->parts;
}

static struct rc_stretch *part_at(struct rc_parts *parts, uint32_t index)
{
	return &parts->parts[(parts->first + index) % LIMIT_HOLES];
}

/* Adds a part, unless it is there already. Returns false if there is no room for it; then nothing has changed. */
static bool add_part(struct rc_qp *qp, const struct rc_stretch *part)
{
	struct rc_parts *parts;

	if (!qp->replay.has_parts) {
		if (rc_board_borrow(qp, BOARD_PARTS) == NULL)
			return false;
		parts_of(qp)->first = parts_of(qp)->count = 0;
		replay_note_parts(&qp->replay, true);
	}
	parts = parts_of(qp);
	for (uint32_t i = 0; i < parts->count; i++) {
		if (psn_equal(part_at(parts, i)->begin_psn, part->begin_psn) &&
		    psn_equal(part_at(parts, i)->end_psn, part->end_psn))
			return true;
	}
	if (parts->count == LIMIT_HOLES)
		return false;
	*part_at(parts, parts->count++) = *part;
	return true;
}

struct rc_stretch *rc_duplicate_first_part(struct rc_qp *qp)
{
	return qp->replay.has_parts ? part_at(parts_of(qp), 0) : NULL;
}

void rc_duplicate_pop_part(struct rc_qp *qp)
{
	struct rc_parts *parts = parts_of(qp);

	parts->first = (parts->first + 1) % LIMIT_HOLES;
	if (--parts->count == 0)
		rc_duplicate_forget_parts(qp);
}

void rc_duplicate_forget_parts(struct rc_qp *qp)
{
	rc_board_return(qp, BOARD_PARTS);
	replay_note_parts(&qp->replay, false);
}

/*
 * Is the response to this part of a READ sent before the responses still to be sent, and is there room to remember the
 * part?
 */
static bool owe_part(struct rc_qp *qp, const struct rc_replay_entry *entry, const struct rc_stretch *part)
{
	uint32_t behind = psn_distance(part->end_psn, entry->first_psn);
	bool first_time = entry->queued && !entry->repeated;
	uint32_t sent = first_time ? psn_distance(entry->unsent_psn, entry->first_psn) : entry->psn_count;

	return qp->read_repair != UROCE_READ_REPAIR_OFF && behind < entry->psn_count && behind <= sent &&
	       add_part(qp, part);
}

/*
 * A part of a READ whose responses have all left before is answered in front of the responses that are still to be sent
 * (S-9). If the peer asks for everything from a packet to the end, the responder stops sending the READ and begins
 * again at that packet. But responses that have never left still have to leave, in order: so a READ that is answered
 * for the first time goes on to its end, and a duplicate that begins behind the responses that have left is ignored,
 * for its response will leave anyway.
 */
static void respond_to_read_again(struct rc_qp *qp, struct rc_replay_entry *entry, const struct wire_packet *packet)
{
	psn_t psn = psn_make(packet->psn);
	uint32_t begin = psn_distance(psn, entry->first_psn);
	struct rc_stretch part = {
		.begin_psn = psn,
		.send_psn = psn,
		.end_psn = psn_add(psn, qp_packets(qp, packet->dma_length)),
		.end_bytes = (uint32_t)(packet->va - entry->va) + packet->dma_length,
	};
	bool first_time = entry->queued && !entry->repeated;

	if (owe_part(qp, entry, &part))
		return;
	if (first_time && begin > psn_distance(entry->unsent_psn, entry->first_psn))
		return;
	if (first_time) {
		part.end_psn = psn_add(entry->first_psn, entry->psn_count);
		part.end_bytes = entry->length_bytes;
	}
	burst_notice_loss(&qp->response_burst);
	rc_replay_queue(&qp->replay, entry, psn, psn_distance(part.end_psn, psn), part.end_bytes);
}

static bool receive_duplicate_response(struct rc_qp *qp, const struct wire_packet *packet)
{
	const struct rc_op *op = rc_ops_packets[packet->opcode].op;
	psn_t psn = psn_make(packet->psn);
	struct rc_replay_entry *entry = rc_replay_find(&qp->replay, psn);
	bool known = false;

	if (entry == NULL && op->is_cut)
		entry = rc_replay_find_owner(&qp->replay, psn);
	if (entry == NULL)
		qp->counters[CNT_REPLAY_MISS]++;
	else if (entry->opcode != packet->opcode || entry->rkey != packet->rkey || !op->matches(qp, entry, packet))
		qp->counters[CNT_REPLAY_MISMATCH]++;
	else
		known = true;
	if (known && op->is_cut)
		respond_to_read_again(qp, entry, packet);
	else if (known)
		rc_replay_queue(&qp->replay, entry, psn, 1, 0);
	return known;
}

/*
 * The PSN is computed when the ACK leaves, not when the duplicate came: the rest of the burst may have been executed
 * and answered in between, and an ACK must not acknowledge less than an earlier one.
 */
psn_t rc_duplicate_acknowledged(const struct rc_qp *qp)
{
	const struct rc_replay_entry *entry = rc_replay_find_after(&qp->replay, qp->responder.ack.repeat_psn);

	return psn_previous(entry ? entry->first_psn : qp->responder.epsn);
}

/*
 * The data of a repeated WRITE equals what memory holds, unless an attacker's packet was executed in its place, or
 * memory has changed since: a hint, not a proof. Only packets that carry the address are compared.
 */
static void note_suspicious(struct rc_qp *qp, const struct wire_opcode_row *op, const struct wire_packet *packet)
{
	uint8_t *host;

	if (op->reth && packet->payload_bytes > 0 &&
	    qp_check_memory(qp, packet->rkey, packet->va, packet->payload_bytes, UROCE_ACCESS_REMOTE_WRITE, &host) ==
		    MR_OK &&
	    memcmp(host, packet->payload, packet->payload_bytes) != 0)
		qp->counters[CNT_SUSPICIOUS_DUPLICATE]++;
}

/*
 * A SACK peer reports with an empty WRITE for how long its lcore was away (C-33). The report is easily forged: it is
 * stored for uroce_qp_why(), and used for nothing else.
 */
static void note_report(struct rc_qp *qp, const struct wire_opcode_row *op, const struct wire_packet *packet,
			uint64_t now_ns)
{
	if (packet->rkey != EMIT_AWAY_RKEY || !op->reth || !op->last || op->immdt || packet->dma_length ||
	    packet->payload_bytes || !qp_keeps(qp))
		return;
	qp->counters[CNT_PEER_AWAY]++;
	if (packet->va == 0 || packet->va > ASK_AWAY_MS_MAX)
		return;
	qp->peer_away_ms = (uint32_t)packet->va;
	qp->peer_away_at_ns = now_ns;
}

bool rc_duplicate_receive(struct rc_qp *qp, const struct wire_packet *packet, uint64_t now_ns)
{
	const struct wire_opcode_row *op = wire_opcode(packet->opcode);

	qp->counters[CNT_DUPLICATE_REQUEST]++;
	if (rc_ops_packets[packet->opcode].rule & RULE_ANSWERED)
		return receive_duplicate_response(qp, packet);
	if (op->kind == WIRE_KIND_WRITE) {
		note_suspicious(qp, op, packet);
		note_report(qp, op, packet, now_ns);
	}
	/* A message in progress stays in progress, whatever part of it is repeated (S-19). */
	if (op->kind == WIRE_KIND_WRITE || op->kind == WIRE_KIND_SEND)
		ack_repeated(&qp->responder.ack, psn_make(packet->psn));
	return false; /* a duplicate is never answered with a NAK (K-RULE) */
}
