/* mr.h - the memory table: a key, a range and a right go in; an address or a verdict comes out (M-1) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One table a device. Control calls insert and remove (one at a time: the host locks); lcores look up without
 * locks. A key is 24 bits of keyed permutation of the index and an 8-bit tag that changes with each reuse, so
 * an old key of the slot is refused (TC-D-8). After rc_mr_remove() no new lookup succeeds; the host waits for
 * lookups under way before the memory may go.
 */
#ifndef RC_MR_H
#define RC_MR_H

#include <stdatomic.h>
#include <stdint.h>

#include <uroce/mr.h>

#include "rc/keyspace.h"

enum rc_mr_verdict { MR_OK, MR_BAD_KEY, MR_BAD_DOMAIN, MR_BAD_RIGHTS, MR_BAD_RANGE };

struct rc_mr_entry {
	_Atomic uint32_t key; /* 0: free. Written last on insert, first on remove */
	uint32_t pd;          /* protection domain, never 0 */
	uint64_t va;          /* first address as peers and SGEs say it */
	uint64_t bytes;
	uint8_t *host;   /* where va lies in this process */
	uint32_t access; /* enum uroce_access */
	uint32_t tag;    /* of the last key given out */
};

struct rc_mr_table {
	struct rc_mr_entry *entries;
	uint32_t count; /* slots */
	uint32_t used;
	uint32_t hand; /* where the next search for a free slot begins */
	struct rc_keyspace space;
};

/* entries: zeroed memory for count slots, 1 ... LIMIT_MRS. space: secret, from a cryptographic source. */
void rc_mr_table_init(struct rc_mr_table *table, struct rc_mr_entry *entries, uint32_t count,
		      const struct rc_keyspace *space);

/*
 * Adds a region. Returns its key, never 0; or 0 with *error: -EINVAL (no bytes, wrap, unknown or contradictory
 * access; remote atomics on a zero-based region whose host address is not 8-byte aligned, S-7), -ENOMEM (full).
 */
uint32_t rc_mr_insert(struct rc_mr_table *table, uint32_t pd, void *host, uint64_t bytes, uint32_t access, int *error);

/* Makes the key invalid. 0, or -ENOENT. */
int rc_mr_remove(struct rc_mr_table *table, uint32_t key);

/*
 * Judges [va, va + bytes) under key for all of the rights in access; on MR_OK *host is where it lies. bytes 0 is
 * judged like any other length: callers that owe a zero-length request no check do not ask (S-4).
 */
static inline enum rc_mr_verdict rc_mr_check(const struct rc_mr_table *table, uint32_t key, uint32_t pd, uint64_t va,
					     uint64_t bytes, uint32_t access, uint8_t **host)
{
	uint32_t index = keyspace_index(&table->space, key >> 8);
	const struct rc_mr_entry *entry;

	if (__builtin_expect(index >= table->count, 0))
		return MR_BAD_KEY;
	entry = &table->entries[index];
	/* pairs with M1 in rc_mr_insert: the fields behind the key are visible */
	if (__builtin_expect(key == 0 || atomic_load_explicit(&entry->key, memory_order_acquire) != key, 0))
		return MR_BAD_KEY;
	if (__builtin_expect(entry->pd != pd, 0))
		return MR_BAD_DOMAIN;
	if (__builtin_expect((entry->access & access) != access, 0))
		return MR_BAD_RIGHTS;
	/* va before the region makes the offset huge: one comparison finds it. No sum that could wrap. */
	if (__builtin_expect(va - entry->va > entry->bytes || bytes > entry->bytes - (va - entry->va), 0))
		return MR_BAD_RANGE;
	*host = entry->host + (va - entry->va);
	return MR_OK;
}

#endif
