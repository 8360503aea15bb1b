/* lookup.c - how long a wrong key takes, whatever its slot is used for */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <time.h>

#include "rc/mr.h"
#include "region.h"
#include "rule.h"

#define SLOTS 4096u
#define ROUNDS 400u

static _Alignas(8) uint8_t memory[64];
static struct rc_mr_table table;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Looks all of them up; none opens anything. */
static uint64_t time_lookups(const uint32_t *tried, uint32_t count)
{
	uint64_t began = now_ns();
	uint32_t refused = 0;
	uint8_t *host;

	for (uint32_t i = 0; i < count; i++)
		refused += rc_mr_check(&table, tried[i], 1, 0, (uintptr_t)memory, 8, 0, &host) == MR_BAD_KEY;
	began = now_ns() - began;
	cr_assert_eq(refused, count);
	return began;
}

/*
 * TC-G-16, as well as a clock can tell: whether the slot of a wrong key is in use shows in no more than a fifth of the
 * time of a lookup, a few nanoseconds. The shortest of many rounds is what it takes when nothing else is going on.
 */
Test(lookup, wrong_key_lookup_takes_equal_time_for_used_and_free_slots)
{
	const struct rc_permute24 space = { .secret = { 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0x8CB92BA72F3D8DD7,
							0x2545F4914F6CDD1D } };
	static uint32_t used[SLOTS / 2], free_ones[SLOTS / 2];
	uint64_t shortest[2] = { UINT64_MAX, UINT64_MAX };

	RULE("M-1");
	RULE("Y-3");
	rc_mr_table_init(&table, calloc(SLOTS, sizeof(struct rc_mr_entry)), SLOTS, &space);
	for (uint32_t i = 0; i < SLOTS / 2; i++) {
		used[i] = region_insert(&table, memory, sizeof(memory)) ^ 0x40;
		free_ones[i] = region_insert(&table, memory, sizeof(memory));
	}
	for (uint32_t i = 0; i < SLOTS / 2; i++)
		cr_assert_eq(rc_mr_remove(&table, free_ones[i]), 0);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint64_t taken[2];

		taken[0] = time_lookups(used, SLOTS / 2);
		taken[1] = time_lookups(free_ones, SLOTS / 2);
		for (int i = 0; i < 2; i++)
			shortest[i] = taken[i] < shortest[i] ? taken[i] : shortest[i];
	}
	cr_expect(shortest[0] * 5 <= shortest[1] * 6 && shortest[1] * 5 <= shortest[0] * 6,
		  "%u lookups take %lu ns and %lu ns", SLOTS / 2, shortest[0], shortest[1]);
	free(table.entries);
}
