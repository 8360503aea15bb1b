/* run.c - runs every test of the core in a process of its own, and stops at the first that fails */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run              all, in the order in which they were linked; prints what each one took: "MICROSECONDS SUITE NAME"
 * run FILE [SUITE] in the order of FILE, which has such lines; those of SUITE come first
 */
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>

#define TESTS 2048
#define CPU_S 10 /* a test that takes longer does not end */
#define WALL_S 60

static struct run_test *tests[TESTS];
static int test_count;
static struct run_test *suites;

void run_add(struct run_test *test)
{
	if (test->name == NULL) {
		test->next = suites;
		suites = test;
	} else if (test_count < TESTS) {
		tests[test_count++] = test;
	} else {
		abort();
	}
}

void run_fail(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, what);
	fflush(NULL);
	_exit(1);
}

static void run_one(const struct run_test *test)
{
	struct rlimit cpu = { CPU_S, CPU_S };
	const struct run_test *suite = suites;

	while (suite != NULL && strcmp(suite->suite, test->suite) != 0)
		suite = suite->next;
	setrlimit(RLIMIT_CPU, &cpu);
	alarm(WALL_S);
	if (suite != NULL && suite->options.init != NULL)
		suite->options.init();
	if (test->options.init != NULL)
		test->options.init();
	test->body();
	if (test->options.fini != NULL)
		test->options.fini();
	if (suite != NULL && suite->options.fini != NULL)
		suite->options.fini();
	_exit(0);
}

static void run(struct run_test *test, int show)
{
	struct timespec from, to;
	int status = 0;
	pid_t child;

	clock_gettime(CLOCK_MONOTONIC, &from);
	child = fork();
	if (child == 0)
		run_one(test);
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
		fprintf(stderr, "failed: %s/%s\n", test->suite, test->name);
		exit(1);
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	if (show)
		printf("%ld %s %s\n", (to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000,
		       test->suite, test->name);
	fflush(NULL);
}

/* Each test of the file is run where it stands there, if its suite is (or is not) the one. */
static void run_listed(const char *path, const char *suite, int of_suite)
{
	char of[128], name[256];
	FILE *file = fopen(path, "r");

	if (file == NULL)
		exit(2);
	while (fscanf(file, "%*s %127s %255s", of, name) == 2) {
		if ((strcmp(of, suite) == 0) != of_suite)
			continue;
		for (int i = 0; i < test_count; i++)
			if (strcmp(tests[i]->suite, of) == 0 && strcmp(tests[i]->name, name) == 0)
				run(tests[i], 0);
	}
	fclose(file);
}

int main(int argc, char **argv)
{
	const char *suite = argc > 2 ? argv[2] : "";

	if (argc > 1) {
		run_listed(argv[1], suite, 1);
		run_listed(argv[1], suite, 0);
		return 0;
	}
	for (int i = 0; i < test_count; i++)
		run(tests[i], 1);
	return test_count == 0;
}
