/* mr.h - the memory table: from a key, a range and rights to an address, or a verdict why not (M-1, M-3) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One table a device. Control calls insert and remove entries, one call at a time, for the host locks; lcores look up
 * without locks. A key is an index, permuted with a secret to 24 bits, and an 8-bit tag. The low bits of the index are
 * that of the slot, the high bits count how often the slot has been used. So a slot's next key looks like none of its
 * earlier keys (TC-G-1), and the earlier keys are refused (TC-D-8). After rc_mr_remove() no new lookup succeeds; the
 * host waits for lookups under way before the memory may go (M-2). A memory window has a slot like a region, but lcores
 * change it while others read it. Its version is odd during the change: a reader that sees an odd or another version
 * discards what it has read. A region with bound windows is not removed.
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

/* the right to be used by a local key: each region has it, no window has it */
#define MR_ACCESS_LOCAL (1u << 31)

struct rc_mr_entry {
	_Atomic uint32_t key; /* 0: not valid. Inserting an entry writes its key last, removing writes it first */
	uint32_t pd;          /* protection domain, never 0 */
	uint64_t va;          /* the first address, as peers and SGEs name it */
	uint64_t bytes;
	uint8_t *host;            /* the same address in this process */
	uint32_t access;          /* enum uroce_access, and MR_ACCESS_LOCAL */
	uint32_t last;            /* the key that was last given out, or that a bind has set */
	uint32_t kind;            /* enum rc_mr_kind; does not change while a lookup may be under way */
	uint32_t qpn;             /* type 2 windows: the QP that bound the window and alone may use it */
	_Atomic uint32_t windows; /* regions: how many windows are bound to the region, or MR_CLOSED */
	_Atomic uint32_t version; /* windows: odd while an lcore changes the window */
	uint32_t region;          /* bound windows: the slot of the region */
	uint32_t uses;            /* how many keys the slot has given out */
};

static_assert(sizeof(struct rc_mr_entry) == 64, "a lookup touches one cache line");

struct rc_mr_table {
	struct rc_mr_entry *entries;
	uint32_t count; /* slots in all */
	uint32_t used;
	uint32_t hand; /* the slot where the next search for a free one begins */
	uint32_t index_bits;
	struct rc_permute24 space;
};

/* entries: zeroed memory for count slots, 1 ... LIMIT_MRS. space: secret, from a cryptographic source. */
void rc_mr_table_init(struct rc_mr_table *table, struct rc_mr_entry *entries, uint32_t count,
		      const struct rc_permute24 *space);

/*
 * Adds a region. Returns its key, never 0; or 0 with *error: -EINVAL (no bytes, range wraps, unknown or contradictory
 * access; remote atomics on a zero-based region whose host address is not 8-byte aligned, S-7), -ENOMEM (table full).
 */
uint32_t rc_mr_insert(struct rc_mr_table *table, uint32_t pd, void *host, uint64_t bytes, uint32_t access, int *error);
/* rc_mr_insert() for a region that SGEs and peers address from va on. */
uint32_t rc_mr_insert_at(struct rc_mr_table *table, uint32_t pd, void *host, uint64_t bytes, uint64_t va,
			 uint32_t access, int *error);

/*
 * Change a region in two steps. rc_mr_close() makes the key invalid and returns 0; -EINVAL: the new values are not
 * valid; -ENOENT; -EBUSY: windows are bound. When lookups under way have ended, rc_mr_reopen() gives the key the new
 * values.
 */
int rc_mr_close(struct rc_mr_table *table, uint32_t key, const void *host, uint64_t bytes, uint64_t va,
		uint32_t access);
void rc_mr_reopen(struct rc_mr_table *table, uint32_t key, uint32_t pd, void *host, uint64_t bytes, uint64_t va,
		  uint32_t access);
/* Makes the key invalid and the slot free. Returns 0, -ENOENT, or -EBUSY while windows are bound to the region. */
int rc_mr_remove(struct rc_mr_table *table, uint32_t key);

/*
 * Adds a window that is not bound. Returns a key, from which its later keys are made by changing the tag, or 0 if the
 * table is full.
 */
uint32_t rc_mr_insert_window(struct rc_mr_table *table, uint32_t pd, enum rc_mr_kind kind);

/* Unbinds the window that has or had this key, and frees its slot. Returns 0 or -ENOENT. */
int rc_mr_remove_window(struct rc_mr_table *table, uint32_t key);

/* What a bind asks for. */
struct rc_mr_bind {
	uint64_t va, bytes; /* addresses as the region's own key names them */
	uint32_t region_key;
	uint32_t access; /* enum uroce_access */
	uint32_t key;    /* the window's new key */
};

/*
 * Binds a window on behalf of a QP; a type 1 window with 0 bytes is unbound. Returns false if the bind is refused, for
 * one of the reasons in uroce/mr.h.
 */
bool rc_mr_bind(struct rc_mr_table *table, uint32_t pd, uint32_t qpn, const struct rc_mr_bind *bind);

/*
 * May this QP make the key invalid (M-3)? Only the key of a type 2 window that the QP has bound. rc_mr_invalidate()
 * checks that, too, and then makes the key invalid.
 */
bool rc_mr_may_invalidate(const struct rc_mr_table *table, uint32_t key, uint32_t pd, uint32_t qpn);
bool rc_mr_invalidate(struct rc_mr_table *table, uint32_t key, uint32_t pd, uint32_t qpn);

/* The part of rc_mr_check() that judges a window, whose fields may change meanwhile. */
enum rc_mr_verdict rc_mr_check_window(const struct rc_mr_entry *entry, uint32_t key, uint32_t pd, uint32_t qpn,
				      uint64_t va, uint64_t bytes, uint32_t access, uint8_t **host);

/* Finds the whole range that a key gives `access` to. */
enum rc_mr_verdict rc_mr_extent(const struct rc_mr_table *table, uint32_t key, uint32_t pd, uint32_t qpn,
				uint32_t access, uint64_t *va, uint64_t *bytes);

/* Returns the slot of a key, valid or not, or NULL if no slot can have the key. A key's slot never changes. */
static inline struct rc_mr_entry *rc_mr_slot(const struct rc_mr_table *table, uint32_t key)
{
	uint32_t index = permute24_back(&table->space, key >> 8) & ((1u << table->index_bits) - 1);

	return __builtin_expect(key == 0 || index >= table->count, 0) ? NULL : &table->entries[index];
}

/* Judges rights and range of an entry whose fields do not change meanwhile: a region, or a copy of a window. */
static inline enum rc_mr_verdict mr_check_range(const struct rc_mr_entry *entry, uint64_t va, uint64_t bytes,
						uint32_t access, uint8_t **host)
{
	if (__builtin_expect((entry->access & access) != access, 0))
		return MR_BAD_RIGHTS;
	/* A va before the region makes the offset huge, so that one comparison finds that too. No sum can wrap. */
	if (__builtin_expect(bytes > entry->bytes || va - entry->va > entry->bytes - bytes, 0))
		return MR_BAD_RANGE;
	*host = entry->host + (va - entry->va);
	return MR_OK;
}

/* Uses a variable of its own, so that callers of rc_mr_check_slot() can keep *host in a register. */
static inline enum rc_mr_verdict mr_check_window(const struct rc_mr_entry *entry, uint32_t key, uint32_t pd,
						 uint32_t qpn, uint64_t va, uint64_t bytes, uint32_t access,
						 uint8_t **host)
{
	uint8_t *found = NULL;
	enum rc_mr_verdict verdict = rc_mr_check_window(entry, key, pd, qpn, va, bytes, access, &found);

	*host = found;
	return verdict;
}

/* rc_mr_check() for a caller that has already found the slot. */
static inline enum rc_mr_verdict rc_mr_check_slot(const struct rc_mr_entry *entry, uint32_t key, uint32_t pd,
						  uint32_t qpn, uint64_t va, uint64_t bytes, uint32_t access,
						  uint8_t **host)
{
	/* pairs with M1 in publish() of mr.c: the fields behind the key are visible */
	if (__builtin_expect(atomic_load_explicit(&entry->key, memory_order_acquire) != key, 0))
		return MR_BAD_KEY;
	if (__builtin_expect(__atomic_load_n(&entry->kind, __ATOMIC_RELAXED) != MR_REGION, 0))
		return mr_check_window(entry, key, pd, qpn, va, bytes, access, host);
	if (__builtin_expect(entry->pd != pd, 0))
		return MR_BAD_DOMAIN;
	return mr_check_range(entry, va, bytes, access, host);
}

/*
 * Judges [va, va + bytes) under key for all of the rights in access, for a QP; on MR_OK *host is its address in this
 * process. Zero bytes are judged like any other length: the caller decides whether an empty range has to be judged
 * (S-4).
 */
static inline enum rc_mr_verdict rc_mr_check(const struct rc_mr_table *table, uint32_t key, uint32_t pd, uint32_t qpn,
					     uint64_t va, uint64_t bytes, uint32_t access, uint8_t **host)
{
	const struct rc_mr_entry *slot = rc_mr_slot(table, key);

	return slot ? rc_mr_check_slot(slot, key, pd, qpn, va, bytes, access, host) : MR_BAD_KEY;
}

#endif
