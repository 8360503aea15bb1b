/* share.h - how much of a pool one holder may take, when many holders share the pool */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packets of a peer take places in pools that all peers use: boards, kept packets, half-open connections, buffers.
 * Whoever takes all it can must leave the others enough to work. So a holder takes what it wants only if it then has no
 * more than was free before:
 *     held + wanted <= free
 * One holder gets half of a pool, and the next one half of the rest. What a holder of nothing wants it gets, as long as
 * so much is free.
 *
 * A pool has a holder for each peer, not for each QP or connection: a peer has as many of these as it likes.
 */
#ifndef SHARE_SHARE_H
#define SHARE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "share/hash.h"

/* A pool of places. */
struct share {
	uint32_t size, used;
};

/* May a holder of `held` places take `wanted` more? */
static inline bool share_allows(const struct share *pool, uint32_t held, uint32_t wanted)
{
	return (uint64_t)held + wanted <= pool->size - pool->used;
}

/* Takes `wanted` places for the holder, or none. Returns whether the holder may have them. */
static inline bool share_take(struct share *pool, uint32_t *held, uint32_t wanted)
{
	if (!share_allows(pool, *held, wanted))
		return false;
	pool->used += wanted;
	*held += wanted;
	return true;
}

/* The holder gives back places that it has taken. */
static inline void share_give(struct share *pool, uint32_t *held, uint32_t given)
{
	pool->used -= given;
	*held -= given;
}

/* ---- holders that are known only by their address ---- */

#define SHARE_PEERS 4096u

/*
 * A pool whose holders are addresses. They are counted by a keyed hash: nobody can choose whom to share a counter with.
 */
struct share_peers {
	struct share pool;
	uint32_t held[SHARE_PEERS];
};

/* The counter of this address. key: 16 random bytes. */
static inline uint16_t share_peer(const uint8_t key[16], const uint8_t addr[16])
{
	return (uint16_t)(share_hash_table(key, addr, 16) % SHARE_PEERS);
}

/* Makes the pool empty. */
static inline void share_peers_init(struct share_peers *peers, uint32_t size)
{
	*peers = (struct share_peers){ .pool = { .size = size } };
}

static inline bool share_peers_allow(const struct share_peers *peers, uint16_t peer, uint32_t wanted)
{
	return share_allows(&peers->pool, peers->held[peer], wanted);
}

/*
 * May the peer take `wanted` places once `giver` has given back `given`? If it has given them itself it may have as
 * many again, even if others have made its share smaller meanwhile.
 */
static inline bool share_peers_allow_after(const struct share_peers *peers, uint16_t giver, uint32_t given,
					   uint16_t peer, uint32_t wanted)
{
	const struct share after = { .size = peers->pool.size, .used = peers->pool.used - given };

	return peer == giver || share_allows(&after, peers->held[peer], wanted);
}

/* Takes places that the peer may have: share_peers_allow() or share_peers_allow_after() has said so. */
static inline void share_peers_add(struct share_peers *peers, uint16_t peer, uint32_t added)
{
	peers->pool.used += added;
	peers->held[peer] += added;
}

static inline bool share_peers_take(struct share_peers *peers, uint16_t peer, uint32_t wanted)
{
	return share_take(&peers->pool, &peers->held[peer], wanted);
}

static inline void share_peers_give(struct share_peers *peers, uint16_t peer, uint32_t given)
{
	share_give(&peers->pool, &peers->held[peer], given);
}

#endif
