/* probe.c - writes the packets that are sent only to get an answer */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/probe.h"

#include "rc/ask.h"
#include "rc/credit.h"
#include "rc/emit.h"
#include "rc/kept.h"
#include "rc/loss.h"
#include "rc/request.h"
#include "rc/sack.h"

/* The newest packet that has left and, if the window was rewound, has left again. */
static psn_t newest_psn(const struct rc_sendwin *win)
{
	return psn_previous(psn_equal(win->snd_nxt, win->snd_una) ? win->snd_max : win->snd_nxt);
}

static bool is_long_read(const struct rc_send_wqe *wqe)
{
	return wqe_is_read(wqe) && wqe->psn_count > 1;
}

/*
 * Adds the packet at psn; there is room. Returns false if its memory may not be used any more, which is reported in its
 * turn.
 */
static bool add_probe(struct rc_qp *qp, psn_t psn, struct rc_outbox *out)
{
	uint32_t slot = rc_sendwin_owner(&qp->win, psn);
	const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, slot);
	uint32_t index = psn_distance(psn, wqe->first_psn);
	enum uroce_cause cause = UROCE_CAUSE_NONE;
	struct request_pieces pieces;

	if (wqe_needs_response(wqe)) {
		cause = rc_request_check_rd_atomic(qp, wqe);
		if (cause == UROCE_CAUSE_NONE)
			request_write_rd_atomic(qp, wqe, slot, index, 1, out);
	} else {
		cause = rc_request_find_pieces(qp, wqe, index, &pieces);
		if (cause == UROCE_CAUSE_NONE)
			request_write_pieces(qp, wqe, index, true, &pieces, out);
	}
	if (cause != UROCE_CAUSE_NONE)
		return false;
	rc_flight_copy_sent(qp, wqe_needs_response(wqe), !wqe_needs_response(wqe));
	qp->counters[CNT_EARLY_PROBES]++;
	return true;
}

/* How many bytes of payload the packet at psn carries. */
static uint32_t payload_bytes(const struct rc_qp *qp, psn_t psn)
{
	const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, rc_sendwin_owner(&qp->win, psn));
	uint64_t left = wqe->length_bytes - ((uint64_t)psn_distance(psn, wqe->first_psn) << qp->mtu_shift);

	if (wqe_needs_response(wqe))
		return 0;
	return left < qp->mtu_bytes ? (uint32_t)left : qp->mtu_bytes;
}

/* An empty WRITE to this memory, which it does not touch, or the report that our lcore was away (C-33). */
static void write_empty(struct rc_qp *qp, uint64_t va, uint32_t rkey, struct rc_outbox *out)
{
	uint32_t away_ms = ask_take_report(qp);

	rc_flight_copy_sent(qp, 0, 1);
	if (away_ms)
		emit_empty_write(qp, away_ms, EMIT_AWAY_RKEY, out);
	else
		emit_empty_write(qp, va, rkey, out);
}

static void add_empty_write(struct rc_qp *qp, enum rc_counter counter, struct rc_outbox *out)
{
	const struct rc_send_wqe *oldest = sendwin_slot(&qp->win, qp->win.acked);

	ask_behind(&qp->ask, loss_is_losing(qp), rc_credit_may_come_unasked(qp));
	write_empty(qp, oldest->remote_va, oldest->rkey, out);
	qp->counters[counter]++;
}

/* An empty WRITE asks for an ACK of everything in flight. */
static void send_ackreq(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	add_empty_write(qp, CNT_DEFERRED_ACKREQS, out);
	ask_left(qp, now_ns);
}

/* With nothing in flight the probe is a keep-alive (C-33). */
static void send_keepalive(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	ask_idle_left(qp, now_ns);
	write_empty(qp, 0, 0, out);
	qp->counters[CNT_KEEPALIVES]++;
}

/* The oldest and the newest packet, or an empty WRITE in place of what must not be sent again. */
static void send_copies(struct rc_qp *qp, struct rc_outbox *out)
{
	const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, qp->win.acked);
	psn_t oldest = qp->win.snd_una, newest = newest_psn(&qp->win);
	bool sent = false, alone = psn_equal(oldest, newest), small;

	if (wqe_needs_response(wqe) || is_long_read(sendwin_slot(&qp->win, rc_sendwin_owner(&qp->win, newest))))
		newest = oldest;
	small = psn_equal(oldest, newest) || payload_bytes(qp, oldest) + payload_bytes(qp, newest) <= qp->mtu_bytes;
	if ((wqe->needs & NEEDS_RECEIVE) && !alone)
		small = false;
	if (small && !is_long_read(wqe))
		sent = add_probe(qp, oldest, out);
	if (!psn_equal(oldest, newest) && outbox_has_packet_room(out))
		sent |= add_probe(qp, newest, out);
	if ((!small || !sent) && outbox_has_packet_room(out))
		add_empty_write(qp, CNT_EARLY_PROBES, out);
}

static void send_probe(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	if (ask_is_idle(qp)) {
		send_keepalive(qp, now_ns, out);
	} else if (qp->keepalive.away_ms) {
		send_ackreq(qp, now_ns, out);
	} else {
		if (qp_keeps(qp))
			rc_sack_probe(qp, CNT_EARLY_PROBES, out);
		else
			send_copies(qp, out);
		ask_probe_left(qp, now_ns);
	}
}

bool rc_probe_transmit(struct rc_qp *qp, bool sent, uint64_t now_ns, struct rc_outbox *out)
{
	bool ackreq = ask_due(&qp->ask) == ASK_ACKREQ;

	if (!qp->ask.due || (ackreq ? !sent : qp->flight.resending != sent))
		return false;
	if (!outbox_has_packet_room(out))
		return true;
	if (ackreq)
		send_ackreq(qp, now_ns, out);
	else
		send_probe(qp, now_ns, out);
	return false;
}
