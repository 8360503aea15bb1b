/* probe.h - asking early when progress stops, so that a lost NAK, ACK or tail does not cost a timeout */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every loss in the middle of a flight shows by a NAK or an answer that is missing. What shows by nothing: the last
 * packet lost, the ACK lost, the NAK lost, the first resent packet lost. All of them look the same: nothing comes any
 * more. Some round trips after the last progress the oldest packet goes out once more, asking for an ACK, and the
 * newest behind it: whoever has them answers with an ACK of everything, whoever misses the oldest takes it and NAKs
 * the gap behind it. No retry is spent and the ACK timer runs on: a peer that is dead is found by that alone.
 */
#ifndef RC_PROBE_H
#define RC_PROBE_H

#include <stdbool.h>
#include <stdint.h>

struct rc_qp;

struct rc_probe {
	bool enabled;
	bool due;             /* the next transmit begins with it */
	bool asking;          /* the oldest packet is going out, the newest follows */
	uint8_t tries;        /* since the last progress: each waits twice as long as the one before */
	uint64_t deadline_ns; /* RC_NEVER: not running */
	uint64_t rtt_ns;      /* smoothed; 0: none measured */
	uint64_t deviation_ns;
};

void rc_probe_reset(struct rc_probe *probe);

/* A round trip was measured. */
void rc_probe_take_round_trip(struct rc_probe *probe, uint64_t rtt_ns);

/* Something is in flight and the peer was heard of, or it was sent just now. */
void rc_probe_start(struct rc_qp *qp, uint64_t now_ns);

/* Nothing is in flight, or something else decides when to send. */
void rc_probe_stop(struct rc_probe *probe);

#endif
