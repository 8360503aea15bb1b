/* probe.h - asking early when progress stops, so that a lost NAK, ACK or tail does not cost a timeout */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every loss in the middle of a flight shows by a NAK or an answer that is missing. What shows by nothing: the last
 * packet lost, the ACK lost, the NAK lost, the first resent packet lost. All of them look the same: nothing comes any
 * more. Some round trips after the last progress the oldest packet goes out once more, asking for an ACK, and the
 * newest behind it: whoever has them answers with an ACK of everything, whoever misses the oldest takes it and NAKs
 * the gap behind it. No retry is spent and the ACK timer runs on: a peer that is dead is found by that alone.
 *
 * Which of two packets was answered nobody knows (T-5), so a peer that has become slower would be asked before each of
 * its answers, and never be timed. Hence Karn's rule: progress alone does not make waits short again, a measure does;
 * or the sight of a loss, for then it is likely that asking was right.
 */
#ifndef RC_PROBE_H
#define RC_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/round_trip.h"

#define PROBE_SHORTEST_NS 50000ull /* a busy peer takes so long to come round */

struct rc_probe {
	bool enabled;
	bool due;             /* the next transmit begins with it */
	bool asking;          /* the oldest packet is going out, the newest follows */
	uint8_t tries;        /* each waits twice as long as the one before, until a round trip has been measured */
	uint64_t deadline_ns; /* UINT64_MAX: not running */
};

static inline void probe_reset(struct rc_probe *probe)
{
	*probe = (struct rc_probe){ .enabled = probe->enabled, .deadline_ns = UINT64_MAX };
}

/* How long nothing may come before it is suspicious. Who knows no round trip yet guesses by the timeout. */
static inline uint64_t probe_patience_ns(const struct rc_probe *probe, const struct rc_round_trip *trip,
					 uint64_t timeout_ns)
{
	uint64_t patience = trip->mean_ns ? 2 * trip->mean_ns + 4 * trip->deviation_ns : timeout_ns / 32;

	return (patience < PROBE_SHORTEST_NS ? PROBE_SHORTEST_NS : patience) << probe->tries;
}

/*
 * An answer is owed, and the peer was heard of, or was asked just now. Unless the ACK timer (timeout_ns) comes
 * first: nothing is won by asking then. It also bounds the number of tries.
 */
static inline void probe_start(struct rc_probe *probe, const struct rc_round_trip *trip, uint64_t timeout_ns,
			       uint64_t now_ns)
{
	uint64_t patience = probe_patience_ns(probe, trip, timeout_ns);

	probe->due = false;
	probe->deadline_ns = probe->enabled && patience < timeout_ns ? now_ns + patience : UINT64_MAX;
}

/* Nobody owes an answer. If there is still something to be sent again, a probe that found no room goes on with that. */
static inline void probe_pause(struct rc_probe *probe, bool resends)
{
	probe->deadline_ns = UINT64_MAX;
	probe->due = false;
	probe->asking = probe->asking && resends;
}

/* Nothing is in flight, or something else decides when to send. */
static inline void probe_stop(struct rc_probe *probe)
{
	probe->deadline_ns = UINT64_MAX;
	probe->due = probe->asking = false;
}

#endif
