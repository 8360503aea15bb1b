/* requester.c - turns posted requests into packets: judges a run of packets, then commits it, then writes it */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/requester.h"

#include "rc/ask.h"
#include "rc/cc.h"
#include "rc/codes.h"
#include "rc/credit.h"
#include "rc/emit.h"
#include "rc/fail.h"
#include "rc/holes.h"
#include "rc/loss.h"
#include "rc/pace.h"
#include "rc/probe.h"
#include "rc/request.h"
#include "rc/sack.h"
#include "rc/scoreboard.h"
#include "wire/hints.h"

#define LONG_WAIT 32u /* a wait for the rate is long if it takes more than this part of the ACK timer */

/* ---- what may leave ---- */

/* How an attempt to send ended. PLAN_DONE: the request made progress, perhaps without a packet. */
enum plan { PLAN_BEGIN, PLAN_DONE, PLAN_WAIT, PLAN_FAULT };

/*
 * A local fault is reported when all requests before have completed; until then no request behind it starts (E-2). A QP
 * with imprecise_errors reports the fault at once, on the oldest request (E-3).
 */
NOINLINE enum plan report_fault(struct rc_qp *qp, enum uroce_wc_status status, enum uroce_cause cause)
{
	if (qp->win.acked != qp->win.cursor && !qp->imprecise_errors)
		return PLAN_WAIT;
	rc_fail_send(qp, status, cause);
	return PLAN_FAULT;
}

/*
 * May another READ leave? Yes if none is outstanding; otherwise the responses to the READ must fit into the congestion
 * window.
 */
NOINLINE bool fits_window(struct rc_qp *qp, uint32_t psn_count)
{
	uint32_t window = rc_cc_read_window(qp);

	return qp->requester.rd_atomic_outstanding == 0 || sendwin_outstanding(&qp->win) + psn_count <= window;
}

/* Carries out an invalidate or a bind, once all earlier requests have been answered. */
static enum plan do_locally(struct rc_qp *qp, const struct rc_send_wqe *wqe)
{
	const struct rc_op *op = &rc_ops[wqe->opcode];

	if (qp->win.acked != qp->win.started)
		return PLAN_WAIT;
	if (!op->carry_out(qp, wqe))
		return report_fault(qp, (enum uroce_wc_status)op->failure, UROCE_CAUSE_WINDOW);
	rc_sendwin_finish_local(&qp->win);
	return PLAN_DONE;
}

/*
 * May the request at `started` begin? Asked only if it needs something that is not always there, or if the QP is not in
 * RTS.
 */
NOINLINE enum plan check_needs(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint64_t now_ns)
{
	const struct rc_requester *req = &qp->requester;
	bool is_read = wqe_is_read(wqe);
	uint32_t psn_count = qp_psns(qp, wqe);

	if (qp->state != UROCE_QPS_RTS)
		return PLAN_WAIT; /* SQD: no request starts, and none is judged */
	if (wqe->needs & NEEDS_NO_PACKET)
		return do_locally(qp, wqe);
	if (wqe->needs & NEEDS_TOO_MUCH)
		return report_fault(qp, UROCE_WC_LOC_LEN_ERR, UROCE_CAUSE_LENGTH);
	if ((wqe->needs & NEEDS_RESPONSE) && req->rd_atomic_outstanding >= req->max_rd_atomic) {
		if (req->max_rd_atomic > 0)
			return PLAN_WAIT;
		/* max_rd_atomic has become 0 since the post */
		return report_fault(qp, UROCE_WC_LOC_QP_OP_ERR, UROCE_CAUSE_DEPTH);
	}
	if ((wqe->needs & NEEDS_FENCE) && req->rd_atomic_outstanding > 0)
		return PLAN_WAIT; /* */
	if (sendwin_outstanding(&qp->win) + psn_count > PSN_WINDOW)
		return PLAN_WAIT; /* P-4 */
	if (is_read && !cc_is_open(qp) && !fits_window(qp, psn_count))
		return PLAN_WAIT;
	return rc_credit_allows(qp, wqe, now_ns) ? PLAN_BEGIN : PLAN_WAIT; /* F-3 */
}

/*
 * Returns how many responses of a READ to ask for again at `snd_nxt`; 0 if none for now.
 * - If nothing shows that the peer has the READ, it is repeated whole, since the peer would take a part for a request
 *   of its own. After a time-out one READ is repeated at a time, and after a second time-out only the oldest READ,
 *   because a peer that is only slow has all READs and answers each copy.
 * - Otherwise it is repeated part by part, as the congestion window allows. A part is not sent while the one before is
 *   unanswered, for the peer drops a part that the next one overtakes (S-9).
 */
NOINLINE uint32_t restart_packets(struct rc_qp *qp, const struct rc_send_wqe *wqe)
{
	const struct rc_sendwin *win = &qp->win;
	uint32_t rest = wqe->psn_count - psn_distance(win->snd_nxt, wqe->first_psn);
	uint32_t owed = psn_distance(win->snd_nxt, win->snd_una), window = rc_cc_read_window(qp);

	if (window >= CC_OPEN)
		return rest;
	if (owed > 0 && qp->flight_past.timed_out && qp->flight_past.again)
		return 0;
	if (!rc_flight_peer_has(qp, wqe->first_psn))
		return owed > 0 && owed + rest > window && qp->flight_past.timed_out ? 0 : rest;
	if (owed > 0 && (!psn_equal(win->snd_nxt, wqe->first_psn) || owed + rest > window))
		return 0;
	return rest < window ? rest : window;
}

/*
 * Returns how many of the `left` remaining packets of a SEND or WRITE leave now as one run; the window has room. A run
 * ends with the first packet that must ask for an ACK, so that only its last packet asks.
 */
static inline uint32_t run_length(const struct rc_qp *qp, uint32_t left, const struct rc_outbox *out)
{
	const struct rc_sendwin *win = &qp->win;
	uint32_t window = cc_window_room(qp);
	uint32_t resent = psn_distance(win->snd_max, win->snd_nxt), count = ASK_INTERVAL - qp->requester.since_ackreq;

	if (count > left)
		count = left;
	if (count > outbox_packet_room(out))
		count = outbox_packet_room(out);
	if (count > window)
		count = window;
	return resent && count > resent ? resent : count;
}

/* ---- what leaves ---- */

/*
 * must the last packet of a run ask for an ACK? Yes at the end of a signaled message, where resent packets end,
 * and twice a window. Yes also before a pause, which begins if nothing else is posted, there is no more room, or the
 * window is full. The caller has counted the run as sent.
 */
static inline bool wants_ack(struct rc_qp *qp, const struct rc_send_wqe *wqe, bool ends, bool resent, bool last_room,
			     uint64_t now_ns)
{
	const struct rc_sendwin *win = &qp->win;

	if ((ends && (wqe->flags & UROCE_SEND_SIGNALED)) || qp->requester.since_ackreq >= ASK_INTERVAL ||
	    (resent && psn_equal(win->snd_nxt, win->snd_max)) || (qp->flow_control && ends && rc_credit_is_used_up(qp)))
		return true;
	if (win->cursor == win->tail)
		return !ask_put_off(qp, now_ns);
	return (last_room || cc_window_is_full(qp)) && ask_before_pause(qp);
}

/* Counts packets that go out once more, and moves the window over them. */
NOINLINE void note_resent(struct rc_qp *qp, const struct rc_send_wqe *wqe, psn_t end, uint32_t packets)
{
	qp->counters[qp->flight_past.after_rnr ? CNT_RNR_RESENT_PACKETS : CNT_RETRANSMITTED_PACKETS] += packets;
	if (wqe_is_read(wqe))
		qp_note_read_restart(qp, end);
	rc_sendwin_advance(&qp->win, end);
}

/*
 * Commits `packets` packets of the request at the cursor, which own the PSNs from `snd_nxt` up to `end`, before they
 * are written. ends: the request's last packet is among them. answered: the request needs a response of its own. A
 * request starts with its first packet. The timers are told only if they need to know. Returns whether the last packet
 * asks for an ACK.
 */
INLINE bool commit(struct rc_qp *qp, const struct rc_send_wqe *wqe, psn_t end, uint32_t packets, bool ends,
		   bool answered, uint64_t now_ns, const struct rc_outbox *out)
{
	struct rc_sendwin *win = &qp->win;
	psn_t psn = win->snd_nxt;
	bool resent = !psn_equal(psn, win->snd_max), asks;

	if (win->cursor == win->started) {
		sendwin_start(win);
		qp->requester.rd_atomic_outstanding += answered;
		if (qp->flow_control)
			rc_credit_message_started(qp, wqe);
	}
	qp->requester.since_ackreq += packets;
	if (__builtin_expect(resent, 0))
		note_resent(qp, wqe, end, packets);
	else
		sendwin_go_on(win, end, ends);
	asks = answered || wants_ack(qp, wqe, ends, resent, packets == outbox_packet_room(out), now_ns);
	if (asks)
		qp->requester.since_ackreq = 0;
	if (__builtin_expect(resent, 0))
		flight_sent_again(qp, end, answered ? 0 : packets, wqe->needs & NEEDS_RECEIVE);
	if (loss_wants_to_know(qp, psn, asks))
		rc_loss_sent(qp, psn, packets, !resent, asks, now_ns);
	return asks;
}

/*
 * Sends the next packets of a SEND or WRITE at the cursor. only: it is a single packet, a case that compiles to less
 * code.
 */
INLINE enum plan send_message(struct rc_qp *qp, struct rc_send_wqe *wqe, bool only, uint64_t now_ns,
			      struct rc_outbox *out)
{
	struct rc_sendwin *win = &qp->win;
	uint32_t psn_count = only ? 1 : wqe->psn_count;
	uint32_t index = only ? 0 : psn_distance(win->snd_nxt, wqe->first_psn), count;
	enum uroce_cause cause = UROCE_CAUSE_NONE;
	const uint8_t *payload;
	bool asks;

	if (cc_window_is_full(qp))
		return PLAN_WAIT; /* P-4: some packet of a full window has asked for an ACK */
	count = only ? 1 : run_length(qp, psn_count - index, out);
	payload = request_find_payload(qp, wqe, index, count, psn_count, &cause);
	if (__builtin_expect(payload == NULL, 0))
		return report_fault(qp, UROCE_WC_LOC_PROT_ERR, cause);
	asks = commit(qp, wqe, psn_add(win->snd_nxt, count), count, index + count == psn_count, false, now_ns, out);
	request_write_message(qp, wqe, index, count, psn_count, asks, payload, out);
	return PLAN_DONE;
}

NOINLINE enum plan send_long_message(struct rc_qp *qp, struct rc_send_wqe *wqe, uint64_t now_ns, struct rc_outbox *out)
{
	return send_message(qp, wqe, false, now_ns, out);
}

/* Sends the next packet of a SEND or WRITE whose payload lies in several pieces. */
NOINLINE enum plan send_pieces(struct rc_qp *qp, struct rc_send_wqe *wqe, uint64_t now_ns, struct rc_outbox *out)
{
	struct rc_sendwin *win = &qp->win;
	uint32_t index = psn_distance(win->snd_nxt, wqe->first_psn);
	struct request_pieces pieces;
	enum uroce_cause cause;
	bool asks;

	if (cc_window_is_full(qp))
		return PLAN_WAIT; /* P-4: some packet of a full window has asked for an ACK */
	cause = rc_request_find_pieces(qp, wqe, index, &pieces);
	if (cause != UROCE_CAUSE_NONE)
		return report_fault(qp, UROCE_WC_LOC_PROT_ERR, cause);
	asks = commit(qp, wqe, psn_next(win->snd_nxt), 1, index + 1 == wqe->psn_count, false, now_ns, out);
	request_write_pieces(qp, wqe, index, asks, &pieces, out);
	return PLAN_DONE;
}

/* Sends the packet of the READ, atomic or the like at the cursor. */
NOINLINE enum plan send_rd_atomic(struct rc_qp *qp, struct rc_send_wqe *wqe, uint64_t now_ns, struct rc_outbox *out)
{
	struct rc_sendwin *win = &qp->win;
	bool resent = !psn_equal(win->snd_nxt, win->snd_max);
	uint32_t index = psn_distance(win->snd_nxt, wqe->first_psn), responses = wqe->psn_count, slot = win->cursor;
	enum uroce_cause cause;

	if (resent && wqe_is_read(wqe))
		responses = restart_packets(qp, wqe);
	if (responses == 0)
		return PLAN_WAIT;
	cause = rc_request_check_rd_atomic(qp, wqe);
	if (cause != UROCE_CAUSE_NONE)
		return report_fault(qp, UROCE_WC_LOC_PROT_ERR, cause);
	commit(qp, wqe, psn_add(win->snd_nxt, responses), 1, index + responses == wqe->psn_count, true, now_ns, out);
	request_write_rd_atomic(qp, wqe, slot, index, responses, out);
	if (qp_is_paced(qp) && wqe_is_read(wqe))
		rc_pace_ask(qp, (uint64_t)responses << qp->mtu_shift, now_ns, out);
	return PLAN_DONE;
}

/* Sends the next packets of the request at the cursor. */
static inline enum plan send_some(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	struct rc_sendwin *win = &qp->win;
	struct rc_send_wqe *wqe = sendwin_slot(win, win->cursor);

	if (win->cursor == win->started) {
		if (wqe->needs & qp->checked_needs) {
			enum plan plan = check_needs(qp, wqe, now_ns);

			if (plan != PLAN_BEGIN)
				return plan;
		}
		sendwin_number(win, wqe, qp_psns(qp, wqe));
	}
	if (__builtin_expect(wqe->needs & (NEEDS_RESPONSE | NEEDS_GATHER), 0))
		return wqe->needs & NEEDS_RESPONSE ? send_rd_atomic(qp, wqe, now_ns, out) :
						     send_pieces(qp, wqe, now_ns, out);
	return wqe->psn_count == 1 ? send_message(qp, wqe, true, now_ns, out) : send_long_message(qp, wqe, now_ns, out);
}

/*
 * Sends as much as the room allows. Returns true if there is more. If the next packet has to wait although no packet in
 * flight has asked for an ACK, because more was to follow, a probe asks: otherwise only the ACK timer would end the
 * wait.
 */
static bool send(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	struct rc_sendwin *win = &qp->win;
	enum plan plan = PLAN_DONE;

	while (win->cursor != win->tail) {
		if (!outbox_has_packet_room(out))
			return true;
		plan = send_some(qp, now_ns, out);
		if (plan != PLAN_DONE)
			break;
	}
	if (plan == PLAN_WAIT)
		ask_hurry(qp);
	return false;
}

/*
 * Sends a probe behind the packets of this call. If it was an ACK request that was put off, all packets before it have
 * been asked for. If a READ or atomic is not answered, the ACK will cover neither that request nor any packet behind it
 * (S-8): no packet has asked for an ACK of those yet. Returns true if there was no room.
 */
static bool probe_behind(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	bool ackreq = ask_due(&qp->ask) == ASK_ACKREQ;

	if (rc_probe_transmit(qp, true, now_ns, out))
		return true;
	if (ackreq && (qp->requester.rd_atomic_outstanding == 0 ||
		       !ask_is_under_way(qp, psn_distance(qp->win.snd_nxt, qp->win.snd_una))))
		qp->requester.since_ackreq = 0;
	return false;
}

/*
 * Sends lost packets again (T-7), and asks again for responses that are missing although later ones came. If the
 * memory for such a response may not be written any more, the QP fails when its request is the oldest. Returns true if
 * there was no room for all these packets.
 */
NOINLINE bool ask_for_missing(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	const struct rc_hole *hole;

	if (scoreboard_has_map(qp) && rc_sack_resend(qp, now_ns, out))
		return true;
	if (!qp_has_holes(qp)) {
		holes_have_asked(qp);
		return false;
	}
	while ((hole = rc_holes_next(qp, now_ns)) != NULL) {
		uint32_t slot = rc_holes_slot(qp, hole), responses = hole->count;
		const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, slot);
		enum uroce_cause cause = rc_request_check_rd_atomic(qp, wqe);
		psn_t psn = hole->psn;

		if (!outbox_has_packet_room(out))
			return true;
		if (cause != UROCE_CAUSE_NONE && slot == qp->win.acked) {
			rc_fail_send(qp, UROCE_WC_LOC_PROT_ERR, cause);
			return false;
		}
		rc_holes_asked(qp, psn, now_ns);
		if (cause != UROCE_CAUSE_NONE)
			continue;
		request_write_rd_atomic(qp, wqe, slot, psn_distance(psn, wqe->first_psn), responses, out);
		qp->counters[CNT_RETRANSMITTED_PACKETS]++;
		if (wqe_is_read(wqe))
			qp_note_read_restart(qp, psn_add(psn, responses));
		rc_loss_hole_asked(qp, responses, now_ns);
	}
	return false;
}

/*
 * Ends a hold. If the rate lets nothing leave, the next packet waits for its time, and will ask for an ACK then. Before
 * a wait that is long for the ACK timer a probe asks at once, because a falling rate makes the wait still longer.
 * Before a short wait no probe asks, because probes would fill the queue that the rate is to empty. more: some packets
 * have not left.
 */
NOINLINE void end_hold(struct rc_qp *qp, struct cc_hold hold, bool more, uint64_t now_ns, struct rc_outbox *out)
{
	if (more && qp_is_paced(qp) && out->packet_count == hold.before &&
	    pace_request_ns(qp) > now_ns + qp->loss.timeout_ns / LONG_WAIT)
		ask_hurry(qp);
	cc_release(qp, CC_REQUESTS, hold, out);
	if (cc_burst_is_full(qp))
		loss_recovered(qp);
}

bool rc_requester_transmit(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	bool holds = cc_holds_requests(qp), more;
	struct cc_hold hold = { 0 };
	uint32_t before;

	if (loss_waits_for_receiver(qp))
		return false;
	if (__builtin_expect(qp->gaps.asks_again, 0)) {
		if (ask_for_missing(qp, now_ns, out))
			return true;
		if (qp->state == UROCE_QPS_ERR)
			return false;
	}
	sendwin_take_posted(&qp->win);
	more = __builtin_expect(qp->ask.due, 0) && rc_probe_transmit(qp, false, now_ns, out);
	before = out->packet_count;
	if (__builtin_expect(holds, 0))
		hold = cc_hold(qp, CC_REQUESTS, out);
	more |= send(qp, now_ns, out);
	if (__builtin_expect(holds, 0))
		end_hold(qp, hold, more, now_ns, out);
	if (__builtin_expect(qp->ask.due, 0) && (ask_due(&qp->ask) == ASK_ACKREQ || out->packet_count == before))
		more |= probe_behind(qp, now_ns, out);
	return more;
}
