/* pattern.c - every wrong byte of a payload is found */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "common/pattern.h"

Test(pattern, filled_pattern_is_correct_at_every_length)
{
	uint8_t data[80];

	for (size_t bytes = 0; bytes <= 64; bytes++) {
		memset(data, 0xEE, sizeof(data));
		app_pattern_fill(data, bytes, pattern_key(0, 1, bytes));
		cr_expect_eq(app_pattern_count_bad(data, bytes, pattern_key(0, 1, bytes)), 0);
		for (size_t i = bytes; i < sizeof(data); i++)
			cr_assert_eq(data[i], 0xEE, "byte %zu behind %zu", i, bytes);
	}
}

Test(pattern, each_single_wrong_byte_is_found)
{
	uint64_t key = pattern_key(1, 2, 3);
	uint8_t data[61];

	app_pattern_fill(data, sizeof(data), key);
	for (size_t i = 0; i < sizeof(data); i++) {
		data[i] ^= 0x10;
		cr_expect_eq(app_pattern_count_bad(data, sizeof(data), key), 1);
		data[i] ^= 0x10;
	}
}

Test(pattern, another_message_flow_or_direction_is_wrong_nearly_everywhere)
{
	uint8_t data[4096];

	app_pattern_fill(data, sizeof(data), pattern_key(0, 7, 100));
	cr_expect_gt(app_pattern_count_bad(data, sizeof(data), pattern_key(0, 7, 101)), 4000);
	cr_expect_gt(app_pattern_count_bad(data, sizeof(data), pattern_key(0, 8, 100)), 4000);
	cr_expect_gt(app_pattern_count_bad(data, sizeof(data), pattern_key(1, 7, 100)), 4000);
	cr_expect_gt(app_pattern_count_bad(data + 8, sizeof(data) - 8, pattern_key(0, 7, 100)), 4000);
}
