/* rest.c - ids in time-wait, found by number and by peer, and which of them ends next */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/rest.h"

#include "cm/memory.h"

#define NONE UINT32_MAX

uint64_t cm_rests_bytes(uint32_t room)
{
	return memory_lines(sizeof(struct cm_rest) * room) + 2 * memory_heads_bytes(room) + cm_deadlines_bytes(room);
}

void cm_rests_init(struct cm_rests *rests, uint8_t **memory, uint32_t room, const uint8_t key[16])
{
	rests->entries = memory_cut(memory, sizeof(struct cm_rest) * room);
	rests->by_id = memory_cut_heads(memory, room);
	rests->by_peer = memory_cut_heads(memory, room);
	cm_deadlines_init(&rests->until, memory, room);
	rests->quota.all_max = room;
	rests->quota.of_one_max = (room + 1) / 2;
	memcpy(rests->key, key, sizeof(rests->key));
	for (uint32_t i = 0; i < room; i++)
		rests->entries[i].next_id = i + 1 < room ? i + 1 : NONE;
}

static uint32_t *head_of_id(const struct cm_rests *rests, uint32_t id)
{
	return &rests->by_id[cm_hash_place(rests->key, &id, sizeof(id)) & (memory_heads(rests->quota.all_max) - 1)];
}

static uint32_t *head_of_peer(const struct cm_rests *rests, const uint8_t peer[16], uint32_t remote_id)
{
	return &rests->by_peer[cm_hash_peer(rests->key, peer, remote_id) & (memory_heads(rests->quota.all_max) - 1)];
}

void cm_rests_begin(struct cm_rests *rests, const uint8_t peer[16], uint32_t local_id, uint32_t remote_id,
		    uint64_t until_ns)
{
	uint32_t index = rests->free, *by_id = head_of_id(rests, local_id);
	uint32_t *by_peer = head_of_peer(rests, peer, remote_id);
	struct cm_rest *rest = &rests->entries[index];

	rests->free = rest->next_id;
	*rest = (struct cm_rest){
		.local_id = local_id,
		.remote_id = remote_id,
		.next_id = *by_id,
		.next_peer = *by_peer,
		.source = quota_source(rests->key, peer),
	};
	memcpy(rest->peer, peer, sizeof(rest->peer));
	*by_id = *by_peer = index;
	quota_take(&rests->quota, rest->source);
	cm_deadlines_set(&rests->until, index, until_ns);
}

static void end(struct cm_rests *rests, uint32_t index)
{
	struct cm_rest *rest = &rests->entries[index];
	uint32_t *link = head_of_id(rests, rest->local_id);

	while (*link != index)
		link = &rests->entries[*link].next_id;
	*link = rest->next_id;
	link = head_of_peer(rests, rest->peer, rest->remote_id);
	while (*link != index)
		link = &rests->entries[*link].next_peer;
	*link = rest->next_peer;
	quota_release(&rests->quota, rest->source);
	cm_deadlines_set(&rests->until, index, CM_NEVER);
	rest->next_id = rests->free;
	rests->free = index;
}

void cm_rests_wake(struct cm_rests *rests, uint64_t now_ns)
{
	uint32_t index;

	while (cm_deadlines_due(&rests->until, now_ns, &index))
		end(rests, index);
}

bool cm_rests_has_id(const struct cm_rests *rests, uint32_t local_id)
{
	uint32_t at = *head_of_id(rests, local_id);

	while (at != NONE && rests->entries[at].local_id != local_id)
		at = rests->entries[at].next_id;
	return at != NONE;
}

bool cm_rests_has_peer(const struct cm_rests *rests, const uint8_t peer[16], uint32_t remote_id)
{
	uint32_t at = *head_of_peer(rests, peer, remote_id);

	while (at != NONE &&
	       (rests->entries[at].remote_id != remote_id || memcmp(rests->entries[at].peer, peer, 16) != 0))
		at = rests->entries[at].next_peer;
	return at != NONE;
}
