/* timewait.c - numbers rest until their time is over, however many they are */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "engine/timewait.h"
#include "rule.h"

#define MANY 20000u
#define S 1000000000ull

Test(timewait, number_stays_in_time_wait_until_it_expires)
{
	struct engine_timewait timewait;

	RULE("P-7");
	cr_assert_eq(engine_timewait_init(&timewait), 0);
	engine_timewait_begin(&timewait, 17, 0, 100);
	engine_timewait_begin(&timewait, TIMEWAIT_NUMBERS - 1, 50, 150);
	engine_timewait_wake(&timewait, 99);
	cr_expect(engine_timewait_has(&timewait, 17));
	cr_expect_not(engine_timewait_has(&timewait, 18));
	engine_timewait_wake(&timewait, 100);
	cr_expect_not(engine_timewait_has(&timewait, 17));
	cr_expect(engine_timewait_has(&timewait, TIMEWAIT_NUMBERS - 1));
	cr_expect_eq(timewait.count, 1);
	engine_timewait_wake(&timewait, 200);
	cr_expect_eq(timewait.count, 0);
	engine_timewait_free(&timewait);
}

/* Some wake while more come, so that the ring has its beginning anywhere when it grows. */
Test(timewait, time_wait_returns_its_memory)
{
	struct engine_timewait timewait;
	uint64_t bytes;

	RULE("P-7");
	RULE("C-28");
	cr_assert_eq(engine_timewait_init(&timewait), 0);
	engine_timewait_begin(&timewait, MANY, 0, MANY / 2);
	bytes = engine_timewait_bytes(&timewait);
	for (uint32_t i = 0; i < MANY; i++) {
		engine_timewait_begin(&timewait, i, i, MANY / 2);
		engine_timewait_wake(&timewait, i);
	}
	cr_assert_gt(engine_timewait_bytes(&timewait), bytes);
	for (uint32_t i = 0; i < MANY; i++)
		cr_assert_eq(engine_timewait_has(&timewait, i), i + MANY / 2 >= MANY, "%u", i);
	engine_timewait_wake(&timewait, 2 * MANY);
	for (uint32_t i = 0; i < MANY; i++)
		cr_assert_not(engine_timewait_has(&timewait, i), "%u", i);
	cr_expect_eq(engine_timewait_bytes(&timewait), bytes);
	engine_timewait_free(&timewait);
}

/* A peer with a long ACK timeout, and thousands with a short one behind it. */
Test(timewait, long_time_wait_does_not_delay_others)
{
	struct engine_timewait timewait;

	RULE("P-7");
	cr_assert_eq(engine_timewait_init(&timewait), 0);
	engine_timewait_begin(&timewait, 17, 0, 60 * S);
	for (uint32_t i = 0; i < 7; i++)
		engine_timewait_begin(&timewait, 18 + i, i, 1ull << (30 + i % 6));
	for (uint32_t i = 0; i < 6; i++) {
		uint64_t over = 1ull << (30 + i);

		engine_timewait_wake(&timewait, over + i - 1);
		cr_expect(engine_timewait_has(&timewait, 18 + i), "%u", i);
		engine_timewait_wake(&timewait, over + i);
		cr_expect_not(engine_timewait_has(&timewait, 18 + i), "%u", i);
	}
	cr_expect_eq(timewait.count, 1);
	cr_expect(engine_timewait_has(&timewait, 17));
	engine_timewait_wake(&timewait, 60 * S);
	cr_expect_eq(timewait.count, 0);
	engine_timewait_free(&timewait);
}
