/* deadlines.c - what is due next, beside a plain list */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "cm/deadlines.h"
#include "draw.h"

#define THINGS 29u
#define STEPS 20000u

static uint64_t nearest(const uint64_t *list)
{
	uint64_t when_ns = CM_NEVER;

	for (uint32_t i = 0; i < THINGS; i++)
		when_ns = list[i] < when_ns ? list[i] : when_ns;
	return when_ns;
}

Test(deadlines, nearest_deadline_expires_first_in_any_order)
{
	uint8_t *memory = aligned_alloc(64, cm_deadlines_bytes(THINGS)), *at = memory;
	struct cm_deadlines deadlines;
	uint64_t list[THINGS], seed = draw_start(1);
	uint32_t thing, set = 0;

	cm_deadlines_init(&deadlines, &at, THINGS);
	cr_assert_eq((uint64_t)(at - memory), cm_deadlines_bytes(THINGS));
	for (uint32_t i = 0; i < THINGS; i++)
		list[i] = CM_NEVER;
	for (uint32_t i = 0; i < STEPS; i++) {
		uint32_t which = draw_below(&seed, THINGS);
		uint64_t when_ns = draw_chance(&seed, 300) ? CM_NEVER : draw_below(&seed, 50);

		set += (when_ns != CM_NEVER) - (list[which] != CM_NEVER);
		list[which] = when_ns;
		cm_deadlines_set(&deadlines, which, when_ns);
		cr_assert_eq(deadlines.count, set);
		cr_assert_eq(cm_deadlines_next(&deadlines), nearest(list));
		cr_assert_eq(cm_deadlines_due(&deadlines, 1000, &thing), set > 0);
		if (set == 0)
			continue;
		cr_assert_eq(list[thing], nearest(list));
		cr_assert(list[thing] == 0 || !cm_deadlines_due(&deadlines, list[thing] - 1, &thing));
		cr_assert(cm_deadlines_due(&deadlines, list[thing], &thing));
	}
	free(memory);
}
