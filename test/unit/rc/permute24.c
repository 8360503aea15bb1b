/* permute24.c - the permutation of names: one to one both ways, and another for each secret */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "rc/permute24.h"
#include "rule.h"

static const struct rc_permute24 spaces[] = {
	{ .secret = { 0, 0, 0, 0 } },
	{ .secret = { 1, 2, 3, 4 } },
	{ .secret = { 0x0123456789ABCDEF, 0xFEDCBA9876543210, 0x5555555555555555, UINT64_MAX } },
};

Test(permute24, permutation_is_one_to_one_and_invertible)
{
	uint8_t *seen = calloc(1, 1u << 24);

	RULE("M-1");
	for (size_t s = 0; s < sizeof(spaces) / sizeof(spaces[0]); s++) {
		for (uint32_t index = 0; index < 1u << 24; index++) {
			uint32_t name = permute24_forward(&spaces[s], index);

			if (name >= 1u << 24 || seen[name] == s + 1 || permute24_back(&spaces[s], name) != index)
				cr_assert(false, "index %u has name %#x", index, name);
			seen[name] = (uint8_t)(s + 1);
		}
	}
	free(seen);
}

/* Neighbours are not neighbours: no difference between the names of successive indexes is common. */
Test(permute24, successive_names_have_no_common_difference)
{
	static uint16_t times[1u << 24];
	const struct rc_permute24 space = { .secret = { 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0x8CB92BA72F3D8DD7,
							0x2545F4914F6CDD1D } };
	uint32_t most = 0;

	RULE("M-1");
	for (uint32_t index = 0; index < 100000; index++) {
		uint32_t difference =
			(permute24_forward(&space, index + 1) - permute24_forward(&space, index)) & 0xFFFFFF;

		if (++times[difference] > most)
			most = times[difference];
	}
	cr_assert_leq(most, 6, "one difference occurs %u times in 100000", most);
}

Test(permute24, each_part_of_the_secret_counts)
{
	RULE("M-1");
	for (int part = 0; part < PERMUTE24_ROUNDS; part++) {
		struct rc_permute24 space = spaces[2];
		uint32_t same = 0;

		space.secret[part] ^= 1ull << 40;
		for (uint32_t index = 0; index < 1000; index++)
			same += permute24_forward(&space, index) == permute24_forward(&spaces[2], index);
		cr_assert_leq(same, 5, "part %d: %u of 1000 names are the same", part, same);
	}
}
