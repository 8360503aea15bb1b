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
#include "rc/sackmap.h"
#include "rc/spread.h"

#define LIMIT_MASK (2 * KEPT_SPAN - 1)

static_assert(2 * KEPT_SPAN <= SACK_RESENT_SINCE, "the limit must fit into the bits below the flags");

static struct rc_sack_map *map_of(const struct rc_qp *qp)
{
	return &qp->sack.map->sack;
}

static uint32_t ahead(const struct rc_qp *qp, psn_t psn)
{
	return psn_distance(psn, qp->win.snd_una);
}

static uint32_t limit_of(psn_t psn)
{
	return psn.v & LIMIT_MASK;
}

/* ---- judging ---- */

/* What the map of a SACK is worth. */
struct judgement {
	bool answered;  /* the SACK answers our PROBE, and was written after the PROBE came */
	bool overtaken; /* a newer SACK came before this one: packets that this one calls missing may have come */
};

/* May the packet at psn have come, as a SACK says? It is in flight, or acknowledged. */
static bool may_have_come(const struct rc_qp *qp, psn_t psn)
{
	return psn_before(psn, qp->win.snd_una) || ahead(qp, psn) < sendwin_outstanding(&qp->win);
}

/*
 * May everything up to psn have come, as a SACK says? psn is in flight, or was acknowledged since the connection began,
 * or lies just before the first PSN.
 */
static bool may_be_cack(const struct rc_qp *qp, psn_t psn)
{
	return ahead(qp, psn) < sendwin_outstanding(&qp->win) ||
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

/* Was `later` first sent at `limit` or behind, and has it come? */
static bool has_passed(const struct rc_qp *qp, psn_t later, uint32_t limit)
{
	return ahead(qp, later) < sendwin_outstanding(&qp->win) && ((limit_of(later) - limit) & LIMIT_MASK) < KEPT_SPAN;
}

/*
 * The packet at psn was sent again, or the peer had it and has given it up: is a PROBE's answer alone reason enough to
 * send it again? While such answers tell nothing new, they are reason enough only for the oldest packet: perhaps no
 * packet of its length passes at all, and further packets would be sent in vain.
 */
static bool may_go_again(const struct rc_qp *qp, psn_t psn)
{
	return map_of(qp)->idle_probes == 0 || psn_equal(psn, qp->win.snd_una);
}

/* Has the packet at `later` come, and had the last copy of the packet at psn left before it? */
static bool left_before(const struct rc_qp *qp, psn_t psn, uint32_t state, psn_t later)
{
	const struct rc_sack *sack = &qp->sack;

	if (state & SACK_RESENT)
		return has_passed(qp, later, state & LIMIT_MASK);
	if (ahead(qp, later) >= sendwin_outstanding(&qp->win))
		return false;
	/*
	 * The packet at psn may have come as the copy before the rewind: only a packet first sent after it shows the
	 * order.
	 */
	if (sack->again && ahead(qp, psn) < ahead(qp, sack->again_end))
		return ahead(qp, later) >= ahead(qp, sack->again_end);
	return ahead(qp, psn) <= ahead(qp, later);
}

/* Does the answer to a PROBE that is at hand tell of the last copy of the packet at psn? */
static bool answer_tells(const struct rc_qp *qp, psn_t psn, uint32_t state, bool overtaken)
{
	bool resent = state & SACK_RESENT;

	if (resent && (state & SACK_RESENT_SINCE))
		return false;
	if (state == SACK_KEPT && overtaken)
		return false;
	if ((resent || state == SACK_KEPT) && !may_go_again(qp, psn))
		return false;
	if (qp_spreads(qp))
		return rc_spread_answer_tells(qp, psn, resent);
	return resent || psn_before(psn, qp->sack.probe_end);
}

/* The peer says that psn has not come. If a packet belongs to psn, is it lost (T-7)? */
static bool seems_lost(const struct rc_qp *qp, psn_t psn, struct judgement judgement)
{
	uint32_t state = qp->sack.map ? sackmap_state(qp, psn) : SACK_IN_FLIGHT;

	if (state == SACK_LOST)
		return false;
	if (judgement.answered && answer_tells(qp, psn, state, judgement.overtaken))
		return true;
	if (state == SACK_KEPT || judgement.overtaken)
		return false;
	if (qp_spreads(qp)) /* S-23 */
		return left_before(qp, psn, state, spread_newest(qp, psn)) ||
		       left_before(qp, psn, state, psn_previous(spread_of(qp)->aged));
	return left_before(qp, psn, state, qp->sack.newest);
}

/* ---- what a SACK tells ---- */

static void note_newest(struct rc_qp *qp, psn_t psn)
{
	uint32_t outstanding = sendwin_outstanding(&qp->win);

	if (ahead(qp, psn) < outstanding &&
	    (ahead(qp, qp->sack.newest) >= outstanding || ahead(qp, psn) > ahead(qp, qp->sack.newest)))
		qp->sack.newest = psn;
}

/* Notes the state of psn. Returns false if there is no memory for the state. */
static bool learn(struct rc_qp *qp, psn_t psn, uint16_t state)
{
	if (qp->sack.map == NULL) {
		if (!rc_sackmap_borrow(qp))
			return false;
		rc_flight_copy_sent(qp, 0, 0); /* sets flight.echoes, so that the map is told when snd_una moves */
	}
	rc_sackmap_set(qp, psn, state);
	return true;
}

/*
 * Notes which paths work, by the packets that a SACK says have come. It runs before lost packets are judged, because
 * the state of the paths counts.
 */
static void note_paths(struct rc_qp *qp, const struct wire_packet *packet, uint32_t limit)
{
	if (qp->sack.map == NULL)
		rc_spread_map_begins(qp);
	for (uint64_t left = packet->sack_bitmap; left; left &= left - 1) {
		psn_t psn = psn_add(first_of(packet), (uint32_t)__builtin_ctzll(left));

		if (ahead(qp, psn) < limit && (qp->sack.map == NULL || sackmap_state(qp, psn) == SACK_IN_FLIGHT))
			rc_spread_came(qp, psn);
	}
}

/* The packet at psn is lost, or the peer has given it up. Returns false if there is no memory to note that. */
static bool lose(struct rc_qp *qp, psn_t psn)
{
	if (qp->sack.map)
		map_of(qp)->given_up += sackmap_state(qp, psn) == SACK_KEPT;
	if (!learn(qp, psn, SACK_LOST))
		return false;
	if (qp_spreads(qp))
		rc_spread_lost(qp, psn);
	holes_ask_again(qp);
	return true;
}

/* The packet at psn has come. Returns whether that is news. */
static bool note_came(struct rc_qp *qp, psn_t psn)
{
	if (!learn(qp, psn, SACK_KEPT))
		return true;
	if (map_of(qp)->given_up > 0) {
		map_of(qp)->given_up--;
		return false;
	}
	map_of(qp)->news = true;
	return true;
}

/*
 * Takes the map of a SACK. *news: something new has come. Returns false if a packet is lost and there is no memory to
 * note that.
 */
static bool handle_map(struct rc_qp *qp, const struct wire_packet *packet, struct judgement judgement, bool *news)
{
	psn_t first = first_of(packet), cack = psn_make(packet->cack_psn);
	uint32_t outstanding = sendwin_outstanding(&qp->win);
	uint32_t limit = outstanding < KEPT_SPAN ? outstanding : KEPT_SPAN;
	uint32_t owner = qp->win.acked;

	if (qp_spreads(qp))
		note_paths(qp, packet, limit);
	for (uint32_t i = 0; i < KEPT_BLOCK; i++) {
		psn_t psn = psn_add(first, i);
		bool came = packet->sack_bitmap >> i & 1;

		if (ahead(qp, psn) >= limit || !psn_before(cack, psn))
			continue;
		if (came && (qp->sack.map == NULL || sackmap_state(qp, psn) != SACK_KEPT)) {
			*news |= note_came(qp, psn);
		} else if (!came && seems_lost(qp, psn, judgement)) {
			if (is_packet(qp, psn, &owner) && !lose(qp, psn))
				return false;
		}
	}
	return true;
}

/* All packets up to cack have come, so none of them is sent again. */
static void handle_cack(struct rc_qp *qp, psn_t cack)
{
	while (map_of(qp)->lost > 0 && !psn_before(cack, rc_sackmap_first_lost(qp)))
		rc_sackmap_set(qp, map_of(qp)->lost_from, SACK_KEPT);
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
	struct judgement judgement = { 0 };
	bool news = false;

	if (!is_right(qp, packet)) {
		qp->counters[CNT_BAD_SACK]++;
		rc_anomaly_note(qp, now_ns);
		return;
	}
	judgement.answered = is_answer(qp, packet);
	/*
	 * A SACK that says that a packet is missing is like a sequence NAK (S-22), so an error record shows it as one.
	 */
	if (packet->ooo_count > 0)
		qp->last_aeth = (uint32_t)syndrome_make(SYNDROME_NAK, NAK_PSN_SEQUENCE) << 24;
	if ((qp->flight.resending && !judgement.answered) || loss_waits_for_receiver(qp) ||
	    psn_equal(qp->win.snd_una, qp->win.snd_max)) {
		ask_heard(qp, now_ns);
		return;
	}
	if (qp->sack.again && !psn_before(qp->win.snd_una, qp->sack.again_end))
		qp->sack.again = false;
	if (qp->sack.map)
		handle_cack(qp, cack);
	else
		qp->sack.newest = psn_previous(qp->win.snd_una); /* nothing is known of what is in flight */
	qp->sack.probing &= !judgement.answered;
	if (!(packet->control_kind & WIRE_SACK_OF_PROBE)) {
		note_newest(qp, newest_of(packet));
		rc_loss_heard_through(qp, psn_next(newest_of(packet)), now_ns);
	} else if (tells_of(packet, qp->rtt.psn)) {
		rtt_forget(&qp->rtt); /* an answer to a PROBE tells that the timed packet has come, but not when */
	}
	if (qp_spreads(qp) && !(packet->control_kind & WIRE_SACK_OF_PROBE) && shows_gap(packet) &&
	    !peer_keeps(qp, packet, now_ns))
		return;
	if (qp_spreads(qp))
		judgement.overtaken = !rc_spread_heard(qp, psn_make(packet->cack_psn + packet->ooo_count),
						       judgement.answered, now_ns);
	if (!handle_map(qp, packet, judgement, &news))
		rc_loss_sequence_nak(qp, now_ns);
	else if (news) /* after a rewind a packet that comes again is no progress: the oldest packet may never come */
		rc_loss_more_has_come(qp, psn_next(cack), !qp->flight.rewound, now_ns);
	else if (qp->sack.map == NULL)
		ask_heard(qp, now_ns);
	if (qp_spreads(qp) && qp->sack.map)
		rc_loss_something_is_missing(
			qp, judgement.overtaken ? RC_NEVER : rc_spread_patience(qp, psn_next(cack), now_ns), now_ns);
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
	uint16_t again = (uint16_t)(SACK_RESENT | SACK_RESENT_SINCE | limit_of(qp->win.snd_max));
	uint32_t slot = qp->win.acked;
	bool resent = false;

	while (map_of(qp)->lost > 0) {
		psn_t psn = rc_sackmap_first_lost(qp);

		if (!outbox_has_packet_room(out))
			return true;
		slot = rc_sendwin_owner_from(&qp->win, slot, psn);
		if (!send_again(qp, psn, slot, now_ns, out))
			return false;
		rc_sackmap_set(qp, psn, again);
		resent = true;
	}
	if (resent && !qp->sack.probing && map_of(qp)->idle_probes < SACK_IDLE_PROBES && ends_here(qp) &&
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

	uint64_t paths = qp_spreads(qp) ? rc_spread_probe_paths(qp, counter == CNT_EARLY_PROBES) : 0;

	sack->probing = true;
	sack->probe_end = qp->win.snd_nxt;
	if (sack->map)
		rc_sackmap_probed(qp);
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
