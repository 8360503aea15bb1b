/* rtt.h - the round trip: how long the peer takes to answer, measured with one packet at a time */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Only a packet that asks and goes out for the first time is timed: if it has been sent twice, nobody knows which of
 * the two copies was answered (T-5, Karn's rule).
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

	uint32_t shortest_ns : 31; /* the shortest round trip, slowly raised by longer ones; 0: none was measured */

	/* the packets timed before */
	uint64_t srtt_ns; /* the mean; 0: none was measured */
	uint64_t rttvar_ns;
};

#define RTT_UNKNOWN_NS 67108864ull /* the bound of a QP without an ACK timer, while no round trip was measured */

/* A new connection or another path: no round trip is known. */
void rc_rtt_reset(struct rc_rtt *trip);

/* The packet that is being timed has been answered. timeout_ns: the ACK timeout, or 0 if there is none. */
void rc_rtt_end(struct rc_rtt *trip, uint64_t timeout_ns, uint64_t now_ns);

/*
 * A response that comes sooner than this after a packet was sent can only answer older packets; a later one may answer
 * this packet (T-5). The bound is the mean and four times the deviation (RFC 6298), and the ACK timeout while no round
 * trip was measured.
 */
static inline uint64_t rtt_bound_ns(const struct rc_rtt *trip, uint64_t timeout_ns)
{
	if (trip->srtt_ns)
		return trip->srtt_ns + 4 * trip->rttvar_ns;
	return timeout_ns ? timeout_ns : RTT_UNKNOWN_NS;
}

/*
 * The round trip without the time in queues, if most round trips take more than twice the shortest; 0: no queue is
 * known.
 */
static inline uint64_t rtt_without_queue_ns(const struct rc_rtt *trip)
{
	return trip->srtt_ns > 2ull * trip->shortest_ns ? trip->shortest_ns : 0;
}

/* The most doublings of a wait: 50 us doubled 20 times is longer than any useful ACK timer. */
#define RTT_TRIES_MAX 20u

/* One more try was in vain. Returns how many that are. */
static inline uint8_t rtt_count_try(uint8_t tries)
{
	return (uint8_t)(tries + (tries < RTT_TRIES_MAX));
}

/* A wait after `tries` tries in vain: each one doubles it. */
static inline uint64_t rtt_doubled_ns(uint64_t first_ns, uint32_t tries)
{
	return first_ns << tries;
}

/*
 * Should this packet be timed? While no round trip is known, packets that do not ask are timed, too, because packets
 * that ask follow: where much is lost the last packet of a flight is seldom answered.
 */
static inline bool rtt_wants(const struct rc_rtt *trip, bool asks)
{
	return !trip->timing && (asks || trip->srtt_ns == 0);
}

/* A packet leaves for the first time while no other is being timed. */
static inline void rtt_begin(struct rc_rtt *trip, psn_t psn, uint64_t now_ns)
{
	trip->timing = true;
	trip->psn = psn;
	trip->sent_ns = now_ns;
}

/* The packet that is being timed is sent again, or may be sent again. */
static inline void rtt_forget(struct rc_rtt *trip)
{
	trip->timing = false;
}

/*
 * Everything before snd_una has been answered. Returns true if that includes the packet being timed, whose round trip
 * has ended.
 */
static inline bool rtt_answered(struct rc_rtt *trip, psn_t snd_una, uint64_t timeout_ns, uint64_t now_ns)
{
	if (!trip->timing || !psn_before(trip->psn, snd_una))
		return false;
	rc_rtt_end(trip, timeout_ns, now_ns);
	return true;
}

#endif
