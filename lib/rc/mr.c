/* mr.c - adds regions and windows to the memory table, removes them, binds windows */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "config/limits.h"
#include "rc/mr.h"

#define ACCESS_WINDOW                                                                                                  \
	(UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC | UROCE_ACCESS_ZERO_BASED | \
	 UROCE_ACCESS_FLUSH_GLOBAL | UROCE_ACCESS_FLUSH_PERSISTENT)
#define ACCESS_ALL (ACCESS_WINDOW | UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_MW_BIND)
#define ACCESS_FLUSH (UROCE_ACCESS_FLUSH_GLOBAL | UROCE_ACCESS_FLUSH_PERSISTENT)
#define NEEDS_LOCAL_WRITE (UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_ATOMIC)

/* value of entry->windows: the region is being removed, and no more windows may be bound to it */
#define MR_CLOSED UINT32_MAX

void rc_mr_table_init(struct rc_mr_table *table, struct rc_mr_entry *entries, uint32_t count,
		      const struct rc_permute24 *space)
{
	table->entries = entries;
	table->count = count;
	table->used = 0;
	table->hand = 0;
	table->index_bits = 0;
	while (1u << table->index_bits < count)
		table->index_bits++;
	table->space = *space;
}

/*
 * Other lcores may be reading these fields: `key` and `version` tell them whether the values that they read belong
 * together.
 */
static void set64(uint64_t *field, uint64_t value)
{
	__atomic_store_n(field, value, __ATOMIC_RELAXED);
}

static void set32(uint32_t *field, uint32_t value)
{
	__atomic_store_n(field, value, __ATOMIC_RELAXED);
}

static bool region_is_valid(uint64_t va, uintptr_t host, uint64_t bytes, uint32_t access)
{
	if (host == 0 || bytes == 0 || host + bytes < host || va + bytes < va || (access & ~(uint32_t)ACCESS_ALL))
		return false;
	if ((access & UROCE_ACCESS_ZERO_BASED) && va != 0)
		return false;
	if ((access & NEEDS_LOCAL_WRITE) && !(access & UROCE_ACCESS_LOCAL_WRITE))
		return false;
	if ((access & UROCE_ACCESS_REMOTE_ATOMIC) && ((va ^ host) & 7))
		return false;
	return true;
}

/* Returns a free slot, whose kind the caller sets, or NULL if there is none. */
static struct rc_mr_entry *find_free(struct rc_mr_table *table)
{
	if (table->used == table->count)
		return NULL;
	for (;;) {
		struct rc_mr_entry *entry = &table->entries[table->hand];

		table->hand = table->hand + 1 == table->count ? 0 : table->hand + 1;
		if (entry->kind == MR_FREE)
			return entry;
	}
}

/*
 * Makes the slot's next key, never 0, which means "not valid". A key is the permuted index of slot and use, and a tag.
 * When the uses wrap the tag advances by one more, so a key comes again only after 256 wraps.
 */
static uint32_t next_key(const struct rc_mr_table *table, struct rc_mr_entry *entry)
{
	uint32_t use_bits = PERMUTE24_BITS - table->index_bits, key;

	do {
		uint32_t index = (uint32_t)(entry - table->entries) | entry->uses << table->index_bits;

		key = permute24_forward(&table->space, index & ((1u << PERMUTE24_BITS) - 1)) << 8;
		key |= (entry->uses + (entry->uses >> use_bits)) & 0xFF;
		entry->uses++;
	} while (key == 0);
	set32(&entry->last, key);
	return key;
}

uint32_t rc_mr_insert(struct rc_mr_table *table, uint32_t pd, void *host, uint64_t bytes, uint32_t access, int *error)
{
	return rc_mr_insert_at(table, pd, host, bytes, access & UROCE_ACCESS_ZERO_BASED ? 0 : (uintptr_t)host, access,
			       error);
}

static void publish(struct rc_mr_entry *entry, uint32_t key, uint32_t pd, void *host, uint64_t bytes, uint64_t va,
		    uint32_t access)
{
	entry->pd = pd;
	entry->va = va;
	entry->bytes = bytes;
	entry->host = host;
	entry->access = access | MR_ACCESS_LOCAL;
	atomic_store_explicit(&entry->windows, 0, memory_order_relaxed);
	/* M1: publishes the fields above */
	atomic_store_explicit(&entry->key, key, memory_order_release);
}

uint32_t rc_mr_insert_at(struct rc_mr_table *table, uint32_t pd, void *host, uint64_t bytes, uint64_t va,
			 uint32_t access, int *error)
{
	struct rc_mr_entry *entry;
	uint32_t key;

	*error = -EINVAL;
	if (!region_is_valid(va, (uintptr_t)host, bytes, access))
		return 0;
	*error = -ENOMEM;
	entry = find_free(table);
	if (entry == NULL)
		return 0;
	key = next_key(table, entry);
	set32(&entry->kind, MR_REGION);
	publish(entry, key, pd, host, bytes, va, access);
	table->used++;
	return key;
}

/* Makes the region's key invalid, so that no lookup finds it and no window can be bound to it. */
static int close_region(struct rc_mr_entry *entry, uint32_t key)
{
	uint32_t none = 0;

	if (entry == NULL || entry->kind != MR_REGION || atomic_load_explicit(&entry->key, memory_order_relaxed) != key)
		return -ENOENT;
	if (!atomic_compare_exchange_strong(&entry->windows, &none, MR_CLOSED))
		return -EBUSY;
	atomic_store_explicit(&entry->key, 0, memory_order_release);
	return 0;
}

int rc_mr_close(struct rc_mr_table *table, uint32_t key, const void *host, uint64_t bytes, uint64_t va, uint32_t access)
{
	if (!region_is_valid(va, (uintptr_t)host, bytes, access))
		return -EINVAL;
	return close_region(rc_mr_slot(table, key), key);
}

void rc_mr_reopen(struct rc_mr_table *table, uint32_t key, uint32_t pd, void *host, uint64_t bytes, uint64_t va,
		  uint32_t access)
{
	publish(rc_mr_slot(table, key), key, pd, host, bytes, va, access);
}

int rc_mr_remove(struct rc_mr_table *table, uint32_t key)
{
	struct rc_mr_entry *entry = rc_mr_slot(table, key);
	int error = close_region(entry, key);

	if (error)
		return error;
	set32(&entry->kind, MR_FREE);
	table->used--;
	return 0;
}

uint32_t rc_mr_insert_window(struct rc_mr_table *table, uint32_t pd, enum rc_mr_kind kind)
{
	struct rc_mr_entry *entry = find_free(table);

	if (entry == NULL)
		return 0;
	set32(&entry->kind, kind);
	entry->pd = pd;
	table->used++;
	return next_key(table, entry);
}

/* ---- windows: an lcore changes one while others read it ---- */

/* Was the key one of this window's, is it, or can it become one? The keys of a window differ only in their tags. */
static bool has_body(const struct rc_mr_entry *window, uint32_t key)
{
	return (__atomic_load_n(&window->last, __ATOMIC_RELAXED) ^ key) >> 8 == 0;
}

/* Takes the right to change the window. Returns false if another lcore has it. */
static bool begin_change(struct rc_mr_entry *entry)
{
	uint32_t version = atomic_load_explicit(&entry->version, memory_order_relaxed);

	if ((version & 1) || !atomic_compare_exchange_strong(&entry->version, &version, version + 1))
		return false;
	/* W1: a reader that sees a field written from here on sees the odd version, too */
	atomic_thread_fence(memory_order_release);
	return true;
}

static void end_change(struct rc_mr_entry *entry)
{
	/* pairs with the reader's first load: the fields belong together again */
	atomic_fetch_add_explicit(&entry->version, 1, memory_order_release);
}

/* Between begin_change() and end_change(): the window is bound to nothing. */
static void unbind(const struct rc_mr_table *table, struct rc_mr_entry *window)
{
	if (atomic_load_explicit(&window->key, memory_order_relaxed) == 0)
		return;
	atomic_store_explicit(&window->key, 0, memory_order_release);
	atomic_fetch_sub(&table->entries[window->region].windows, 1);
}

int rc_mr_remove_window(struct rc_mr_table *table, uint32_t key)
{
	struct rc_mr_entry *entry = rc_mr_slot(table, key);

	if (entry == NULL || (entry->kind != MR_WINDOW_1 && entry->kind != MR_WINDOW_2) || !has_body(entry, key))
		return -ENOENT;
	while (!begin_change(entry))
		; /* an lcore is binding the window, which takes only a few stores: wait */
	unbind(table, entry);
	/* `kind` is written while the version is odd: rc_mr_bind() reads it after it has begun its own change */
	set32(&entry->kind, MR_FREE);
	end_change(entry);
	table->used--;
	return 0;
}

/* Counts one more window of the region. Returns false if the region is being removed. */
static bool join_region(struct rc_mr_entry *region)
{
	uint32_t windows = atomic_load(&region->windows);

	do {
		if (windows == MR_CLOSED)
			return false;
	} while (!atomic_compare_exchange_weak(&region->windows, &windows, windows + 1));
	return true;
}

static bool bind_is_valid(const struct rc_mr_entry *region, const struct rc_mr_entry *window, uint32_t pd,
			  const struct rc_mr_bind *bind)
{
	uint64_t offset = bind->va - region->va;
	uint64_t va = bind->access & UROCE_ACCESS_ZERO_BASED ? 0 : bind->va;

	if (region->pd != pd || !(region->access & UROCE_ACCESS_MW_BIND) || (bind->access & ~(uint32_t)ACCESS_WINDOW))
		return false;
	if ((bind->access & NEEDS_LOCAL_WRITE) && !(region->access & UROCE_ACCESS_LOCAL_WRITE))
		return false;
	if (bind->access & ACCESS_FLUSH & ~region->access)
		return false;
	if ((bind->access & UROCE_ACCESS_ZERO_BASED) && window->kind == MR_WINDOW_1)
		return false; /* a type 1 window uses the addresses of its region */
	if (offset > region->bytes || bind->bytes > region->bytes - offset)
		return false;
	return !((bind->access & UROCE_ACCESS_REMOTE_ATOMIC) && ((va ^ (uintptr_t)(region->host + offset)) & 7));
}

/* Between begin_change() and end_change(): binds the window. */
static bool bind_window(const struct rc_mr_table *table, struct rc_mr_entry *window, uint32_t pd, uint32_t qpn,
			const struct rc_mr_bind *bind)
{
	uint32_t old = atomic_load_explicit(&window->key, memory_order_relaxed);
	struct rc_mr_entry *region = rc_mr_slot(table, bind->region_key);

	if (window->pd != pd || bind->key == window->last || !has_body(window, bind->key) ||
	    (old && window->kind == MR_WINDOW_2))
		return false;
	if (bind->bytes == 0 && window->kind == MR_WINDOW_1) {
		unbind(table, window);
		set32(&window->last, bind->key);
		return true;
	}
	if (bind->bytes == 0 || region == NULL || region->kind != MR_REGION ||
	    atomic_load_explicit(&region->key, memory_order_acquire) != bind->region_key ||
	    !bind_is_valid(region, window, pd, bind) || !join_region(region))
		return false;
	unbind(table, window);
	window->region = (uint32_t)(region - table->entries);
	set64(&window->va, bind->access & UROCE_ACCESS_ZERO_BASED ? 0 : bind->va);
	set64(&window->bytes, bind->bytes);
	__atomic_store_n(&window->host, region->host + (bind->va - region->va), __ATOMIC_RELAXED);
	set32(&window->access, bind->access);
	set32(&window->qpn, window->kind == MR_WINDOW_2 ? qpn : 0);
	set32(&window->last, bind->key);
	atomic_store_explicit(&window->key, bind->key, memory_order_release);
	return true;
}

bool rc_mr_bind(struct rc_mr_table *table, uint32_t pd, uint32_t qpn, const struct rc_mr_bind *bind)
{
	struct rc_mr_entry *window = rc_mr_slot(table, bind->key);
	bool bound;

	if (window == NULL || (window->kind != MR_WINDOW_1 && window->kind != MR_WINDOW_2) || !begin_change(window))
		return false;
	bound = window->kind != MR_FREE && bind_window(table, window, pd, qpn, bind);
	end_change(window);
	return bound;
}

bool rc_mr_may_invalidate(const struct rc_mr_table *table, uint32_t key, uint32_t pd, uint32_t qpn)
{
	const struct rc_mr_entry *window = rc_mr_slot(table, key);

	return window && window->kind == MR_WINDOW_2 &&
	       atomic_load_explicit(&window->key, memory_order_acquire) == key && window->pd == pd &&
	       __atomic_load_n(&window->qpn, __ATOMIC_RELAXED) == qpn;
}

bool rc_mr_invalidate(struct rc_mr_table *table, uint32_t key, uint32_t pd, uint32_t qpn)
{
	struct rc_mr_entry *window = rc_mr_slot(table, key);
	bool valid;

	if (!rc_mr_may_invalidate(table, key, pd, qpn) || !begin_change(window))
		return false;
	/* the window is checked again, now that no other lcore can change it */
	valid = rc_mr_may_invalidate(table, key, pd, qpn);
	if (valid)
		unbind(table, window);
	end_change(window);
	return valid;
}

/*
 * Reads a window's fields so that they belong together. Returns false if the window was changed meanwhile or is bound
 * under another key.
 */
static bool read_window(const struct rc_mr_entry *entry, uint32_t key, struct rc_mr_entry *copy)
{
	uint32_t version = atomic_load_explicit(&entry->version, memory_order_acquire);
	uint32_t now;

	copy->va = __atomic_load_n(&entry->va, __ATOMIC_RELAXED);
	copy->bytes = __atomic_load_n(&entry->bytes, __ATOMIC_RELAXED);
	copy->host = __atomic_load_n(&entry->host, __ATOMIC_RELAXED);
	copy->access = __atomic_load_n(&entry->access, __ATOMIC_RELAXED);
	copy->qpn = __atomic_load_n(&entry->qpn, __ATOMIC_RELAXED);
	copy->kind = __atomic_load_n(&entry->kind, __ATOMIC_RELAXED);
	now = atomic_load_explicit(&entry->key, memory_order_relaxed);
	/* pairs with W1 in begin_change */
	atomic_thread_fence(memory_order_acquire);
	return !(version & 1) && now == key && atomic_load_explicit(&entry->version, memory_order_relaxed) == version;
}

enum rc_mr_verdict rc_mr_check_window(const struct rc_mr_entry *entry, uint32_t key, uint32_t pd, uint32_t qpn,
				      uint64_t va, uint64_t bytes, uint32_t access, uint8_t **host)
{
	struct rc_mr_entry window;

	if (!read_window(entry, key, &window))
		return MR_BAD_KEY;
	if (entry->pd != pd || (window.kind == MR_WINDOW_2 && window.qpn != qpn))
		return MR_BAD_DOMAIN;
	return mr_check_range(&window, va, bytes, access, host);
}

enum rc_mr_verdict rc_mr_extent(const struct rc_mr_table *table, uint32_t key, uint32_t pd, uint32_t qpn,
				uint32_t access, uint64_t *va, uint64_t *bytes)
{
	const struct rc_mr_entry *entry = rc_mr_slot(table, key);
	struct rc_mr_entry window;
	uint8_t *host;

	if (entry == NULL || atomic_load_explicit(&entry->key, memory_order_acquire) != key ||
	    !read_window(entry, key, &window))
		return MR_BAD_KEY;
	*va = window.va;
	*bytes = window.bytes;
	return rc_mr_check(table, key, pd, qpn, *va, *bytes, access, &host);
}
