/* rest.c - a bitmap of the numbers in time-wait, and rings that say until when */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/log.h"
#include "engine/rest.h"

#define FIRST_ROOM 4096u
#define WORD_BITS 64u

int engine_rest_init(struct engine_rest *rest)
{
	rte_spinlock_init(&rest->lock);
	memset(rest->queues, 0, sizeof(rest->queues));
	rest->count = 0;
	/* memory pages are used only where numbers are in time-wait */
	rest->bits = calloc(REST_NUMBERS / WORD_BITS, sizeof(*rest->bits));
	return rest->bits ? 0 :
			    engine_refuse(-ENOMEM, "no memory for the numbers that rest: a smaller max_qps needs less");
}

void engine_rest_free(struct engine_rest *rest)
{
	for (uint32_t i = 0; i < REST_QUEUES; i++)
		free(rest->queues[i].entries);
	memset(rest->queues, 0, sizeof(rest->queues));
	free(rest->bits);
	rest->bits = NULL;
}

static struct engine_rest_entry *entry_at(const struct engine_rest_queue *queue, uint32_t index)
{
	return &queue->entries[(queue->head + index) & (queue->room - 1)];
}

/* Gives a queue room for so many entries. false: there is no memory, and nothing has changed. */
static bool resize(struct engine_rest_queue *queue, uint32_t room)
{
	struct engine_rest_entry *entries = malloc(room * sizeof(*entries));

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
static struct engine_rest_queue *queue_of(struct engine_rest *rest, uint64_t wait_ns)
{
	return &rest->queues[wait_ns <= 1 ? 0 : 64 - __builtin_clzll(wait_ns - 1)];
}

void engine_rest_begin(struct engine_rest *rest, uint32_t qpn, uint64_t now_ns, uint64_t wait_ns)
{
	struct engine_rest_queue *queue = queue_of(rest, wait_ns);

	rte_spinlock_lock(&rest->lock);
	rest->bits[qpn / WORD_BITS] |= 1ull << (qpn % WORD_BITS);
	if (queue->count < queue->room || resize(queue, queue->room ? 2 * queue->room : FIRST_ROOM)) {
		*entry_at(queue, queue->count++) = (struct engine_rest_entry){ now_ns + wait_ns, qpn };
		rest->count++;
	}
	rte_spinlock_unlock(&rest->lock);
}

static void wake(struct engine_rest *rest, struct engine_rest_queue *queue, uint64_t now_ns)
{
	while (queue->count && entry_at(queue, 0)->until_ns <= now_ns) {
		uint32_t qpn = entry_at(queue, 0)->qpn;

		rest->bits[qpn / WORD_BITS] &= ~(1ull << (qpn % WORD_BITS));
		queue->head = (queue->head + 1) & (queue->room - 1);
		queue->count--;
		rest->count--;
	}
	if (queue->count == 0 && queue->room > FIRST_ROOM)
		resize(queue, FIRST_ROOM);
}

void engine_rest_wake(struct engine_rest *rest, uint64_t now_ns)
{
	rte_spinlock_lock(&rest->lock);
	for (uint32_t i = 0; i < REST_QUEUES; i++)
		wake(rest, &rest->queues[i], now_ns);
	rte_spinlock_unlock(&rest->lock);
}

bool engine_rest_has(const struct engine_rest *rest, uint32_t qpn)
{
	return rest->bits[qpn / WORD_BITS] >> (qpn % WORD_BITS) & 1;
}

uint64_t engine_rest_bytes(const struct engine_rest *rest)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < REST_QUEUES; i++)
		bytes += rest->queues[i].room * sizeof(struct engine_rest_entry);
	return bytes;
}
