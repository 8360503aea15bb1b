/* requester.c - turns posted requests into packets: plan from the window, then commit */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/asking.h"
#include "rc/codes.h"
#include "rc/message.h"
#include "rc/outbox.h"
#include "rc/plain.h"
#include "rc/qp.h"

/* What planning a packet came to. */
enum plan { PLAN_SEND, PLAN_DONE, PLAN_WAIT, PLAN_FAULT };

/* May the request at `started` begin? */
static bool may_start(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t psn_count, uint64_t now_ns)
{
	const struct rc_requester *req = &qp->requester;
	uint32_t needed = wqe->opcode == UROCE_WR_RDMA_READ ? psn_count : 1;

	if (qp->state != UROCE_QPS_RTS)
		return false; /* SQD: nothing new starts */
	if ((wqe->flags & UROCE_SEND_FENCE) && req->answers_due > 0)
		return false; /* */
	if (wqe_needs_answer(wqe) && req->answers_due >= req->max_rd_atomic)
		return false; /* */
	if (sendwin_outstanding(&qp->win) + needed > PSN_WINDOW)
		return false;                     /* P-4 */
	return rc_credit_allows(qp, wqe, now_ns); /* F-3 */
}

/* Points the packet's payload at [offset, offset + bytes) of the request's pieces, at most 16 of them. */
static enum uroce_cause gather(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint64_t offset, uint32_t bytes,
			       struct wire_packet *packet, struct rc_outbox *out)
{
	struct wire_span *spans = &out->spans[out->span_count];
	uint32_t count = 0;

	packet->payload_bytes = bytes;
	packet->pad_bytes = (uint8_t)(-bytes & 3);
	packet->span_count = 0;
	if (bytes == 0)
		return UROCE_CAUSE_NONE;
	if (wqe->flags & UROCE_SEND_INLINE) {
		packet->payload = (const uint8_t *)wqe->sges + offset;
		return UROCE_CAUSE_NONE;
	}
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
	packet->span_count = (uint8_t)count;
	if (count == 1)
		packet->payload = spans[0].base;
	else
		packet->spans = spans;
	return UROCE_CAUSE_NONE;
}

/* A packet of a SEND or WRITE; the PSN says which. */
static void plan_message(const struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t bytes,
			 struct wire_packet *packet)
{
	const struct message_opcodes *opcodes = &message_opcodes[wqe->opcode];
	uint32_t index = psn_distance(qp->win.next, wqe->first_psn);
	bool last = index + 1 == wqe->psn_count;

	packet->opcode = last ? opcodes->last : opcodes->middle;
	if (index == 0)
		message_begin(wqe, opcodes, last, packet);
	if (last)
		message_end(wqe, opcodes, bytes, packet);
}

/* A READ asks from the first missing response on. */
static void plan_read(const struct rc_qp *qp, const struct rc_send_wqe *wqe, struct wire_packet *packet)
{
	uint64_t done = (uint64_t)psn_distance(qp->win.next, wqe->first_psn) << qp->mtu_shift;

	packet->opcode = OP_READ_REQUEST;
	packet->va = wqe->remote_va + done;
	packet->rkey = wqe->rkey;
	packet->dma_length = wqe->length_bytes - (uint32_t)done;
}

static void plan_atomic(const struct rc_qp *qp, const struct rc_send_wqe *wqe, struct wire_packet *packet)
{
	const struct rc_atomic_operands *operands = sendwin_operands(&qp->win, qp->win.cursor);
	bool compare = wqe->opcode == UROCE_WR_ATOMIC_CMP_AND_SWP;

	packet->opcode = compare ? OP_COMPARE_SWAP : OP_FETCH_ADD;
	packet->va = wqe->remote_va;
	packet->rkey = wqe->rkey;
	packet->swap_add = compare ? operands->swap : operands->compare_add;
	packet->compare = compare ? operands->compare_add : 0;
}

/* FETH (wire): placement type in bits 3:0, selectivity in bits 5:4. */
static void plan_flush(const struct rc_send_wqe *wqe, struct wire_packet *packet)
{
	uint32_t reach = wqe->imm & (UROCE_FLUSH_GLOBAL | UROCE_FLUSH_PERSISTENT);

	packet->opcode = OP_FLUSH;
	packet->va = wqe->remote_va;
	packet->rkey = wqe->rkey;
	packet->dma_length = wqe->length_bytes;
	packet->feth = reach | (wqe->imm & UROCE_FLUSH_WHOLE_REGION ? FETH_WHOLE_REGION : 0);
}

static void plan_atomic_write(const struct rc_send_wqe *wqe, struct wire_packet *packet)
{
	packet->opcode = OP_ATOMIC_WRITE;
	packet->va = wqe->remote_va;
	packet->rkey = wqe->rkey;
	packet->dma_length = wqe->length_bytes;
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

static enum uroce_cause plan_packet(struct rc_qp *qp, const struct rc_send_wqe *wqe, struct wire_packet *packet,
				    struct rc_outbox *out)
{
	*packet = (struct wire_packet){
		.psn = qp->win.next.v,
		.flags = qp->migration.request_flag,
		.dest_qpn = qp->dest_qpn,
		.pkey = qp->pkey,
	};
	if (!wqe_needs_answer(wqe) || wqe->opcode == UROCE_WR_ATOMIC_WRITE) {
		uint64_t offset = (uint64_t)psn_distance(qp->win.next, wqe->first_psn) << qp->mtu_shift;
		uint64_t left = wqe->length_bytes - offset;
		uint32_t bytes = left < qp->mtu_bytes ? (uint32_t)left : qp->mtu_bytes;

		if (wqe->opcode == UROCE_WR_ATOMIC_WRITE)
			plan_atomic_write(wqe, packet);
		else
			plan_message(qp, wqe, bytes, packet);
		return gather(qp, wqe, offset, bytes, packet, out);
	}
	if (wqe->opcode == UROCE_WR_FLUSH) {
		plan_flush(wqe, packet);
		return UROCE_CAUSE_NONE;
	}
	if (wqe->opcode == UROCE_WR_RDMA_READ)
		plan_read(qp, wqe, packet);
	else
		plan_atomic(qp, wqe, packet);
	return check_answer_buffers(qp, wqe);
}

/* The packet at `next`, which was planned in the outbox's slot, may have to ask because a pause follows. */
static inline bool pause_wants_ack(const struct rc_qp *qp, const struct rc_outbox *out)
{
	const struct rc_sendwin *win = &qp->win;
	bool window_ends = psn_equal(win->next, win->limit) && sendwin_outstanding(win) + 1 >= WINDOW_PACKETS;

	return asking_is_due(outbox_is_last(out, &out->packets[out->packet_count]), window_ends,
			     qp->requester.since_ackreq, psn_distance(win->next, win->una));
}

/*
 * A READ or atomic is always answered; the flag is set all the same, as Linux does. Otherwise: at the end of a
 * message that reports, before the queue runs empty, where a resend has caught up, before a pause, and twice a window.
 */
static bool wants_ack(const struct rc_qp *qp, const struct rc_send_wqe *wqe, psn_t end, const struct rc_outbox *out)
{
	const struct rc_sendwin *win = &qp->win;
	bool message_ends = psn_equal(end, psn_next(sendwin_last_psn(wqe)));
	bool resent = !psn_equal(win->next, win->limit);

	if (wqe_needs_answer(wqe) || qp->probe.asking || qp->requester.asking)
		return true;
	if (message_ends && ((wqe->flags & UROCE_SEND_SIGNALED) || win->cursor + 1 == win->tail))
		return true;
	if (message_ends && rc_credit_is_used_up(qp))
		return true;
	if (resent && psn_equal(end, win->limit))
		return true;
	return pause_wants_ack(qp, out) || qp->requester.since_ackreq + 1 >= PACKETS_PER_QUESTION;
}

static void commit_packet(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint64_t now_ns, struct rc_outbox *out)
{
	struct wire_packet *packet = outbox_packet_slot(out);
	psn_t psn = qp->win.next;
	psn_t end = wqe->opcode == UROCE_WR_RDMA_READ ? psn_next(sendwin_last_psn(wqe)) : psn_next(psn);
	bool first = psn_equal(psn, qp->win.limit);
	bool answered = wants_ack(qp, wqe, end, out);

	if (answered)
		packet->flags |= WIRE_ACKREQ;
	qp->requester.since_ackreq = answered ? 0 : qp->requester.since_ackreq + 1;
	qp->requester.asking = false;
	if (!first)
		qp->counters[CNT_RETRANSMITTED_PACKETS]++;
	if (wqe->opcode == UROCE_WR_RDMA_READ && !psn_equal(psn, wqe->first_psn)) {
		qp->requester.asked_within = true;
		qp->requester.asked_psn = psn;
	}
	outbox_take_packet(out);
	rc_sendwin_advance(&qp->win, end);
	rc_retry_packet_sent(qp, psn, first, answered, now_ns);
}

/*
 * A local fault is reported when everything before it has completed; until then nothing behind it starts (E-2). A QP
 * that wants it at once gets it on the oldest request instead (E-3).
 */
static enum plan report_fault(struct rc_qp *qp, enum uroce_wc_status status, enum uroce_cause cause)
{
	if (qp->win.acked != qp->win.cursor && !qp->imprecise_errors)
		return PLAN_WAIT;
	rc_qp_fail_send(qp, status, cause);
	return PLAN_FAULT;
}

/* Invalidate or bind: when all earlier requests have been answered. */
static enum plan do_locally(struct rc_qp *qp, struct rc_send_wqe *wqe)
{
	const struct rc_mr_bind bind = wqe_bind(wqe);
	bool invalidates = wqe->opcode == UROCE_WR_LOCAL_INV;

	if (qp->state != UROCE_QPS_RTS || qp->win.acked != qp->win.started)
		return PLAN_WAIT;
	if (!(invalidates ? rc_mr_invalidate(qp->mrs, wqe->rkey, qp->pd, qp->qpn) :
			    rc_mr_bind(qp->mrs, qp->pd, qp->qpn, &bind)))
		return report_fault(qp, invalidates ? UROCE_WC_LOC_QP_OP_ERR : UROCE_WC_MW_BIND_ERR,
				    UROCE_CAUSE_WINDOW);
	wqe->receives = qp->credit.receives;
	rc_sendwin_finish_local(&qp->win);
	return PLAN_DONE;
}

/* The packet at `next`, in the outbox's slot; the request at `started` starts if it is its turn. */
static enum plan plan_next(struct rc_qp *qp, struct rc_send_wqe *wqe, uint64_t now_ns, struct rc_outbox *out)
{
	struct rc_sendwin *win = &qp->win;
	enum uroce_cause cause;
	bool starts = win->cursor == win->started;

	if (starts && wqe_is_local(wqe))
		return do_locally(qp, wqe);
	if (psn_equal(win->next, win->limit) && sendwin_outstanding(win) >= WINDOW_PACKETS && !wqe_needs_answer(wqe))
		return PLAN_WAIT;
	if (starts) {
		uint32_t psn_count = wqe->opcode > UROCE_WR_RDMA_READ ? 1 : qp_packets(qp, wqe->length_bytes);

		if (wqe->shape == SHAPE_TOO_LONG)
			return report_fault(qp, UROCE_WC_LOC_LEN_ERR, UROCE_CAUSE_LENGTH);
		if (!may_start(qp, wqe, psn_count, now_ns))
			return PLAN_WAIT;
		sendwin_start(win, psn_count);
		rc_credit_message_started(qp, wqe);
		qp->requester.answers_due += wqe_needs_answer(wqe);
	}
	cause = plan_packet(qp, wqe, outbox_packet_slot(out), out);
	return cause == UROCE_CAUSE_NONE ? PLAN_SEND : report_fault(qp, UROCE_WC_LOC_PROT_ERR, cause);
}

/*
 * What comes next has to wait, and of what is in flight before it nothing asked for an ACK, because more was to follow:
 * nothing would ever end the wait but the ACK timer. The packet before it goes out once more and asks. Where what
 * was sent before is sent again, that is in the middle of the window: the source of a packet has gone meanwhile.
 */
static bool must_ask(const struct rc_qp *qp)
{
	uint32_t before = psn_distance(qp->win.next, qp->win.una);

	return before > 0 && !asking_answer_is_due(qp, before);
}

/* Progress has stopped: the oldest packet goes out next (see probe.h), unless something is on its way out anyway. */
static void begin_probe(struct rc_qp *qp)
{
	qp->probe.due = false;
	if (qp->retry.resending)
		return;
	qp->counters[CNT_EARLY_PROBES]++;
	qp->probe.tries++;
	round_trip_forget(&qp->round_trip);
	qp->probe.asking = rc_sendwin_rewind(&qp->win);
}

/* The oldest packet has gone out; the newest one follows, if it is not the same, nor a place in a READ's answer. */
static void end_probe(struct rc_qp *qp)
{
	struct rc_sendwin *win = &qp->win;

	qp->probe.asking = false;
	if (psn_equal(win->next, win->limit))
		return;
	if (wqe_needs_answer(sendwin_slot(win, rc_sendwin_newest(win))))
		rc_sendwin_skip_to_limit(win);
	else
		rc_sendwin_step_back(win);
}

/* As much as the room allows. true: there is more. */
static bool send(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	struct rc_sendwin *win = &qp->win;
	enum plan plan;

	rc_plain_send(qp, now_ns, out);
	while (win->cursor != win->tail) {
		struct rc_send_wqe *wqe = sendwin_slot(win, win->cursor);

		if (!outbox_has_packet_room(out))
			return true;
		plan = plan_next(qp, wqe, now_ns, out);
		if (plan == PLAN_SEND) {
			commit_packet(qp, wqe, now_ns, out);
			if (qp->probe.asking)
				end_probe(qp);
		} else if (plan != PLAN_DONE) {
			if (plan == PLAN_FAULT || !must_ask(qp))
				return false;
			rc_sendwin_repeat(win);
			qp->requester.asking = true;
		}
	}
	return false;
}

bool rc_requester_transmit(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	struct rc_burst *burst = &qp->requester.burst;
	uint32_t held, before = out->packet_count;
	bool more;

	if (retry_waits_for_receiver(&qp->retry))
		return false;
	sendwin_take_posted(&qp->win);
	if (qp->probe.due)
		begin_probe(qp);
	held = outbox_hold_back(out, burst->packets);
	more = send(qp, now_ns, out);
	out->packet_room += held;
	burst_grow(burst, out->packet_count - before);
	return more;
}
