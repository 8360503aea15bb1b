/* flight.c - which transmission of a packet an answer belongs to, when packets have left more than once */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/flight.h"

/* ---- sent packets and rewinds ---- */

void rc_flight_rewound(struct rc_qp *qp, psn_t from, psn_t heard, bool timed_out)
{
	struct rc_flight_past *past = &qp->flight_past;

	past->rewind_psn = from;
	past->rewind_limit = qp->win.snd_max;
	past->repeats = true;
	past->heard = heard;
	if (!qp->flight.resending || !past->timed_out) {
		past->flight_end = qp->win.snd_nxt;
		past->refusable = false;
	}
	past->resent_end = from;
	past->timed_out = timed_out;
	past->after_rnr = false;
	past->again = qp->flight.rewound;
	rc_flight_copy_sent(qp, qp->requester.rd_atomic_outstanding ? rc_sendwin_responses_due(&qp->win, heard) : 0, 0);
	flight_echoes_come_first(qp);
	qp->flight.rewound = true;
	qp->flight.resent = false;
	flight_go_to(qp, from);
}

void rc_flight_copy_sent(struct rc_qp *qp, uint32_t responses, uint32_t acks)
{
	struct rc_owed *owed = &qp->flight_past.owed;

	owed->responses += responses;
	owed->acks += acks;
	owed->limit = qp->win.snd_max;
	if (!qp->flight.echoes)
		owed->first = owed->limit;
	qp->flight.echoes = true;
}

/* ---- progress and echoes ---- */

bool rc_flight_take_echo(struct rc_qp *qp, bool ack)
{
	uint32_t *owed = ack ? &qp->flight_past.owed.acks : &qp->flight_past.owed.responses;

	if (!qp->flight.echoes || *owed == 0)
		return false;
	--*owed;
	return true;
}

/*
 * Once the peer has answered a packet that was first sent after the last copy, it has answered all copies. Until then a
 * repeated ACK may answer a copy, unless the first copy was sent after the oldest packet in flight.
 */
void rc_flight_copies_acknowledged(struct rc_qp *qp)
{
	struct rc_owed *owed = &qp->flight_past.owed;

	qp->flight_past.repeats &= psn_before(qp->win.snd_una, qp->flight_past.rewind_limit);
	if (psn_before(owed->limit, qp->win.snd_una)) {
		*owed = (struct rc_owed){ 0 };
		qp->flight.echoes = qp_board(qp, BOARD_SACK) != NULL;
	}
	ask_doubt(&qp->ask, psn_before(qp->win.snd_una, owed->first) ? 0 : owed->acks);
}

/* ---- the flight of an answer ---- */

bool rc_flight_peer_has(const struct rc_qp *qp, psn_t psn)
{
	uint32_t heard = psn_distance(qp->flight_past.heard, qp->win.snd_una);
	uint32_t outstanding = sendwin_outstanding(&qp->win);

	/* a psn before snd_una: the peer has answered a part of the READ that owns it */
	return psn_distance(psn, qp->win.snd_una) >= outstanding ||
	       (heard <= outstanding && psn_distance(psn, qp->win.snd_una) < heard);
}

/*
 * The peer surely was slow, once it has answered a packet that was not sent again. If it has answered just the packets
 * that were sent again, and a READ is next, it probably was: a probe would have found a loss, and a probe finds out if
 * this guess is wrong. But if a request that needs a receive was sent again, the peer may have refused the first copy,
 * dropped everything behind that, and taken the second copy.
 */
bool rc_flight_peer_was_slow(const struct rc_qp *qp)
{
	const struct rc_flight_past *past = &qp->flight_past;
	psn_t snd_una = qp->win.snd_una;

	if (!past->timed_out || past->refusable || !psn_before(snd_una, past->flight_end))
		return false;
	if (psn_before(past->resent_end, snd_una))
		return true;
	return psn_equal(past->resent_end, snd_una) && qp->ask.probes && qp->rtt.srtt_ns &&
	       wqe_needs_response(sendwin_slot(&qp->win, qp->win.acked));
}

bool rc_flight_is_echo(const struct rc_qp *qp, uint32_t copies, uint64_t now_ns)
{
	uint64_t bound_ns = rtt_bound_ns(&qp->rtt, qp->loss.timeout_ns);

	if (qp->flight.resending && psn_equal(qp->win.snd_nxt, qp->win.snd_una))
		return true;
	return qp->flight.rewound && !flight_copy_left(qp, rtt_doubled_ns(bound_ns, copies), now_ns);
}

/*
 * Yes if the PSN of the response is `snd_nxt` or later, because those packets have not been sent again yet. Yes also if
 * the response is newer than all responses since the rewind, and was asked for before the rewind.
 */
bool rc_flight_take_response(struct rc_qp *qp, psn_t psn)
{
	const struct rc_sendwin *win = &qp->win;
	uint32_t ahead = psn_distance(psn, win->snd_una), heard = psn_distance(qp->flight_past.heard, win->snd_una);
	bool newer = heard > sendwin_outstanding(win) || ahead >= heard;

	if (newer)
		flight_heard(qp, psn_next(psn));
	if (qp->flight.resending && ahead >= psn_distance(win->snd_nxt, win->snd_una))
		return true;
	return newer && flight_left_before_rewind(qp, psn);
}

bool rc_flight_is_from_old_path(struct rc_qp *qp, psn_t psn, uint64_t now_ns)
{
	struct rc_flight_past *past = &qp->flight_past;

	if (past->moved && !psn_before(qp->win.snd_una, past->moved_end))
		past->moved = false;
	return past->moved && psn_before(psn, past->moved_end) &&
	       !flight_copy_left(qp, rtt_bound_ns(&qp->rtt, qp->loss.timeout_ns), now_ns);
}
