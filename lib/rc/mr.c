/* mr.c - inserting into and removing from the memory table */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "config/limits.h"
#include "rc/mr.h"

#define ACCESS_ALL                                                                         \
	(UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ | \
	 UROCE_ACCESS_REMOTE_ATOMIC | UROCE_ACCESS_ZERO_BASED)

void rc_mr_table_init(struct rc_mr_table *table, struct rc_mr_entry *entries, uint32_t count,
		      const struct rc_keyspace *space)
{
	table->entries = entries;
	table->count = count;
	table->used = 0;
	table->hand = 0;
	table->space = *space;
}

static bool region_is_valid(uint64_t va, uintptr_t host, uint64_t bytes, uint32_t access)
{
	uint32_t needs_write = UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_ATOMIC;

	if (host == 0 || bytes == 0 || host + bytes < host || (access & ~(uint32_t)ACCESS_ALL))
		return false;
	if ((access & needs_write) && !(access & UROCE_ACCESS_LOCAL_WRITE))
		return false;
	if ((access & UROCE_ACCESS_REMOTE_ATOMIC) && ((va ^ host) & 7))
		return false;
	return true;
}

static struct rc_mr_entry *find_free(struct rc_mr_table *table)
{
	for (uint32_t i = 0; i < table->count; i++) {
		struct rc_mr_entry *entry = &table->entries[table->hand];

		table->hand = table->hand + 1 == table->count ? 0 : table->hand + 1;
		if (atomic_load_explicit(&entry->key, memory_order_relaxed) == 0)
			return entry;
	}
	return NULL;
}

uint32_t rc_mr_insert(struct rc_mr_table *table, uint32_t pd, void *host, uint64_t bytes, uint32_t access, int *error)
{
	uint64_t va = access & UROCE_ACCESS_ZERO_BASED ? 0 : (uintptr_t)host;
	struct rc_mr_entry *entry;
	uint32_t key;

	*error = -EINVAL;
	if (!region_is_valid(va, (uintptr_t)host, bytes, access))
		return 0;
	*error = -ENOMEM;
	if (table->used == table->count)
		return 0;
	entry = find_free(table);
	if (entry == NULL)
		return 0;
	*error = 0;
	entry->tag++;
	key = keyspace_name(&table->space, (uint32_t)(entry - table->entries)) << 8 | (entry->tag & 0xFF);
	if (key == 0) /* the one name that means "free" */
		key = ++entry->tag & 0xFF;
	entry->pd = pd;
	entry->va = va;
	entry->bytes = bytes;
	entry->host = host;
	entry->access = access;
	/* M1: publishes the fields above */
	atomic_store_explicit(&entry->key, key, memory_order_release);
	table->used++;
	return key;
}

int rc_mr_remove(struct rc_mr_table *table, uint32_t key)
{
	uint32_t index = keyspace_index(&table->space, key >> 8);

	if (key == 0 || index >= table->count)
		return -ENOENT;
	if (atomic_load_explicit(&table->entries[index].key, memory_order_relaxed) != key)
		return -ENOENT;
	atomic_store_explicit(&table->entries[index].key, 0, memory_order_release);
	table->used--;
	return 0;
}
