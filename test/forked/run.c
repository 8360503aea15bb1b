/* run.c - runs every test of a program in a process of its own */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run              all, in the order in which they were linked; prints what each one took: "MICROSECONDS SUITE NAME"
 * run FILE [SUITE] in the order of FILE, which has such lines; those of SUITE come first
 * run --tap=FILE   all, whatever fails; FILE gets a line of TAP for each
 *
 * Without --tap the first test that fails ends it.
 */
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>

#define TESTS 2048
#define CPU_S 10 /* a test that takes longer does not end */
#define WALL_S 60
#define PATIENT_S 600 /* an emulator is slow */
#define SKIPPED 77

static struct run_test *tests[TESTS];
static int test_count;
static struct run_test *suites;
static bool patient;

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

void run_fail(const char *what, const char *file, int line, const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "%s:%d: %s", file, line, what);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	fflush(NULL);
	_exit(1);
}

void run_skip(const char *why)
{
	printf("skipped: %s\n", why);
	fflush(NULL);
	_exit(SKIPPED);
}

static void run_one(const struct run_test *test)
{
	struct rlimit cpu = { CPU_S, CPU_S };
	const struct run_test *suite = suites;

	while (suite != NULL && strcmp(suite->suite, test->suite) != 0)
		suite = suite->next;
	if (!patient)
		setrlimit(RLIMIT_CPU, &cpu);
	alarm(patient ? PATIENT_S : WALL_S);
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

/* How its process ended. */
static int status_of(const struct run_test *test)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		run_one(test);
	return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

static void run(struct run_test *test, int show)
{
	struct timespec from, to;
	int status;

	clock_gettime(CLOCK_MONOTONIC, &from);
	status = status_of(test);
	if (status != 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)) {
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

/* Returns 0 when there were tests and none failed. */
static int run_all(const char *path)
{
	FILE *tap = fopen(path, "w");
	int failed = 0;

	if (tap == NULL) {
		perror(path);
		return 2;
	}
	patient = true;
	fprintf(tap, "1..%d\n", test_count);
	fflush(tap); /* or each child would write it again */
	for (int i = 0; i < test_count; i++) {
		int status = status_of(tests[i]);
		bool skipped = WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED;

		failed += status != 0 && !skipped;
		fprintf(tap, "%s - %s::%s%s\n", status == 0 || skipped ? "ok" : "not ok", tests[i]->suite,
			tests[i]->name, skipped ? " # SKIP" : "");
		fflush(tap);
	}
	fclose(tap);
	return failed > 0 || test_count == 0;
}

int main(int argc, char **argv)
{
	const char *suite = argc > 2 ? argv[2] : "";

	if (argc > 1 && strncmp(argv[1], "--tap=", 6) == 0)
		return run_all(argv[1] + 6);
	if (argc > 1) {
		run_listed(argv[1], suite, 1);
		run_listed(argv[1], suite, 0);
		return 0;
	}
	for (int i = 0; i < test_count; i++)
		run(tests[i], 1);
	return test_count == 0;
}
