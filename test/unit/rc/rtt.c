/* rtt.c - what is timed, and what is made of it */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "rc/rtt.h"
#include "rule.h"

#define TIMEOUT_NS 67108864ull
#define SENT_NS 5000u

/* A packet is sent and answered after so long. */
static void take(struct rc_rtt *trip, uint64_t timeout_ns, uint64_t took_ns)
{
	rtt_begin(trip, psn_make(0xFFFFFF), SENT_NS);
	cr_assert(rtt_answered(trip, psn_make(0), timeout_ns, SENT_NS + took_ns));
}

/* The first round trip counts whole, later ones by an eighth; their deviation by a quarter. */
Test(rtt, round_trips_are_smoothed)
{
	struct rc_rtt trip;

	RULE("T-1");
	rc_rtt_reset(&trip);
	cr_assert_eq(trip.srtt_ns, 0);
	take(&trip, TIMEOUT_NS, 100000);
	cr_assert_eq(trip.srtt_ns, 100000);
	cr_assert_eq(trip.rttvar_ns, 50000);
	take(&trip, TIMEOUT_NS, 200000);
	cr_assert_eq(trip.rttvar_ns, (3 * 50000 + 100000) / 4);
	cr_assert_eq(trip.srtt_ns, (7 * 100000 + 200000) / 8);
	take(&trip, TIMEOUT_NS, 12500);
	cr_assert_eq(trip.rttvar_ns, (3 * 62500 + 100000) / 4);
	cr_assert_eq(trip.srtt_ns, (7 * 112500 + 12500) / 8);
}

/* A stalled thread measures a long round trip: it must not end all probes. Without a timer none runs. */
Test(rtt, measurement_near_the_timeout_is_capped_at_half)
{
	struct rc_rtt trip;

	RULE("T-1");
	rc_rtt_reset(&trip);
	take(&trip, TIMEOUT_NS, 1000000000);
	cr_assert_eq(trip.srtt_ns, TIMEOUT_NS / 2);
	rc_rtt_reset(&trip);
	take(&trip, 0, 1000000000);
	cr_assert_eq(trip.srtt_ns, 1000000000);
}

/* As RFC 6298 has it; while nothing is known, the ACK timeout, and without one of those the usual one. */
Test(rtt, answer_bound_follows_mean_and_deviation)
{
	struct rc_rtt trip;

	RULE("T-5");
	rc_rtt_reset(&trip);
	cr_assert_eq(rtt_bound_ns(&trip, 1000), 1000);
	cr_assert_eq(rtt_bound_ns(&trip, 0), RTT_UNKNOWN_NS);
	take(&trip, TIMEOUT_NS, 8000);
	cr_assert_eq(rtt_bound_ns(&trip, 1000), 8000 + 4 * 4000);
}

/* One packet with AckReq at a time; while no RTT is known, any packet that others follow. */
Test(rtt, packet_without_ackreq_is_timed_while_no_rtt_is_known)
{
	struct rc_rtt trip;

	RULE("T-6");
	rc_rtt_reset(&trip);
	cr_assert(rtt_wants(&trip, false) && rtt_wants(&trip, true));
	rtt_begin(&trip, psn_make(7), SENT_NS);
	cr_assert(!rtt_wants(&trip, false) && !rtt_wants(&trip, true));
	cr_assert(rtt_answered(&trip, psn_make(8), TIMEOUT_NS, SENT_NS + 10));
	cr_assert(!rtt_wants(&trip, false) && rtt_wants(&trip, true));
}

/* Queued packets are not in flight: the shortest RTT measures the path, the mean the queue. */
Test(rtt, mean_of_twice_the_shortest_rtt_indicates_a_queue)
{
	struct rc_rtt trip;

	RULE("T-1");
	rc_rtt_reset(&trip);
	cr_assert_eq(rtt_without_queue_ns(&trip), 0, "nothing is known");
	take(&trip, TIMEOUT_NS, 1000);
	take(&trip, TIMEOUT_NS, 1000);
	cr_assert_eq(rtt_without_queue_ns(&trip), 0, "no queue");
	take(&trip, TIMEOUT_NS, 10000);
	cr_assert_eq(trip.shortest_ns, 1000 + 9000 / 256);
	for (uint32_t i = 1; i < 8; i++)
		take(&trip, TIMEOUT_NS, 10000);
	cr_assert(rtt_without_queue_ns(&trip) >= 1000 && rtt_without_queue_ns(&trip) < 1400, "%lu",
		  rtt_without_queue_ns(&trip));
	for (uint32_t i = 0; i < 2000; i++)
		take(&trip, TIMEOUT_NS, 10000);
	cr_assert_eq(rtt_without_queue_ns(&trip), 0, "the way has become longer");
	take(&trip, 0, 5000000000);
	take(&trip, 0, 1000);
	cr_assert_eq(rtt_without_queue_ns(&trip), 1000, "one too long to be counted is no shortest");
}

/* It ends with the answer to the packet that began it, once; and not at all when that goes out again. */
Test(rtt, only_the_answer_to_the_timed_packet_ends_timing)
{
	struct rc_rtt trip;

	RULE("T-5");
	rc_rtt_reset(&trip);
	cr_assert_not(rtt_answered(&trip, psn_make(8), TIMEOUT_NS, 1), "nothing is timed");
	rtt_begin(&trip, psn_make(7), SENT_NS);
	cr_assert_not(rtt_answered(&trip, psn_make(7), TIMEOUT_NS, SENT_NS + 1), "what was before it");
	cr_assert(trip.timing);
	cr_assert(rtt_answered(&trip, psn_make(8), TIMEOUT_NS, SENT_NS + 10));
	cr_assert_eq(trip.srtt_ns, 10);
	cr_assert_not(rtt_answered(&trip, psn_make(9), TIMEOUT_NS, SENT_NS + 1));
	rtt_begin(&trip, psn_make(9), SENT_NS);
	rtt_forget(&trip);
	cr_assert_not(rtt_answered(&trip, psn_make(10), TIMEOUT_NS, SENT_NS + 1));
	cr_assert_eq(trip.srtt_ns, 10);
}
