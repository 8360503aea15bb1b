/* mr.c - the memory table: ranges, rights, domains, keys that are gone, a table that is full, and windows */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "rc/mr.h"
#include "rule.h"

#define SLOTS 4
#define LOCAL UROCE_ACCESS_LOCAL_WRITE
#define ALL (LOCAL | UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC)

static _Alignas(8) uint8_t memory[4096];
static struct rc_mr_entry entries[SLOTS];
static struct rc_mr_table table;

static void set_up(void)
{
	const struct rc_permute24 space = { .secret = { 11, 22, 33, 44 } };

	memset(entries, 0, sizeof(entries));
	rc_mr_table_init(&table, entries, SLOTS, &space);
}

static uint32_t insert(uint32_t pd, uint64_t offset, uint64_t bytes, uint32_t access)
{
	int error = 0;
	uint32_t key = rc_mr_insert(&table, pd, memory + offset, bytes, access, &error);

	cr_assert_neq(key, 0, "error %d", error);
	return key;
}

static int insert_error(void *host, uint64_t bytes, uint32_t access)
{
	int error = 0;

	cr_assert_eq(rc_mr_insert(&table, 1, host, bytes, access, &error), 0);
	return error;
}

static enum rc_mr_verdict check(uint32_t key, uint32_t pd, uint64_t va, uint64_t bytes, uint32_t access)
{
	uint8_t *host = NULL;

	return rc_mr_check(&table, key, pd, 0, va, bytes, access, &host);
}

TestSuite(mr, .init = set_up);

Test(mr, range_covers_exactly_the_region)
{
	uint64_t va = (uintptr_t)memory + 1000;
	uint32_t key = insert(1, 1000, 100, ALL);

	RULE("M-1");
	RULE("S-4");
	cr_assert_eq(check(key, 1, va, 100, LOCAL), MR_OK);
	cr_assert_eq(check(key, 1, va + 99, 1, LOCAL), MR_OK);
	cr_assert_eq(check(key, 1, va + 100, 0, LOCAL), MR_OK, "nothing at the end");
	cr_assert_eq(check(key, 1, va + 101, 0, LOCAL), MR_BAD_RANGE);
	cr_assert_eq(check(key, 1, va - 1, 1, LOCAL), MR_BAD_RANGE);
	cr_assert_eq(check(key, 1, va - 1, 2, LOCAL), MR_BAD_RANGE);
	cr_assert_eq(check(key, 1, va - 1, 0, LOCAL), MR_BAD_RANGE);
	cr_assert_eq(check(key, 1, va + 100, 1, LOCAL), MR_BAD_RANGE);
	cr_assert_eq(check(key, 1, va, 101, LOCAL), MR_BAD_RANGE);
	cr_assert_eq(check(key, 1, va + 50, UINT64_MAX, LOCAL), MR_BAD_RANGE);
	cr_assert_eq(check(key, 1, va + 50, UINT64_MAX - va - 49, LOCAL), MR_BAD_RANGE, "va + bytes is 0");
	cr_assert_eq(check(key, 1, UINT64_MAX, 1, LOCAL), MR_BAD_RANGE);
	cr_assert_eq(check(key, 1, 0, 1, LOCAL), MR_BAD_RANGE);
}

Test(mr, the_host_address_follows_the_offset)
{
	uint8_t *host = NULL;
	uint32_t key = insert(1, 8, 100, LOCAL);
	uint32_t zero = insert(1, 16, 100, LOCAL | UROCE_ACCESS_ZERO_BASED);

	RULE("M-1");
	cr_assert_eq(rc_mr_check(&table, key, 1, 0, (uintptr_t)memory + 18, 5, LOCAL, &host), MR_OK);
	cr_assert_eq(host, memory + 18);
	cr_assert_eq(rc_mr_check(&table, zero, 1, 0, 10, 5, LOCAL, &host), MR_OK);
	cr_assert_eq(host, memory + 26);
	cr_assert_eq(check(zero, 1, 96, 5, LOCAL), MR_BAD_RANGE);
	cr_assert_eq(check(zero, 1, UINT64_MAX, 1, LOCAL), MR_BAD_RANGE);
	cr_assert_eq(check(zero, 1, UINT64_MAX, 2, LOCAL), MR_BAD_RANGE);
}

Test(mr, domain_and_each_right_are_judged)
{
	uint64_t va = (uintptr_t)memory;

	RULE("M-1");
	RULE("S-4");
	for (uint32_t has = 0; has < 16; has++) {
		uint32_t key;

		if ((has & (UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_ATOMIC)) && !(has & LOCAL)) {
			cr_assert_eq(insert_error(memory, 64, has), -EINVAL, "access %#x contradicts itself", has);
			continue;
		}
		key = insert(7, 0, 64, has);
		for (uint32_t wants = 0; wants < 16; wants++)
			cr_assert_eq(check(key, 7, va, 8, wants), (has & wants) == wants ? MR_OK : MR_BAD_RIGHTS,
				     "has %#x, wants %#x", has, wants);
		cr_assert_eq(check(key, 8, va, 8, 0), MR_BAD_DOMAIN);
		cr_assert_eq(rc_mr_remove(&table, key), 0);
	}
}

Test(mr, only_the_exact_key_opens)
{
	uint64_t va = (uintptr_t)memory;
	uint32_t key = insert(1, 0, 64, ALL);

	RULE("M-1");
	cr_assert_eq(check(key, 1, va, 8, ALL), MR_OK);
	cr_assert_eq(check(0, 1, va, 8, 0), MR_BAD_KEY);
	for (uint32_t bit = 0; bit < 32; bit++)
		cr_assert_eq(check(key ^ 1u << bit, 1, va, 8, 0), MR_BAD_KEY, "bit %u", bit);
}

/* TC-D-8 */
Test(mr, removed_key_never_opens_again)
{
	uint64_t va = (uintptr_t)memory;
	uint32_t old[100];

	RULE("M-1");
	RULE("M-2");
	for (uint32_t i = 0; i < 100; i++) {
		old[i] = insert(1, 0, 64, ALL);
		for (uint32_t j = 0; j < i; j++)
			cr_assert_eq(check(old[j], 1, va, 8, 0), MR_BAD_KEY, "key %u opens in round %u", j, i);
		cr_assert_eq(check(old[i], 1, va, 8, 0), MR_OK);
		cr_assert_eq(rc_mr_remove(&table, old[i]), 0);
		cr_assert_eq(check(old[i], 1, va, 8, 0), MR_BAD_KEY);
		cr_assert_eq(rc_mr_remove(&table, old[i]), -ENOENT);
	}
}

Test(mr, full_table_refuses_until_an_entry_is_removed)
{
	uint32_t keys[SLOTS];

	RULE("M-1");
	for (uint32_t i = 0; i < SLOTS; i++)
		keys[i] = insert(1, 0, 64, ALL);
	cr_assert_eq(insert_error(memory, 64, ALL), -ENOMEM);
	cr_assert_eq(rc_mr_remove(&table, keys[2]), 0);
	keys[2] = insert(1, 0, 64, ALL);
	cr_assert_eq(insert_error(memory, 64, ALL), -ENOMEM);
	for (uint32_t i = 0; i < SLOTS; i++)
		cr_assert_eq(check(keys[i], 1, (uintptr_t)memory, 8, 0), MR_OK);
	cr_assert_eq(rc_mr_remove(&table, 0), -ENOENT);
}

Test(mr, invalid_region_is_refused)
{
	RULE("M-1");
	RULE("S-7");
	cr_assert_eq(insert_error(memory, 0, ALL), -EINVAL);
	cr_assert_eq(insert_error(NULL, 64, ALL), -EINVAL);
	cr_assert_eq(insert_error(memory, UINT64_MAX, ALL), -EINVAL);
	cr_assert_eq(insert_error(memory, 64, 1u << 20), -EINVAL);
	/* an aligned VA must be an aligned address */
	cr_assert_eq(insert_error(memory + 4, 64, ALL | UROCE_ACCESS_ZERO_BASED), -EINVAL);
	insert(1, 8, 64, ALL | UROCE_ACCESS_ZERO_BASED);
	insert(1, 4, 64, ALL);
	insert(1, 4, 64, LOCAL | UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_ZERO_BASED);
}

/* ---- windows ---- */

#define QPN 0x11
#define BINDABLE (ALL | UROCE_ACCESS_MW_BIND)
#define REMOTE (UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC)

static uint32_t window(enum rc_mr_kind kind)
{
	uint32_t key = rc_mr_insert_window(&table, 1, kind);

	cr_assert_neq(key, 0);
	return key;
}

/* The same window's key with its tag moved on. */
static uint32_t next_key(uint32_t key)
{
	return (key & ~0xFFu) | ((key + 1) & 0xFF);
}

static bool bind(uint32_t key, uint32_t region, uint64_t offset, uint64_t bytes, uint32_t access)
{
	const struct rc_mr_bind wanted = {
		.va = (uintptr_t)memory + offset,
		.bytes = bytes,
		.region_key = region,
		.access = access,
		.key = key,
	};

	return rc_mr_bind(&table, 1, QPN, &wanted);
}

/* As check(), for a QP of domain 1, address as an offset. */
static enum rc_mr_verdict open_by(uint32_t qpn, uint32_t key, uint64_t offset, uint64_t bytes, uint32_t access)
{
	uint8_t *host = NULL;
	enum rc_mr_verdict verdict = rc_mr_check(&table, key, 1, qpn, (uintptr_t)memory + offset, bytes, access, &host);

	if (verdict == MR_OK)
		cr_assert_eq(host, memory + offset);
	return verdict;
}

Test(mr, window_opens_only_its_bound_range)
{
	RULE("M-3");
	RULE("S-4");
	for (int kind = MR_WINDOW_1; kind <= MR_WINDOW_2; kind++) {
		uint32_t region, key;

		set_up();
		region = insert(1, 1000, 1000, BINDABLE);
		key = next_key(window((enum rc_mr_kind)kind));
		cr_assert_eq(open_by(QPN, key, 1100, 8, 0), MR_BAD_KEY, "not bound yet");
		cr_assert(bind(key, region, 1100, 96, REMOTE));
		cr_assert_eq(open_by(QPN, key, 1100, 96, REMOTE), MR_OK);
		cr_assert_eq(open_by(QPN, key, 1195, 1, REMOTE), MR_OK);
		cr_assert_eq(open_by(QPN, key, 1196, 0, REMOTE), MR_OK);
		cr_assert_eq(open_by(QPN, key, 1099, 1, REMOTE), MR_BAD_RANGE);
		cr_assert_eq(open_by(QPN, key, 1099, 2, REMOTE), MR_BAD_RANGE);
		cr_assert_eq(open_by(QPN, key, 1195, 2, REMOTE), MR_BAD_RANGE);
		cr_assert_eq(open_by(QPN, key, 1196, 1, REMOTE), MR_BAD_RANGE);
		cr_assert_eq(open_by(QPN, key, 1100, UINT64_MAX, REMOTE), MR_BAD_RANGE);
		for (uint32_t bit = 0; bit < 8; bit++)
			cr_assert_eq(open_by(QPN, key ^ 1u << bit, 1100, 8, 0), MR_BAD_KEY, "tag bit %u", bit);
		cr_assert_eq(check(key, 2, (uintptr_t)memory + 1100, 8, 0), MR_BAD_DOMAIN);
		cr_assert_eq(check(region, 1, (uintptr_t)memory + 1000, 1000, ALL), MR_OK, "the region is as before");
	}
}

/* Of the remote rights each by itself; and a window is never good for local use. */
Test(mr, window_gives_only_its_bound_rights)
{
	static const uint32_t rights[] = { UROCE_ACCESS_REMOTE_WRITE, UROCE_ACCESS_REMOTE_READ,
					   UROCE_ACCESS_REMOTE_ATOMIC, UROCE_ACCESS_FLUSH_GLOBAL,
					   UROCE_ACCESS_FLUSH_PERSISTENT };
	uint32_t region = insert(1, 0, 64, BINDABLE | UROCE_ACCESS_FLUSH_GLOBAL | UROCE_ACCESS_FLUSH_PERSISTENT);
	uint32_t key = window(MR_WINDOW_1);

	RULE("M-3");
	for (uint32_t has = 0; has < 32; has++) {
		uint32_t access = 0;

		for (uint32_t i = 0; i < 5; i++)
			access |= has & 1u << i ? rights[i] : 0;
		key = next_key(key);
		cr_assert(bind(key, region, 0, 64, access), "access %#x", access);
		for (uint32_t i = 0; i < 5; i++)
			cr_assert_eq(open_by(QPN, key, 0, 8, rights[i]), has & 1u << i ? MR_OK : MR_BAD_RIGHTS,
				     "has %#x, wants %#x", access, rights[i]);
		cr_assert_eq(open_by(QPN, key, 0, 8, MR_ACCESS_LOCAL), MR_BAD_RIGHTS, "as an lkey");
		cr_assert_eq(open_by(QPN, key, 0, 8, LOCAL), MR_BAD_RIGHTS);
	}
}

Test(mr, bind_is_refused_for_each_reason)
{
	uint32_t region = insert(1, 1000, 1000, BINDABLE);
	uint32_t old = window(MR_WINDOW_2), key = next_key(old), spare;

	RULE("M-3");
	cr_assert(!bind(key, region, 999, 10, REMOTE), "begins before the region");
	cr_assert(!bind(key, region, 1000, 1001, REMOTE), "ends behind it");
	cr_assert(!bind(key, region, 2000, 1, REMOTE));
	cr_assert(!bind(key, region, 1500, UINT64_MAX - 100, REMOTE), "wraps");
	cr_assert(!bind(key, region ^ 1, 1000, 10, REMOTE), "no such region");
	cr_assert(!bind(key, 0, 1000, 10, REMOTE));
	cr_assert(!bind(key, key, 1000, 10, REMOTE), "a window of itself");
	cr_assert(!bind(key ^ 0x100, region, 1000, 10, REMOTE), "no window has this key");
	cr_assert(!bind(region ^ 1, region, 1000, 10, REMOTE), "the new key is that of the region");
	cr_assert(!bind(old, region, 1000, 10, REMOTE), "the tag is as it was");
	cr_assert(!bind(key, region, 1000, 0, REMOTE), "type 2, no bytes");
	spare = insert(2, 1000, 1000, BINDABLE);
	cr_assert(!bind(key, spare, 1000, 10, REMOTE), "a region of another domain");
	cr_assert_eq(rc_mr_remove(&table, spare), 0);
	cr_assert(!bind(key, spare, 1000, 10, REMOTE), "a region that is gone");
	spare = insert(1, 1000, 1000, ALL);
	cr_assert(!bind(key, spare, 1000, 10, REMOTE), "a region without the right to bind");
	cr_assert_eq(rc_mr_remove(&table, spare), 0);
	spare = insert(1, 1000, 1000, UROCE_ACCESS_MW_BIND);
	cr_assert(!bind(key, spare, 1000, 10, UROCE_ACCESS_REMOTE_WRITE), "nothing local may be written");
	cr_assert(!bind(key, spare, 1000, 10, UROCE_ACCESS_REMOTE_ATOMIC));
	cr_assert(bind(key, spare, 1000, 10, UROCE_ACCESS_REMOTE_READ), "a READ needs no more");
	cr_assert(rc_mr_invalidate(&table, key, 1, QPN));
	cr_assert_eq(rc_mr_remove(&table, spare), 0);
	cr_assert(!bind(next_key(key), region, 1000, 10, UROCE_ACCESS_FLUSH_GLOBAL), "the region gives no FLUSH");
	cr_assert(!bind(next_key(key), region, 1000, 10, LOCAL), "a window is for peers");
	cr_assert(!rc_mr_bind(&table, 2, QPN,
			      &(struct rc_mr_bind){ .va = (uintptr_t)memory + 1000,
						    .bytes = 8,
						    .region_key = region,
						    .key = next_key(key) }),
		  "a QP of another domain");
	spare = insert(2, 1000, 1000, BINDABLE);
	cr_assert(!rc_mr_bind(&table, 2, QPN,
			      &(struct rc_mr_bind){ .va = (uintptr_t)memory + 1000,
						    .bytes = 8,
						    .region_key = spare,
						    .key = next_key(key) }),
		  "a window of another domain");
	cr_assert(bind(next_key(key), region, 1000, 1000, REMOTE), "after all this it can be bound");
	cr_assert_eq(open_by(QPN, next_key(key), 1000, 1000, REMOTE), MR_OK);
}

/* Between the two steps of its removal: its key is still there, and it takes no windows any more. */
Test(mr, region_during_removal_accepts_no_window)
{
	uint32_t region = insert(1, 1000, 1000, BINDABLE), key = next_key(window(MR_WINDOW_2));

	RULE("M-2");
	RULE("M-3");
	atomic_store(&rc_mr_slot(&table, region)->windows, UINT32_MAX);
	cr_assert(!bind(key, region, 1000, 10, REMOTE));
	cr_assert_eq(atomic_load(&rc_mr_slot(&table, region)->windows), UINT32_MAX);
	atomic_store(&rc_mr_slot(&table, region)->windows, 0);
	cr_assert(bind(key, region, 1000, 10, REMOTE));
}

/* S-7: where it begins does not matter, only that an aligned address is aligned in memory, too. */
Test(mr, a_window_for_atomics_may_begin_anywhere)
{
	uint32_t region = insert(1, 1000, 1000, BINDABLE), key = window(MR_WINDOW_1);

	RULE("M-3");
	RULE("S-7");
	for (uint32_t offset = 0; offset < 8; offset++) {
		key = next_key(key);
		cr_assert(bind(key, region, 1000 + offset, 100, UROCE_ACCESS_REMOTE_ATOMIC), "offset %u", offset);
	}
}

/* Binds, and takes what was bound before away first. */
static bool bind_anew(uint32_t *key, uint32_t region, uint64_t va, uint32_t access)
{
	rc_mr_invalidate(&table, *key, 1, QPN);
	*key = next_key(*key);
	return rc_mr_bind(
		&table, 1, QPN,
		&(struct rc_mr_bind){ .va = va, .bytes = 50, .region_key = region, .access = access, .key = *key });
}

/* Peers count from 0, wherever the window begins; or as the region's own addresses are. */
Test(mr, a_zero_based_window_is_addressed_from_zero)
{
	const uint32_t zero = UROCE_ACCESS_ZERO_BASED, read = UROCE_ACCESS_REMOTE_READ;
	const uint32_t atomic = UROCE_ACCESS_REMOTE_ATOMIC;
	uint32_t region = insert(1, 8, 1000, BINDABLE), zero_region = insert(1, 8, 1000, BINDABLE | zero);
	uint32_t key = window(MR_WINDOW_2);
	uint64_t va = (uintptr_t)memory;
	uint8_t *host = NULL;

	RULE("M-3");
	RULE("S-7");
	cr_assert(bind_anew(&key, region, va + 108, read | zero));
	cr_assert_eq(rc_mr_check(&table, key, 1, QPN, 0, 50, read, &host), MR_OK);
	cr_assert_eq(host, memory + 108);
	cr_assert_eq(rc_mr_check(&table, key, 1, QPN, 49, 2, read, &host), MR_BAD_RANGE);
	cr_assert_eq(open_by(QPN, key, 108, 8, 0), MR_BAD_RANGE);
	/* An aligned address of the peer must be one here (S-7). */
	cr_assert(!bind_anew(&key, region, va + 12, atomic | zero));
	cr_assert(bind_anew(&key, region, va + 12, atomic), "not zero-based: aligned as the memory is");
	cr_assert(bind_anew(&key, region, va + 16, atomic | zero));
	/* A region that is zero-based, a window that is not: the region's addresses. */
	cr_assert(bind_anew(&key, zero_region, 100, read));
	cr_assert_eq(rc_mr_check(&table, key, 1, QPN, 149, 1, read, &host), MR_OK);
	cr_assert_eq(host, memory + 8 + 149);
	cr_assert_eq(rc_mr_check(&table, key, 1, QPN, 99, 1, read, &host), MR_BAD_RANGE);
	cr_assert_eq(rc_mr_check(&table, key, 1, QPN, 0, 1, read, &host), MR_BAD_RANGE);
	cr_assert(!bind(next_key(window(MR_WINDOW_1)), region, 108, 50, read | zero),
		  "type 1 has the region's addresses");
}

/* TC-D-8: bound again and again, over all tags; only the newest key opens, and only what it was bound to last. */
Test(mr, rebound_type_1_window_invalidates_its_old_key)
{
	uint32_t regions[2] = { insert(1, 0, 512, BINDABLE), insert(1, 512, 512, BINDABLE) };
	uint32_t key = window(MR_WINDOW_1), old;

	RULE("M-3");
	for (uint32_t i = 0; i < 300; i++) {
		old = key;
		key = next_key(key);
		cr_assert(bind(key, regions[i & 1], 512 * (i & 1), 512, REMOTE), "round %u", i);
		cr_assert_eq(open_by(QPN, old, 0, 8, 0), MR_BAD_KEY);
		cr_assert_eq(open_by(QPN, key, 512 * (i & 1), 512, REMOTE), MR_OK);
		cr_assert_eq(open_by(QPN, key, 512 * !(i & 1), 512, REMOTE), MR_BAD_RANGE);
		cr_assert_eq(open_by(QPN + 1, key, 512 * (i & 1), 512, REMOTE), MR_OK, "good for every QP");
		cr_assert_eq(rc_mr_remove(&table, regions[i & 1]), -EBUSY);
		if (i < 4) { /* the region that it has left is free */
			cr_assert_eq(rc_mr_remove(&table, regions[!(i & 1)]), 0);
			regions[!(i & 1)] = insert(1, 512 * !(i & 1), 512, BINDABLE);
		}
	}
	cr_assert(!bind(key, regions[0], 0, 8, REMOTE), "the same key again");
	cr_assert_eq(open_by(QPN, key, 512, 8, REMOTE), MR_OK, "a bind that was refused changed something");
	/* Another QP may bind it, for it belongs to none; no bytes unbind it. */
	old = key;
	key = next_key(key);
	cr_assert(rc_mr_bind(&table, 1, QPN + 1, &(struct rc_mr_bind){ .region_key = regions[0], .key = key }));
	cr_assert_eq(open_by(QPN, old, 512, 8, 0), MR_BAD_KEY);
	cr_assert_eq(open_by(QPN, key, 512, 8, 0), MR_BAD_KEY);
	cr_assert_eq(open_by(QPN, key, 512, 0, 0), MR_BAD_KEY);
	cr_assert(!bind(key, regions[0], 0, 8, REMOTE), "the key that was bound to nothing");
	for (uint32_t i = 0; i < 2; i++)
		cr_assert_eq(rc_mr_remove(&table, regions[i]), 0);
}

/* TC-D-6 */
Test(mr, type_2_window_is_valid_for_its_qp_until_invalidated)
{
	uint32_t region = insert(1, 0, 512, BINDABLE);
	uint32_t key = next_key(window(MR_WINDOW_2)), next = next_key(key);

	RULE("M-3");
	cr_assert(!rc_mr_may_invalidate(&table, key, 1, QPN), "not bound yet");
	cr_assert(bind(key, region, 0, 512, REMOTE));
	cr_assert_eq(open_by(QPN, key, 0, 8, REMOTE), MR_OK);
	cr_assert_eq(open_by(QPN + 1, key, 0, 8, REMOTE), MR_BAD_DOMAIN);
	cr_assert(!bind(next, region, 0, 8, REMOTE), "bound already");
	cr_assert(!rc_mr_invalidate(&table, key, 1, QPN + 1));
	cr_assert(!rc_mr_invalidate(&table, key, 2, QPN));
	cr_assert(!rc_mr_invalidate(&table, next, 1, QPN));
	cr_assert(!rc_mr_may_invalidate(&table, key, 1, QPN + 1));
	cr_assert_eq(open_by(QPN, key, 0, 8, REMOTE), MR_OK);
	cr_assert(rc_mr_may_invalidate(&table, key, 1, QPN));
	cr_assert_eq(open_by(QPN, key, 0, 8, REMOTE), MR_OK, "asking changes nothing");
	cr_assert(rc_mr_invalidate(&table, key, 1, QPN));
	cr_assert_eq(open_by(QPN, key, 0, 8, REMOTE), MR_BAD_KEY);
	cr_assert(!rc_mr_invalidate(&table, key, 1, QPN), "twice");
	cr_assert_eq(rc_mr_remove(&table, region), 0, "it binds no more");
	region = insert(1, 0, 512, BINDABLE);
	cr_assert(!bind(key, region, 0, 8, REMOTE), "the tag must change");
	cr_assert(rc_mr_bind(
		&table, 1, QPN + 1,
		&(struct rc_mr_bind){
			.va = (uintptr_t)memory, .bytes = 8, .region_key = region, .key = next, .access = REMOTE }));
	cr_assert_eq(open_by(QPN, next, 0, 8, REMOTE), MR_BAD_DOMAIN);
	cr_assert_eq(open_by(QPN + 1, next, 0, 8, REMOTE), MR_OK);
}

/* TC-C-9 */
Test(mr, only_a_bound_window_of_type_2_can_be_invalidated)
{
	uint32_t region = insert(1, 0, 512, BINDABLE), key = next_key(window(MR_WINDOW_1));

	RULE("M-3");
	cr_assert(bind(key, region, 0, 512, REMOTE));
	cr_assert(!rc_mr_invalidate(&table, key, 1, QPN), "type 1");
	cr_assert(!rc_mr_invalidate(&table, region, 1, QPN), "a region");
	cr_assert(!rc_mr_invalidate(&table, 0, 1, QPN));
	cr_assert(!rc_mr_invalidate(&table, 0xFFFFFFFF, 1, QPN));
	cr_assert_eq(open_by(QPN, key, 0, 512, REMOTE), MR_OK);
	cr_assert_eq(open_by(QPN, region, 0, 512, ALL), MR_OK);
	/* A region in a slot that was such a window. */
	key = next_key(window(MR_WINDOW_2));
	cr_assert(bind(key, region, 0, 512, REMOTE));
	window(MR_WINDOW_2);
	cr_assert_eq(rc_mr_remove_window(&table, key), 0);
	key = insert(1, 0, 512, BINDABLE);
	cr_assert(!rc_mr_invalidate(&table, key, 1, QPN));
	cr_assert_eq(open_by(QPN, key, 0, 512, ALL), MR_OK);
}

Test(mr, windows_and_regions_need_their_own_removal_call)
{
	uint32_t region = insert(1, 0, 512, BINDABLE), first = window(MR_WINDOW_1), second = window(MR_WINDOW_2);
	uint32_t keys[2] = { next_key(first), next_key(second) };

	RULE("M-3");
	RULE("M-2");
	window(MR_WINDOW_2);
	cr_assert_eq(rc_mr_insert_window(&table, 1, MR_WINDOW_1), 0, "the table is full");
	cr_assert_eq(insert_error(memory, 64, ALL), -ENOMEM);
	cr_assert(bind(keys[0], region, 0, 512, REMOTE));
	cr_assert(bind(keys[1], region, 0, 512, REMOTE));
	cr_assert_eq(rc_mr_remove(&table, region), -EBUSY);
	cr_assert_eq(rc_mr_remove(&table, keys[0]), -ENOENT, "a window");
	cr_assert_eq(rc_mr_remove_window(&table, region), -ENOENT, "a region");
	cr_assert_eq(rc_mr_remove_window(&table, first ^ 0xABCD00), -ENOENT);
	cr_assert_eq(rc_mr_remove_window(&table, first), 0, "by its first key, bound as it is");
	cr_assert_eq(open_by(QPN, keys[0], 0, 8, 0), MR_BAD_KEY);
	cr_assert_eq(rc_mr_remove(&table, region), -EBUSY, "the other is still bound");
	cr_assert_eq(open_by(QPN, region, 0, 512, ALL), MR_OK, "refused, and usable as before");
	cr_assert_eq(open_by(QPN, keys[1], 0, 512, REMOTE), MR_OK);
	cr_assert_eq(rc_mr_remove_window(&table, keys[1]), 0, "by its newest key");
	cr_assert_eq(rc_mr_remove(&table, region), 0);
	cr_assert_eq(rc_mr_remove_window(&table, keys[1]), -ENOENT);
}

/* TC-D-8: a slot serves regions and windows in turn; no key of an earlier one ever opens. */
Test(mr, old_key_of_a_slot_never_opens)
{
	uint32_t old[60], region = insert(1, 0, 64, BINDABLE);

	RULE("M-3");
	RULE("M-1");
	window(MR_WINDOW_1);
	window(MR_WINDOW_1);
	for (uint32_t i = 0; i < 60; i++) {
		if (i % 3) {
			old[i] = next_key(window(i % 3 == 1 ? MR_WINDOW_1 : MR_WINDOW_2));
			cr_assert(bind(old[i], region, 0, 64, REMOTE));
		} else {
			old[i] = insert(1, 0, 64, ALL);
		}
		for (uint32_t j = 0; j < i; j++)
			cr_assert_eq(open_by(QPN, old[j], 0, 8, 0), MR_BAD_KEY, "key %u opens in round %u", j, i);
		cr_assert_eq(open_by(QPN, old[i], 0, 8, 0), MR_OK);
		cr_assert_eq(i % 3 ? rc_mr_remove_window(&table, old[i]) : rc_mr_remove(&table, old[i]), 0);
		cr_assert_eq(open_by(QPN, old[i], 0, 8, 0), MR_BAD_KEY);
	}
}

Test(mr, extent_is_the_whole_range_of_a_key)
{
	uint32_t region = insert(1, 100, 1000, BINDABLE), key = next_key(window(MR_WINDOW_2));
	uint64_t va = 0, bytes = 0;

	RULE("M-3");
	RULE("S-20");
	cr_assert_eq(rc_mr_extent(&table, region, 1, QPN, LOCAL, &va, &bytes), MR_OK);
	cr_assert_eq(va, (uintptr_t)memory + 100);
	cr_assert_eq(bytes, 1000);
	cr_assert_eq(rc_mr_extent(&table, key, 1, QPN, 0, &va, &bytes), MR_BAD_KEY);
	cr_assert(bind(key, region, 200, 50, REMOTE));
	cr_assert_eq(rc_mr_extent(&table, key, 1, QPN, UROCE_ACCESS_REMOTE_READ, &va, &bytes), MR_OK);
	cr_assert_eq(va, (uintptr_t)memory + 200);
	cr_assert_eq(bytes, 50);
	cr_assert_eq(rc_mr_extent(&table, key, 1, QPN, UROCE_ACCESS_FLUSH_GLOBAL, &va, &bytes), MR_BAD_RIGHTS);
	cr_assert_eq(rc_mr_extent(&table, key, 2, QPN, 0, &va, &bytes), MR_BAD_DOMAIN);
	cr_assert_eq(rc_mr_extent(&table, key, 1, QPN + 1, 0, &va, &bytes), MR_BAD_DOMAIN);
	cr_assert_eq(rc_mr_extent(&table, region, 2, QPN, 0, &va, &bytes), MR_BAD_DOMAIN);
	cr_assert_eq(rc_mr_extent(&table, region ^ 1, 1, QPN, 0, &va, &bytes), MR_BAD_KEY);
	cr_assert_eq(rc_mr_extent(&table, 0, 1, QPN, 0, &va, &bytes), MR_BAD_KEY);
	cr_assert_eq(rc_mr_extent(&table, region ^ 0xABCD00, 1, QPN, 0, &va, &bytes), MR_BAD_KEY);
}

/* Another lcore is in the middle of a change: what is read does not belong together, and two do not change at once. */
Test(mr, window_during_a_change_opens_nothing)
{
	uint32_t region = insert(1, 0, 512, BINDABLE), key = next_key(window(MR_WINDOW_2));
	struct rc_mr_entry *entry = NULL;
	uint64_t va, bytes;

	RULE("M-3");
	cr_assert(bind(key, region, 0, 512, REMOTE));
	for (uint32_t i = 0; i < SLOTS; i++)
		entry = entries[i].key == key ? &entries[i] : entry;
	cr_assert_not_null(entry);
	entry->version++;
	cr_assert_eq(open_by(QPN, key, 0, 8, REMOTE), MR_BAD_KEY);
	cr_assert_eq(rc_mr_extent(&table, key, 1, QPN, 0, &va, &bytes), MR_BAD_KEY);
	cr_assert(!rc_mr_invalidate(&table, key, 1, QPN));
	cr_assert(!bind(next_key(key), region, 0, 8, REMOTE));
	entry->version++;
	cr_assert_eq(open_by(QPN, key, 0, 8, REMOTE), MR_OK);
	cr_assert(rc_mr_invalidate(&table, key, 1, QPN));
}

Test(mr, new_table_is_empty)
{
	const struct rc_permute24 space = { .secret = { 5, 6, 7, 8 } };

	RULE("M-1");
	for (uint32_t round = 0; round < 2; round++) {
		memset(entries, 0, sizeof(entries));
		rc_mr_table_init(&table, entries, SLOTS, &space);
		for (uint32_t i = 0; i < SLOTS; i++)
			insert(1, 0, 8, ALL);
	}
}

/* With as many slots as a power of two no body is wasted. */
Test(mr, power_of_two_table_maps_every_key_to_a_slot)
{
	RULE("M-1");
	for (uint32_t body = 1; body <= 4000; body++)
		cr_assert_not_null(rc_mr_slot(&table, body << 8), "body %u", body);
}
