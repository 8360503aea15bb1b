/* completer.c - takes responses: acknowledges requests, places payload, notices what is missing, fails requests */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/completer.h"

#include "rc/ack.h"
#include "rc/anomaly.h"
#include "rc/ask.h"
#include "rc/codes.h"
#include "rc/credit.h"
#include "rc/fail.h"
#include "rc/holes.h"
#include "rc/loss.h"
#include "rc/memory_fault.h"
#include "rc/outbox.h"
#include "rc/report.h"
#include "rc/requester.h"
#include "rc/scatter.h"
#include "wire/hints.h"

/* What a NAK that is neither an RNR NAK nor a sequence NAK does to the request that it names (K-REQ). */
struct nak_row {
	uint8_t status;  /* enum uroce_wc_status */
	uint8_t counter; /* enum rc_counter */
};

static const struct nak_row nak_rows[NAK_CODES] = {
	[NAK_INVALID_REQUEST] = { .status = UROCE_WC_REM_INV_REQ_ERR, .counter = CNT_REQ_REMOTE_INVALID_REQUEST },
	[NAK_REMOTE_ACCESS] = { .status = UROCE_WC_REM_ACCESS_ERR, .counter = CNT_REQ_REMOTE_ACCESS_ERRORS },
	[NAK_REMOTE_OPERATIONAL] = { .status = UROCE_WC_REM_OP_ERR, .counter = CNT_REQ_REMOTE_OPERATIONAL },
};

static bool syndrome_is_reserved(uint8_t syndrome)
{
	switch (syndrome_class(syndrome)) {
	case SYNDROME_ACK:
	case SYNDROME_RNR_NAK:
		return false;
	case SYNDROME_NAK:
		return syndrome_value(syndrome) >= NAK_CODES;
	}
	return true;
}

/*
 * Does an ACK of all before `end` complete everything sent? Yes if `end` is behind all that was sent, the newest
 * request has been sent to its end, and no request needs a response of its own.
 */
static inline bool covers_all(const struct rc_qp *qp, psn_t end)
{
	const struct rc_sendwin *win = &qp->win;

	return psn_equal(end, win->snd_max) && win->cursor == win->started && qp->requester.rd_atomic_outstanding == 0;
}

/*
 * Acknowledges everything before `end`, but stops at a request whose own response is missing, and then returns
 * false.
 */
static bool cover(struct rc_qp *qp, psn_t end, uint64_t now_ns)
{
	psn_t snd_una = qp->win.snd_una;
	bool complete = true;

	if (covers_all(qp, end))
		sendwin_ack_all(&qp->win);
	else
		complete = rc_sendwin_ack_through(&qp->win, end);
	if (!psn_equal(snd_una, qp->win.snd_una))
		rc_loss_acknowledged(qp, now_ns);
	return complete;
}

/* Does the oldest request own psn? When the peer refuses a READ part-way, responses before psn may be missing too. */
static bool oldest_owns(const struct rc_qp *qp, psn_t psn)
{
	const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, qp->win.acked);

	return psn_distance(psn, wqe->first_psn) < wqe->psn_count;
}

static void receive_nak(struct rc_qp *qp, psn_t psn, uint8_t syndrome, uint64_t now_ns)
{
	uint32_t code = syndrome_value(syndrome);

	if (syndrome_class(syndrome) == SYNDROME_RNR_NAK) {
		rc_loss_rnr_nak(qp, psn, code, now_ns);
	} else if (code == NAK_PSN_SEQUENCE) {
		rc_loss_sequence_nak(qp, now_ns);
	} else {
		qp->counters[nak_rows[code].counter]++;
		rc_fail_send(qp, nak_rows[code].status, UROCE_CAUSE_REMOTE_NAK);
	}
}

/*
 * An ACK or NAK says that the peer has answered everything before `end`, yet responses before `end` are missing. Once
 * responses have come before their turn each missing one is asked for alone; then only an RNR NAK or a sequence NAK,
 * which asks for packets to be sent again, rewinds the window.
 */
static void notice_missing(struct rc_qp *qp, psn_t end, uint8_t syndrome, uint64_t now_ns)
{
	bool again = syndrome_class(syndrome) == SYNDROME_RNR_NAK ||
		     (syndrome_class(syndrome) == SYNDROME_NAK && syndrome_value(syndrome) == NAK_PSN_SEQUENCE);

	if (qp_has_holes(qp))
		rc_holes_see(qp, end, now_ns);
	if (qp_has_holes(qp) && !again) {
		rc_loss_echo_arrived(qp, true, now_ns);
		ask_heard(qp, now_ns);
	} else {
		rc_loss_ack_skipped_response(qp, psn_previous(end), now_ns);
	}
	rc_loss_skip_taken(qp, now_ns);
}

static void receive_acknowledge(struct rc_qp *qp, const struct wire_packet *packet, uint64_t now_ns)
{
	psn_t psn = psn_make(packet->psn);

	if (syndrome_is_reserved(packet->syndrome)) { /* */
		qp->counters[CNT_RESERVED_SYNDROME]++;
		/* a response with a reserved syndrome still shows that the peer lives */
		ask_heard(qp, now_ns);
		return;
	}
	if (syndrome_class(packet->syndrome) == SYNDROME_ACK) {
		if (!cover(qp, psn_next(psn), now_ns))
			notice_missing(qp, psn_next(psn), packet->syndrome, now_ns);
	} else if (cover(qp, psn, now_ns) || oldest_owns(qp, psn)) { /* a NAK acknowledges what is before it */
		receive_nak(qp, psn, packet->syndrome, now_ns);
	} else {
		notice_missing(qp, psn, packet->syndrome, now_ns);
	}
}

/* A response must have an AETH of class ACK if its opcode has an AETH. */
static inline bool aeth_fits(const struct wire_opcode_row *op, const struct wire_packet *packet)
{
	return !op->aeth || syndrome_class(packet->syndrome) == SYNDROME_ACK;
}

/* Do the opcode and the length of a READ response fit its number in the READ? */
INLINE bool read_response_fits(const struct rc_qp *qp, const struct rc_send_wqe *wqe, const struct wire_packet *packet)
{
	const struct wire_opcode_row *op = wire_opcode(packet->opcode);
	psn_t psn = psn_make(packet->psn);
	uint32_t index = psn_distance(psn, wqe->first_psn);
	uint64_t left = wqe->length_bytes - ((uint64_t)index << qp->mtu_shift);
	bool last = index + 1 == wqe->psn_count;

	/* If only a part of a READ was asked for again, FIRST and LAST of the response are those of the part. */
	if (op->last != last && (last || !qp_was_restarted(qp, psn)))
		return false;
	if (op->first && index > 0 && !qp_was_restarted(qp, psn))
		return false;
	return packet->payload_bytes == (last ? left : qp->mtu_bytes) &&
	       packet->pad_bytes == packet_pad_bytes(packet->payload_bytes);
}

/*
 * Does the response fit a request that is no READ? The row of a request that needs no response has 0 as the response's
 * opcode, which no response has.
 */
NOINLINE bool other_response_fits(const struct rc_send_wqe *wqe, const struct wire_packet *packet)
{
	const struct rc_op *op = &rc_ops[wqe->opcode];

	return packet->opcode == op->response && packet->payload_bytes == op->response_bytes && packet->pad_bytes == 0;
}

/*
 * Judges a response to the request wqe, and finds where its payload goes; changes nothing. Returns UROCE_CAUSE_NONE, or
 * why the request fails: the payload is written only if all of it may be written.
 */
INLINE enum uroce_cause judge_response(struct rc_qp *qp, const struct rc_send_wqe *wqe,
				       const struct wire_packet *packet, struct rc_scatter *place)
{
	const struct wire_opcode_row *op = wire_opcode(packet->opcode);
	bool read = wqe_is_read(wqe);
	uint32_t bytes = packet->payload_bytes;
	uint64_t offset = 0;

	if (!aeth_fits(op, packet) ||
	    !(read ? op->kind == WIRE_KIND_READ_RESPONSE && read_response_fits(qp, wqe, packet) :
		     other_response_fits(wqe, packet)))
		return UROCE_CAUSE_BAD_RESPONSE;
	if (read)
		offset = (uint64_t)psn_distance(psn_make(packet->psn), wqe->first_psn) << qp->mtu_shift;
	else if (packet->opcode == OP_ATOMIC_ACKNOWLEDGE)
		bytes = sizeof(packet->original);
	if (scatter_find(qp, wqe->sges, wqe->sge_count, offset, bytes, place))
		return UROCE_CAUSE_NONE;
	return qp_local_cause(qp, place->why);
}

static inline void copy_payload(const struct wire_packet *packet, const struct rc_scatter *place)
{
	uint64_t original = packet->original;

	scatter_copy(place, packet->opcode == OP_ATOMIC_ACKNOWLEDGE ? (const uint8_t *)&original : packet->payload);
}

/*
 * Judges as judge_response(). If the response to a newer request lies already where the payload would go, there is no
 * place for it. Returns whether the payload may be copied while the ICRC is computed.
 */
INLINE bool find_places(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t slot,
			const struct wire_packet *packet, const struct rc_origin *origin, struct rc_scatter *place,
			enum uroce_cause *cause)
{
	*cause = judge_response(qp, wqe, packet, place);
	if (*cause != UROCE_CAUSE_NONE)
		return false;
	if (__builtin_expect(qp_has_holes(qp), 0) && rc_holes_newer_has_come(qp, psn_make(packet->psn), slot))
		place->count = 0;
	return packet->payload_bytes > 0 && origin->ip && place->count > 0;
}

/*
 * The response at snd_una has come. cause: what is wrong with the response; then the QP fails. Otherwise its payload is
 * copied to `place`, unless the payload is there already (placed).
 */
INLINE void take_response(struct rc_qp *qp, const struct rc_send_wqe *wqe, const struct wire_packet *packet,
			  enum uroce_cause cause, const struct rc_scatter *place, bool placed, uint64_t now_ns)
{
	uint32_t acked = qp->win.acked;

	if (cause != UROCE_CAUSE_NONE) {
		rc_fail_send(qp, cause == UROCE_CAUSE_BAD_RESPONSE ? UROCE_WC_BAD_RESP_ERR : UROCE_WC_LOC_PROT_ERR,
			     cause);
		return;
	}
	if (!placed)
		copy_payload(packet, place);
	sendwin_take_response(&qp->win, wqe);
	if (qp->win.acked != acked)
		requester_answered(qp);
	if (__builtin_expect(qp_has_holes(qp), 0)) {
		for (uint32_t answered = rc_holes_close(qp, now_ns); answered > 0; answered--)
			requester_answered(qp);
	}
	rc_loss_acknowledged(qp, now_ns);
}

static void handle_credits(struct rc_qp *qp, const struct wire_packet *packet)
{
	if (syndrome_class(packet->syndrome) == SYNDROME_ACK)
		rc_credit_arrived(qp, packet->msn, syndrome_value(packet->syndrome));
}

/* Takes the credits that an AETH within the window brings. */
static void handle_aeth(struct rc_qp *qp, const struct wire_packet *packet)
{
	if (!wire_opcode(packet->opcode)->aeth)
		return;
	qp->last_aeth = (uint32_t)packet->syndrome << 24 | packet->msn;
	handle_credits(qp, packet);
}

/* The response at psn has been placed before its turn. A loss shows if this opens a hole or fills one. */
static void note_early(struct rc_qp *qp, psn_t psn, uint32_t slot, uint64_t now_ns)
{
	uint32_t holes = rc_holes_count(qp);
	psn_t end = rc_holes_take(qp, psn, slot, now_ns);

	rc_loss_response_came_early(qp, end, rc_holes_count(qp) != holes, now_ns);
	rc_loss_skip_taken(qp, now_ns);
}

/*
 * A response behind snd_una, within the window. It acknowledges everything before it, or shows that a response before
 * it is missing; in this case it is placed before its turn, if that is allowed. Returns false if its ICRC
 * is wrong.
 */
NOINLINE bool receive_later_response(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin,
				     uint64_t now_ns)
{
	psn_t psn = psn_make(packet->psn);
	uint32_t slot = rc_sendwin_owner(&qp->win, psn);
	const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, slot);
	struct rc_scatter place;
	enum uroce_cause cause;
	bool placed = find_places(qp, wqe, slot, packet, origin, &place, &cause);
	bool early = cause == UROCE_CAUSE_NONE && qp_misses_response(qp, slot) && rc_holes_may_take(qp, psn, slot);

	placed = placed && early;
	if (!(placed ? scatter_copy_checking(&place, packet, origin) : origin_icrc_is_right(origin, packet->payload)))
		return false;
	handle_aeth(qp, packet);
	if (cover(qp, psn, now_ns)) {
		take_response(qp, wqe, packet, cause, &place, placed, now_ns);
	} else if (early) {
		if (!placed)
			copy_payload(packet, &place);
		note_early(qp, psn, slot, now_ns);
	} else if (qp_has_holes(qp)) {
		qp->counters[CNT_RESPONSE_AHEAD]++;
		rc_loss_echo_arrived(qp, false, now_ns);
		ask_heard(qp, now_ns);
	} else {
		qp->counters[CNT_RESPONSE_AHEAD]++;
		rc_loss_response_hole(qp, psn, now_ns);
	}
	return true;
}

/*
 * A response to a packet that is already acknowledged, or was never sent. An ACK of the packet before the first one may
 * carry the first credits (F-4).
 */
static void receive_outside_window(struct rc_qp *qp, const struct wire_packet *packet, uint64_t now_ns)
{
	psn_t psn = psn_make(packet->psn);
	bool acknowledge = wire_opcode(packet->opcode)->kind == WIRE_KIND_ACKNOWLEDGE;
	bool repeated = sendwin_was_acked(&qp->win, psn);
	bool asked = acknowledge && qp->ask.beside && psn_equal(psn_next(psn), qp->win.snd_una);
	bool unasked = rc_credit_may_come_unasked(qp), owed = false;
	bool first_credits = acknowledge && psn_equal(psn_next(psn), qp->sq_psn) && packet->msn == 0;

	if (first_credits || (acknowledge && repeated))
		handle_credits(qp, packet);
	if (asked && syndrome_class(packet->syndrome) == SYNDROME_ACK) {
		rc_loss_answered_beside(qp, now_ns);
		return;
	}
	qp->counters[repeated ? CNT_STALE_RESPONSE : CNT_GHOST_RESPONSE]++;
	if (acknowledge && psn_equal(psn_next(psn), qp->win.snd_una)) {
		rc_loss_una_still_missing(qp, unasked, now_ns);
	} else if (repeated) {
		owed = rc_loss_echo_arrived(qp, acknowledge, now_ns);
		ask_heard(qp, now_ns);
	}
	if (repeated ? !owed && anomaly_is_far(psn, qp->win.snd_una) : !first_credits)
		rc_anomaly_note(qp, now_ns);
}

/*
 * The response at snd_una is judged and its payload copied before its ICRC is known, because the buffer of a READ is
 * undefined until the READ completes; the copy computes the ICRC (docs/explanation/decisions/0004).
 */
bool rc_completer_receive(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin,
			  uint64_t now_ns)
{
	bool acknowledge = packet->opcode == OP_ACKNOWLEDGE, placed = false, within, una;
	const struct rc_send_wqe *wqe = NULL;
	enum uroce_cause cause = UROCE_CAUSE_NONE;
	psn_t psn = psn_make(packet->psn);
	struct rc_scatter place;

	within = psn_distance(psn, qp->win.snd_una) < sendwin_outstanding(&qp->win);
	una = within && !acknowledge && psn_equal(psn, qp->win.snd_una);
	if (una) {
		wqe = sendwin_slot(&qp->win, qp->win.acked);
		placed = find_places(qp, wqe, qp->win.acked, packet, origin, &place, &cause);
	} else if (within && !acknowledge) {
		return receive_later_response(qp, packet, origin, now_ns);
	}
	if (!(placed ? scatter_copy_checking(&place, packet, origin) : origin_icrc_is_right(origin, packet->payload)))
		return false;
	if (!within) { /* P-5 */
		receive_outside_window(qp, packet, now_ns);
		return true;
	}
	handle_aeth(qp, packet);
	if (una)
		take_response(qp, wqe, packet, cause, &place, placed, now_ns);
	else
		receive_acknowledge(qp, packet, now_ns);
	return true;
}

void rc_completer_handle_ack(struct rc_qp *qp, const struct wire_ack *ack, uint64_t now_ns, struct rc_outbox *out)
{
	qp->last_aeth = ack_aeth(ack);
	cover(qp, psn_next(psn_make(ack_psn(ack))), now_ns);
	if (qp->win.head != qp->win.acked)
		rc_report_answered(qp, out);
}
