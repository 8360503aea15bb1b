/* burst.h - how many packets are sent at a time: packets of requests, or READ responses */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets behind a lost one are sent in vain, until the peer's NAK or its second request for a READ has come. So after
 * a loss a call of rc_qp_transmit() sends only a few packets; the limit grows again while nothing is lost.
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
	uint16_t since_loss; /* packets sent since the limit last changed */
};

/* Nothing was lost lately: no limit. */
static inline void burst_reset(struct rc_burst *burst)
{
	*burst = (struct rc_burst){ .packets = OUTBOX_PACKETS };
}

/* A packet was lost and is about to be sent again: the limit shrinks. */
static inline void burst_notice_loss(struct rc_burst *burst)
{
	*burst = (struct rc_burst){ .packets = BURST_AFTER_LOSS };
}

/* Is the limit as high as an outbox can hold? Then it limits nothing. */
static inline bool burst_is_full(const struct rc_burst *burst)
{
	return burst->packets >= OUTBOX_PACKETS;
}

/* `sent` packets have left: the limit may grow. */
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
