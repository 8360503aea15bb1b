/* rtt.c - mean and deviation of the round trip */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/rtt.h"

#define LONGEST_PART 2u /* the longest measure that counts, as a part of the timeout */
#define SHORTEST_MAX_NS ((1u << 31) - 1)
/* a longer measure raises the shortest round trip by this part of the difference */
#define AGEING 256u

void rc_rtt_reset(struct rc_rtt *trip)
{
	*trip = (struct rc_rtt){ 0 };
}

/*
 * Smooths as TCP does: a new measure counts for an eighth of the mean and a quarter of the deviation; the first one
 * whole.
 */
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

/* A path may become longer, and then its shortest round trip does, too: so each longer measure raises it a little. */
static void note_shortest(struct rc_rtt *trip, uint64_t took_ns)
{
	uint32_t took = took_ns < SHORTEST_MAX_NS ? (uint32_t)took_ns : SHORTEST_MAX_NS, shortest = trip->shortest_ns;

	trip->shortest_ns = shortest == 0 || took < shortest ? took : shortest + (took - shortest) / AGEING;
}

/*
 * A measure near the timeout probably means that our own thread did not run, and would keep probes away for long: it
 * counts for at most timeout_ns / LONGEST_PART.
 */
void rc_rtt_end(struct rc_rtt *trip, uint64_t timeout_ns, uint64_t now_ns)
{
	uint64_t took_ns = now_ns - trip->sent_ns, longest_ns = timeout_ns / LONGEST_PART;

	trip->timing = false;
	note_shortest(trip, took_ns);
	smooth(trip, timeout_ns && took_ns > longest_ns ? longest_ns : took_ns);
}
