/* requester.c - turns posted requests into packets: plan from the window, then commit */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/requester.h"

#include "rc/ackreq.h"
#include "rc/codes.h"
#include "rc/credit.h"
#include "rc/fail.h"
#include "rc/keepalive.h"
#include "rc/message.h"
#include "rc/outbox.h"
#include "rc/plain.h"
#include "rc/retry.h"

/* What planning a packet came to. */
enum plan { PLAN_SEND, PLAN_DONE, PLAN_WAIT, PLAN_FAULT };

/* Another READ only while its answer is not likely to be dropped behind the next loss; a single one always. */
static __attribute__((noinline)) bool fits_quota(struct rc_qp *qp, uint32_t psn_count)
{
	read_quota_grow(&qp->quota, qp->win.snd_una);
	return qp->requester.rd_atomic_outstanding == 0 ||
	       sendwin_outstanding(&qp->win) + psn_count <= qp->quota.packets;
}

/* May the request at `started` begin? */
static bool may_start(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t psn_count, uint64_t now_ns)
{
	const struct rc_requester *req = &qp->requester;
	uint32_t needed = wqe->opcode == UROCE_WR_RDMA_READ ? psn_count : 1;

	if ((wqe->flags & UROCE_SEND_FENCE) && req->rd_atomic_outstanding > 0)
		return false; /* */
	if (wqe_needs_answer(wqe) && req->rd_atomic_outstanding >= req->max_rd_atomic)
		return false; /* */
	if (sendwin_outstanding(&qp->win) + needed > PSN_WINDOW)
		return false; /* P-4 */
	if (wqe->opcode == UROCE_WR_RDMA_READ && !read_quota_is_full(&qp->quota) && !fits_quota(qp, psn_count))
		return false;
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
static void plan_message(const struct rc_send_wqe *wqe, uint32_t index, uint32_t bytes, struct wire_packet *packet)
{
	const struct message_opcodes *opcodes = &message_opcodes[wqe->opcode];
	bool last = index + 1 == wqe->psn_count;

	packet->opcode = last ? opcodes->last : opcodes->middle;
	if (index == 0)
		message_begin(wqe, opcodes, last, packet);
	if (last)
		message_end(wqe, opcodes, bytes, packet);
}

/* A READ asks from the first missing response on, for all the rest or so many packets of it. */
static void plan_read(const struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t index, uint32_t packets,
		      struct wire_packet *packet)
{
	uint64_t done = (uint64_t)index << qp->mtu_shift, part = (uint64_t)packets << qp->mtu_shift;

	packet->opcode = OP_READ_REQUEST;
	packet->va = wqe->remote_va + done;
	packet->rkey = wqe->rkey;
	packet->dma_length = wqe->length_bytes - done < part ? (uint32_t)(wqe->length_bytes - done) : (uint32_t)part;
}

static void plan_atomic(const struct rc_qp *qp, uint32_t slot, const struct rc_send_wqe *wqe,
			struct wire_packet *packet)
{
	const struct rc_atomic_operands *operands = sendwin_operands(&qp->win, slot);
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

static inline __attribute__((always_inline)) enum uroce_cause plan_packet(struct rc_qp *qp, uint32_t slot,
									  const struct rc_send_wqe *wqe, psn_t psn,
									  uint32_t read_packets,
									  struct wire_packet *packet,
									  struct rc_outbox *out)
{
	uint32_t index = psn_distance(psn, wqe->first_psn);

	*packet = (struct wire_packet){
		.psn = psn.v,
		.flags = qp->migration.request_flag,
		.dest_qpn = qp->dest_qpn,
		.pkey = qp->pkey,
	};
	if (!wqe_needs_answer(wqe) || wqe->opcode == UROCE_WR_ATOMIC_WRITE) {
		uint64_t offset = (uint64_t)index << qp->mtu_shift;
		uint64_t left = wqe->length_bytes - offset;
		uint32_t bytes = left < qp->mtu_bytes ? (uint32_t)left : qp->mtu_bytes;

		if (wqe->opcode == UROCE_WR_ATOMIC_WRITE)
			plan_atomic_write(wqe, packet);
		else
			plan_message(wqe, index, bytes, packet);
		return gather(qp, wqe, offset, bytes, packet, out);
	}
	if (wqe->opcode == UROCE_WR_FLUSH) {
		plan_flush(wqe, packet);
		return UROCE_CAUSE_NONE;
	}
	if (wqe->opcode == UROCE_WR_RDMA_READ)
		plan_read(qp, wqe, index, read_packets, packet);
	else
		plan_atomic(qp, slot, wqe, packet);
	return check_answer_buffers(qp, wqe);
}

/* The packet at `snd_nxt`, which was planned in the outbox's slot, may have to ask because a pause follows. */
static inline bool pause_wants_ack(const struct rc_qp *qp, const struct rc_outbox *out)
{
	const struct rc_sendwin *win = &qp->win;
	uint32_t in_flight = psn_distance(win->snd_nxt, win->snd_una), window = qp->requester.window;

	return ackreq_is_due(outbox_is_last(out, &out->packets[out->packet_count]), in_flight + 1 >= window,
			     qp->requester.since_ackreq, in_flight, window);
}

/*
 * A READ or atomic is always answered; the flag is set all the same, as Linux does. Otherwise: at the end of a
 * message that reports, before the queue runs empty, where a resend has caught up, before a pause, and twice a window.
 */
static bool wants_ack(const struct rc_qp *qp, const struct rc_send_wqe *wqe, psn_t end, const struct rc_outbox *out)
{
	const struct rc_sendwin *win = &qp->win;
	bool message_ends = psn_equal(end, psn_next(sendwin_last_psn(wqe)));
	bool resent = !psn_equal(win->snd_nxt, win->snd_max);

	if (wqe_needs_answer(wqe) || qp->requester.resend_for_ack)
		return true;
	if (message_ends && ((wqe->flags & UROCE_SEND_SIGNALED) || win->cursor + 1 == win->tail))
		return true;
	if (message_ends && rc_credit_is_used_up(qp))
		return true;
	if (resent && psn_equal(end, win->snd_max))
		return true;
	return pause_wants_ack(qp, out) || qp->requester.since_ackreq + 1 >= ACKREQ_INTERVAL;
}

/* PSNs that the packet at `snd_nxt` takes: a READ's are those of the answer that it asks for. */
static inline uint32_t psns_of(const struct rc_qp *qp, const struct rc_send_wqe *wqe, const struct wire_packet *packet,
			       bool first)
{
	if (wqe->opcode != UROCE_WR_RDMA_READ)
		return 1;
	return first ? wqe->psn_count : qp_packets(qp, packet->dma_length);
}

static void commit_packet(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint64_t now_ns, struct rc_outbox *out)
{
	struct wire_packet *packet = outbox_packet_slot(out);
	psn_t psn = qp->win.snd_nxt;
	bool first = psn_equal(psn, qp->win.snd_max);
	psn_t end = psn_add(psn, psns_of(qp, wqe, packet, first));
	bool answered = wants_ack(qp, wqe, end, out);

	if (answered)
		packet->flags |= WIRE_ACKREQ;
	qp->requester.since_ackreq = answered ? 0 : qp->requester.since_ackreq + 1;
	if (!first) /* what goes out once more because something behind it has to wait only asks */
		qp->counters[qp->requester.resend_for_ack ? CNT_EARLY_PROBES : CNT_RETRANSMITTED_PACKETS]++;
	if (!first && wqe->opcode == UROCE_WR_RDMA_READ)
		qp_note_read_restart(qp, end);
	qp->requester.resend_for_ack = false;
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
	rc_fail_send(qp, status, cause);
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

/*
 * How much of a READ's answer to ask for again at `snd_nxt`; 0: not now. All of it when nothing shows that the peer has
 * the request: a part of it would be taken for a request of its own. Otherwise it goes by the quota, part by part: a
 * part of a READ that is under way is not overtaken by the next one, for the peer gives it up then (S-9).
 */
static __attribute__((noinline)) uint32_t restart_packets(struct rc_qp *qp, const struct rc_send_wqe *wqe)
{
	const struct rc_sendwin *win = &qp->win;
	struct rc_read_quota *quota = &qp->quota;
	uint32_t rest, owed = psn_distance(win->snd_nxt, win->snd_una);

	read_quota_grow(quota, win->snd_una);
	rest = wqe->psn_count - psn_distance(win->snd_nxt, wqe->first_psn);
	if (read_quota_is_full(quota) || !rc_retry_peer_has(qp, wqe->first_psn))
		return rest;
	if (owed > 0 && (!psn_equal(win->snd_nxt, wqe->first_psn) || owed + rest > quota->packets))
		return 0;
	return rest < quota->packets ? rest : quota->packets;
}

/* The packet at `snd_nxt`, in the outbox's slot; the request at `started` starts if it is its turn. */
static enum plan plan_next(struct rc_qp *qp, struct rc_send_wqe *wqe, uint64_t now_ns, struct rc_outbox *out)
{
	struct rc_sendwin *win = &qp->win;
	enum uroce_cause cause;
	uint32_t packets = READ_QUOTA_FULL;
	bool starts = win->cursor == win->started;

	if (starts && wqe_is_local(wqe))
		return do_locally(qp, wqe);
	if (psn_distance(win->snd_nxt, win->snd_una) >= qp->requester.window && !wqe_needs_answer(wqe))
		return PLAN_WAIT;
	if (starts) {
		uint32_t psn_count = wqe->opcode > UROCE_WR_RDMA_READ ? 1 : qp_packets(qp, wqe->length_bytes);

		if (qp->state != UROCE_QPS_RTS)
			return PLAN_WAIT; /* SQD: nothing new starts, nor is judged */
		if (wqe->shape == SHAPE_TOO_LONG)
			return report_fault(qp, UROCE_WC_LOC_LEN_ERR, UROCE_CAUSE_LENGTH);
		if (wqe_needs_answer(wqe) && qp->requester.max_rd_atomic == 0) /* since it was posted */
			return report_fault(qp, UROCE_WC_LOC_QP_OP_ERR, UROCE_CAUSE_DEPTH);
		if (!may_start(qp, wqe, psn_count, now_ns))
			return PLAN_WAIT;
		sendwin_start(win, psn_count);
		rc_credit_message_started(qp, wqe);
		qp->requester.rd_atomic_outstanding += wqe_needs_answer(wqe);
	}
	if (wqe->opcode == UROCE_WR_RDMA_READ && !psn_equal(win->snd_nxt, win->snd_max)) {
		packets = restart_packets(qp, wqe);
		if (packets == 0)
			return PLAN_WAIT;
	}
	cause = plan_packet(qp, win->cursor, wqe, win->snd_nxt, packets, outbox_packet_slot(out), out);
	return cause == UROCE_CAUSE_NONE ? PLAN_SEND : report_fault(qp, UROCE_WC_LOC_PROT_ERR, cause);
}

/*
 * What comes next has to wait, and of what is in flight before it nothing asked for an ACK, because more was to follow:
 * nothing would ever end the wait but the ACK timer. The packet before it goes out once more and asks. Where what
 * was sent before is sent again, that is in the middle of the window: the source of a packet has gone meanwhile.
 */
static bool must_ask(const struct rc_qp *qp)
{
	uint32_t before = psn_distance(qp->win.snd_nxt, qp->win.snd_una);

	return before > 0 && !ackreq_answer_is_due(qp, before);
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
		} else if (plan != PLAN_DONE) {
			if (plan == PLAN_FAULT || !must_ask(qp))
				return false;
			rc_sendwin_repeat(win);
			qp->requester.resend_for_ack = true;
		}
	}
	return false;
}

/* ---- probes ---- */

/* The newest packet that has left, and has left again if the window was rewound. */
static psn_t newest_psn(const struct rc_sendwin *win)
{
	return psn_previous(psn_equal(win->snd_nxt, win->snd_una) ? win->snd_max : win->snd_nxt);
}

static bool is_long_read(const struct rc_send_wqe *wqe)
{
	return wqe->opcode == UROCE_WR_RDMA_READ && wqe->psn_count > 1;
}

/* Puts the packet at psn into the outbox. false: no room, or its memory is no longer ours: that is told in its turn. */
static bool add_probe(struct rc_qp *qp, psn_t psn, struct rc_outbox *out)
{
	struct wire_packet *packet = outbox_packet_slot(out);
	uint32_t slot = rc_sendwin_owner(&qp->win, psn);

	if (!outbox_has_packet_room(out) ||
	    plan_packet(qp, slot, sendwin_slot(&qp->win, slot), psn, 1, packet, out) != UROCE_CAUSE_NONE)
		return false;
	packet->flags |= WIRE_ACKREQ;
	outbox_take_packet(out);
	qp->counters[CNT_EARLY_PROBES]++;
	return true;
}

/* Payload that a packet at psn carries. */
static uint32_t payload_bytes(const struct rc_qp *qp, psn_t psn)
{
	const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, rc_sendwin_owner(&qp->win, psn));
	uint64_t left = wqe->length_bytes - ((uint64_t)psn_distance(psn, wqe->first_psn) << qp->mtu_shift);

	if (wqe_needs_answer(wqe))
		return 0;
	return left < qp->mtu_bytes ? (uint32_t)left : qp->mtu_bytes;
}

/*
 * An empty WRITE in the place of the packet before the oldest: a duplicate, which changes nothing, but the peer answers
 * it with an ACK when all that it owes before has left.
 */
static void add_empty_write(struct rc_qp *qp, const struct rc_send_wqe *oldest, struct rc_outbox *out)
{
	qp->probe.behind_una = true;
	*outbox_packet_slot(out) = (struct wire_packet){
		.opcode = OP_WRITE_ONLY,
		.psn = psn_previous(qp->win.snd_una).v,
		.flags = qp->migration.request_flag | WIRE_ACKREQ,
		.dest_qpn = qp->dest_qpn,
		.pkey = qp->pkey,
		.va = oldest->remote_va,
		.rkey = oldest->rkey,
	};
	outbox_take_packet(out);
	qp->counters[CNT_EARLY_PROBES]++;
}

/* The probe that is due leaves, if there is room and nothing else makes it unnecessary. false: there was no room. */
static bool send_probe(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, qp->win.acked);
	psn_t oldest = qp->win.snd_una, newest = newest_psn(&qp->win);
	struct rc_probe *probe = &qp->probe;
	bool sent = false, small;

	if (!outbox_has_packet_room(out))
		return false;
	if (psn_equal(qp->win.snd_una, qp->win.snd_max)) {
		rc_keepalive_send(qp, now_ns, out);
		return true;
	}
	if (wqe_needs_answer(wqe) || is_long_read(sendwin_slot(&qp->win, rc_sendwin_owner(&qp->win, newest))))
		newest = oldest;
	small = psn_equal(oldest, newest) || payload_bytes(qp, oldest) + payload_bytes(qp, newest) <= qp->mtu_bytes;
	if (small && !is_long_read(wqe))
		sent = add_probe(qp, oldest, out);
	if (!psn_equal(oldest, newest))
		sent |= add_probe(qp, newest, out);
	if ((!small || !sent) && outbox_has_packet_room(out))
		add_empty_write(qp, wqe, out);
	probe->tries++;
	rtt_forget(&qp->rtt);
	probe_start(probe, &qp->rtt, qp->retry.timeout_ns, now_ns);
	return true;
}

/*
 * The probe that is due leaves in front of what is new. What is sent again asks as well; but where that has to wait for
 * the answer to a part of a READ, and no packet has left, the probe does. true: it had no room.
 */
static bool probe(struct rc_qp *qp, bool sent, uint64_t now_ns, struct rc_outbox *out)
{
	if (qp->retry.resending != !sent)
		return false;
	return !send_probe(qp, now_ns, out);
}

bool rc_requester_transmit(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	struct rc_loss_quota *burst = &qp->requester.loss_quota;
	uint32_t held, before;
	bool more;

	if (retry_waits_for_receiver(&qp->retry))
		return false;
	sendwin_take_posted(&qp->win);
	more = qp->probe.due && probe(qp, true, now_ns, out);
	before = out->packet_count;
	held = outbox_hold_back(out, burst->packets);
	more |= send(qp, now_ns, out);
	out->packet_room += held;
	loss_quota_grow(burst, out->packet_count - before);
	return (qp->probe.due && out->packet_count == before && probe(qp, false, now_ns, out)) || more;
}
