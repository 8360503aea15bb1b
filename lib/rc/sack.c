/* sack.c - takes the peer's SACKs: which packets have come, and which are lost and sent again */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/sack.h"

#include "rc/anomaly.h"
#include "rc/ask.h"
#include "rc/cc.h"
#include "rc/emit.h"
#include "rc/fail.h"
#include "rc/holes.h"
#include "rc/loss.h"
#include "rc/request.h"
#include "rc/scoreboard.h"
#include "rc/spread.h"

/* May the packet at psn have come, as a SACK says? It is in flight, or acknowledged. */
static bool may_have_come(const struct rc_qp *qp, psn_t psn)
{
	return psn_before(psn, qp->win.snd_una) || qp_ahead(qp, psn) < sendwin_outstanding(&qp->win);
}

/*
 * May everything up to psn have come, as a SACK says? psn is in flight, or was acknowledged since the connection began,
 * or lies just before the first PSN.
 */
static bool may_be_cack(const struct rc_qp *qp, psn_t psn)
{
	return qp_ahead(qp, psn) < sendwin_outstanding(&qp->win) ||
	       psn_distance(qp->win.snd_una, psn_next(psn)) <= qp->win.behind;
}

static psn_t first_of(const struct wire_packet *packet)
{
	return psn_make(packet->cack_psn + (uint32_t)(int16_t)packet->sack_offset);
}

static psn_t newest_of(const struct wire_packet *packet)
{
	return psn_make(packet->cack_psn + (uint32_t)(int16_t)packet->ack_psn_offset);
}

/* Did packets arrive behind a missing one? */
static bool shows_gap(const struct wire_packet *packet)
{
	return (int16_t)packet->ack_psn_offset > 1;
}

/* Does the map of the SACK say that the packet at psn has come? */
static bool tells_of(const struct wire_packet *packet, psn_t psn)
{
	uint32_t index = psn_distance(psn, first_of(packet));

	return index < KEPT_BLOCK && (packet->sack_bitmap >> index & 1);
}

static bool is_right(const struct rc_qp *qp, const struct wire_packet *packet)
{
	if (packet->payload_bytes || packet->pad_bytes || (packet->control_kind & WIRE_SACK_FORM) ||
	    !may_be_cack(qp, psn_make(packet->cack_psn)))
		return false;
	if (!(packet->control_kind & WIRE_SACK_OF_PROBE) && !may_have_come(qp, newest_of(packet)))
		return false;
	for (uint32_t i = 0; i < KEPT_BLOCK; i++) {
		if ((packet->sack_bitmap >> i & 1) && !may_have_come(qp, psn_add(first_of(packet), i)))
			return false;
	}
	return true;
}

/*
 * Does a request packet belong to this PSN? A READ has one packet, but a PSN for each response. slot: a request at or
 * before psn, from where the search begins; set to the request that owns psn.
 */
static bool is_packet(const struct rc_qp *qp, psn_t psn, uint32_t *slot)
{
	const struct rc_send_wqe *wqe;

	*slot = rc_sendwin_owner_from(&qp->win, *slot, psn);
	wqe = sendwin_slot(&qp->win, *slot);
	return !wqe_needs_response(wqe) || psn_equal(psn, wqe->first_psn);
}

/* ---- what a SACK tells ---- */

/*
 * Takes the map of a SACK. *news: something new has come. Returns false if a packet is lost and there is no memory to
 * note that.
 */
static bool handle_map(struct rc_qp *qp, const struct wire_packet *packet, struct rc_sack_kind kind, bool *news)
{
	psn_t first = first_of(packet), cack = psn_make(packet->cack_psn);
	uint32_t outstanding = sendwin_outstanding(&qp->win);
	uint32_t limit = outstanding < KEPT_SPAN ? outstanding : KEPT_SPAN;
	uint32_t owner = qp->win.acked;

	if (qp_spreads(qp))
		rc_scoreboard_paths_work(qp, first, packet->sack_bitmap, limit);
	for (uint32_t i = 0; i < KEPT_BLOCK; i++) {
		psn_t psn = psn_add(first, i);
		bool came = packet->sack_bitmap >> i & 1;

		if (qp_ahead(qp, psn) >= limit || !psn_before(cack, psn))
			continue;
		if (came) {
			*news |= rc_scoreboard_came(qp, psn);
		} else if (rc_scoreboard_is_lost(qp, psn, kind) && is_packet(qp, psn, &owner)) {
			if (!rc_scoreboard_mark_lost(qp, psn))
				return false;
			holes_ask_again(qp);
		}
	}
	return true;
}

/* Does this SACK answer our last PROBE? A QP with several paths may have sent a PROBE over each path. */
static bool is_answer(struct rc_qp *qp, const struct wire_packet *packet)
{
	if (!(packet->control_kind & WIRE_SACK_OF_PROBE))
		return false;
	if (qp_spreads(qp))
		return rc_spread_answered(qp, packet->probe_id);
	return qp->sack.probe_id && packet->probe_id == qp->sack.probe_id;
}

/*
 * A QP that spreads its packets learns of a gap. If the peer has kept nothing behind it, everything is sent again over
 * one path, where a further gap is what a sequence NAK tells in plain RC; then returns false. SACKs that the packets of
 * the flight before that draw tell nothing; should one of the resent packets be lost, PROBEs find out.
 */
static bool peer_keeps(struct rc_qp *qp, const struct wire_packet *packet, uint64_t now_ns)
{
	bool something = packet->ooo_count > 0;

	if (rc_spread_kept(qp, something, now_ns))
		rc_loss_go_back(qp);
	else if (!something && !rc_spread_repeats_flight(qp))
		rc_loss_sequence_nak(qp, now_ns);
	return something;
}

void rc_sack_arrived(struct rc_qp *qp, const struct wire_packet *packet, uint64_t now_ns)
{
	psn_t cack = psn_make(packet->cack_psn);
	struct rc_sack_kind kind = { 0 };
	uint64_t delay_ns;
	bool news = false;

	if (!is_right(qp, packet)) {
		qp->counters[CNT_BAD_SACK]++;
		rc_anomaly_note(qp, now_ns);
		return;
	}
	kind.answered = is_answer(qp, packet);
	/*
	 * A SACK that says that a packet is missing is like a sequence NAK (S-22), so an error record shows it as one.
	 */
	if (packet->ooo_count > 0)
		qp->last_aeth = (uint32_t)syndrome_make(SYNDROME_NAK, NAK_PSN_SEQUENCE) << 24;
	if ((qp->flight.resending && !kind.answered) || loss_waits_for_receiver(qp) ||
	    psn_equal(qp->win.snd_una, qp->win.snd_max)) {
		ask_heard(qp, now_ns);
		return;
	}
	rc_scoreboard_begin(qp, cack);
	qp->sack.probing &= !kind.answered;
	if (!(packet->control_kind & WIRE_SACK_OF_PROBE)) {
		rc_scoreboard_drawn_by(qp, newest_of(packet));
		rc_loss_heard_through(qp, psn_next(newest_of(packet)), now_ns);
	} else if (tells_of(packet, qp->rtt.psn)) {
		rtt_forget(&qp->rtt); /* an answer to a PROBE tells that the timed packet has come, but not when */
	}
	if (qp_spreads(qp) && !(packet->control_kind & WIRE_SACK_OF_PROBE) && shows_gap(packet) &&
	    !peer_keeps(qp, packet, now_ns))
		return;
	if (qp_spreads(qp))
		kind.overtaken =
			!rc_scoreboard_heard(qp, psn_make(packet->cack_psn + packet->ooo_count), kind.answered, now_ns);
	if (!handle_map(qp, packet, kind, &news))
		rc_loss_sequence_nak(qp, now_ns);
	else if (news) /* after a rewind a packet that comes again is no progress: the oldest packet may never come */
		rc_loss_more_has_come(qp, psn_next(cack), !qp->flight.rewound, now_ns);
	else if (!scoreboard_has_map(qp))
		ask_heard(qp, now_ns);
	if (qp_spreads(qp) && scoreboard_has_map(qp)) {
		delay_ns = kind.overtaken ? RC_NEVER : rc_scoreboard_probe_delay_ns(qp, psn_next(cack), now_ns);
		rc_loss_something_is_missing(qp, delay_ns, now_ns);
	}
}

/* ---- what leaves ---- */

/*
 * Writes the packet at psn, of the request in this slot, once more. Returns false if its memory may not be read any
 * more; then the QP has failed.
 */
static bool send_again(struct rc_qp *qp, psn_t psn, uint32_t slot, uint64_t now_ns, struct rc_outbox *out)
{
	const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, slot);
	uint32_t index = psn_distance(psn, wqe->first_psn);
	struct request_pieces pieces;
	enum uroce_cause cause = wqe_needs_response(wqe) ? rc_request_check_rd_atomic(qp, wqe) :
							   rc_request_find_pieces(qp, wqe, index, &pieces);

	if (cause != UROCE_CAUSE_NONE && slot == qp->win.acked) {
		rc_fail_send(qp, UROCE_WC_LOC_PROT_ERR, cause);
		return false;
	}
	if (cause != UROCE_CAUSE_NONE)
		return true; /* the fault is reported when the request is the oldest (E-2) */
	if (wqe_needs_response(wqe))
		request_write_rd_atomic(qp, wqe, slot, 0, wqe->psn_count, out);
	else
		request_write_pieces(qp, wqe, index, true, &pieces, out);
	qp->counters[CNT_RETRANSMITTED_PACKETS]++;
	rtt_forget(&qp->rtt);
	rc_loss_sent_again(qp, wqe_needs_response(wqe) ? wqe->psn_count : 0, now_ns);
	return true;
}

/* Returns true if no new packet will follow the resent ones: then no answer shows whether the resent ones have come. */
static bool ends_here(const struct rc_qp *qp)
{
	return qp->win.cursor == qp->win.tail || cc_window_is_full(qp);
}

bool rc_sack_resend(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	uint32_t slot = qp->win.acked;
	bool resent = false;

	while (scoreboard_map(qp)->lost > 0) {
		psn_t psn = rc_scoreboard_first_lost(qp);

		if (!outbox_has_packet_room(out))
			return true;
		slot = rc_sendwin_owner_from(&qp->win, slot, psn);
		if (!send_again(qp, psn, slot, now_ns, out))
			return false;
		rc_scoreboard_sent_again(qp, psn);
		resent = true;
	}
	if (resent && !qp->sack.probing && scoreboard_map(qp)->idle_probes < SACK_IDLE_PROBES && ends_here(qp) &&
	    outbox_has_packet_room(out))
		rc_sack_probe(qp, CNT_SACK_PROBES, out);
	return false;
}

static void write_probe(struct rc_qp *qp, uint16_t id, enum rc_counter counter, struct rc_outbox *out)
{
	struct wire_packet packet = {
		.opcode = OP_PROBE,
		.control_kind = WIRE_PROBE_KIND,
		.probe_id = id,
		.source_id = (uint16_t)qp->qpn,
		.dest_id = (uint16_t)qp->dest_qpn,
	};

	emit_packet(qp, &packet, psn_make(0), out);
	qp->counters[counter]++;
}

/* Writes a PROBE over each of these paths, as far as there is room. */
static void probe_paths(struct rc_qp *qp, uint64_t paths, enum rc_counter counter, struct rc_outbox *out)
{
	for (; paths && outbox_has_packet_room(out); paths &= paths - 1)
		write_probe(qp, rc_spread_probe(qp, (uint32_t)__builtin_ctzll(paths), out), counter, out);
}

void rc_sack_probe(struct rc_qp *qp, enum rc_counter counter, struct rc_outbox *out)
{
	struct rc_sack *sack = &qp->sack;
	uint64_t paths = rc_scoreboard_probed(qp, counter == CNT_EARLY_PROBES);

	sack->probing = true;
	if (qp_spreads(qp)) {
		probe_paths(qp, paths, counter, out);
		return;
	}
	sack->probe_id = sack->probe_id == UINT16_MAX ? 1 : sack->probe_id + 1;
	write_probe(qp, sack->probe_id, counter, out);
}

void rc_sack_try_paths(struct rc_qp *qp, struct rc_outbox *out)
{
	if (outbox_has_packet_room(out))
		probe_paths(qp, rc_spread_retries(qp), CNT_SACK_PROBES, out);
}
