/* keys.c - the keys that a table of regions gives out: what a million of them tell about the next one */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The secret is drawn anew each time; UROCE_KEYS_SEED repeats one. Each bound holds for a permutation drawn at random
 * but for the probability beside it: all of them together fail by chance once in ten million runs.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "config/limits.h"
#include "draw.h"
#include "rc/mr.h"
#include "region.h"
#include "rule.h"

#define KEYS 1000000u
#define SLOTS 4096u /* of a device, unless it is told otherwise */
#define FEW_SLOTS 256u
#define FEW_KEYS 300000u /* four times as many as the upper bits of a slot among so few have values */
#define BODIES (1u << 24)
/*
 * A million steps over 2^24 values: of a random permutation each value comes 0.06 times, and one of them comes eight
 * times or more with 2^24 x 0.0596^8 / 8! = 6e-8. (Three times, as one would like, is what 32 bits would give.)
 */
#define ALIKE_MAX 7u
/* Six deviations, squared, of what is nearly normal: 2e-9 a value. */
#define FAR 36.0
#define RANGES 4096u

static _Alignas(8) uint8_t memory[64];
static struct rc_mr_table table;
static uint32_t keys[KEYS];
static uint64_t seed;

static void open_table(uint32_t slots)
{
	const char *given = getenv("UROCE_KEYS_SEED");
	uint64_t state;
	struct rc_permute24 space;

	seed = given ? strtoull(given, NULL, 0) : 0;
	if (given == NULL)
		cr_assert_eq(getrandom(&seed, sizeof(seed), 0), (ssize_t)sizeof(seed));
	state = draw_start(seed);
	for (int i = 0; i < PERMUTE24_ROUNDS; i++)
		space.secret[i] = draw_next(&state);
	rc_mr_table_init(&table, calloc(slots, sizeof(struct rc_mr_entry)), slots, &space);
	cr_assert_not_null(table.entries);
}

/* So many registrations, each of which is gone before the next one comes. */
static void register_many(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		keys[i] = region_insert(&table, memory, sizeof(memory));
		cr_assert_eq(rc_mr_remove(&table, keys[i]), 0);
	}
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint32_t repeats(uint32_t *numbers, uint32_t count)
{
	uint32_t same = 0;

	qsort(numbers, count, sizeof(*numbers), compare);
	for (uint32_t i = 1; i < count; i++)
		same += numbers[i] == numbers[i - 1];
	return same;
}

/* How often the most frequent step between successive keys occurs, their tags left out. */
static uint32_t most_alike(bool exclusive_or)
{
	uint8_t *times = calloc(1, BODIES);
	uint32_t most = 0;

	for (uint32_t i = 1; i < KEYS; i++) {
		uint32_t a = keys[i - 1] >> 8, b = keys[i] >> 8, step = exclusive_or ? a ^ b : (b - a) & (BODIES - 1);

		if (times[step] < UINT8_MAX && ++times[step] > most)
			most = times[step];
	}
	free(times);
	return most;
}

/* Squared deviations. A sample without repeats spreads a little less, so the bounds are on the safe side. */
static double bit_bias(uint32_t bit)
{
	uint32_t ones = 0;

	for (uint32_t i = 0; i < KEYS; i++)
		ones += keys[i] >> bit & 1;
	return (ones - KEYS / 2.0) * (ones - KEYS / 2.0) / (KEYS / 4.0);
}

/* Of each key with the next one. */
static double correlation(void)
{
	const double mean = (BODIES - 1) / 2.0, variance = ((double)BODIES * BODIES - 1) / 12;
	double sum = 0;

	for (uint32_t i = 1; i < KEYS; i++)
		sum += ((keys[i - 1] >> 8) - mean) * ((keys[i] >> 8) - mean);
	return sum / variance * (sum / variance) / (KEYS - 1);
}

static double chi_square(void)
{
	static uint32_t times[RANGES];
	double mean = (double)KEYS / RANGES, sum = 0;

	for (uint32_t i = 0; i < KEYS; i++)
		times[keys[i] >> 20]++;
	for (uint32_t i = 0; i < RANGES; i++)
		sum += (times[i] - mean) * (times[i] - mean) / mean;
	return sum;
}

/* TC-G-1: who has seen a million keys of a device does not know the next one. */
Test(keys, a_million_keys_show_no_order)
{
	double freedom = RANGES - 1, chi;

	RULE("M-1");
	open_table(SLOTS);
	register_many(KEYS);
	cr_expect_leq(most_alike(false), ALIKE_MAX, "seed %#lx: steps are alike", seed);
	cr_expect_leq(most_alike(true), ALIKE_MAX, "seed %#lx: XORs are alike", seed);
	for (uint32_t bit = 8; bit < 32; bit++)
		cr_expect_leq(bit_bias(bit), FAR, "seed %#lx: bit %u", seed, bit);
	cr_expect_leq(correlation(), FAR, "seed %#lx", seed);
	/* 1 - 0.06 of the freedom, for there are no repeats; eight deviations each way: less than 1e-12 */
	chi = chi_square() / (1 - (double)KEYS / BODIES);
	cr_expect((chi - freedom) * (chi - freedom) < 64 * 2 * freedom, "seed %#lx: chi square %.0f of %.0f", seed, chi,
		  freedom);
	for (uint32_t i = 0; i < KEYS; i++)
		keys[i] >>= 8;
	cr_expect_eq(repeats(keys, KEYS), 0, "seed %#lx: a key has the upper bits of an earlier one", seed);
	free(table.entries);
}

/* TC-G-1: a table with one free slot gives out the keys of just that slot, and still none of them twice. */
Test(keys, only_free_slot_never_repeats_a_key)
{
	uint32_t held = 0;

	RULE("M-1");
	open_table(FEW_SLOTS);
	for (uint32_t i = 0; i + 1 < FEW_SLOTS; i++)
		held = region_insert(&table, memory, sizeof(memory));
	register_many(FEW_KEYS);
	cr_expect_eq(repeats(keys, FEW_KEYS), 0, "seed %#lx", seed);
	cr_assert_eq(rc_mr_remove(&table, held), 0, "others stay as they are");
	free(table.entries);
}

/* The largest table and the smallest, the odd one: each key leads back to its slot while it is good, and only then. */
Test(keys, a_table_of_any_size_finds_its_keys)
{
	static const uint32_t sizes[] = { 1, 2, 3, 1000, LIMIT_MRS };

	RULE("M-1");
	for (uint32_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		uint32_t count = sizes[s] < 1000 ? sizes[s] : 1000;
		uint8_t *host;

		open_table(sizes[s]);
		for (uint32_t round = 0; round < 40; round++) {
			for (uint32_t i = 0; i < count; i++)
				keys[i] = region_insert(&table, memory, sizeof(memory));
			for (uint32_t i = 0; i < count; i++) {
				cr_assert_eq(rc_mr_check(&table, keys[i], 1, 0, (uintptr_t)memory, 8, 0, &host), MR_OK,
					     "%u slots, round %u", sizes[s], round);
				cr_assert_eq(rc_mr_remove(&table, keys[i]), 0);
				cr_assert_eq(rc_mr_check(&table, keys[i], 1, 0, (uintptr_t)memory, 8, 0, &host),
					     MR_BAD_KEY);
			}
		}
		free(table.entries);
	}
}

/* TC-G-1: the lower eight bits are the user's where he binds a window; the upper ones are those of its slot. */
Test(keys, window_may_use_any_tag_but_its_last_and_no_other_body)
{
	struct rc_mr_bind bind = { .va = (uintptr_t)memory, .bytes = 8, .access = UROCE_ACCESS_REMOTE_READ };
	uint32_t window, stale;
	int error;

	RULE("M-3");
	open_table(2);
	bind.region_key = rc_mr_insert(&table, 1, memory, sizeof(memory), UROCE_ACCESS_MW_BIND, &error);
	stale = rc_mr_insert_window(&table, 1, MR_WINDOW_2);
	cr_assert_eq(rc_mr_remove_window(&table, stale), 0);
	window = rc_mr_insert_window(&table, 1, MR_WINDOW_2);
	cr_assert_neq(window >> 8, stale >> 8);
	for (uint32_t i = 1; i < 256; i++) {
		bind.key = (window & ~0xFFu) | ((window + i) & 0xFF);
		cr_assert(rc_mr_bind(&table, 1, 5, &bind), "tag %#x", bind.key & 0xFF);
		cr_assert(rc_mr_invalidate(&table, bind.key, 1, 5));
	}
	bind.key = stale + 1;
	cr_assert_not(rc_mr_bind(&table, 1, 5, &bind), "the key of a window that was there before");
	cr_assert_eq(rc_mr_remove_window(&table, stale), -ENOENT, "nor does it take away the new one");
	cr_assert_eq(rc_mr_remove_window(&table, window), 0);
	free(table.entries);
}
