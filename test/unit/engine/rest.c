/* rest.c - numbers rest until their time is over, however many they are */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "engine/rest.h"
#include "rule.h"

#define MANY 20000u

Test(rest, a_number_rests_until_its_time_is_over)
{
	struct engine_rest rest;

	RULE("P-7");
	cr_assert_eq(engine_rest_init(&rest), 0);
	engine_rest_begin(&rest, 17, 100);
	engine_rest_begin(&rest, REST_NUMBERS - 1, 200);
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
	uint32_t room;

	RULE("P-7");
	RULE("C-28");
	cr_assert_eq(engine_rest_init(&rest), 0);
	room = rest.room;
	for (uint32_t i = 0; i < MANY; i++) {
		engine_rest_begin(&rest, i, i);
		engine_rest_wake(&rest, i / 2);
	}
	cr_assert_gt(rest.room, room);
	for (uint32_t i = 0; i < MANY; i++)
		cr_assert_eq(engine_rest_has(&rest, i), i > (MANY - 1) / 2, "%u", i);
	engine_rest_wake(&rest, MANY);
	for (uint32_t i = 0; i < MANY; i++)
		cr_assert_not(engine_rest_has(&rest, i), "%u", i);
	cr_expect_eq(rest.room, room);
	engine_rest_free(&rest);
}
