/* replay.c - the replay cache and the queue of responses */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <string.h>

#include "config/limits.h"
#include "rc/replay.h"
#include "rc/ring_size.h"

uint64_t rc_replay_bytes(uint32_t limit)
{
	uint64_t bytes = limit * sizeof(struct rc_replay_entry) + ring_size_at_least(limit) * sizeof(uint16_t);

	return (bytes + 15) & ~15ull;
}

static uint16_t *buckets_of(const struct rc_replay *replay)
{
	return (uint16_t *)(void *)(replay->entries + replay->limit);
}

void rc_replay_place(struct rc_replay *replay, void *memory, uint32_t limit)
{
	replay->entries = memory;
	replay->limit = (uint16_t)limit;
	replay->bucket_mask = ring_size_at_least(limit) - 1;
	rc_replay_reset(replay, 0);
}

void rc_replay_reset(struct rc_replay *replay, uint32_t depth)
{
	assert(depth <= replay->limit);
	replay->depth = (uint16_t)depth;
	replay->oldest = replay->used = replay->unfinished = 0;
	replay->queue_head = replay->queue_tail = REPLAY_NONE;
	memset(buckets_of(replay), 0xFF, (replay->bucket_mask + 1) * sizeof(uint16_t));
}

/* A multiplicative hash: consecutive READs own many PSNs each, so their low bits alone would fill few buckets. */
static uint16_t *bucket(const struct rc_replay *replay, psn_t psn)
{
	return &buckets_of(replay)[(psn.v * 0x9E3779B1u >> 16) & replay->bucket_mask];
}

static uint16_t index_of(const struct rc_replay *replay, const struct rc_replay_entry *entry)
{
	return (uint16_t)(entry - replay->entries);
}

/* The n-th oldest entry. */
static struct rc_replay_entry *nth(const struct rc_replay *replay, uint32_t n)
{
	uint32_t index = replay->oldest + n;

	return &replay->entries[index >= replay->limit ? index - replay->limit : index];
}

static void unlink_from_queue(struct rc_replay *replay, struct rc_replay_entry *entry)
{
	uint16_t index = index_of(replay, entry);
	uint16_t *link = &replay->queue_head;
	uint16_t before = REPLAY_NONE;

	while (*link != index) {
		before = *link;
		link = &replay->entries[*link].queue_next;
	}
	*link = entry->queue_next;
	if (replay->queue_tail == index)
		replay->queue_tail = before;
	entry->queued = false;
	if (!entry->repeated)
		replay->unfinished--;
}

static void evict_oldest(struct rc_replay *replay)
{
	struct rc_replay_entry *entry = nth(replay, 0);
	uint16_t index = index_of(replay, entry);
	uint16_t *link = bucket(replay, entry->first_psn);

	/* An entry that is still queued was answered once and asked for again, but the peer has moved on since. */
	if (entry->queued)
		unlink_from_queue(replay, entry);
	while (*link != index)
		link = &replay->entries[*link].hash_next;
	*link = entry->hash_next;
	replay->oldest = (uint16_t)(replay->oldest + 1 == replay->limit ? 0 : replay->oldest + 1);
	replay->used--;
}

/*
 * Evicts entries that no duplicate can ask for once ePSN is `count` ahead of epsn. The sum does not wrap, because
 * neither part is more than half of all PSNs.
 */
static inline void forget_out_of_reach(struct rc_replay *replay, psn_t epsn, uint32_t count)
{
	while (replay->used) {
		const struct rc_replay_entry *oldest = nth(replay, 0);
		psn_t last = psn_add(oldest->first_psn, oldest->psn_count - 1);

		if (psn_distance(epsn, last) + count <= PSN_WINDOW)
			return;
		evict_oldest(replay);
	}
}

struct rc_replay_entry *rc_replay_insert(struct rc_replay *replay, psn_t psn, uint32_t psn_count)
{
	struct rc_replay_entry *entry;
	uint16_t *head = bucket(replay, psn);

	assert(replay->unfinished < replay->depth);
	if (psn_count > 1) /* one PSN: rc_replay_expire() has done it */
		forget_out_of_reach(replay, psn, psn_count);
	while (replay->used >= replay->depth) /* after rc_replay_set_depth() there may be several entries too many */
		evict_oldest(replay);
	replay->epsn = psn_add(psn, psn_count);
	entry = nth(replay, replay->used++);
	*entry = (struct rc_replay_entry){
		.first_psn = psn,
		.unsent_psn = psn,
		.psn_count = psn_count,
		.hash_next = *head,
	};
	*head = index_of(replay, entry);
	return entry;
}

/*
 * A smaller depth evicts the oldest entries, but none that is not answered yet. The unanswered entries are the newest,
 * and fewer than the depth when the next request comes in (S-12).
 */
void rc_replay_set_depth(struct rc_replay *replay, uint32_t depth)
{
	assert(depth <= replay->limit);
	replay->depth = (uint16_t)depth;
	while (replay->used > depth && replay->used > replay->unfinished)
		evict_oldest(replay);
}

void rc_replay_expire(struct rc_replay *replay, psn_t epsn)
{
	forget_out_of_reach(replay, epsn, 0);
	replay->epsn = epsn;
}

struct rc_replay_entry *rc_replay_find(const struct rc_replay *replay, psn_t psn)
{
	for (uint16_t i = *bucket(replay, psn); i != REPLAY_NONE; i = replay->entries[i].hash_next) {
		if (psn_equal(replay->entries[i].first_psn, psn))
			return &replay->entries[i];
	}
	return NULL;
}

/* Does a come before b? Both lie behind ePSN or at it. */
static bool comes_before(const struct rc_replay *replay, psn_t a, psn_t b)
{
	return psn_distance(replay->epsn, a) > psn_distance(replay->epsn, b);
}

/* How many entries begin at psn or before. */
static uint32_t count_up_to(const struct rc_replay *replay, psn_t psn)
{
	uint32_t low = 0, high = replay->used;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (comes_before(replay, psn, nth(replay, middle)->first_psn))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

struct rc_replay_entry *rc_replay_find_owner(const struct rc_replay *replay, psn_t psn)
{
	uint32_t count = count_up_to(replay, psn);
	struct rc_replay_entry *entry;

	if (count == 0)
		return NULL;
	entry = nth(replay, count - 1);
	return psn_distance(psn, entry->first_psn) < entry->psn_count ? entry : NULL;
}

struct rc_replay_entry *rc_replay_find_after(const struct rc_replay *replay, psn_t psn)
{
	uint32_t count = count_up_to(replay, psn);

	return count < replay->used ? nth(replay, count) : NULL;
}

/* The link behind which an entry belongs: responses leave in request order, also in front of one under way (S-14). */
static uint16_t *place_in_queue(struct rc_replay *replay, psn_t psn)
{
	uint16_t *link = &replay->queue_head;

	if (replay->queue_tail == REPLAY_NONE)
		return link;
	/* the usual case: a new request is queued behind the tail; only a repeated one may be queued before the tail */
	if (comes_before(replay, replay->entries[replay->queue_tail].first_psn, psn))
		return &replay->entries[replay->queue_tail].queue_next;
	while (comes_before(replay, replay->entries[*link].first_psn, psn))
		link = &replay->entries[*link].queue_next;
	return link;
}

void rc_replay_queue(struct rc_replay *replay, struct rc_replay_entry *entry, psn_t begin, uint32_t count,
		     uint32_t end_bytes)
{
	uint16_t index = index_of(replay, entry), *link;

	entry->stretch = (struct rc_stretch){
		.begin_psn = begin,
		.send_psn = begin,
		.end_psn = psn_add(begin, count),
		.end_bytes = end_bytes,
	};
	if (entry->queued)
		return;
	entry->queued = true;
	link = place_in_queue(replay, entry->first_psn);
	entry->queue_next = *link;
	if (*link == REPLAY_NONE)
		replay->queue_tail = index;
	*link = index;
	if (!entry->repeated)
		replay->unfinished++;
}

struct rc_replay_entry *rc_replay_head(const struct rc_replay *replay)
{
	return replay->queue_head == REPLAY_NONE ? NULL : &replay->entries[replay->queue_head];
}

void rc_replay_pop(struct rc_replay *replay)
{
	struct rc_replay_entry *entry = &replay->entries[replay->queue_head];

	replay->queue_head = entry->queue_next;
	if (replay->queue_head == REPLAY_NONE)
		replay->queue_tail = REPLAY_NONE;
	entry->queued = false;
	if (!entry->repeated)
		replay->unfinished--;
	entry->repeated = true;
}
