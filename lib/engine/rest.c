/* rest.c - a bitmap of the numbers that rest, and a ring that says until when */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/rest.h"

#define FIRST_ROOM 4096u
#define WORD_BITS 64u

int engine_rest_init(struct engine_rest *rest)
{
	rte_spinlock_init(&rest->lock);
	rest->room = FIRST_ROOM;
	rest->head = rest->count = 0;
	rest->bits = calloc(REST_NUMBERS / WORD_BITS, sizeof(*rest->bits)); /* touched where numbers rest only */
	rest->entries = malloc(rest->room * sizeof(*rest->entries));
	return rest->bits && rest->entries ? 0 : -ENOMEM;
}

void engine_rest_free(struct engine_rest *rest)
{
	free(rest->bits);
	free(rest->entries);
	rest->bits = NULL;
	rest->entries = NULL;
}

/* false: there is no memory, and nothing has changed. */
static bool resize(struct engine_rest *rest, uint32_t room)
{
	struct engine_rest_entry *entries = malloc(room * sizeof(*entries));

	if (entries == NULL)
		return false;
	for (uint32_t i = 0; i < rest->count; i++)
		entries[i] = rest->entries[(rest->head + i) & (rest->room - 1)];
	free(rest->entries);
	rest->entries = entries;
	rest->head = 0;
	rest->room = room;
	return true;
}

void engine_rest_begin(struct engine_rest *rest, uint32_t qpn, uint64_t until_ns)
{
	rte_spinlock_lock(&rest->lock);
	rest->bits[qpn / WORD_BITS] |= 1ull << (qpn % WORD_BITS);
	if (rest->count < rest->room || resize(rest, 2 * rest->room)) {
		struct engine_rest_entry *entry = &rest->entries[(rest->head + rest->count++) & (rest->room - 1)];

		entry->qpn = qpn;
		entry->until_ns = until_ns;
	}
	rte_spinlock_unlock(&rest->lock);
}

void engine_rest_wake(struct engine_rest *rest, uint64_t now_ns)
{
	rte_spinlock_lock(&rest->lock);
	while (rest->count && rest->entries[rest->head].until_ns <= now_ns) {
		uint32_t qpn = rest->entries[rest->head].qpn;

		rest->bits[qpn / WORD_BITS] &= ~(1ull << (qpn % WORD_BITS));
		rest->head = (rest->head + 1) & (rest->room - 1);
		rest->count--;
	}
	if (rest->count == 0 && rest->room > FIRST_ROOM)
		resize(rest, FIRST_ROOM);
	rte_spinlock_unlock(&rest->lock);
}

bool engine_rest_has(const struct engine_rest *rest, uint32_t qpn)
{
	return rest->bits[qpn / WORD_BITS] >> (qpn % WORD_BITS) & 1;
}
