/* criterion.h - as much of Criterion as the tests use, for very many runs in a short time, and for emulators */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Criterion starts a program for each test, which costs more than the test, and in a way that an emulator does not
 * follow. Here it is a fork(), and what is expected is as hard as what is asserted: see run.c.
 */
#ifndef TEST_FORKED_CRITERION_H
#define TEST_FORKED_CRITERION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run_options {
	void (*init)(void);
	void (*fini)(void);
	int timeout;
};

/* A suite's options have no name and no body. */
struct run_test {
	const char *suite, *name;
	void (*body)(void);
	struct run_options options;
	struct run_test *next;
};

void run_add(struct run_test *test);
/* The format is what the test says besides; it may be empty. */
__attribute__((noreturn, format(printf, 4, 5))) void run_fail(const char *what, const char *file, int line,
							      const char *format, ...);
__attribute__((noreturn)) void run_skip(const char *why);

#define RUN_ADD(symbol, suite_text, name_text, function, ...)                      \
	__attribute__((constructor)) static void symbol##_enter(void)              \
	{                                                                          \
		static struct run_test test = { suite_text, name_text, function }; \
		test.options = (struct run_options){ __VA_ARGS__ };                \
		run_add(&test);                                                    \
	}
#define Test(suite_id, test_id, ...)                                                                  \
	static void suite_id##_##test_id##_run(void);                                                 \
	RUN_ADD(suite_id##_##test_id, #suite_id, #test_id, suite_id##_##test_id##_run, ##__VA_ARGS__) \
	static void suite_id##_##test_id##_run(void)
#define TestSuite(suite_id, ...)                                \
	RUN_ADD(suite_id, #suite_id, NULL, NULL, ##__VA_ARGS__) \
	struct run_options

#define cr_skip_test(why) run_skip(why)
#define cr_log_info(...) ((void)0) /* what a test notes by the way */
#define cr_assert_fail(...) run_fail("failed", __FILE__, __LINE__, " " __VA_ARGS__)
#define cr_assert(condition, ...) ((condition) ? (void)0 : run_fail(#condition, __FILE__, __LINE__, " " __VA_ARGS__))
#define cr_assert_not(condition, ...) cr_assert(!(condition), ##__VA_ARGS__)
#define cr_assert_null(pointer, ...) cr_assert((pointer) == NULL, ##__VA_ARGS__)
#define cr_assert_not_null(pointer, ...) cr_assert((pointer) != NULL, ##__VA_ARGS__)
#define cr_assert_eq(a, b, ...) cr_assert((a) == (b), ##__VA_ARGS__)
#define cr_assert_neq(a, b, ...) cr_assert((a) != (b), ##__VA_ARGS__)
#define cr_assert_lt(a, b, ...) cr_assert((a) < (b), ##__VA_ARGS__)
#define cr_assert_leq(a, b, ...) cr_assert((a) <= (b), ##__VA_ARGS__)
#define cr_assert_gt(a, b, ...) cr_assert((a) > (b), ##__VA_ARGS__)
#define cr_assert_geq(a, b, ...) cr_assert((a) >= (b), ##__VA_ARGS__)
#define cr_assert_str_eq(a, b, ...) cr_assert(strcmp(a, b) == 0, ##__VA_ARGS__)
#define cr_assert_str_neq(a, b, ...) cr_assert(strcmp(a, b) != 0, ##__VA_ARGS__)
#define cr_assert_str_not_empty(a, ...) cr_assert((a)[0] != 0, ##__VA_ARGS__)
#define cr_assert_arr_eq(a, b, bytes, ...) cr_assert(memcmp(a, b, bytes) == 0, ##__VA_ARGS__)

#define cr_expect cr_assert
#define cr_expect_not cr_assert_not
#define cr_expect_null cr_assert_null
#define cr_expect_not_null cr_assert_not_null
#define cr_expect_eq cr_assert_eq
#define cr_expect_arr_eq cr_assert_arr_eq
#define cr_expect_neq cr_assert_neq
#define cr_expect_lt cr_assert_lt
#define cr_expect_leq cr_assert_leq
#define cr_expect_gt cr_assert_gt
#define cr_expect_geq cr_assert_geq
#define cr_expect_str_eq cr_assert_str_eq
#define cr_expect_str_neq cr_assert_str_neq
#define cr_expect_str_not_empty cr_assert_str_not_empty

#define cr_expect_float_eq(a, b, epsilon, ...) \
	cr_assert((a) - (b) <= (epsilon) && (b) - (a) <= (epsilon), ##__VA_ARGS__)

#endif
