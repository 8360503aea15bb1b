/* probe.c - when to ask early */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/probe.h"
#include "rc/retry.h"

#define LONGEST_PART 8u /* of the timeout */

void rc_probe_reset(struct rc_probe *probe)
{
	*probe = (struct rc_probe){ .enabled = probe->enabled, .deadline_ns = RC_NEVER };
}

/*
 * As TCP smooths it: an eighth and a quarter of what is new. A measure near the timeout is one during which our own
 * thread was away, and would end all probes for long.
 */
void rc_probe_take_round_trip(struct rc_probe *probe, uint64_t timeout_ns, uint64_t rtt_ns)
{
	uint64_t error;

	probe->tries = 0;
	if (timeout_ns && rtt_ns > timeout_ns / LONGEST_PART)
		rtt_ns = timeout_ns / LONGEST_PART;
	error = rtt_ns > probe->rtt_ns ? rtt_ns - probe->rtt_ns : probe->rtt_ns - rtt_ns;
	if (probe->rtt_ns == 0) {
		probe->rtt_ns = rtt_ns;
		probe->deviation_ns = rtt_ns / 2;
		return;
	}
	probe->deviation_ns = (3 * probe->deviation_ns + error) / 4;
	probe->rtt_ns = (7 * probe->rtt_ns + rtt_ns) / 8;
}
