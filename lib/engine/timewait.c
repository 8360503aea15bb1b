/* timewait.c - a bitmap of the numbers in time-wait, and rings that say when their time-wait ends */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/log.h"
#include "engine/timewait.h"

#define FIRST_ROOM 4096u
#define WORD_BITS 64u

int engine_timewait_init(struct engine_timewait *timewait)
{
	rte_spinlock_init(&timewait->lock);
	memset(timewait->queues, 0, sizeof(timewait->queues));
	timewait->count = 0;
	/* memory pages are used only where numbers are in time-wait */
	timewait->bits = calloc(TIMEWAIT_NUMBERS / WORD_BITS, sizeof(*timewait->bits));
	return timewait->bits ? 0 :
				engine_refuse(-ENOMEM, "no memory for the QPNs in time-wait; use a smaller max_qps");
}

void engine_timewait_free(struct engine_timewait *timewait)
{
	for (uint32_t i = 0; i < TIMEWAIT_QUEUES; i++)
		free(timewait->queues[i].entries);
	memset(timewait->queues, 0, sizeof(timewait->queues));
	free(timewait->bits);
	timewait->bits = NULL;
}

static struct engine_timewait_entry *entry_at(const struct engine_timewait_queue *queue, uint32_t index)
{
	return &queue->entries[(queue->head + index) & (queue->room - 1)];
}

/* Gives a queue room for so many entries. Returns false if there is no memory; then nothing has changed. */
static bool resize(struct engine_timewait_queue *queue, uint32_t room)
{
	struct engine_timewait_entry *entries = malloc(room * sizeof(*entries));

	if (entries == NULL)
		return false;
	for (uint32_t i = 0; i < queue->count; i++)
		entries[i] = *entry_at(queue, i);
	free(queue->entries);
	queue->entries = entries;
	queue->head = 0;
	queue->room = room;
	return true;
}

/* The queue for this wait: that of the next power of two. */
static struct engine_timewait_queue *queue_of(struct engine_timewait *timewait, uint64_t wait_ns)
{
	return &timewait->queues[wait_ns <= 1 ? 0 : 64 - __builtin_clzll(wait_ns - 1)];
}

void engine_timewait_begin(struct engine_timewait *timewait, uint32_t qpn, uint64_t now_ns, uint64_t wait_ns)
{
	struct engine_timewait_queue *queue = queue_of(timewait, wait_ns);

	rte_spinlock_lock(&timewait->lock);
	timewait->bits[qpn / WORD_BITS] |= 1ull << (qpn % WORD_BITS);
	if (queue->count < queue->room || resize(queue, queue->room ? 2 * queue->room : FIRST_ROOM)) {
		*entry_at(queue, queue->count++) = (struct engine_timewait_entry){ now_ns + wait_ns, qpn };
		timewait->count++;
	}
	rte_spinlock_unlock(&timewait->lock);
}

static void wake(struct engine_timewait *timewait, struct engine_timewait_queue *queue, uint64_t now_ns)
{
	while (queue->count && entry_at(queue, 0)->until_ns <= now_ns) {
		uint32_t qpn = entry_at(queue, 0)->qpn;

		timewait->bits[qpn / WORD_BITS] &= ~(1ull << (qpn % WORD_BITS));
		queue->head = (queue->head + 1) & (queue->room - 1);
		queue->count--;
		timewait->count--;
	}
	if (queue->count == 0 && queue->room > FIRST_ROOM)
		resize(queue, FIRST_ROOM);
}

void engine_timewait_wake(struct engine_timewait *timewait, uint64_t now_ns)
{
	rte_spinlock_lock(&timewait->lock);
	for (uint32_t i = 0; i < TIMEWAIT_QUEUES; i++)
		wake(timewait, &timewait->queues[i], now_ns);
	rte_spinlock_unlock(&timewait->lock);
}

bool engine_timewait_has(const struct engine_timewait *timewait, uint32_t qpn)
{
	return timewait->bits[qpn / WORD_BITS] >> (qpn % WORD_BITS) & 1;
}

uint64_t engine_timewait_bytes(const struct engine_timewait *timewait)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < TIMEWAIT_QUEUES; i++)
		bytes += timewait->queues[i].room * sizeof(struct engine_timewait_entry);
	return bytes;
}
