/* probe.c - when to ask early */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/probe.h"
#include "rc/qp.h"

#define SHORTEST_NS 100000ull /* a busy peer takes so long to come round */

void rc_probe_reset(struct rc_probe *probe)
{
	*probe = (struct rc_probe){ .enabled = probe->enabled, .deadline_ns = RC_NEVER };
}

/* As TCP smooths it: an eighth and a quarter of what is new. */
void rc_probe_take_round_trip(struct rc_probe *probe, uint64_t rtt_ns)
{
	uint64_t error = rtt_ns > probe->rtt_ns ? rtt_ns - probe->rtt_ns : probe->rtt_ns - rtt_ns;

	if (probe->rtt_ns == 0) {
		probe->rtt_ns = rtt_ns;
		probe->deviation_ns = rtt_ns / 2;
		return;
	}
	probe->deviation_ns = (3 * probe->deviation_ns + error) / 4;
	probe->rtt_ns = (7 * probe->rtt_ns + rtt_ns) / 8;
}

/* How long nothing may come before it is suspicious. A QP that knows no round trip yet guesses by its timeout. */
static uint64_t patience_ns(const struct rc_qp *qp)
{
	const struct rc_probe *probe = &qp->probe;
	uint64_t patience = 2 * probe->rtt_ns + 4 * probe->deviation_ns;

	if (probe->rtt_ns == 0)
		patience = qp->retry.timeout_ns / 32;
	return (patience < SHORTEST_NS ? SHORTEST_NS : patience) << probe->tries;
}

void rc_probe_start(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_probe *probe = &qp->probe;
	uint64_t patience = patience_ns(qp);

	/* The ACK timer comes first: nothing is won by asking. It also bounds the number of tries. */
	probe->deadline_ns = probe->enabled && patience < qp->retry.timeout_ns ? now_ns + patience : RC_NEVER;
}

void rc_probe_stop(struct rc_probe *probe)
{
	probe->deadline_ns = RC_NEVER;
	probe->due = probe->asking = false;
}
