/* refusal.c - a ring of refusals, found by the peer that was refused */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/refusal.h"

#include <string.h>

#include "cm/memory.h"
#include "config/limits.h"

uint64_t cm_refusals_bytes(uint32_t room)
{
	return memory_lines(sizeof(struct cm_refusal) * room) + memory_heads_bytes(room);
}

void cm_refusals_init(struct cm_refusals *refusals, uint8_t **memory, uint32_t room, const uint8_t key[16])
{
	refusals->ring = memory_cut(memory, sizeof(struct cm_refusal) * room);
	refusals->by_peer = memory_cut_heads(memory, room);
	share_peers_init(&refusals->room, room);
	memcpy(refusals->key, key, sizeof(refusals->key));
}

static uint32_t *head_of(const struct cm_refusals *refusals, const struct cm_route *route, uint32_t remote_id)
{
	uint32_t mask = memory_heads(refusals->room.pool.size) - 1;

	return &refusals->by_peer[share_hash_peer(refusals->key, route->dest, remote_id) & mask];
}

static void forget_oldest(struct cm_refusals *refusals)
{
	struct cm_refusal *oldest = &refusals->ring[refusals->head];
	uint32_t *link = head_of(refusals, &oldest->route, oldest->remote_id);

	while (*link != refusals->head)
		link = &refusals->ring[*link].next;
	*link = oldest->next;
	share_peers_give(&refusals->room, oldest->source, 1);
	refusals->head = (refusals->head + 1) % refusals->room.pool.size;
}

static void forget_old_ones(struct cm_refusals *refusals, uint64_t now_ns)
{
	while (refusals->room.pool.used && refusals->ring[refusals->head].until_ns <= now_ns)
		forget_oldest(refusals);
}

bool cm_refusals_keep(struct cm_refusals *refusals, const struct cm_refusal *refusal, uint64_t now_ns)
{
	uint16_t source = share_peer(refusals->key, refusal->route.dest);
	uint32_t index, *head = head_of(refusals, &refusal->route, refusal->remote_id);
	const struct share *pool = &refusals->room.pool;
	bool evicts;

	forget_old_ones(refusals, now_ns);
	evicts = pool->used == pool->size && refusals->room.held[source] == 0;
	if (evicts)
		forget_oldest(refusals);
	index = (refusals->head + pool->used) % pool->size;
	if (!share_peers_take(&refusals->room, source, 1))
		return false;
	refusals->ring[index] = *refusal;
	refusals->ring[index].source = source;
	refusals->ring[index].until_ns = now_ns + CM_REFUSAL_NS;
	refusals->ring[index].next = *head;
	*head = index;
	return !evicts;
}

const struct cm_refusal *cm_refusals_find(struct cm_refusals *refusals, const struct cm_route *route,
					  uint32_t remote_id, uint32_t qpn, uint64_t now_ns)
{
	uint32_t at;

	forget_old_ones(refusals, now_ns);
	for (at = *head_of(refusals, route, remote_id); at != CM_NONE; at = refusals->ring[at].next) {
		const struct cm_refusal *one = &refusals->ring[at];

		if (one->remote_id == remote_id && one->qpn == qpn && route_is_same(&one->route, route))
			return one;
	}
	return NULL;
}
