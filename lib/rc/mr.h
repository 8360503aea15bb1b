/* mr.h - the memory table: a key, a range and a right go in; an address or a verdict comes out (M-1, M-3) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One table a device. Control calls insert and remove (one at a time: the host locks); lcores look up without
 * locks. A key is 24 bits of keyed permutation and an 8-bit tag. What is permuted is the index of the slot, and above
 * it how often the slot has been used: its next key looks like none of its earlier ones (TC-G-1), and those are refused
 * (TC-D-8). After rc_mr_remove() no new lookup succeeds; the host waits for lookups under way before the memory may go
 * (M-2).
 * A memory window has a slot like a region, but lcores change it while others look: a version that is odd during the
 * change tells a reader that what it has read does not belong together. A region with windows bound is not removed.
 */
#ifndef RC_MR_H
#define RC_MR_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <uroce/mr.h>

#include "rc/permute24.h"

enum rc_mr_verdict { MR_OK, MR_BAD_KEY, MR_BAD_DOMAIN, MR_BAD_RIGHTS, MR_BAD_RANGE, MR_VERDICTS };

enum rc_mr_kind { MR_FREE, MR_REGION, MR_WINDOW_1, MR_WINDOW_2 };

/* In the access of every region: what an lkey needs at least, and no window has. */
#define MR_ACCESS_LOCAL (1u << 31)

struct rc_mr_entry {
	_Atomic uint32_t key; /* 0: not valid. Written last on insert, first on remove */
	uint32_t pd;          /* protection domain, never 0 */
	uint64_t va;          /* first address as peers and SGEs say it */
	uint64_t bytes;
	uint8_t *host;            /* where va lies in this process */
	uint32_t access;          /* enum uroce_access, MR_ACCESS_LOCAL */
	uint32_t last;            /* key given out, or bound, last */
	uint32_t kind;            /* enum rc_mr_kind; constant while lookups may be under way */
	uint32_t qpn;             /* type 2 windows: the QP that bound it, the only one it is good for */
	_Atomic uint32_t windows; /* regions: windows bound to it, or MR_CLOSED */
	_Atomic uint32_t version; /* windows: odd while a lcore changes it */
	uint32_t region;          /* bound windows: index of the region */
	uint32_t uses;            /* keys given out */
};

static_assert(sizeof(struct rc_mr_entry) == 64, "a lookup touches one cache line");

struct rc_mr_table {
	struct rc_mr_entry *entries;
	uint32_t count; /* slots */
	uint32_t used;
	uint32_t hand; /* where the next search for a free slot begins */
	uint32_t index_bits;
	struct rc_permute24 space;
};

/* entries: zeroed memory for count slots, 1 ... LIMIT_MRS. space: secret, from a cryptographic source. */
void rc_mr_table_init(struct rc_mr_table *table, struct rc_mr_entry *entries, uint32_t count,
		      const struct rc_permute24 *space);

/*
 * Adds a region. Returns its key, never 0; or 0 with *error: -EINVAL (no bytes, wrap, unknown or contradictory
 * access; remote atomics on a zero-based region whose host address is not 8-byte aligned, S-7), -ENOMEM (full).
 */
uint32_t rc_mr_insert(struct rc_mr_table *table, uint32_t pd, void *host, uint64_t bytes, uint32_t access, int *error);
/* The same, and SGEs and peers address it from va. */
uint32_t rc_mr_insert_at(struct rc_mr_table *table, uint32_t pd, void *host, uint64_t bytes, uint64_t va,
			 uint32_t access, int *error);

/*
 * Changes a region in two steps: closes it, so that nobody finds it, and gives it back its key as another one when
 * those who had found it have gone. close: 0; -EINVAL: what it is to be is none; -ENOENT; -EBUSY: windows are bound.
 */
int rc_mr_close(struct rc_mr_table *table, uint32_t key, const void *host, uint64_t bytes, uint64_t va,
		uint32_t access);
void rc_mr_reopen(struct rc_mr_table *table, uint32_t key, uint32_t pd, void *host, uint64_t bytes, uint64_t va,
		  uint32_t access);
/* Makes the key invalid and the slot free. 0; -ENOENT; -EBUSY: windows are bound to the region. */
int rc_mr_remove(struct rc_mr_table *table, uint32_t key);

/* A window that is not bound. Returns the key that its next ones are made from by changing the tag; 0: full. */
uint32_t rc_mr_insert_window(struct rc_mr_table *table, uint32_t pd, enum rc_mr_kind kind);

/* Unbinds the window of this or an earlier key and frees its slot. 0 or -ENOENT. */
int rc_mr_remove_window(struct rc_mr_table *table, uint32_t key);

/* What a bind asks for. */
struct rc_mr_bind {
	uint64_t va, bytes; /* in the region's own address space */
	uint32_t region_key;
	uint32_t access; /* enum uroce_access */
	uint32_t key;    /* the window's new key */
};

/* Binds a window on behalf of a QP; 0 bytes unbind one of type 1. false: refused (uroce/mr.h says when). */
bool rc_mr_bind(struct rc_mr_table *table, uint32_t pd, uint32_t qpn, const struct rc_mr_bind *bind);

/* May this QP make the key invalid? And does it (M-3). Only type 2 windows that it has bound. */
bool rc_mr_may_invalidate(const struct rc_mr_table *table, uint32_t key, uint32_t pd, uint32_t qpn);
bool rc_mr_invalidate(struct rc_mr_table *table, uint32_t key, uint32_t pd, uint32_t qpn);

/* For rc_mr_check(): judges a window, whose fields may change meanwhile. */
enum rc_mr_verdict rc_mr_check_window(const struct rc_mr_entry *entry, uint32_t key, uint32_t pd, uint32_t qpn,
				      uint64_t va, uint64_t bytes, uint32_t access, uint8_t **host);

/* The whole range that a key gives `access` to. */
enum rc_mr_verdict rc_mr_extent(const struct rc_mr_table *table, uint32_t key, uint32_t pd, uint32_t qpn,
				uint32_t access, uint64_t *va, uint64_t *bytes);

/* The slot that a key is about, valid or not; NULL: no slot can have it. Always the same while the table lives. */
static inline struct rc_mr_entry *rc_mr_slot(const struct rc_mr_table *table, uint32_t key)
{
	uint32_t index = permute24_back(&table->space, key >> 8) & ((1u << table->index_bits) - 1);

	return __builtin_expect(key == 0 || index >= table->count, 0) ? NULL : &table->entries[index];
}

/* Judges rights and range, of a region or of a window whose fields do not change meanwhile. */
static inline enum rc_mr_verdict mr_check_range(const struct rc_mr_entry *entry, uint64_t va, uint64_t bytes,
						uint32_t access, uint8_t **host)
{
	if (__builtin_expect((entry->access & access) != access, 0))
		return MR_BAD_RIGHTS;
	/* va before the region makes the offset huge: one comparison finds it. No sum that could wrap. */
	if (__builtin_expect(bytes > entry->bytes || va - entry->va > entry->bytes - bytes, 0))
		return MR_BAD_RANGE;
	*host = entry->host + (va - entry->va);
	return MR_OK;
}

/* A variable of its own, so that callers of rc_mr_check_slot() can keep *host in a register. */
static inline enum rc_mr_verdict mr_check_window(const struct rc_mr_entry *entry, uint32_t key, uint32_t pd,
						 uint32_t qpn, uint64_t va, uint64_t bytes, uint32_t access,
						 uint8_t **host)
{
	uint8_t *found = NULL;
	enum rc_mr_verdict verdict = rc_mr_check_window(entry, key, pd, qpn, va, bytes, access, &found);

	*host = found;
	return verdict;
}

/* rc_mr_check() for a caller that has looked up the slot. */
static inline enum rc_mr_verdict rc_mr_check_slot(const struct rc_mr_entry *entry, uint32_t key, uint32_t pd,
						  uint32_t qpn, uint64_t va, uint64_t bytes, uint32_t access,
						  uint8_t **host)
{
	/* pairs with M1 in rc_mr_insert: the fields behind the key are visible */
	if (__builtin_expect(atomic_load_explicit(&entry->key, memory_order_acquire) != key, 0))
		return MR_BAD_KEY;
	if (__builtin_expect(__atomic_load_n(&entry->kind, __ATOMIC_RELAXED) != MR_REGION, 0))
		return mr_check_window(entry, key, pd, qpn, va, bytes, access, host);
	if (__builtin_expect(entry->pd != pd, 0))
		return MR_BAD_DOMAIN;
	return mr_check_range(entry, va, bytes, access, host);
}

/*
 * Judges [va, va + bytes) under key for all of the rights in access, for a QP; on MR_OK *host is where it lies.
 * bytes 0 is judged like any other length: callers that owe a zero-length request no check do not ask (S-4).
 */
static inline enum rc_mr_verdict rc_mr_check(const struct rc_mr_table *table, uint32_t key, uint32_t pd, uint32_t qpn,
					     uint64_t va, uint64_t bytes, uint32_t access, uint8_t **host)
{
	const struct rc_mr_entry *slot = rc_mr_slot(table, key);

	return slot ? rc_mr_check_slot(slot, key, pd, qpn, va, bytes, access, host) : MR_BAD_KEY;
}

#endif
