/* ask.h - whether to send a packet only to get an answer: for which reason, when, and how often */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A loss in the middle of a flight shows by a NAK or by a response that is missing. Four losses do not show: the loss
 * of the last packet, of the ACK, of the NAK, and of the first resent packet. All four look the same: nothing arrives
 * any more. So some round trips after the last sign of life a probe leaves beside the window, whose state it does not
 * touch (probe.h). It spends no retry, and the ACK timer runs on: only that timer finds that a peer is dead.
 *
 * A peer that is only slow answers the probe as well, after everything else. When a packet has left twice, nobody knows
 * which of the two copies was answered (T-5). So a peer that has become slower would be asked before each of its
 * responses, and never be timed. Hence Karn's rule: progress does not make the waits short again. The waits become
 * short again only by a measured round trip, or by a loss that becomes known or is repaired: then asking was right.
 *
 * A packet need not ask for an ACK if more packets are to follow. But the next packets may have to wait: for room at
 * the port, for other QPs, for the window, or for the rate. Meanwhile the peer would be silent only because no packet
 * asked it, and its silence would look like a loss. So the last packet before such a pause asks. Where the queue runs
 * empty behind unsignaled requests, no application waits for the ACK: then only one in a few packets asks, or else a
 * probe asks later (ask_put_off()).
 *
 * When nothing has been in flight for an interval, a connection with keep-alive asks its peer. As for a request, the
 * answer has to come within the ACK timeout, each repetition spends a retry, and when all are spent an armed QP
 * migrates (C-33). An lcore that was away reports to its SACK peers for how long, so that a person at the peer learns
 * why responses were late. No timer runs for a report, and a lost report is not sent again.
 *
 * A QP waits for one reason at a time, so one deadline serves all. This module detects no losses: loss.h begins the
 * waits and acts when they end, and probe.h writes the packets that are due.
 */
#ifndef RC_ASK_H
#define RC_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/cc.h"
#include "rc/qp_state.h"

#define ASK_AT_ONCE 0u         /* a deadline of this value: the wait begins at the next call that knows the time */
#define ASK_SHORTEST_NS 50000u /* a probe waits at least this long, the response time of a busy peer */
/* an ACK request is put off at least this long: more requests are likely to be posted within that time */
#define ASK_PUT_OFF_NS 10000u

#define ASK_INTERVAL (WINDOW_PACKETS / 2) /* one of this many packets asks for an ACK, at least */
#define ASK_BEFORE_STALL 32u              /* a window ends with at most so many packets that do not ask */
#define ASK_QUIET_MAX 8u                  /* once the queue is empty, at most so many packets in a row do not ask */
#define ASK_AWAY_MS_MAX (3600u * 1000)    /* the longest absence that a report may have */

static_assert(ASK_BEFORE_STALL < ASK_INTERVAL, "or the end of the window makes no difference");

/* ---- waits ---- */

/* RESET: nothing is in flight. The settings stay. */
static inline void ask_reset(struct rc_ask *ask)
{
	*ask = (struct rc_ask){ .probes = ask->probes, .keeps_alive = ask->keeps_alive, .deadline_ns = RC_NEVER };
}

static inline void ask_wait(struct rc_ask *ask, enum rc_ask_for reason, uint64_t deadline_ns)
{
	ask->waits = (uint8_t)reason;
	ask->deadline_ns = deadline_ns;
}

/* Nothing is waited for. */
static inline void ask_wait_for_nothing(struct rc_ask *ask)
{
	ask_wait(ask, ASK_NOTHING, RC_NEVER);
}

/* Does a packet that asks for an ACK begin the wait for its answer? Not if the QP waits for an older answer already. */
static inline bool ask_is_open(const struct rc_ask *ask)
{
	return ask->waits <= ASK_ACKREQ;
}

/* The reason of the packet that is due, apart from a report. */
static inline enum rc_ask_for ask_due(const struct rc_ask *ask)
{
	return (enum rc_ask_for)(ask->due & ~ASK_REPORT);
}

/* From now on a packet is due for this reason, apart from a report. */
static inline void ask_set_due(struct rc_ask *ask, enum rc_ask_for reason)
{
	ask->due = (uint8_t)((ask->due & ASK_REPORT) | reason);
}

/* How long silence may last before a probe. While no round trip is known, half of the ACK timeout (T-6). */
static inline uint64_t ask_patience_ns(const struct rc_qp *qp)
{
	const struct rc_rtt *trip = &qp->rtt;
	uint64_t patience = trip->srtt_ns ? 2 * trip->srtt_ns + 4 * trip->rttvar_ns : qp->loss.timeout_ns / 2;

	return rtt_doubled_ns(patience < ASK_SHORTEST_NS ? ASK_SHORTEST_NS : patience, qp->ask.tries);
}

/*
 * A response is owed, and the peer was heard or asked just now: a probe is to leave after a silence. No probe leaves if
 * the ACK timer would expire first, because then a probe gains nothing. This also bounds the number of tries.
 */
static inline void ask_after_silence(struct rc_qp *qp, uint64_t now_ns)
{
	uint64_t patience = ask_patience_ns(qp);

	ask_set_due(&qp->ask, ASK_NOTHING);
	if (qp->ask.probes && patience < qp->loss.timeout_ns)
		ask_wait(&qp->ask, ASK_SILENCE, now_ns + patience);
	else
		ask_wait_for_nothing(&qp->ask);
}

/*
 * No packet in flight has asked for an ACK, and no application waits for one: an empty WRITE asks later. The delay is
 * at least a round trip, so that a slow peer is not asked more often, and leaves time before the ACK timer expires.
 */
static inline void ask_later(struct rc_qp *qp, uint64_t now_ns)
{
	uint64_t delay_ns = qp->rtt.srtt_ns > ASK_PUT_OFF_NS ? qp->rtt.srtt_ns : ASK_PUT_OFF_NS;
	uint64_t timeout_ns = qp->loss.timeout_ns;

	if (timeout_ns && delay_ns > timeout_ns / 4)
		delay_ns = timeout_ns / 4;
	ask_set_due(&qp->ask, ASK_NOTHING);
	ask_wait(&qp->ask, ASK_ACKREQ, now_ns + delay_ns);
}

/* An empty WRITE was answered: a NAK that says why the oldest packet was refused comes now, or not at all. */
static inline void ask_await_nak(struct rc_qp *qp, uint64_t now_ns)
{
	uint64_t wait_ns = qp->rtt.srtt_ns / 8;

	ask_set_due(&qp->ask, ASK_NOTHING);
	ask_wait(&qp->ask, ASK_NAK, now_ns + (wait_ns > ASK_PUT_OFF_NS ? wait_ns : ASK_PUT_OFF_NS));
}

static inline bool ask_is_idle(const struct rc_qp *qp)
{
	return psn_equal(qp->win.snd_una, qp->win.snd_max);
}

static inline uint64_t ask_interval_ns(const struct rc_qp *qp)
{
	return qp->keepalive.interval_ms * 1000000ull;
}

/*
 * No probe is wanted: no response is owed, or something else decides when to send. With nothing in flight a QP with
 * keep-alive waits until it has been idle for the interval.
 */
static inline void ask_stop(struct rc_qp *qp, uint64_t now_ns)
{
	ask_set_due(&qp->ask, ASK_NOTHING);
	qp->ask.behind_una = 0;
	if (qp->ask.keeps_alive && ask_is_idle(qp))
		ask_wait(&qp->ask, ASK_IDLE, now_ns + ask_interval_ns(qp));
	else
		ask_wait_for_nothing(&qp->ask);
}

/* The same, by a caller that does not know the time: the interval begins with the next call that does. */
static inline void ask_stop_untimed(struct rc_qp *qp)
{
	ask_stop(qp, 0);
	if (qp->ask.waits == ASK_IDLE)
		qp->ask.deadline_ns = ASK_AT_ONCE;
}

/* The QP goes to ERR: it neither waits nor asks any more. */
static inline void ask_end(struct rc_ask *ask)
{
	ask->due = ASK_NOTHING;
	ask->behind_una = 0;
	ask_wait_for_nothing(ask);
}

/*
 * A sign of life has come, perhaps old or out of order: the wait for a probe begins anew (T-6). The short wait after an
 * answered empty WRITE goes on: another copy of that answer says nothing new.
 */
static inline void ask_heard(struct rc_qp *qp, uint64_t now_ns)
{
	enum rc_ask_for due = ask_due(&qp->ask);

	if (due == ASK_SILENCE || (qp->ask.waits == ASK_SILENCE && due != ASK_RETRY))
		ask_after_silence(qp, now_ns);
}

/* If no probe has been in vain, the wait for one ends after patience_ns at the latest. */
static inline void ask_sooner(struct rc_ask *ask, uint64_t patience_ns, uint64_t now_ns)
{
	if (ask->waits == ASK_SILENCE && ask_due(ask) != ASK_RETRY && ask->tries == 0 &&
	    ask->deadline_ns > now_ns + patience_ns)
		ask->deadline_ns = now_ns + patience_ns;
}

/* ---- due packets ---- */

/* The wait is over: the packet leaves with the next transmit, unless one that has spent a retry is due. */
static inline void ask_now(struct rc_ask *ask, enum rc_ask_for reason)
{
	if (ask_due(ask) != ASK_RETRY)
		ask_set_due(ask, reason);
	ask_wait_for_nothing(ask);
}

/* A loss is suspected: the probe leaves with the next transmit, also in place of an ACK request that was put off. */
static inline void ask_suspect(struct rc_ask *ask)
{
	if (ask->probes && ask->waits != ASK_NAK)
		ask_now(ask, ASK_SILENCE);
}

/* A probe that has spent a retry leaves with the next transmit. */
static inline void ask_for_retry(struct rc_ask *ask)
{
	ask_set_due(ask, ASK_RETRY);
}

/* The retry that the due probe has spent is free again. Returns false if it has spent none. */
static inline bool ask_take_back(struct rc_ask *ask)
{
	bool spent = ask_due(ask) == ASK_RETRY;

	if (spent)
		ask_set_due(ask, ASK_SILENCE);
	return spent;
}

/* A packet that asks for an ACK of everything in flight has left: a response is owed. */
static inline void ask_left(struct rc_qp *qp, uint64_t now_ns)
{
	ask_after_silence(qp, now_ns);
}

/* A probe has left: each one in a row without a new round trip doubles the next wait. */
static inline void ask_probe_left(struct rc_qp *qp, uint64_t now_ns)
{
	qp->ask.tries = rtt_count_try(qp->ask.tries);
	rtt_forget(&qp->rtt);
	ask_left(qp, now_ns);
}

/* The peer has answered: the next wait is as short as the first. */
static inline void ask_forget_tries(struct rc_ask *ask)
{
	ask->tries = 0;
}

static inline void ask_set_probes(struct rc_qp *qp, bool on)
{
	bool changes = qp->ask.probes != on;

	qp->ask.probes = on;
	if (changes && !ask_is_idle(qp))
		ask_stop_untimed(qp);
}

/* ---- which ACK of the packet before snd_una answers an empty WRITE ---- */

/*
 * An empty WRITE leaves. While packets are being lost the first ACK counts as its answer, because waiting for another
 * costs more than being wrong. unsolicited: one such ACK may come unasked.
 */
static inline void ask_behind(struct rc_ask *ask, bool losing, bool unsolicited)
{
	uint32_t others = unsolicited + (losing ? 0u : ask->unsure);

	if (ask->behind_una == 0)
		ask->behind_una = others < UINT8_MAX ? (uint8_t)(1 + others) : UINT8_MAX;
}

/*
 * An ACK of the packet before snd_una has come. unasked: it may bring credits. Returns true if the ACK answers an empty
 * WRITE.
 */
static inline bool ask_is_answer(struct rc_ask *ask, bool unasked)
{
	if (!unasked && ask->unsure > 0)
		ask->unsure--;
	return ask->behind_una > 0 && --ask->behind_una == 0;
}

/* From now on no ACK of the packet before snd_una answers an empty WRITE. */
static inline void ask_forget_behind(struct rc_ask *ask)
{
	ask->behind_una = 0;
}

/* `answers` copies of packets may still draw an ACK of the packet before snd_una. */
static inline void ask_doubt(struct rc_ask *ask, uint32_t answers)
{
	ask->unsure = answers < UINT8_MAX ? (uint8_t)answers : UINT8_MAX;
}

/* ---- which packets ask for an ACK (Q-5) ---- */

/* Has one of the in_flight packets, snd_una ... snd_nxt - 1, asked for a response? A READ or atomic always asks. */
static inline bool ask_is_under_way(const struct rc_qp *qp, uint32_t in_flight)
{
	return in_flight > qp->requester.since_ackreq;
}

/*
 * Must the newest packet ask for an ACK because a pause follows? Yes, if nothing in flight has asked, or if the window
 * is full and none of the last ASK_BEFORE_STALL packets has asked.
 */
static inline bool ask_before_pause(const struct rc_qp *qp)
{
	uint32_t in_flight = psn_distance(qp->win.snd_nxt, qp->win.snd_una), window = cc_window(qp);
	uint32_t most = window / 2 < ASK_BEFORE_STALL ? window / 2 : ASK_BEFORE_STALL;

	return !ask_is_under_way(qp, in_flight) || (in_flight >= window && qp->requester.since_ackreq >= most);
}

/*
 * The queue has run empty behind a request whose ACK no application waits for. Returns true when the ACK request is put
 * off. It is not put off while no round trip has been measured, for a QP without probes, or while an application may
 * wait for an ACK: because it drains the send queue, or because more than half of the queue is in use.
 */
static inline bool ask_put_off(struct rc_qp *qp, uint64_t now_ns)
{
	const struct rc_sendwin *win = &qp->win;

	if (qp->requester.since_ackreq >= ASK_QUIET_MAX || !qp->ask.probes || qp->ask.due || !qp->rtt.srtt_ns ||
	    qp->state != UROCE_QPS_RTS || (win->tail - win->head) * 2 > win->depth)
		return false;
	if (qp->ask.waits <= ASK_ALIVE)
		ask_later(qp, now_ns);
	return true;
}

/*
 * An application waits for an ACK of the packets in flight: if no packet in flight has asked, an empty WRITE asks with
 * the next transmit, unless a packet that leaves before asks. Not while a NAK may come: however that wait ends, a
 * packet that asks leaves.
 */
static inline void ask_hurry(struct rc_qp *qp)
{
	uint32_t in_flight = psn_distance(qp->win.snd_nxt, qp->win.snd_una);
	struct rc_ask *ask = &qp->ask;

	if (in_flight == 0 || ask_is_under_way(qp, in_flight) || ask->waits == ASK_NAK || ask_due(ask) == ASK_RETRY)
		return;
	ask_set_due(ask, ASK_ACKREQ);
	if (ask->waits == ASK_SILENCE)
		ask->waits = ASK_ACKREQ;
}

/* ---- packets while nothing is in flight (C-33) ---- */

/* RESET: no keep-alive, and no report. */
void rc_ask_forget_keepalive(struct rc_qp *qp);

/* Sets the interval of the keep-alive; 0: off. */
void rc_ask_set_interval(struct rc_qp *qp, uint32_t interval_ms);

/* The QP may have been idle for the interval. */
void rc_ask_idle_expired(struct rc_qp *qp, uint64_t now_ns);

/* A packet that belongs to no request leaves with the next transmit, and its answer has to come in time. */
static inline void ask_peer(struct rc_qp *qp)
{
	ask_now(&qp->ask, ASK_IDLE);
}

/* The answer to such a packet has to come within the ACK timeout from now on; without one, within the interval. */
static inline void ask_await_alive(struct rc_qp *qp, uint64_t now_ns)
{
	uint64_t wait_ns = qp->loss.timeout_ns ? qp->loss.timeout_ns : ask_interval_ns(qp);

	if (wait_ns)
		ask_wait(&qp->ask, ASK_ALIVE, now_ns + wait_ns);
}

/* Such a packet, or a report, has left while nothing is in flight. */
static inline void ask_idle_left(struct rc_qp *qp, uint64_t now_ns)
{
	if (ask_due(&qp->ask) == ASK_IDLE)
		ask_await_alive(qp, now_ns);
	ask_set_due(&qp->ask, ASK_NOTHING);
	qp->ask.beside = true;
}

/* The packet was answered, or a packet of a request has left, whose answer counts instead. */
static inline void ask_forget_beside(struct rc_ask *ask)
{
	ask->beside = false;
}

/* The packet was not answered, and is not sent again: nobody waits for its answer. */
static inline void ask_give_up(struct rc_qp *qp)
{
	ask_forget_beside(&qp->ask);
	ask_wait_for_nothing(&qp->ask);
}

/*
 * The lcore of the QP was away for so long: the peer gets a report if it is a SACK peer and if the QP may send
 * requests. Returns true if there is a report to send.
 */
bool rc_ask_report_away(struct rc_qp *qp, uint32_t away_ms);

/* An empty WRITE is about to leave. Returns the time in ms that it has to report, once, or 0. */
static inline uint32_t ask_take_report(struct rc_qp *qp)
{
	uint32_t away_ms = qp->keepalive.away_ms;

	qp->keepalive.away_ms = 0;
	qp->ask.due &= (uint8_t)~ASK_REPORT;
	return away_ms;
}

#endif
