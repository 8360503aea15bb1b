/* read_quota.h - how much may be in flight after losses: packets sent, and responses to READs */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What goes out behind a lost packet is sent in vain, and so is the response to what is asked for behind a lost
 * response. A peer that is slow, or that finishes each response before it looks at the next request, is busy with that
 * for long, and where packets overtake each other each NAK would send a whole window again. So after a loss about as
 * much may be in flight as was got between the last two, and twice as much whenever a quota has come without one. What
 * waits in a queue is no part of it: in front of a peer that is slower than its link, nearly all of a window waits.
 */
#ifndef RC_READ_QUOTA_H
#define RC_READ_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "config/limits.h"
#include "rc/psn.h"

#define READ_QUOTA_LEAST 8u
#define READ_QUOTA_FIRST 256u      /* when nothing was lost before; each further loss at most halves it */
#define READ_QUOTA_FULL PSN_WINDOW /* nothing is held back */

struct rc_read_quota {
	uint32_t packets;    /* PSNs that may be in flight */
	psn_t restart;       /* snd_una when something was lost last */
	psn_t grown;         /* snd_una when the quota last changed */
	uint64_t restart_ns; /* when something was lost last; 0: nothing was */
};

static inline void read_quota_reset(struct rc_read_quota *quota, psn_t snd_una)
{
	*quota = (struct rc_read_quota){ .packets = READ_QUOTA_FULL, .restart = snd_una, .grown = snd_una };
}

static inline bool read_quota_is_full(const struct rc_read_quota *quota)
{
	return quota->packets >= READ_QUOTA_FULL;
}

/*
 * Something was lost: what is missing is asked for again from snd_una on. way_ns: how long a packet takes there and
 * back when it waits in no queue; 0: there is no queue, or nobody knows.
 */
static inline void read_quota_notice_loss(struct rc_read_quota *quota, psn_t snd_una, uint64_t way_ns, uint64_t now_ns)
{
	uint32_t got = psn_distance(snd_una, quota->restart);
	uint32_t half = quota->packets / 2 < READ_QUOTA_FIRST ? quota->packets / 2 : READ_QUOTA_FIRST;

	quota->packets = 2 * got > half ? 2 * got : half;
	if (way_ns && quota->restart_ns && now_ns > quota->restart_ns) {
		uint64_t carried = got * way_ns / (now_ns - quota->restart_ns); /* at a time, there and back */

		if (2 * carried < quota->packets)
			quota->packets = (uint32_t)(2 * carried);
	}
	if (quota->packets < READ_QUOTA_LEAST)
		quota->packets = READ_QUOTA_LEAST;
	if (quota->packets > READ_QUOTA_FULL)
		quota->packets = READ_QUOTA_FULL;
	quota->restart = quota->grown = snd_una;
	quota->restart_ns = now_ns;
}

/* Nothing has come for a whole ACK timeout: what the way carries in a round trip is found out from the start. */
static inline void read_quota_notice_silence(struct rc_read_quota *quota, psn_t snd_una)
{
	*quota = (struct rc_read_quota){ .packets = READ_QUOTA_LEAST, .restart = snd_una, .grown = snd_una };
}

/* A whole quota may have come since it last changed. */
static inline void read_quota_grow(struct rc_read_quota *quota, psn_t snd_una)
{
	if (read_quota_is_full(quota) || psn_distance(snd_una, quota->grown) < quota->packets)
		return;
	quota->grown = snd_una;
	quota->packets *= 2;
}

#endif
