/* probe.h - asking early when progress stops, so that a lost NAK, ACK or tail does not cost a timeout */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every loss in the middle of a flight shows by a NAK or a response that is missing. What shows by nothing: the last
 * packet lost, the ACK lost, the NAK lost, the first resent packet lost. All of them look the same: nothing comes any
 * more. Some round trips after the last sign of life one packet goes out beside the window, whose state it does not
 * touch. No retry is spent and the ACK timer runs on: a peer that is dead is found by that alone.
 *
 * A peer that is only slow answers the probe as well, after everything else, so a probe is small (T-6). The oldest
 * packet and the newest go, if together they are not larger than one packet: whoever has them acknowledges everything,
 * whoever misses the oldest takes it, and NAKs what is missing behind it. Otherwise the newest goes, if it is no READ,
 * which is not asked for again, and behind it a duplicate of what is already acknowledged, an empty WRITE: it draws an
 * ACK that tells how far the peer has come, and never overtakes a response (S-8). When it comes and the response to
 * the oldest packet has not, that or the packet was lost. But an ACK of the packet before the oldest may be another
 * one: the late answer to an earlier copy, or credits that nobody asked for (F-4). So many as there may be of those
 * are not believed; and the NAK that says why the oldest packet was refused may come right behind, so the end of a
 * short wait decides.
 *
 * A peer that has no receive for the oldest packet drops what is behind it, and takes the oldest as soon as it
 * has one: whatever leaves behind a copy of that one, the newest or a new packet, would look like a gap. So the oldest
 * does not go when it needs a receive and others are in flight behind it.
 *
 * Which of two packets was answered nobody knows (T-5), so a peer that has become slower would be asked before each of
 * its responses, and never be timed. Hence Karn's rule: progress alone does not make waits short again, a measure
 * does; or the sight of a loss, for then it is likely that asking was right.
 */
#ifndef RC_PROBE_H
#define RC_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/rtt.h"

#define PROBE_SHORTEST_NS 50000ull /* a busy peer takes so long to come round */
#define PROBE_TRIES_MAX 20u        /* 50 us doubled so often is longer than any ACK timer that is of use */
#define DEFER_SHORTEST_NS 10000ull /* more requests are likely to come within that */

struct rc_probe {
	bool enabled;
	bool due;      /* it leaves with the next transmit, in front of what is new */
	bool paid;     /* what is due has cost a retry, and leaves whatever comes before it does */
	bool deferred; /* what is due, or will be, is an ask that was put off: nothing is missing */
	bool answered; /* the deadline is the end of the wait for what may still say why: else the oldest was lost */
	uint8_t behind_una; /* the ACK of the packet before snd_una that is the answer to an empty WRITE; 0: none is */
	uint8_t unsure;     /* so many such ACKs may be answers to copies that left before snd_una did */
	uint8_t tries;      /* each waits twice as long as the one before, until a round trip has been measured */
	uint64_t deadline_ns; /* UINT64_MAX: not running */
};

static inline void probe_reset(struct rc_probe *probe)
{
	*probe = (struct rc_probe){ .enabled = probe->enabled, .deadline_ns = UINT64_MAX };
}

/* How long nothing may come before it is suspicious. While no round trip is known, half of the timeout (T-6). */
static inline uint64_t probe_pto_ns(const struct rc_probe *probe, const struct rc_rtt *trip, uint64_t timeout_ns)
{
	uint64_t patience = trip->srtt_ns ? 2 * trip->srtt_ns + 4 * trip->rttvar_ns : timeout_ns / 2;

	return (patience < PROBE_SHORTEST_NS ? PROBE_SHORTEST_NS : patience) << probe->tries;
}

/*
 * A response is owed, and the peer was heard of, or was asked just now. Unless the ACK timer (timeout_ns) comes
 * first: nothing is won by asking then. It also bounds the number of tries.
 */
static inline void probe_start(struct rc_probe *probe, const struct rc_rtt *trip, uint64_t timeout_ns, uint64_t now_ns)
{
	uint64_t patience = probe_pto_ns(probe, trip, timeout_ns);

	probe->due = probe->paid = probe->deferred = probe->answered = false;
	probe->deadline_ns = probe->enabled && patience < timeout_ns ? now_ns + patience : UINT64_MAX;
}

/*
 * Nothing in flight has asked for an ACK, and nobody waits for one: the ask is put off, for a round trip at least, so
 * that a slow peer is not asked more often, and so that the ACK timer has time left.
 */
static inline void probe_defer(struct rc_probe *probe, const struct rc_rtt *trip, uint64_t timeout_ns, uint64_t now_ns)
{
	uint64_t delay_ns = trip->srtt_ns > DEFER_SHORTEST_NS ? trip->srtt_ns : DEFER_SHORTEST_NS;

	if (timeout_ns && delay_ns > timeout_ns / 4)
		delay_ns = timeout_ns / 4;
	probe->due = probe->paid = probe->answered = false;
	probe->deferred = true;
	probe->deadline_ns = now_ns + delay_ns;
}

/*
 * An empty WRITE leaves: which ACK of the packet before snd_una answers it. Where packets are being lost the first
 * does, for waiting for another costs more than believing the wrong one. unsolicited: one may come by itself.
 */
static inline void probe_ask_behind(struct rc_probe *probe, bool losing, bool unsolicited)
{
	uint32_t others = unsolicited + (losing ? 0u : probe->unsure);

	if (probe->behind_una == 0)
		probe->behind_una = others < UINT8_MAX ? (uint8_t)(1 + others) : UINT8_MAX;
}

/* An ACK of the packet before snd_una has come; unasked: perhaps by itself. true: it answers an empty WRITE. */
static inline bool probe_is_answer(struct rc_probe *probe, bool unasked)
{
	if (!unasked && probe->unsure > 0)
		probe->unsure--;
	return probe->behind_una > 0 && --probe->behind_una == 0;
}

/* It was: what may still say why comes now, or not at all. */
static inline void probe_await_reason(struct rc_probe *probe, const struct rc_rtt *trip, uint64_t now_ns)
{
	uint64_t wait_ns = trip->srtt_ns / 8;

	probe->due = probe->paid = probe->deferred = false;
	probe->answered = true;
	probe->deadline_ns = now_ns + (wait_ns > DEFER_SHORTEST_NS ? wait_ns : DEFER_SHORTEST_NS);
}

/*
 * Something came, be it old or out of order: a sign of life. A wait that runs begins anew (T-6), but not the wait for a
 * reason: the answer to the ask stands, and a copy of it says the same again.
 */
static inline void probe_heard(struct rc_probe *probe, const struct rc_rtt *trip, uint64_t timeout_ns, uint64_t now_ns)
{
	if (!probe->paid && !probe->deferred && !probe->answered && (probe->due || probe->deadline_ns != UINT64_MAX))
		probe_start(probe, trip, timeout_ns, now_ns);
}

/* The wait is over: it leaves with the next transmit. */
static inline void probe_ask_now(struct rc_probe *probe)
{
	probe->deadline_ns = UINT64_MAX;
	probe->due = true;
}

/* A packet asks with the next transmit; put off: as the ask for an ACK that was put off. */
static inline void probe_ask(struct rc_probe *probe, bool put_off)
{
	probe->due = true;
	probe->deferred |= put_off;
}

/* The same, and it has cost a retry. */
static inline void probe_ask_for_retry(struct rc_probe *probe)
{
	probe->due = probe->paid = true;
}

/* What has cost a retry has not left, and need not any more. false: there is none. */
static inline bool probe_take_back(struct rc_probe *probe)
{
	bool paid = probe->paid;

	probe->paid = false;
	return paid;
}

/* What was to ask has left. */
static inline void probe_left(struct rc_probe *probe)
{
	probe->due = false;
}

/* It has left once more without an answer. */
static inline void probe_count_try(struct rc_probe *probe)
{
	probe->tries += probe->tries < PROBE_TRIES_MAX;
}

/* The peer has answered: the next one comes as soon as the first. */
static inline void probe_forget_tries(struct rc_probe *probe)
{
	probe->tries = 0;
}

/* An ACK of the packet before snd_una answers no empty WRITE any more. */
static inline void probe_forget_behind(struct rc_probe *probe)
{
	probe->behind_una = 0;
}

/* So many copies of packets may still be answered with such an ACK. */
static inline void probe_doubt(struct rc_probe *probe, uint8_t answers)
{
	probe->unsure = answers;
}

static inline void probe_enable(struct rc_probe *probe, bool enabled)
{
	probe->enabled = enabled;
}

/* Nobody owes a response, nothing is in flight, or something else decides when to send. */
static inline void probe_stop(struct rc_probe *probe)
{
	probe->deadline_ns = UINT64_MAX;
	probe->due = probe->paid = probe->deferred = probe->answered = false;
	probe->behind_una = 0;
}

#endif
