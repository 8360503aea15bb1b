/* mr.c - the memory table: ranges, rights, domains, keys that are gone, and a table that is full */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>

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
	const struct rc_keyspace space = { .secret = { 11, 22, 33, 44 } };

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

Test(mr, the_range_is_the_whole_region_and_nothing_else)
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

Test(mr, only_the_very_key_opens)
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
Test(mr, a_key_that_was_removed_never_opens_again)
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

Test(mr, a_full_table_refuses_until_one_is_removed)
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

Test(mr, a_region_that_cannot_be_is_refused)
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
