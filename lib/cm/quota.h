/* quota.h - bounds of what all peers together, and each of them, may hold (C-22) */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CM_QUOTA_H
#define CM_QUOTA_H

#include <stdbool.h>

#include "share/hash.h"

/* Peers are counted by a keyed hash of the address: nobody can choose another peer to share a counter with. */
#define CM_SOURCES 4096u

struct cm_quota {
	uint32_t all_max, of_one_max;
	uint32_t all, of[CM_SOURCES];
};

static inline uint16_t quota_source(const uint8_t key[16], const uint8_t addr[16])
{
	return (uint16_t)(share_hash_table(key, addr, 16) % CM_SOURCES);
}

static inline bool quota_is_full(const struct cm_quota *quota)
{
	return quota->all >= quota->all_max;
}

static inline bool quota_is_full_of(const struct cm_quota *quota, uint16_t source)
{
	return quota->of[source] >= quota->of_one_max;
}

static inline void quota_hold(struct cm_quota *quota, uint16_t source)
{
	quota->all++;
	quota->of[source]++;
}

static inline void quota_release(struct cm_quota *quota, uint16_t source)
{
	quota->all--;
	quota->of[source]--;
}

#endif
