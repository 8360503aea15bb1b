/* history.c - moments of a port: kept, and found by their time */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "engine/history.h"
#include "rule.h"

TestSuite(history, .timeout = 10);

/* One a second, with the second in its first counter. */
static void keep(struct engine_history *history, uint64_t first, uint64_t last)
{
	for (uint64_t at = first; at <= last; at++) {
		struct engine_moment moment = { .at_ns = at * 1000000000, .counters = { at } };

		engine_history_keep(history, &moment);
	}
}

static uint64_t found(const struct engine_history *history, double seconds)
{
	return engine_history_find(history, (uint64_t)(seconds * 1e9))->counters[0];
}

Test(history, empty_history_has_no_moment)
{
	struct engine_history history = { .count = 0 };

	RULE("E-4");
	cr_assert_null(engine_history_find(&history, 5));
}

Test(history, last_moment_not_after_a_time_is_found)
{
	static struct engine_history history;

	RULE("E-4");
	keep(&history, 10, 20);
	cr_expect_eq(found(&history, 15), 15);
	cr_expect_eq(found(&history, 15.9), 15);
	cr_expect_eq(found(&history, 99), 20);
	cr_expect_eq(found(&history, 3), 10, "the oldest of what there is");
}

Test(history, oldest_moments_are_replaced)
{
	static struct engine_history history;

	RULE("E-4");
	keep(&history, 1, HISTORY_MOMENTS + 10);
	cr_expect_eq(found(&history, 12), 12);
	cr_expect_eq(found(&history, 1), 11);
	cr_expect_eq(history.next_ns, (HISTORY_MOMENTS + 10) * 1000000000ull + HISTORY_INTERVAL_NS);
}
