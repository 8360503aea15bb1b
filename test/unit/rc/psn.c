/* psn.c - sequence numbers: sums wrap at 24 bits, order is that of the half window */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "rc/psn.h"
#include "rule.h"

static const uint32_t values[] = { 0, 1, 2, 0x7FFFFE, 0x7FFFFF, 0x800000, 0x800001, 0xFFFFFE, 0xFFFFFF };

Test(psn, sums_wrap_at_24_bits)
{
	RULE("P-1");
	cr_assert_eq(psn_next(psn_make(0xFFFFFF)).v, 0);
	cr_assert_eq(psn_previous(psn_make(0)).v, 0xFFFFFF);
	cr_assert_eq(psn_add(psn_make(0xFFFFF0), 0x20).v, 0x10);
	cr_assert_eq(psn_make(0x1000005).v, 5);
	cr_assert_eq(psn_distance(psn_make(2), psn_make(0xFFFFFE)), 4);
	cr_assert_eq(psn_distance(psn_make(0xFFFFFE), psn_make(2)), 0xFFFFFC);
}

Test(psn, before_covers_the_preceding_half_window)
{
	RULE("P-1");
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		psn_t base = psn_make(values[i]);

		cr_assert_not(psn_before(base, base));
		cr_assert_not(psn_before(psn_add(base, 1), base));
		cr_assert_not(psn_before(psn_add(base, 0x7FFFFF), base));
		cr_assert(psn_before(psn_add(base, 0x800000), base), "2^23 away counts as behind");
		cr_assert(psn_before(psn_previous(base), base));
		cr_assert(psn_before(base, psn_next(base)));
		cr_assert(psn_equal(psn_add(base, 1u << 24), base));
		for (size_t j = 0; j < sizeof(values) / sizeof(values[0]); j++) {
			psn_t other = psn_make(values[j]);

			cr_assert(psn_equal(psn_add(base, psn_distance(other, base)), other));
		}
	}
}
