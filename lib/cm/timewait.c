/* timewait.c - ids in time-wait, found by number and by peer, and which of them ends next */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/timewait.h"

#include "cm/memory.h"

#define NONE UINT32_MAX

uint64_t cm_timewait_bytes(uint32_t room)
{
	return memory_lines(sizeof(struct cm_timewait_entry) * room) + 2 * memory_heads_bytes(room) +
	       cm_deadlines_bytes(room);
}

void cm_timewait_init(struct cm_timewait *timewait, uint8_t **memory, uint32_t room, const uint8_t key[16])
{
	timewait->entries = memory_cut(memory, sizeof(struct cm_timewait_entry) * room);
	timewait->by_id = memory_cut_heads(memory, room);
	timewait->by_peer = memory_cut_heads(memory, room);
	cm_deadlines_init(&timewait->until, memory, room);
	share_peers_init(&timewait->room, room);
	memcpy(timewait->key, key, sizeof(timewait->key));
	for (uint32_t i = 0; i < room; i++)
		timewait->entries[i].next_id = i + 1 < room ? i + 1 : NONE;
}

static uint32_t *head_of_id(const struct cm_timewait *timewait, uint32_t id)
{
	return &timewait->by_id[share_hash_table(timewait->key, &id, sizeof(id)) &
				(memory_heads(timewait->room.pool.size) - 1)];
}

static uint32_t *head_of_peer(const struct cm_timewait *timewait, const uint8_t peer[16], uint32_t remote_id)
{
	return &timewait->by_peer[share_hash_peer(timewait->key, peer, remote_id) &
				  (memory_heads(timewait->room.pool.size) - 1)];
}

bool cm_timewait_has_room(const struct cm_timewait *timewait, uint16_t holder)
{
	const struct share *pool = &timewait->room.pool;

	if (holder == CM_TIMEWAIT_OWN)
		return share_allows(pool, 0, 1);
	/* the last eighth is not for strangers */
	return share_peers_allow(&timewait->room, holder, 1 + pool->size / 8);
}

void cm_timewait_reserve(struct cm_timewait *timewait, uint16_t holder)
{
	uint32_t none = 0;

	share_take(&timewait->room.pool, holder == CM_TIMEWAIT_OWN ? &none : &timewait->room.held[holder], 1);
}

void cm_timewait_release(struct cm_timewait *timewait, uint16_t holder)
{
	uint32_t one = 1;

	share_give(&timewait->room.pool, holder == CM_TIMEWAIT_OWN ? &one : &timewait->room.held[holder], 1);
}

void cm_timewait_begin(struct cm_timewait *timewait, const uint8_t peer[16], uint16_t holder, uint32_t local_id,
		       uint32_t remote_id, uint64_t until_ns)
{
	uint32_t index = timewait->free, *by_id = head_of_id(timewait, local_id);
	uint32_t *by_peer = head_of_peer(timewait, peer, remote_id);
	struct cm_timewait_entry *entry = &timewait->entries[index];

	timewait->free = entry->next_id;
	*entry = (struct cm_timewait_entry){
		.local_id = local_id,
		.remote_id = remote_id,
		.next_id = *by_id,
		.next_peer = *by_peer,
		.before_peer = NONE,
		.holder = holder,
	};
	memcpy(entry->peer, peer, sizeof(entry->peer));
	if (entry->next_peer != NONE)
		timewait->entries[entry->next_peer].before_peer = index;
	*by_id = *by_peer = index;
	cm_deadlines_set(&timewait->until, index, until_ns);
}

static void finish(struct cm_timewait *timewait, uint32_t index)
{
	struct cm_timewait_entry *entry = &timewait->entries[index];
	uint32_t *link = head_of_id(timewait, entry->local_id);

	while (*link != index)
		link = &timewait->entries[*link].next_id;
	*link = entry->next_id;
	if (entry->before_peer != NONE)
		timewait->entries[entry->before_peer].next_peer = entry->next_peer;
	else
		*head_of_peer(timewait, entry->peer, entry->remote_id) = entry->next_peer;
	if (entry->next_peer != NONE)
		timewait->entries[entry->next_peer].before_peer = entry->before_peer;
	cm_timewait_release(timewait, entry->holder);
	cm_deadlines_set(&timewait->until, index, CM_NEVER);
	entry->next_id = timewait->free;
	timewait->free = index;
}

void cm_timewait_wake(struct cm_timewait *timewait, uint64_t now_ns)
{
	uint32_t index;

	while (cm_deadlines_due(&timewait->until, now_ns, &index))
		finish(timewait, index);
}

bool cm_timewait_has_id(const struct cm_timewait *timewait, uint32_t local_id)
{
	uint32_t at = *head_of_id(timewait, local_id);

	while (at != NONE && timewait->entries[at].local_id != local_id)
		at = timewait->entries[at].next_id;
	return at != NONE;
}

bool cm_timewait_has_peer(const struct cm_timewait *timewait, const uint8_t peer[16], uint32_t remote_id)
{
	uint32_t at = *head_of_peer(timewait, peer, remote_id);

	while (at != NONE &&
	       (timewait->entries[at].remote_id != remote_id || memcmp(timewait->entries[at].peer, peer, 16) != 0))
		at = timewait->entries[at].next_peer;
	return at != NONE;
}
