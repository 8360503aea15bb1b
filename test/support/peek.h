/* peek.h - the fields of a QP that scenario tests read and set, because packets and completions do not show them */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A change of the core's structure changes these functions, not the tests. Times are absolute, as pair->now_ns, unless
 * a comment says otherwise; RC_NEVER: the timer does not run.
 */
#ifndef TEST_PEEK_H
#define TEST_PEEK_H

#include <criterion/criterion.h>

#include "rc/burst.h"
#include "rc/ask.h"
#include "rc/qp.h"

static inline enum uroce_qp_state peek_state(const struct rc_qp *qp)
{
	struct uroce_qp_attr attr;

	rc_qp_query(qp, &attr);
	return attr.qp_state;
}

/* A state that the application would not see: as before the last step to RTS. */
static inline void poke_state(struct rc_qp *qp, enum uroce_qp_state state)
{
	qp->state = state;
	qp->win.post_state = state;
}

/* Does the QP send probes before its ACK timer expires? In a new pair it does not: the ACK timer acts alone. */
static inline void poke_probes(struct rc_qp *qp, bool on)
{
	const struct uroce_qp_attr attr = { .no_probe = !on };
	uint32_t bad = 0;

	cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_NO_PROBE, &bad), 0, "%#x", bad);
}

static inline void poke_read_repair(struct rc_qp *qp, enum uroce_read_repair repair)
{
	const struct uroce_qp_attr attr = { .read_repair = repair };
	uint32_t bad = 0;

	cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_READ_REPAIR, &bad), 0, "%#x", bad);
}

/* PSN of the oldest packet without an ACK, of the next new packet, and of the next packet to send. */
static inline uint32_t peek_acked(const struct rc_qp *qp)
{
	return qp->win.snd_una.v;
}

static inline uint32_t peek_sent(const struct rc_qp *qp)
{
	return qp->win.snd_max.v;
}

static inline uint32_t peek_next(const struct rc_qp *qp)
{
	return qp->win.snd_nxt.v;
}

/* How many requests have not completed or failed. */
static inline uint32_t peek_outstanding(const struct rc_qp *qp)
{
	return qp->win.tail - qp->win.acked;
}

/* Packets before peek_sent() wait to be sent again. */
static inline bool peek_resends(const struct rc_qp *qp)
{
	return qp->flight.resending;
}

/* The responder's ePSN and MSN. */
static inline uint32_t peek_expected(const struct rc_qp *qp)
{
	return qp->responder.epsn.v;
}

static inline uint32_t peek_msn(const struct rc_qp *qp)
{
	return qp->responder.msn;
}

static inline void poke_expected(struct rc_qp *qp, uint32_t psn)
{
	qp->responder.epsn = psn_make(psn);
}

/* When the peer is next asked for an answer, before the ACK timer expires. */
static inline uint64_t peek_ask_ns(const struct rc_qp *qp)
{
	return qp->ask.waits > ASK_ALIVE ? qp->ask.deadline_ns : RC_NEVER;
}

/* The wait before the next question, as it is computed now: a duration. */
static inline uint64_t peek_ask_delay_ns(const struct rc_qp *qp)
{
	return ask_patience_ns(qp);
}

/* A question is due at the next transmit, or once an unsignaled request has company; how many were asked in vain. */
static inline bool peek_ask_is_due(const struct rc_qp *qp)
{
	return qp->ask.due;
}

static inline bool peek_ask_is_deferred(const struct rc_qp *qp)
{
	return ask_due(&qp->ask) ? ask_due(&qp->ask) == ASK_ACKREQ : qp->ask.waits == ASK_ACKREQ;
}

static inline uint32_t peek_asks(const struct rc_qp *qp)
{
	return qp->ask.tries;
}

/* The last question was answered, and nothing newer was sent since. */
static inline bool peek_ask_is_answered(const struct rc_qp *qp)
{
	return qp->ask.waits == ASK_NAK;
}

/* The next ACK for the packet before peek_acked() answers a question. */
static inline bool peek_answer_is_expected(const struct rc_qp *qp)
{
	return qp->ask.behind_una;
}

static inline void poke_answer_is_expected(struct rc_qp *qp, bool expected)
{
	qp->ask.behind_una = expected;
}

/* How many time-outs at the oldest packet only asked the peer and sent nothing again. */
static inline uint32_t peek_asked(const struct rc_qp *qp)
{
	return qp->loss.asked;
}

/* A keep-alive or another packet of no request waits for its ACK. */
static inline bool peek_waits_beside(const struct rc_qp *qp)
{
	return qp->ask.beside;
}

/* The id of the newest PROBE. */
static inline uint16_t peek_probe_id(const struct rc_qp *qp)
{
	return qp->sack.probe_id;
}

/* A SACK reported packets in flight. */
static inline bool peek_has_sack_map(const struct rc_qp *qp)
{
	return qp_board(qp, BOARD_SACK) != NULL;
}

/* When the ACK timer expires. */
static inline uint64_t peek_resend_ns(const struct rc_qp *qp)
{
	return qp->ask.waits == ASK_ALIVE ? qp->ask.deadline_ns : qp->loss.ack_deadline_ns;
}

/* When the wait after an RNR NAK ends. */
static inline uint64_t peek_rnr_ns(const struct rc_qp *qp)
{
	return qp->loss.rnr_deadline_ns;
}

/* How many more timeouts or losses the oldest request survives. */
static inline uint8_t peek_retries_left(const struct rc_qp *qp)
{
	return qp->loss.retries_left;
}

static inline void poke_retries_left(struct rc_qp *qp, uint8_t left)
{
	qp->loss.retries_left = left;
}

static inline uint8_t peek_retry_count(const struct rc_qp *qp)
{
	return qp->loss.retry_cnt;
}

/* The ACK timeout, the smoothed round trip and its variation: durations; 0: no timer, not measured. */
static inline uint64_t peek_timeout_ns(const struct rc_qp *qp)
{
	return qp->loss.timeout_ns;
}

static inline uint64_t peek_round_trip_ns(const struct rc_qp *qp)
{
	return qp->rtt.srtt_ns;
}

static inline uint64_t peek_variation_ns(const struct rc_qp *qp)
{
	return qp->rtt.rttvar_ns;
}

/* As after measurements that were all alike. */
static inline void poke_round_trip(struct rc_qp *qp, uint64_t round_trip_ns)
{
	qp->rtt.srtt_ns = round_trip_ns;
	qp->rtt.rttvar_ns = 0;
}

/* How many PSNs, those of READ responses included, may be in flight. */
static inline uint32_t peek_read_limit(const struct rc_qp *qp)
{
	return qp->cc_past.limit;
}

static inline void poke_read_limit(struct rc_qp *qp, uint32_t psns)
{
	qp->cc_past.limit = psns;
}

/* Losses have made the window smaller. */
static inline bool peek_window_is_limited(const struct rc_qp *qp)
{
	return qp->cc.limited;
}

/* As after a time-out: bursts are short. */
static inline void poke_timed_out(struct rc_qp *qp)
{
	burst_notice_loss(&qp->cc.burst);
	qp->loss.lately = LATELY_TIMEOUT;
}

/* There is a rate; the rate in Mbit/s; when the next frame may leave. */
static inline bool peek_is_paced(const struct rc_qp *qp)
{
	return qp->pace.on;
}

static inline uint32_t peek_rate_mbps(const struct rc_qp *qp)
{
	return qp->pace.mbps;
}

static inline uint64_t peek_next_frame_ns(const struct rc_qp *qp)
{
	return qp->pace.next_ns;
}

#endif
