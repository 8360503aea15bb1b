/* rtt.h - how long the peer takes to answer, from one timed packet at a time */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Only a packet that asks and goes out for the first time is timed: of one that has gone out twice nobody knows which
 * was answered (T-5, Karn's rule).
 */
#ifndef RC_RTT_H
#define RC_RTT_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/psn.h"

struct rc_rtt {
	/* the packet that is being timed */
	uint64_t sent_ns;
	psn_t psn;
	uint32_t timing : 1;

	uint32_t shortest_ns : 31; /* of all so far, or nearly; 0: none has been timed */

	/* what the others took */
	uint64_t srtt_ns; /* smoothed; 0: none has been timed */
	uint64_t rttvar_ns;
};

#define RTT_UNKNOWN_NS 67108864ull /* for a QP without an ACK timer, while none has been timed */

/* A new connection or another path: nothing is known. */
void rc_rtt_reset(struct rc_rtt *trip);

/* The packet that is being timed has been answered. timeout_ns: of the ACK timer, 0: there is none. */
void rc_rtt_end(struct rc_rtt *trip, uint64_t timeout_ns, uint64_t now_ns);

/*
 * After so long what comes can be a response to what was sent then, and not only to what was sent before (T-5): the
 * mean and four times the deviation, as RFC 6298 has it; while none has been timed, the ACK timeout.
 */
static inline uint64_t rtt_bound_ns(const struct rc_rtt *trip, uint64_t timeout_ns)
{
	if (trip->srtt_ns)
		return trip->srtt_ns + 4 * trip->rttvar_ns;
	return timeout_ns ? timeout_ns : RTT_UNKNOWN_NS;
}

/*
 * How long the way there and back takes when most packets take twice as long, for they wait in a queue; 0: there is
 * none, or nobody knows.
 */
static inline uint64_t rtt_without_queue_ns(const struct rc_rtt *trip)
{
	return trip->srtt_ns > 2ull * trip->shortest_ns ? trip->shortest_ns : 0;
}

/*
 * Is this packet to be timed? While nothing is known, also one that does not ask but that others which ask follow:
 * where much is lost the last of a flight hardly ever is the one that is answered.
 */
static inline bool rtt_wants(const struct rc_rtt *trip, bool asks)
{
	return !trip->timing && (asks || trip->srtt_ns == 0);
}

/* A packet that asks leaves for the first time, and no other is being timed. */
static inline void rtt_begin(struct rc_rtt *trip, psn_t psn, uint64_t now_ns)
{
	trip->timing = true;
	trip->psn = psn;
	trip->sent_ns = now_ns;
}

/* The packet goes out again, or may. */
static inline void rtt_forget(struct rc_rtt *trip)
{
	trip->timing = false;
}

/* Everything before snd_una has been answered. true: that ends the round trip that is being timed. */
static inline bool rtt_answered(struct rc_rtt *trip, psn_t snd_una, uint64_t timeout_ns, uint64_t now_ns)
{
	if (!trip->timing || !psn_before(trip->psn, snd_una))
		return false;
	rc_rtt_end(trip, timeout_ns, now_ns);
	return true;
}

#endif
