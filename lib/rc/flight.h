/* flight.h - which transmission of a packet an answer belongs to, when packets have left more than once */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rewind begins a new flight at the oldest packet while packets of the old flight, and answers to them, are still on
 * their way. The wire does not number copies. So an answer belongs to the old flight if it comes sooner after the copy
 * than a round trip takes, or if no copy of its packet has left yet, or if it is newer than all answers since the
 * rewind and its packet left before the rewind: a flight moves forward, and the new one has started at snd_una (Q-9,
 * T-5).
 *
 * A peer that has a packet already answers each copy of it. Such an answer, an echo, is no progress: it shows only that
 * the peer lives. So every file that sends a packet again says so here, and loss detection (loss.h) asks here what to
 * make of an answer that is of no other use. No more echoes are believed than copies have left.
 */
#ifndef RC_FLIGHT_H
#define RC_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/ask.h"
#include "rc/qp_state.h"

/* ---- sent packets and rewinds ---- */

/* RESET: nothing is in flight. */
static inline void flight_reset(struct rc_qp *qp)
{
	qp->flight = (struct rc_flight){ 0 };
	qp->flight_past = (struct rc_flight_past){ 0 };
}

/*
 * The window is rewound to `from`: a new flight begins there. Everything before `heard` has reached the peer.
 * timed_out: after silence alone.
 */
void rc_flight_rewound(struct rc_qp *qp, psn_t from, psn_t heard, bool timed_out);

/* The rewind was due to an RNR NAK: the peer has dropped all packets from snd_una on, nothing was lost. */
static inline void flight_was_refused(struct rc_qp *qp)
{
	qp->flight_past.owed.first = qp->win.snd_una; /* they are sent anew, behind all copies */
	qp->flight_past.after_rnr = true;
}

/* The packets from psn on have left, for the first time or again. */
static inline void flight_sent(struct rc_qp *qp, psn_t psn, uint64_t now_ns)
{
	if (qp->flight.rewound && !qp->flight.resent && psn_equal(psn, qp->flight_past.rewind_psn)) {
		qp->flight.resent = true;
		qp->flight_past.resent_ns = now_ns;
	}
	if (psn_equal(qp->win.snd_nxt, qp->win.snd_max))
		qp->flight.resending = false;
}

/*
 * Copies have left of packets that the peer may have answered already: the copies may draw so many more responses and
 * ACKs.
 */
void rc_flight_copy_sent(struct rc_qp *qp, uint32_t responses, uint32_t acks);

/*
 * Packets up to `end` have gone out once more, `messages` of them of SENDs and WRITEs. A peer that has such a packet
 * already answers each copy, even one that does not ask for an ACK (S-8). takes_receive: the peer may refuse the
 * request.
 */
static inline void flight_sent_again(struct rc_qp *qp, psn_t end, uint32_t messages, bool takes_receive)
{
	qp->flight_past.resent_end = end;
	qp->flight_past.refusable |= takes_receive;
	if (messages > 0)
		rc_flight_copy_sent(qp, 0, messages);
}

/* Sending goes on at psn, whether packets before it have left or not. */
static inline void flight_go_to(struct rc_qp *qp, psn_t psn)
{
	qp->flight.resending = rc_sendwin_go_to(&qp->win, psn);
}

/* The window has moved past packets that the peer has answered. Do further packets wait to be sent again? */
static inline void flight_note_resending(struct rc_qp *qp, bool waits)
{
	qp->flight.resending = waits;
}

/* Whatever is in flight left over a path that is not used any more, and over which responses are dropped. */
static inline void flight_path_changed(struct rc_qp *qp)
{
	qp->flight_past.moved = true;
	qp->flight_past.moved_end = qp->win.snd_max;
}

/* ---- progress and echoes ---- */

/* snd_una has moved. Returns true if rc_flight_copies_acknowledged() has to be called: echoes are expected. */
static inline bool flight_acknowledged(struct rc_qp *qp)
{
	qp->flight.rewound = false;
	return __builtin_expect(qp->flight.echoes, 0);
}
void rc_flight_copies_acknowledged(struct rc_qp *qp);

/* The peer has received everything before `end`. */
static inline void flight_heard(struct rc_qp *qp, psn_t end)
{
	qp->flight_past.heard = end;
}

/*
 * The window was rewound, or a packet leaves while nothing else is in flight: the ACKs that copies and keep-alives may
 * draw may come before the ACKs of packets that are sent from now on.
 */
static inline void flight_echoes_come_first(struct rc_qp *qp)
{
	ask_doubt(&qp->ask, qp->flight_past.owed.acks);
}

/* A response or an ACK that is of no other use has come. Returns false if no copy can have drawn it. */
bool rc_flight_take_echo(struct rc_qp *qp, bool ack);

/* ---- the flight of an answer ---- */

/* Has the peer received the unanswered packet at psn? That is known once the peer has answered a packet behind psn. */
bool rc_flight_peer_has(const struct rc_qp *qp, psn_t psn);

/*
 * Is the peer answering packets that were sent before the time-out, so that the rest of them need not be sent again?
 */
bool rc_flight_peer_was_slow(const struct rc_qp *qp);

/* Has the PSN that the last rewind went back to left again at least so long ago? */
static inline bool flight_copy_left(const struct rc_qp *qp, uint64_t ago_ns, uint64_t now_ns)
{
	return qp->flight.resent && now_ns - qp->flight_past.resent_ns >= ago_ns;
}

/* May an answer for snd_una that comes now answer the last copy, if the answer to a packet takes at least trip_ns? */
static inline bool flight_may_answer_copy(const struct rc_qp *qp, uint64_t trip_ns, uint64_t now_ns)
{
	return !qp->flight.rewound || flight_copy_left(qp, trip_ns, now_ns);
}

/*
 * Did the response that shows a loss at snd_una come too early to answer the last packet sent for snd_una? Then it is
 * an echo of an earlier flight, and the new packet is on its way, or about to leave. That packet was sent again
 * `copies` times before: each one doubles the wait.
 */
bool rc_flight_is_echo(const struct rc_qp *qp, uint32_t copies, uint64_t now_ns);

/*
 * A response behind snd_una has come: notes which packets the peer has received. Returns true if the response belongs
 * to the flight before the last rewind, however far that has got.
 */
bool rc_flight_take_response(struct rc_qp *qp, psn_t psn);

/* Was the packet at psn, which is in flight, sent before the last rewind? Then it may have left twice. */
static inline bool flight_was_rewound(const struct rc_qp *qp, psn_t psn)
{
	uint32_t limit = psn_distance(qp->flight_past.rewind_limit, qp->win.snd_una);

	return qp->flight_past.repeats && limit <= sendwin_outstanding(&qp->win) &&
	       psn_distance(psn, qp->win.snd_una) < limit;
}

/* The same for a response to psn while snd_una has not moved since: both flights may have drawn it. */
static inline bool flight_left_before_rewind(const struct rc_qp *qp, psn_t psn)
{
	return qp->flight.rewound && flight_was_rewound(qp, psn);
}

/*
 * Was the packet at psn first sent before the path last changed? The peer may have answered requests before that packet
 * over the old path, where responses are dropped. These requests have been sent again over the new path, and no loss
 * shows until a response to that can have arrived.
 */
bool rc_flight_is_from_old_path(struct rc_qp *qp, psn_t psn, uint64_t now_ns);

#endif
