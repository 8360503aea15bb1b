/* criterion.h - as much of Criterion as test/support uses: in a fuzzer a failure is a crash */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_FUZZ_CRITERION_H
#define TEST_FUZZ_CRITERION_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define cr_assert(condition, ...)                                                       \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                        \
		}                                                                       \
	} while (0)
#define cr_assert_eq(a, b, ...) cr_assert((a) == (b))
#define cr_assert_neq(a, b, ...) cr_assert((a) != (b))
#define cr_assert_lt(a, b, ...) cr_assert((a) < (b))
#define cr_assert_leq(a, b, ...) cr_assert((a) <= (b))
#define cr_assert_str_eq(a, b, ...) cr_assert(strcmp(a, b) == 0)
#define cr_expect(condition, ...) cr_assert(condition)
#define cr_expect_eq(a, b, ...) cr_assert((a) == (b))

#endif
