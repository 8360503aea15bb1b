/* round_trip.h - how long the peer takes to answer, from one timed packet at a time */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Only a packet that asks and goes out for the first time is timed: of one that has gone out twice nobody knows which
 * was answered (T-5, Karn's rule).
 */
#ifndef RC_ROUND_TRIP_H
#define RC_ROUND_TRIP_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/psn.h"

struct rc_round_trip {
	/* the packet that is being timed */
	uint64_t sent_ns;
	psn_t psn;
	bool timing;

	/* what the others took */
	uint64_t mean_ns; /* smoothed; 0: none has been timed */
	uint64_t deviation_ns;
};

#define ROUND_TRIP_UNKNOWN_NS 67108864ull /* for a QP without an ACK timer, while none has been timed */

/* A new connection or another path: nothing is known. */
void rc_round_trip_reset(struct rc_round_trip *trip);

/* The packet that is being timed has been answered. timeout_ns: of the ACK timer, 0: there is none. */
void rc_round_trip_end(struct rc_round_trip *trip, uint64_t timeout_ns, uint64_t now_ns);

/*
 * After so long what comes can be an answer to what was sent then, and not only to what was sent before (T-5): the mean
 * and four times the deviation, as RFC 6298 has it; while none has been timed, the ACK timeout.
 */
static inline uint64_t round_trip_bound_ns(const struct rc_round_trip *trip, uint64_t timeout_ns)
{
	if (trip->mean_ns)
		return trip->mean_ns + 4 * trip->deviation_ns;
	return timeout_ns ? timeout_ns : ROUND_TRIP_UNKNOWN_NS;
}

/*
 * Is this packet to be timed? While nothing is known, also one that does not ask but that others which ask follow:
 * where much is lost the last of a flight hardly ever is the one that is answered.
 */
static inline bool round_trip_wants(const struct rc_round_trip *trip, bool asks)
{
	return !trip->timing && (asks || trip->mean_ns == 0);
}

/* A packet that asks leaves for the first time, and no other is being timed. */
static inline void round_trip_begin(struct rc_round_trip *trip, psn_t psn, uint64_t now_ns)
{
	trip->timing = true;
	trip->psn = psn;
	trip->sent_ns = now_ns;
}

/* The packet goes out again, or may. */
static inline void round_trip_forget(struct rc_round_trip *trip)
{
	trip->timing = false;
}

/* Everything before una has been answered. true: that ends the round trip that is being timed. */
static inline bool round_trip_answered(struct rc_round_trip *trip, psn_t una, uint64_t timeout_ns, uint64_t now_ns)
{
	if (!trip->timing || !psn_before(trip->psn, una))
		return false;
	rc_round_trip_end(trip, timeout_ns, now_ns);
	return true;
}

#endif
