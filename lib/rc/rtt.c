/* rtt.c - the mean of what was timed, and how far it varies */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/rtt.h"

#define LONGEST_PART 2u /* of the timeout */
#define SHORTEST_MAX_NS ((1u << 31) - 1)
#define AGEING 256u /* so many measures later a way that has become longer is known as such */

void rc_rtt_reset(struct rc_rtt *trip)
{
	*trip = (struct rc_rtt){ 0 };
}

/* As TCP smooths it: an eighth and a quarter of what is new; the first one counts whole. */
static void smooth(struct rc_rtt *trip, uint64_t took_ns)
{
	uint64_t error = took_ns > trip->srtt_ns ? took_ns - trip->srtt_ns : trip->srtt_ns - took_ns;

	if (trip->srtt_ns == 0) {
		trip->srtt_ns = took_ns;
		trip->rttvar_ns = took_ns / 2;
		return;
	}
	trip->rttvar_ns = (3 * trip->rttvar_ns + error) / 4;
	trip->srtt_ns = (7 * trip->srtt_ns + took_ns) / 8;
}

/* A way may become longer, and then nothing is as short as it was: each measure draws the shortest a little up. */
static void note_shortest(struct rc_rtt *trip, uint64_t took_ns)
{
	uint32_t took = took_ns < SHORTEST_MAX_NS ? (uint32_t)took_ns : SHORTEST_MAX_NS, shortest = trip->shortest_ns;

	trip->shortest_ns = shortest == 0 || took < shortest ? took : shortest + (took - shortest) / AGEING;
}

/*
 * A measure near the timeout is one during which our own thread was away, and would end all early questions for long:
 * it is not smoothed as it is.
 */
void rc_rtt_end(struct rc_rtt *trip, uint64_t timeout_ns, uint64_t now_ns)
{
	uint64_t took_ns = now_ns - trip->sent_ns, longest_ns = timeout_ns / LONGEST_PART;

	trip->timing = false;
	note_shortest(trip, took_ns);
	smooth(trip, timeout_ns && took_ns > longest_ns ? longest_ns : took_ns);
}
