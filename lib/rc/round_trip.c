/* round_trip.c - the mean of what was timed, and how far it varies */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/round_trip.h"

#define LONGEST_PART 2u /* of the timeout */

void rc_round_trip_reset(struct rc_round_trip *trip)
{
	*trip = (struct rc_round_trip){ 0 };
}

/* As TCP smooths it: an eighth and a quarter of what is new; the first one counts whole. */
static void smooth(struct rc_round_trip *trip, uint64_t took_ns)
{
	uint64_t error = took_ns > trip->mean_ns ? took_ns - trip->mean_ns : trip->mean_ns - took_ns;

	if (trip->mean_ns == 0) {
		trip->mean_ns = took_ns;
		trip->deviation_ns = took_ns / 2;
		return;
	}
	trip->deviation_ns = (3 * trip->deviation_ns + error) / 4;
	trip->mean_ns = (7 * trip->mean_ns + took_ns) / 8;
}

/*
 * A measure near the timeout is one during which our own thread was away, and would end all early questions for long:
 * it is not smoothed as it is.
 */
void rc_round_trip_end(struct rc_round_trip *trip, uint64_t timeout_ns, uint64_t now_ns)
{
	uint64_t took_ns = now_ns - trip->sent_ns, longest_ns = timeout_ns / LONGEST_PART;

	trip->timing = false;
	smooth(trip, timeout_ns && took_ns > longest_ns ? longest_ns : took_ns);
}
