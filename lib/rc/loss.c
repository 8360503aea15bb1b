/* loss.c - loss detection: budgets, timers, and which triggers are one and the same loss */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/loss.h"

#include "rc/cc.h"
#include "rc/codes.h"
#include "rc/fail.h"
#include "rc/holes.h"
#include "rc/kept.h"
#include "rc/migration.h"
#include "rc/scoreboard.h"
#include "rc/spread.h"
#include "wire/hints.h"

#define RNR_WITHOUT_LIMIT 7
#define RNR_EARLY_MAX 8 /* doublings of a wait at most */

void rc_loss_reset(struct rc_qp *qp)
{
	struct rc_loss *loss = &qp->loss;

	*loss = (struct rc_loss){
		.ack_deadline_ns = RC_NEVER,
		.rnr_deadline_ns = RC_NEVER,
		.timeout_ns = loss->timeout_ns,
		.retry_cnt = loss->retry_cnt,
		.retries_left = loss->retry_cnt,
		.rnr_retry = loss->rnr_retry,
		.rnr_left = loss->rnr_retry,
	};
	flight_reset(qp);
	ask_reset(&qp->ask);
	rc_rtt_reset(&qp->rtt);
}

/* A sign of life that neither brings progress nor shows a loss: the silence that the timer measures begins anew. */
static void put_off_timer(struct rc_qp *qp, uint64_t now_ns)
{
	if (qp->ask.waits == ASK_ALIVE)
		ask_await_alive(qp, now_ns);
	if (qp->loss.ack_deadline_ns != RC_NEVER && qp->loss.timeout_ns)
		qp->loss.ack_deadline_ns = now_ns + qp->loss.timeout_ns;
}

/*
 * A peer that still answers copies will come to snd_una when it has answered them, so the retries spent on its silence
 * are given back. How often that may happen is fixed at the first time-out, so that a peer that repeats itself for ever
 * does not keep the QP alive.
 */
static void take_back_silence(struct rc_qp *qp)
{
	struct rc_loss *loss = &qp->loss;

	if (!qp->flight.rewound || loss->silences == 0 || loss->reprieves == 0)
		return;
	loss->reprieves--;
	loss->retries_left += loss->silences;
	loss->silences = loss->asked = 0;
}

/* Takes a response or ACK that copies may have drawn as a sign of life. Returns false if no copy can have drawn it. */
static bool take_echo(struct rc_qp *qp, bool ack, uint64_t now_ns)
{
	bool echo = rc_flight_take_echo(qp, ack);

	if (echo)
		put_off_timer(qp, now_ns);
	return echo;
}

bool rc_loss_echo_arrived(struct rc_qp *qp, bool ack, uint64_t now_ns)
{
	bool echo = take_echo(qp, ack, now_ns);

	if (echo && !ack)
		take_back_silence(qp);
	return echo;
}

/* ---- packets sent, and responses that came ---- */

void rc_loss_sent(struct rc_qp *qp, psn_t psn, uint32_t packets, bool first, bool asks, uint64_t now_ns)
{
	struct rc_loss *loss = &qp->loss;
	bool begins = first && psn_equal(psn, qp->win.snd_una);

	if (begins) {
		loss->since_ns = now_ns;
		loss->retries_left = loss->retry_cnt;
		ask_forget_beside(&qp->ask);
		if (qp->flight.echoes) /* the answers to keep-alives come before the answer to this packet (C-33) */
			flight_echoes_come_first(qp);
	}
	if (loss->ack_deadline_ns == RC_NEVER && loss->timeout_ns)
		loss->ack_deadline_ns = now_ns + loss->timeout_ns;
	if (asks && ask_is_open(&qp->ask))
		ask_after_silence(qp, now_ns);
	flight_sent(qp, psn, now_ns);
	if (first && !qp->flight.rewound && rtt_wants(&qp->rtt, asks)) {
		packets = qp->rtt.srtt_ns ? packets : 1;
		rtt_begin(&qp->rtt, psn_add(psn, packets - 1), now_ns);
		cc_timed(qp, packets);
	}
}

/*
 * The window was rewound after silence alone. If the peer was only slow, the rest of the old flight is not sent
 * again. Returns how many packets are in flight.
 */
NOINLINE uint32_t look_back(struct rc_qp *qp, uint32_t in_flight)
{
	if (!rc_flight_peer_was_slow(qp))
		return in_flight;
	flight_go_to(qp, qp->flight_past.flight_end);
	if (!loss_is_losing(qp)) {
		rc_cc_undo(qp);
		loss_recovered(qp);
	}
	return psn_distance(qp->win.snd_nxt, qp->win.snd_una);
}

/* snd_una has moved while copies are in flight, or SACKs have told something. */
NOINLINE void copies_acknowledged(struct rc_qp *qp)
{
	rc_flight_copies_acknowledged(qp);
	if (scoreboard_has_map(qp))
		rc_scoreboard_acknowledged(qp);
}

void rc_loss_acknowledged(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_loss *loss = &qp->loss;
	uint32_t in_flight = psn_distance(qp->win.snd_nxt, qp->win.snd_una);
	bool timed = rtt_answered(&qp->rtt, qp->win.snd_una, loss->timeout_ns, now_ns);

	if (timed)
		cc_trip(qp, now_ns);
	/* While packets are being lost, a probe that was needed does not show that the peer is slow. */
	if (timed || loss->lately != LATELY_NOTHING)
		ask_forget_tries(&qp->ask);
	cc_delivered(qp);
	loss->retries_left = loss->retry_cnt;
	loss->rnr_left = loss->rnr_retry;
	loss->since_ns = now_ns;
	ask_forget_behind(&qp->ask);
	if (flight_acknowledged(qp))
		copies_acknowledged(qp);
	if (__builtin_expect(qp->flight.resending, 0))
		in_flight = look_back(qp, in_flight);
	if (loss_waits_for_receiver(qp) && psn_distance(loss->rnr_psn, qp->win.snd_una) < sendwin_outstanding(&qp->win))
		return; /* the packet that drew the RNR NAK is not answered yet */
	loss->rnr_deadline_ns = RC_NEVER;
	/* With nothing in flight (all is done, or waits to be sent again) the next packet starts the timer. */
	loss->ack_deadline_ns = in_flight && loss->timeout_ns ? now_ns + loss->timeout_ns : RC_NEVER;
	if (ask_is_under_way(qp, in_flight))
		ask_after_silence(qp, now_ns);
	else if (in_flight && qp->ask.probes)
		ask_later(qp, now_ns);
	else
		ask_stop(qp, now_ns);
}

/*
 * T-2: everything from the oldest unacknowledged PSN on is sent again. With holes the window is only rewound to the end
 * of the last hole, and each hole is asked for.
 */
static void rewind_window(struct rc_qp *qp, psn_t heard, bool timed_out)
{
	struct rc_loss *loss = &qp->loss;
	bool first = !qp->flight.rewound;
	psn_t from = qp_has_holes(qp) ? rc_holes_rewind(qp) : qp->win.snd_una;

	rtt_forget(&qp->rtt);
	rc_scoreboard_forget(qp);
	loss->ack_deadline_ns = RC_NEVER;
	ask_stop_untimed(qp);
	rc_flight_rewound(qp, from, heard, timed_out);
	if (!first)
		return;
	loss->silences = loss->asked = 0;
	loss->reprieves = qp->flight_past.owed.responses;
}

/* An RNR wait means that the window is rewound already, and nothing has been asked for since. */
void rc_loss_go_back(struct rc_qp *qp)
{
	if (!psn_equal(qp->win.snd_una, qp->win.snd_max) && !loss_waits_for_receiver(qp))
		rewind_window(qp, qp->win.snd_una, false);
}

void rc_loss_path_changed(struct rc_qp *qp)
{
	qp->loss.timeout_ns = rc_codes_timeout_ns(qp->timeout);
	loss_fill_budget(&qp->loss); /* a full budget: time-outs on the old path do not count on the new one */
	loss_recovered(qp);
	rc_rtt_reset(&qp->rtt);
	rc_spread_path_changed(qp);
	rc_cc_reset(qp);
	ask_forget_tries(&qp->ask);
	rc_loss_go_back(qp);
	flight_path_changed(qp);
}

void rc_loss_migrate(struct rc_qp *qp)
{
	rc_migration_switch(qp);
	rc_loss_path_left(qp);
}

/*
 * An idle QP has nothing to send again. A packet beside the window shows the peer the new path: the peer may be
 * in REARM, where it cannot migrate by itself, and send its own requests over the path that was left.
 */
void rc_loss_path_left(struct rc_qp *qp)
{
	rc_loss_path_changed(qp);
	if (qp->state == UROCE_QPS_RTS && !rc_qp_has_requests(qp))
		ask_peer(qp);
}

/* The outcome of taking a retry because something has to be sent again. With RETRY_NONE the QP fails (T-4). */
enum retry { RETRY_TAKEN, RETRY_MIGRATED, RETRY_NONE };

static enum retry take_retry(struct rc_qp *qp)
{
	if (qp->loss.retries_left > 0) {
		qp->loss.retries_left--;
		return RETRY_TAKEN;
	}
	if (qp->migration.state != UROCE_PATH_ARMED)
		return RETRY_NONE;
	rc_loss_migrate(qp); /* */
	return RETRY_MIGRATED;
}

/* A probe that cost a retry has not left and is not needed any more: the retry is given back. */
static void take_back_ask(struct rc_qp *qp)
{
	if (!ask_take_back(&qp->ask) || qp->loss.asked == 0) /* 0: it was given back already */
		return;
	qp->loss.retries_left++;
	qp->loss.silences--;
	qp->loss.asked--;
}

/* Something was lost, or silence has lasted for too long. Everything before `heard` has reached the peer. */
static void transport_failed(struct rc_qp *qp, enum uroce_cause cause, psn_t heard, uint64_t now_ns)
{
	struct rc_loss *loss = &qp->loss;
	bool silent = cause == UROCE_CAUSE_TIMEOUT;
	enum retry retry;

	take_back_ask(qp);
	retry = take_retry(qp);
	if (retry == RETRY_NONE)
		rc_fail_send(qp, UROCE_WC_RETRY_EXC_ERR, cause); /* T-4 */
	if (retry != RETRY_TAKEN)
		return;
	if (silent)
		rc_cc_timed_out(qp);
	else
		rc_cc_lost(qp, now_ns);
	loss->lately = silent && !loss_is_losing(qp) ? LATELY_TIMEOUT : LATELY_LOSS;
	rewind_window(qp, heard, silent);
	loss->silences += silent;
}

/*
 * Is it enough to ask about snd_una instead of sending it again? A READ that the peer may not have can only be repeated
 * as a whole (S-9), and a peer that is only slow answers each copy in full. So if nothing has come after one copy, an
 * empty WRITE draws an ACK that says whether the peer has the READ. With the last retry another copy is sent, for
 * a peer that does not answer such a WRITE.
 */
static bool asking_suffices(const struct rc_qp *qp)
{
	const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, qp->win.acked);

	return qp->flight.rewound && qp->flight.resent && qp->flight_past.timed_out && qp->ask.probes &&
	       qp->loss.retries_left > 1 && !loss_is_losing(qp) && wqe_is_read(wqe) && wqe->psn_count > CC_LEAST &&
	       !rc_flight_peer_has(qp, qp->win.snd_una) && psn_equal(wqe->first_psn, qp->win.snd_una);
}

/* Is the response that shows a loss an echo of an earlier flight (T-5)? */
static bool is_echo(const struct rc_qp *qp, uint64_t now_ns)
{
	/* retransmissions of snd_una: RNR waits spend no retry, and a retry that only asked (`asked`) does not count */
	uint32_t restarts = (uint32_t)(qp->loss.retry_cnt - qp->loss.retries_left - qp->loss.asked);

	return rc_flight_is_echo(qp, restarts > 1 ? restarts - 1 : 0, now_ns);
}

void rc_loss_sequence_nak(struct rc_qp *qp, uint64_t now_ns)
{
	ask_heard(qp, now_ns);
	if (loss_waits_for_receiver(qp) || is_echo(qp, now_ns)) {
		qp->counters[CNT_REPEATED_NAK]++;
		return;
	}
	qp->counters[CNT_PACKET_SEQ_ERR]++;
	/* T-5: a packet behind the timed one has drawn the NAK */
	if (qp->rtt.srtt_ns == 0 && qp->rtt.timing && psn_equal(qp->rtt.psn, qp->win.snd_una))
		rc_rtt_end(&qp->rtt, qp->loss.timeout_ns, now_ns);
	transport_failed(qp, UROCE_CAUSE_SEQUENCE_NAK, qp->win.snd_una, now_ns);
}

/* The response at snd_una was lost, unless this is an echo. Everything before `heard` has reached the peer. */
static void response_was_lost(struct rc_qp *qp, psn_t heard, uint64_t now_ns)
{
	if (loss_waits_for_receiver(qp) || is_echo(qp, now_ns))
		return;
	qp->counters[CNT_IMPLIED_NAK_SEQ_ERR]++;
	transport_failed(qp, UROCE_CAUSE_IMPLIED_NAK, heard, now_ns);
}

/*
 * Was the packet at psn sent before the last rewind, and is no retry left? If responses overtake each other, this one
 * may belong to the old flight or to the new one. It shows that the peer lives, so only the ACK timer may find that the
 * last retry was in vain.
 */
static bool is_for_the_timer(const struct rc_qp *qp, psn_t psn)
{
	return qp->loss.retries_left == 0 && qp->loss.timeout_ns && flight_left_before_rewind(qp, psn);
}

void rc_loss_response_hole(struct rc_qp *qp, psn_t trigger, uint64_t now_ns)
{
	bool old = rc_flight_take_response(qp, trigger);

	/* the probe's wait was to end with the finding that the peer lacks snd_una, but the peer is answering */
	if (old && qp->ask.waits == ASK_NAK)
		ask_after_silence(qp, now_ns);
	ask_heard(qp, now_ns);
	take_echo(qp, false, now_ns);
	if (!old && !is_for_the_timer(qp, trigger) && !rc_flight_is_from_old_path(qp, trigger, now_ns))
		response_was_lost(qp, psn_next(trigger), now_ns);
}

void rc_loss_ack_skipped_response(struct rc_qp *qp, psn_t trigger, uint64_t now_ns)
{
	bool old = rc_flight_take_response(qp, trigger), probed = qp->ask.behind_una > 0;

	ask_forget_behind(&qp->ask);
	take_echo(qp, true, now_ns);
	ask_heard(qp, now_ns);
	if ((!old || probed) && !rc_flight_is_from_old_path(qp, trigger, now_ns))
		response_was_lost(qp, psn_next(trigger), now_ns);
}

void rc_loss_skip_taken(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_loss *loss = &qp->loss;

	if (!qp->flight.resending || !qp_has_holes(qp))
		return;
	flight_note_resending(qp, rc_holes_skip(qp));
	/* a request for a hole that has still to leave starts the timer, as the first packet after any rewind does */
	if (loss->ack_deadline_ns == RC_NEVER && loss->timeout_ns && !loss_waits_for_receiver(qp) &&
	    !rc_holes_asks_for_oldest(qp))
		loss->ack_deadline_ns = now_ns + loss->timeout_ns;
}

void rc_loss_more_has_come(struct rc_qp *qp, psn_t end, bool progress, uint64_t now_ns)
{
	struct rc_loss *loss = &qp->loss;

	flight_heard(qp, end);
	if (progress)
		loss_fill_budget(loss);
	put_off_timer(qp, now_ns);
	ask_heard(qp, now_ns);
}

void rc_loss_hole_asked(struct rc_qp *qp, uint32_t responses, uint64_t now_ns)
{
	struct rc_loss *loss = &qp->loss;

	rc_flight_copy_sent(qp, responses, 0);
	rtt_forget(&qp->rtt); /* the packet that is being timed may be in the hole */
	if (loss->ack_deadline_ns == RC_NEVER && loss->timeout_ns) /* the rewind has stopped the timer */
		loss->ack_deadline_ns = now_ns + loss->timeout_ns;
	if (qp->ask.waits != ASK_ACKREQ && ask_due(&qp->ask) != ASK_ACKREQ)
		ask_after_silence(qp, now_ns);
}

/* The peer's ACK shows that it lacks snd_una, and no NAK has said why: the packet or its response was lost. */
static void una_was_lost(struct rc_qp *qp, uint64_t now_ns)
{
	ask_after_silence(qp, now_ns);
	if (qp_has_holes(qp))
		rc_holes_doubt(qp);
	else if (qp_keeps(qp))
		ask_now(&qp->ask, ASK_SILENCE); /* the answer to the PROBE says what is missing */
	else
		response_was_lost(qp, qp->win.snd_una, now_ns);
}

void rc_loss_una_still_missing(struct rc_qp *qp, bool unasked, uint64_t now_ns)
{
	if (!unasked)
		take_echo(qp, true, now_ns);
	if (!ask_is_answer(&qp->ask, unasked)) {
		ask_heard(qp, now_ns);
		return;
	}
	take_back_ask(qp);
	if (loss_is_losing(qp))
		una_was_lost(qp, now_ns);
	else
		ask_await_nak(qp, now_ns);
}

/*
 * How long to wait after an RNR NAK. If the NAK came sooner after the last copy than any round trip took, it
 * answers an earlier copy, and more of such NAKs may be on their way. Then the wait is at least a round trip, and
 * doubles with each such NAK.
 */
static uint64_t rnr_wait_ns(struct rc_qp *qp, uint32_t code, uint64_t now_ns)
{
	struct rc_loss *loss = &qp->loss;
	uint64_t wait_ns = rc_codes_rnr_ns(code), least_ns = rtt_doubled_ns(qp->rtt.shortest_ns, loss->rnr_early);

	if (flight_may_answer_copy(qp, qp->rtt.shortest_ns, now_ns)) {
		loss->rnr_early = 0;
		return wait_ns;
	}
	loss->rnr_early += loss->rnr_early < RNR_EARLY_MAX;
	if (loss->timeout_ns && least_ns > loss->timeout_ns)
		least_ns = loss->timeout_ns;
	return least_ns > wait_ns ? least_ns : wait_ns;
}

void rc_loss_rnr_nak(struct rc_qp *qp, psn_t psn, uint32_t code, uint64_t now_ns)
{
	struct rc_loss *loss = &qp->loss;
	uint64_t wait_ns;

	if (loss_waits_for_receiver(qp)) {
		qp->counters[CNT_REPEATED_NAK]++;
		return;
	}
	qp->counters[CNT_RNR_NAK_RETRY_ERR]++;
	if (loss->rnr_left == 0) { /* */
		rc_fail_send(qp, UROCE_WC_RNR_RETRY_EXC_ERR, UROCE_CAUSE_RNR);
		return;
	}
	if (loss->rnr_retry != RNR_WITHOUT_LIMIT)
		loss->rnr_left--;
	wait_ns = rnr_wait_ns(qp, code, now_ns);
	take_back_ask(qp);
	rewind_window(qp, qp->win.snd_una, false);
	flight_was_refused(qp);
	loss->rnr_psn = psn;
	loss->rnr_deadline_ns = now_ns + wait_ns;
}

/* ---- the clock ---- */

/* A keep-alive was not answered in time: it leaves again, perhaps over the alternate path, or the QP fails (T-4). */
static void keepalive_expired(struct rc_qp *qp, uint64_t now_ns)
{
	qp->counters[CNT_LOCAL_ACK_TIMEOUT_ERR]++;
	if (take_retry(qp) != RETRY_NONE)
		ask_peer(qp);
	else if (qp->ask.keeps_alive || rc_qp_has_requests(qp))
		rc_fail_peer_is_silent(qp, now_ns);
	else
		ask_give_up(qp); /* the packet was to show a new path, and nobody waits for its answer */
}

/* What the QP waited for has not come. Requests for holes take the place of a probe. */
static void wait_expired(struct rc_qp *qp, enum rc_ask_for reason, uint64_t now_ns)
{
	if (reason == ASK_IDLE) {
		rc_ask_idle_expired(qp, now_ns);
	} else if (reason == ASK_ALIVE) {
		keepalive_expired(qp, now_ns);
	} else if (reason == ASK_NAK) {
		una_was_lost(qp, now_ns);
	} else if (reason == ASK_SILENCE && qp_has_holes(qp)) {
		rc_holes_doubt(qp);
		ask_probe_left(qp, now_ns);
	} else {
		ask_now(&qp->ask, reason);
	}
}

bool rc_loss_timer(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_loss *loss = &qp->loss;

	if (loss->rnr_deadline_ns <= now_ns)
		loss->rnr_deadline_ns = RC_NEVER;
	if (qp->ask.deadline_ns <= now_ns)
		wait_expired(qp, (enum rc_ask_for)qp->ask.waits, now_ns);
	if (loss->ack_deadline_ns == LOSS_AT_ONCE)
		loss->ack_deadline_ns = now_ns + loss->timeout_ns;
	return loss->ack_deadline_ns <= now_ns;
}

/* The ACK timer has expired for the packets in flight. */
void rc_loss_timer_expired(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_loss *loss = &qp->loss;

	qp->counters[CNT_LOCAL_ACK_TIMEOUT_ERR]++;
	if (!asking_suffices(qp)) {
		transport_failed(qp, UROCE_CAUSE_TIMEOUT, qp->win.snd_una, now_ns);
		return;
	}
	loss->retries_left--;
	loss->silences++;
	loss->asked++;
	loss->ack_deadline_ns = now_ns + loss->timeout_ns;
	ask_for_retry(&qp->ask);
}
