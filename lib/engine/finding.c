/* finding.c - judges why a peer did not answer */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/finding.h"

#include <stddef.h>

/* What a counter of our port tells when it has grown. */
struct sign {
	enum rc_counter counter;
	enum uroce_finding finding;
};

static const struct sign signs_of_port[] = {
	{ CNT_PORT_ADDRESS_CONFLICT, UROCE_FINDING_ADDRESS_CONFLICT },
	{ CNT_PORT_STUCK, UROCE_FINDING_PORT_STUCK },
	{ CNT_PORT_HELD, UROCE_FINDING_PORT_STUCK },
};

/* Frames that came and were dropped. They may be of others, so they say nothing about a peer that sends no echo. */
static const struct sign signs_of_frames[] = {
	{ CNT_PORT_RX_ICRC, UROCE_FINDING_CORRUPTION },
	{ CNT_PORT_UDP_CHECKSUM, UROCE_FINDING_CORRUPTION },
	{ CNT_PORT_PKEY, UROCE_FINDING_PKEY },
	{ CNT_PORT_VLAN, UROCE_FINDING_VLAN },
	{ CNT_PORT_ADDRESS, UROCE_FINDING_ADDRESS },
	{ CNT_PORT_RING_FULL, UROCE_FINDING_RING_FULL },
	{ CNT_PORT_HANDOVER_FULL, UROCE_FINDING_RING_FULL },
};

/* Does the cause leave open why? */
static bool is_silence(enum uroce_cause cause)
{
	return cause == UROCE_CAUSE_TIMEOUT || cause == UROCE_CAUSE_SEQUENCE_NAK || cause == UROCE_CAUSE_IMPLIED_NAK ||
	       cause == UROCE_CAUSE_UNRESOLVED || cause == UROCE_CAUSE_KEEPALIVE;
}

/* The first sign whose counter has grown, or UROCE_FINDING_NONE. */
static enum uroce_finding first_sign(const struct engine_facts *facts, const struct sign *signs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t index = signs[i].counter - CNT_QP_COUNTERS;

		if (facts->now.counters[index] > facts->then.counters[index])
			return signs[i].finding;
	}
	return UROCE_FINDING_NONE;
}

/* What the echoes tell of a peer. */
static enum uroce_finding judge_echoes(const struct engine_facts *facts)
{
	switch (facts->ping) {
	case PING_SHORT:
		return UROCE_FINDING_SIZE;
	case PING_ALL:
		return facts->cause == UROCE_CAUSE_TIMEOUT || facts->cause == UROCE_CAUSE_KEEPALIVE ?
			       UROCE_FINDING_PEER_QP :
			       UROCE_FINDING_LOSS;
	case PING_SILENT:
	case PING_UNKNOWN:
		break;
	}
	if (facts->now.link_downs != facts->then.link_downs)
		return UROCE_FINDING_LINK_FLAPPED;
	return facts->ping == PING_SILENT ? UROCE_FINDING_PEER_SILENT : UROCE_FINDING_NONE;
}

enum uroce_finding engine_finding_judge(const struct engine_facts *facts)
{
	enum uroce_finding finding;

	if (!is_silence(facts->cause))
		return UROCE_FINDING_NONE;
	if (facts->link_is_down)
		return UROCE_FINDING_NO_LINK;
	if (facts->now.away_ns - facts->then.away_ns > facts->silence_ns / 2)
		return UROCE_FINDING_NOT_POLLED;
	if (facts->frames_wait && facts->now.tx_frames == facts->then.tx_frames)
		return UROCE_FINDING_PORT_STUCK;
	finding = first_sign(facts, signs_of_port, sizeof(signs_of_port) / sizeof(signs_of_port[0]));
	if (finding == UROCE_FINDING_NONE && facts->ping != PING_SILENT)
		finding = first_sign(facts, signs_of_frames, sizeof(signs_of_frames) / sizeof(signs_of_frames[0]));
	return finding == UROCE_FINDING_NONE ? judge_echoes(facts) : finding;
}
