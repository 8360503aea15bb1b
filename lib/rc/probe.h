/* probe.h - asking early when progress stops, so that a lost NAK, ACK or tail does not cost a timeout */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A loss in the middle of a flight shows by a NAK or by a response that is missing. Four losses do not show: the loss
 * of the last packet, of the ACK, of the NAK, and of the first resent packet. All four look the same: nothing arrives
 * any more. So some round trips after the last sign of life one packet is sent beside the window, whose state it does
 * not touch. It spends no retry, and the ACK timer runs on: only that timer finds that a peer is dead.
 *
 * A peer that is only slow answers the probe as well, after everything else, so a probe is small (T-6). If the oldest
 * and the newest packet together are not larger than one packet, both are sent: a peer that has all packets
 * acknowledges everything, and a peer that misses the oldest takes it and sends a NAK for what is missing behind it.
 * Otherwise the newest is sent, unless it is a READ, which is not asked for again, and behind it an empty WRITE, a
 * duplicate of what is acknowledged already. The WRITE draws an ACK that tells how far the peer has come, and never
 * overtakes a response (S-8). If the ACK comes and the response to the oldest packet has not, that response or the
 * oldest packet was lost. But an ACK of the packet before the oldest may have another cause: an earlier copy, answered
 * late, or credits that nobody asked for (F-4). So as many ACKs as these causes may bring do not count. And right
 * behind a true answer a NAK may come that says why the oldest packet was refused, so the loss counts only after a
 * short wait.
 *
 * A peer that has no receive for the oldest packet drops what is behind it, and takes the oldest as soon as it
 * has one. Then each packet that has left behind a copy of the oldest, the newest or a new one, would look like a gap.
 * So the oldest is not sent if it needs a receive and others are in flight behind it.
 *
 * When a packet has left twice, nobody knows which of the two copies was answered (T-5). So a peer that has become
 * slower would be asked before each of its responses, and never be timed. Hence Karn's rule: progress does not make the
 * waits short again. The waits become short again only by a measured round trip, or by a loss that becomes known or is
 * repaired: then asking was right.
 */
#ifndef RC_PROBE_H
#define RC_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/rtt.h"

#define PROBE_SHORTEST_NS 50000ull /* a probe waits at least this long, about what a busy peer takes to answer */
/* the most doublings of a wait: 50 us doubled 20 times is longer than any useful ACK timer */
#define PROBE_TRIES_MAX 20u
/* an ACK request is put off at least this long: more requests are likely to be posted within that time */
#define DEFER_SHORTEST_NS 10000ull

struct rc_probe {
	bool enabled;
	bool due;      /* a probe leaves with the next transmit, in front of new packets */
	bool paid;     /* the probe that is due has spent a retry, and leaves even if it is not needed any more */
	bool deferred; /* `due` or the deadline is for an ACK request that was put off: no loss is suspected */
	bool answered; /* an empty WRITE was answered: at the deadline the oldest packet counts as lost */
	/* the n-th ACK of PSN snd_una - 1 from now on is the answer to an empty WRITE; 0: none is */
	uint8_t behind_una;
	uint8_t unsure;       /* ACKs of the packet before snd_una that may answer earlier copies */
	uint8_t tries;        /* how often the next wait is doubled; a measured round trip sets this to 0 */
	uint64_t deadline_ns; /* UINT64_MAX: not running */
};

static inline void probe_reset(struct rc_probe *probe)
{
	*probe = (struct rc_probe){ .enabled = probe->enabled, .deadline_ns = UINT64_MAX };
}

/* How long silence may last before a probe. While no round trip is known, half of the ACK timeout (T-6). */
static inline uint64_t probe_pto_ns(const struct rc_probe *probe, const struct rc_rtt *trip, uint64_t timeout_ns)
{
	uint64_t patience = trip->srtt_ns ? 2 * trip->srtt_ns + 4 * trip->rttvar_ns : timeout_ns / 2;

	return (patience < PROBE_SHORTEST_NS ? PROBE_SHORTEST_NS : patience) << probe->tries;
}

/*
 * A response is owed, and the peer was heard or asked just now: a probe is to leave after a silence. No probe leaves if
 * the ACK timer (timeout_ns) would expire first, because then a probe gains nothing. This also bounds the number of
 * tries.
 */
static inline void probe_start(struct rc_probe *probe, const struct rc_rtt *trip, uint64_t timeout_ns, uint64_t now_ns)
{
	uint64_t patience = probe_pto_ns(probe, trip, timeout_ns);

	probe->due = probe->paid = probe->deferred = probe->answered = false;
	probe->deadline_ns = probe->enabled && patience < timeout_ns ? now_ns + patience : UINT64_MAX;
}

/*
 * No packet in flight has asked for an ACK, and no application waits for one, so the ACK request is put off. The delay
 * is at least a round trip, so that a slow peer is not asked more often, and leaves time before the ACK timer expires.
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
 * An empty WRITE leaves: computes which ACK of the packet before snd_una will answer it. While packets are being lost
 * the first one counts, because waiting for another costs more than being wrong. unsolicited: one such ACK may come
 * unasked.
 */
static inline void probe_ask_behind(struct rc_probe *probe, bool losing, bool unsolicited)
{
	uint32_t others = unsolicited + (losing ? 0u : probe->unsure);

	if (probe->behind_una == 0)
		probe->behind_una = others < UINT8_MAX ? (uint8_t)(1 + others) : UINT8_MAX;
}

/*
 * An ACK of the packet before snd_una has come. unasked: it may bring credits. Returns true if the ACK answers an empty
 * WRITE.
 */
static inline bool probe_is_answer(struct rc_probe *probe, bool unasked)
{
	if (!unasked && probe->unsure > 0)
		probe->unsure--;
	return probe->behind_una > 0 && --probe->behind_una == 0;
}

/* An empty WRITE was answered: a NAK that says why the oldest packet was refused comes now, or not at all. */
static inline void probe_await_reason(struct rc_probe *probe, const struct rc_rtt *trip, uint64_t now_ns)
{
	uint64_t wait_ns = trip->srtt_ns / 8;

	probe->due = probe->paid = probe->deferred = false;
	probe->answered = true;
	probe->deadline_ns = now_ns + (wait_ns > DEFER_SHORTEST_NS ? wait_ns : DEFER_SHORTEST_NS);
}

/*
 * A sign of life has come, perhaps old or out of order: a running wait begins anew (T-6). The short wait after an
 * answered empty WRITE goes on: another copy of that answer says nothing new.
 */
static inline void probe_heard(struct rc_probe *probe, const struct rc_rtt *trip, uint64_t timeout_ns, uint64_t now_ns)
{
	if (!probe->paid && !probe->deferred && !probe->answered && (probe->due || probe->deadline_ns != UINT64_MAX))
		probe_start(probe, trip, timeout_ns, now_ns);
}

/* If no probe has been in vain, a running wait ends after patience_ns at the latest. */
static inline void probe_sooner(struct rc_probe *probe, uint64_t patience_ns, uint64_t now_ns)
{
	bool runs = probe->deadline_ns != UINT64_MAX && !probe->paid && !probe->deferred && !probe->answered;

	if (runs && probe->tries == 0 && probe->deadline_ns > now_ns + patience_ns)
		probe->deadline_ns = now_ns + patience_ns;
}

/*
 * A loss is suspected: the probe leaves with the next transmit, also in place of an ACK request that was put off. If a
 * probe that has spent a retry is due nothing changes.
 */
static inline void probe_suspect(struct rc_probe *probe)
{
	if (!probe->enabled || probe->paid || probe->answered)
		return;
	probe->deferred = false;
	probe->due = true;
	probe->deadline_ns = UINT64_MAX;
}

/* The wait is over: the probe leaves with the next transmit. */
static inline void probe_ask_now(struct rc_probe *probe)
{
	probe->deadline_ns = UINT64_MAX;
	probe->due = true;
}

/* The probe leaves with the next transmit. put_off: the probe is an ACK request that was put off. */
static inline void probe_ask(struct rc_probe *probe, bool put_off)
{
	probe->due = true;
	probe->deferred |= put_off;
}

/* The probe leaves with the next transmit, and has spent a retry. */
static inline void probe_ask_for_retry(struct rc_probe *probe)
{
	probe->due = probe->paid = true;
}

/* The probe is not needed any more. Returns true if it had spent a retry and has not left: the retry is free again. */
static inline bool probe_take_back(struct rc_probe *probe)
{
	bool paid = probe->paid;

	probe->paid = false;
	return paid;
}

/* The probe has left. */
static inline void probe_left(struct rc_probe *probe)
{
	probe->due = false;
}

/* One more probe has left without an answer to the one before. */
static inline void probe_count_try(struct rc_probe *probe)
{
	probe->tries += probe->tries < PROBE_TRIES_MAX;
}

/* The peer has answered: the next wait is as short as the first. */
static inline void probe_forget_tries(struct rc_probe *probe)
{
	probe->tries = 0;
}

/* From now on no ACK of the packet before snd_una answers an empty WRITE. */
static inline void probe_forget_behind(struct rc_probe *probe)
{
	probe->behind_una = 0;
}

/* `answers` copies of packets may still draw an ACK of the packet before snd_una. */
static inline void probe_doubt(struct rc_probe *probe, uint8_t answers)
{
	probe->unsure = answers;
}

static inline void probe_enable(struct rc_probe *probe, bool enabled)
{
	probe->enabled = enabled;
}

/* No probe is wanted, because no response is owed, nothing is in flight, or something else decides when to send. */
static inline void probe_stop(struct rc_probe *probe)
{
	probe->deadline_ns = UINT64_MAX;
	probe->due = probe->paid = probe->deferred = probe->answered = false;
	probe->behind_una = 0;
}

#endif
