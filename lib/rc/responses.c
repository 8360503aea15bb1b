/* responses.c - the responder's packets: READ responses, atomic responses, ACKs and NAKs, in request order (S-14) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/responder.h"

#include "rc/ack.h"
#include "rc/cc.h"
#include "rc/codes.h"
#include "rc/credit.h"
#include "rc/duplicate.h"
#include "rc/emit.h"
#include "rc/fail.h"
#include "rc/kept.h"
#include "rc/memory_fault.h"
#include "rc/op.h"
#include "rc/report.h"
#include "wire/hints.h"

static void add_ack(struct wire_ack ack, struct rc_outbox *out)
{
	outbox_take_frame(out, wire_frame_build_ack(out->template, &ack, outbox_place(out)));
}

static uint8_t read_opcode(bool first, bool last)
{
	if (first)
		return last ? OP_READ_RESPONSE_ONLY : OP_READ_RESPONSE_FIRST;
	return last ? OP_READ_RESPONSE_LAST : OP_READ_RESPONSE_MIDDLE;
}

/*
 * Adds the next packets of a READ's response, unless its memory may no longer be read (S-4). One look-up serves all
 * packets that leave now, because a region stays valid for the length of a poll. The look-up covers the rest of the
 * stretch, whose end is fixed.
 */
INLINE enum rc_mr_verdict add_read_responses(struct rc_qp *qp, struct rc_replay_entry *entry,
					     struct rc_stretch *stretch, struct rc_outbox *out)
{
	uint64_t offset = (uint64_t)psn_distance(stretch->send_psn, entry->first_psn) << qp->mtu_shift;
	uint64_t left = stretch->end_bytes - offset;
	uint32_t count = psn_distance(stretch->end_psn, stretch->send_psn);
	uint8_t syndrome, *host = NULL;
	enum rc_mr_verdict why;

	if (count > outbox_packet_room(out))
		count = outbox_packet_room(out);
	if (left > 0) {
		why = qp_check_memory(qp, entry->rkey, entry->va + offset, left, UROCE_ACCESS_REMOTE_READ, &host);
		if (why != MR_OK)
			return why;
	}
	/* qp_ack_syndrome() counts the credits as told, so a packet has to leave with the syndrome */
	syndrome = qp_ack_syndrome(qp);
	for (; count > 0; count--) {
		bool first = psn_equal(stretch->send_psn, stretch->begin_psn);
		bool last = psn_equal(psn_next(stretch->send_psn), stretch->end_psn);
		uint32_t bytes = left < qp->mtu_bytes ? (uint32_t)left : qp->mtu_bytes;
		struct wire_headers headers = emit_bth(qp, read_opcode(first, last), 0, stretch->send_psn, false);

		if (first || last)
			emit_add_aeth(&headers, syndrome, entry->msn);
		emit(&headers, host, bytes, out);
		if (psn_equal(entry->unsent_psn, stretch->send_psn))
			entry->unsent_psn = psn_next(entry->unsent_psn);
		stretch->send_psn = psn_next(stretch->send_psn);
		left -= bytes;
		if (left > 0) /* an empty READ has no memory */
			host += bytes;
	}
	return MR_OK;
}

/*
 * Answers parts of READs that were asked for once more. Returns false if there is more to answer, but no room for it
 * now.
 */
NOINLINE bool respond_parts(struct rc_qp *qp, struct rc_outbox *out)
{
	struct rc_stretch *part;

	while ((part = rc_duplicate_first_part(qp)) != NULL) {
		struct rc_replay_entry *entry = rc_replay_find_owner(&qp->replay, part->send_psn);

		if (!outbox_has_packet_room(out))
			return false;
		if (entry == NULL || add_read_responses(qp, entry, part, out) != MR_OK)
			qp->counters[entry ? CNT_REPLAY_KEY : CNT_REPLAY_MISS]++;
		else if (!psn_equal(part->send_psn, part->end_psn))
			return false;
		rc_duplicate_pop_part(qp);
	}
	return true;
}

/*
 * A READ or FLUSH may not go on: a NAK is sent in place of the first response that never left. A duplicate draws no NAK
 * (K-RULE).
 */
static void abandon_response(struct rc_qp *qp, struct rc_replay_entry *entry, enum rc_mr_verdict why)
{
	const struct verdict_row *row = &rc_verdicts[VERDICT_ACCESS];
	bool repeated = entry->repeated;
	/* not send_psn: if the READ was repeated, its response may have started again before unsent_psn */
	psn_t psn = entry->unsent_psn;

	rc_replay_pop(&qp->replay);
	if (repeated) {
		qp->counters[CNT_REPLAY_KEY]++;
		return;
	}
	rc_replay_reset(&qp->replay, qp->replay.depth); /* no request behind this one is answered */
	ack_forget(&qp->responder.ack);
	ack_refused(&qp->responder.ack, row->syndrome, psn);
	qp->counters[row->counter]++;
	if (qp->state != UROCE_QPS_ERR) {
		rc_report_responder_failed(qp, row->receive_status, qp_remote_cause(qp, why), psn);
		rc_fail_enter_error(qp, row->event);
	}
}

/* Is it the response to a READ? */
static bool entry_is_cut(const struct rc_replay_entry *entry)
{
	return rc_ops_packets[entry->opcode].op->is_cut;
}

/* Adds one response, or as much of it as there is room and time for. Returns false if there is more of it. */
INLINE bool add_response(struct rc_qp *qp, struct rc_replay_entry *entry, struct rc_outbox *out)
{
	const struct rc_op *op = rc_ops_packets[entry->opcode].op;
	enum rc_mr_verdict why;
	bool ended;

	if (op->is_cut) {
		why = add_read_responses(qp, entry, &entry->stretch, out);
		ended = psn_equal(entry->stretch.send_psn, entry->stretch.end_psn);
	} else {
		why = op->respond(qp, entry, out, &ended);
	}
	if (why != MR_OK)
		abandon_response(qp, entry, why);
	else if (ended)
		rc_replay_pop(&qp->replay);
	return why != MR_OK || ended;
}

/* Answers the queue. Returns true if the queue is empty, false if there is no room or a FLUSH needs more time. */
static bool respond_all(struct rc_qp *qp, struct rc_outbox *out)
{
	struct rc_replay_entry *entry;

	while ((entry = rc_replay_head(&qp->replay)) != NULL) {
		if (!outbox_has_packet_room(out) || !add_response(qp, entry, out))
			return false;
	}
	return true;
}

/* respond_all() with a limit after a loss, because responses behind a lost response are sent in vain. */
static bool respond_queue(struct rc_qp *qp, struct rc_outbox *out)
{
	struct cc_hold hold = cc_hold(qp, CC_READ_RESPONSES, out);
	bool empty = respond_all(qp, out);

	cc_release(qp, CC_READ_RESPONSES, hold, out);
	return empty;
}

/*
 * F-4: sends the newest ACK once more, for its credits. Before the first request has come, it is the ACK of the PSN
 * before that request. Returns true if there is no room.
 */
static bool tell_news(struct rc_qp *qp, struct rc_outbox *out)
{
	if (qp->state == UROCE_QPS_ERR || !rc_credit_unsolicited_due(qp))
		return false;
	if (!outbox_has_packet_room(out))
		return true;
	add_ack(qp_ack_of(qp, psn_previous(qp->responder.newest_request), qp_ack_syndrome(qp)), out);
	return false;
}

/* Sends the ACK for duplicates, unless the ACK or NAK that follows acknowledges as much. There is room. */
static void repeat_ack(struct rc_qp *qp, struct rc_outbox *out)
{
	const struct rc_responder *resp = &qp->responder;

	if (!(resp->ack.due & (WORK_ACK | WORK_NAK)) ||
	    !psn_equal(rc_duplicate_acknowledged(qp), psn_previous(resp->epsn)))
		add_ack(qp_ack_of(qp, rc_duplicate_acknowledged(qp), qp_ack_syndrome(qp)), out);
	ack_repeat_said(&qp->responder.ack);
}

/*
 * Sends the rare packets that are due besides an ACK; there is room for a frame. Returns false if not all has been
 * sent.
 */
NOINLINE bool say_more(struct rc_qp *qp, struct rc_outbox *out)
{
	if (qp->responder.ack.due & WORK_REPEAT_ACK)
		repeat_ack(qp, out);
	return !(qp->responder.ack.due & WORK_SACK) || rc_kept_say(qp, out);
}

/*
 * Answers the peer's READs, atomics and the like. Returns false if there is more to answer, which comes before any ACK
 * (S-14).
 */
static inline bool respond(struct rc_qp *qp, struct rc_outbox *out)
{
	if (__builtin_expect(qp->replay.has_parts, 0) && !respond_parts(qp, out))
		return false;
	return qp->replay.queue_head == REPLAY_NONE || respond_queue(qp, out);
}

/* respond() as far as the rate of the QP allows: READ responses wait for the rate, short responses do not (N-3). */
NOINLINE bool respond_paced(struct rc_qp *qp, struct rc_outbox *out)
{
	struct rc_replay_entry *entry;
	struct cc_hold hold;
	bool done;

	while (!qp->replay.has_parts && (entry = rc_replay_head(&qp->replay)) != NULL && !entry_is_cut(entry)) {
		if (!outbox_has_packet_room(out) || !add_response(qp, entry, out))
			return false;
	}
	hold = cc_hold(qp, CC_PACED_RESPONSES, out);
	done = respond(qp, out);
	cc_release(qp, CC_PACED_RESPONSES, hold, out);
	return done;
}

bool rc_responder_waits_for_rate(const struct rc_qp *qp)
{
	const struct rc_replay_entry *entry = rc_replay_head(&qp->replay);

	return qp->replay.has_parts || (entry && entry_is_cut(entry));
}

static inline bool transmit(struct rc_qp *qp, struct rc_outbox *out)
{
	const struct rc_ack *ack = &qp->responder.ack;

	if (!(qp_is_paced(qp) ? respond_paced(qp, out) : respond(qp, out)))
		return true;
	if ((ack->due & (WORK_REPEAT_ACK | WORK_SACK)) && outbox_has_packet_room(out) && !say_more(qp, out))
		return true;
	if (ack->due && !outbox_has_packet_room(out))
		return true;
	if (ack->due)
		add_ack(qp_take_ack(qp), out);
	return qp->flow_control && tell_news(qp, out);
}

/*
 * Executes kept packets before responses leave: a READ or atomic among them queues a response, which leaves before any
 * ACK, NAK or SACK that covers it (S-14).
 */
NOINLINE bool transmit_with_kept(struct rc_qp *qp, struct rc_outbox *out)
{
	bool all_taken = rc_responder_take_kept(qp, out), more = transmit(qp, out);

	if (all_taken)
		return more;
	ack_sack_is_due(&qp->responder.ack); /* further kept packets are executed by the next call */
	return true;
}

bool rc_responder_transmit(struct rc_qp *qp, struct rc_outbox *out)
{
	if (__builtin_expect(qp->responder.ack.due & WORK_SACK, 0))
		return transmit_with_kept(qp, out);
	return transmit(qp, out);
}
