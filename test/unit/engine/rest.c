/* rest.c - numbers rest until their time is over, however many they are */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "engine/rest.h"
#include "rule.h"

#define MANY 20000u
#define S 1000000000ull

Test(rest, a_number_rests_until_its_time_is_over)
{
	struct engine_rest rest;

	RULE("P-7");
	cr_assert_eq(engine_rest_init(&rest), 0);
	engine_rest_begin(&rest, 17, 0, 100);
	engine_rest_begin(&rest, REST_NUMBERS - 1, 50, 150);
	engine_rest_wake(&rest, 99);
	cr_expect(engine_rest_has(&rest, 17));
	cr_expect_not(engine_rest_has(&rest, 18));
	engine_rest_wake(&rest, 100);
	cr_expect_not(engine_rest_has(&rest, 17));
	cr_expect(engine_rest_has(&rest, REST_NUMBERS - 1));
	cr_expect_eq(rest.count, 1);
	engine_rest_wake(&rest, 200);
	cr_expect_eq(rest.count, 0);
	engine_rest_free(&rest);
}

/* Some wake while more come, so that the ring has its beginning anywhere when it grows. */
Test(rest, many_rest_at_once_and_their_memory_comes_back)
{
	struct engine_rest rest;
	uint64_t bytes;

	RULE("P-7");
	RULE("C-28");
	cr_assert_eq(engine_rest_init(&rest), 0);
	engine_rest_begin(&rest, MANY, 0, MANY / 2);
	bytes = engine_rest_bytes(&rest);
	for (uint32_t i = 0; i < MANY; i++) {
		engine_rest_begin(&rest, i, i, MANY / 2);
		engine_rest_wake(&rest, i);
	}
	cr_assert_gt(engine_rest_bytes(&rest), bytes);
	for (uint32_t i = 0; i < MANY; i++)
		cr_assert_eq(engine_rest_has(&rest, i), i + MANY / 2 >= MANY, "%u", i);
	engine_rest_wake(&rest, 2 * MANY);
	for (uint32_t i = 0; i < MANY; i++)
		cr_assert_not(engine_rest_has(&rest, i), "%u", i);
	cr_expect_eq(engine_rest_bytes(&rest), bytes);
	engine_rest_free(&rest);
}

/* A peer with a long ACK timeout, and thousands with a short one behind it. */
Test(rest, a_number_that_rests_long_holds_back_no_other)
{
	struct engine_rest rest;

	RULE("P-7");
	cr_assert_eq(engine_rest_init(&rest), 0);
	engine_rest_begin(&rest, 17, 0, 60 * S);
	for (uint32_t i = 0; i < 7; i++)
		engine_rest_begin(&rest, 18 + i, i, 1ull << (30 + i % 6));
	for (uint32_t i = 0; i < 6; i++) {
		uint64_t over = 1ull << (30 + i);

		engine_rest_wake(&rest, over + i - 1);
		cr_expect(engine_rest_has(&rest, 18 + i), "%u", i);
		engine_rest_wake(&rest, over + i);
		cr_expect_not(engine_rest_has(&rest, 18 + i), "%u", i);
	}
	cr_expect_eq(rest.count, 1);
	cr_expect(engine_rest_has(&rest, 17));
	engine_rest_wake(&rest, 60 * S);
	cr_expect_eq(rest.count, 0);
	engine_rest_free(&rest);
}
