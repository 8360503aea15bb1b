/* loss_quota.h - how many packets go out at a time: a requester's, or a responder's READ responses */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What goes out behind a lost packet is sent in vain, until the peer's NAK has come back, or its second request for a
 * READ. After a loss a call of rc_qp_transmit() sends at most so many packets, and more again the longer nothing is
 * lost.
 */
#ifndef RC_LOSS_QUOTA_H
#define RC_LOSS_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "config/limits.h"

#define QUOTA_AFTER_LOSS 8u
#define PACKETS_BEFORE_GROWTH 256u

struct rc_loss_quota {
	uint16_t packets;
	uint16_t since_loss; /* packets sent since that was last changed */
};

/* Nothing was lost lately. */
static inline void loss_quota_reset(struct rc_loss_quota *quota)
{
	*quota = (struct rc_loss_quota){ .packets = OUTBOX_PACKETS };
}

/* Something was lost, the window has been rewound. */
static inline void loss_quota_notice_loss(struct rc_loss_quota *quota)
{
	*quota = (struct rc_loss_quota){ .packets = QUOTA_AFTER_LOSS };
}

/* As many as an outbox holds: nothing is held back. */
static inline bool loss_quota_is_full(const struct rc_loss_quota *quota)
{
	return quota->packets >= OUTBOX_PACKETS;
}

/* So many packets have been sent. */
static inline void loss_quota_grow(struct rc_loss_quota *quota, uint32_t sent)
{
	if (loss_quota_is_full(quota))
		return;
	quota->since_loss = (uint16_t)(quota->since_loss + sent);
	if (quota->since_loss < PACKETS_BEFORE_GROWTH)
		return;
	quota->since_loss = 0;
	quota->packets = (uint16_t)(quota->packets + QUOTA_AFTER_LOSS);
}

#endif
