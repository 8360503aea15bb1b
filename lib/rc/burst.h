/* burst.h - how many packets go out at a time: a requester's, or a responder's READ responses */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What goes out behind a lost packet is sent in vain, until the peer's NAK has come back, or its second request for a
 * READ. After a loss a call of rc_qp_transmit() sends at most so many packets, and more again the longer nothing is
 * lost.
 */
#ifndef RC_BURST_H
#define RC_BURST_H

#include <stdbool.h>
#include <stdint.h>

#include "config/limits.h"

#define BURST_AFTER_LOSS 8u
#define PACKETS_BEFORE_GROWTH 256u

struct rc_burst {
	uint16_t packets;
	uint16_t since_loss; /* packets sent since that was last changed */
};

/* Nothing was lost lately. */
static inline void burst_reset(struct rc_burst *burst)
{
	*burst = (struct rc_burst){ .packets = OUTBOX_PACKETS };
}

/* Something was lost, and is about to leave again. */
static inline void burst_notice_loss(struct rc_burst *burst)
{
	*burst = (struct rc_burst){ .packets = BURST_AFTER_LOSS };
}

/* As many as an outbox holds: nothing is held back. */
static inline bool burst_is_full(const struct rc_burst *burst)
{
	return burst->packets >= OUTBOX_PACKETS;
}

/* So many packets have been sent. */
static inline void burst_grow(struct rc_burst *burst, uint32_t sent)
{
	if (burst_is_full(burst))
		return;
	burst->since_loss = (uint16_t)(burst->since_loss + sent);
	if (burst->since_loss < PACKETS_BEFORE_GROWTH)
		return;
	burst->since_loss = 0;
	burst->packets = (uint16_t)(burst->packets + BURST_AFTER_LOSS);
}

#endif
