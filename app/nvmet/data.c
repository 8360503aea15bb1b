/* data.c - the memory of commands under way: buffers of the pool, shared fairly between hosts */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/data.h"

#include "nvmet/region.h"

void data_return(struct slot *slot)
{
	struct pool *pool = &slot->queue->lane->pool;

	if (slot->pool_bytes) {
		pool_return(pool, slot->data, slot->pool_bytes);
		slot->queue->peer->buffers -= pool_units(slot->pool_bytes);
	}
	if (slot->store)
		store_leave(slot->store, slot->queue->lane->index);
	slot->store = NULL;
	slot->pool_bytes = 0;
	slot->data = NULL;
}

bool data_has_share(const struct slot *slot)
{
	uint32_t held = slot->queue->peer->buffers;

	return held == 0 || share_allows(&slot->queue->lane->pool.units, held, pool_units(slot->command.data_bytes));
}

bool data_take(struct slot *slot)
{
	struct queue *queue = slot->queue;
	struct lane *lane = queue->lane;
	struct pool *pool = &lane->pool;

	if (!lane->serves_waiting && !STAILQ_EMPTY(&lane->waiting))
		return false;
	slot->data = data_has_share(slot) ? pool_take(pool, slot->command.data_bytes) : NULL;
	if (slot->data == NULL)
		return false;
	slot->pool_bytes = slot->command.data_bytes;
	queue->peer->buffers += pool_units(slot->pool_bytes);
	slot->data_lkey = lane->pool_region->lkeys[queue->port_index];
	return true;
}

void data_await(struct slot *slot)
{
	struct queue *queue = slot->queue;
	struct lane *lane = queue->lane;

	STAILQ_INSERT_TAIL(&queue->waiting, slot, next_waiting);
	lane_count(&lane->counts.waits_for_memory, 1);
	if (queue->in_waiting)
		return;
	queue->in_waiting = true;
	STAILQ_INSERT_TAIL(&lane->waiting, queue, next_waiting);
}
