/* page.c - lets uroce-report make an HTML page of the results */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/page.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/eal.h"

#define PROGRAM "uroce-report"

struct perf_page {
	const char *path;
	FILE *file;
	char program[4096]; /* beside our own program file, or in PATH */
};

/* Runs uroce-report with one argument and our files as standard input and output. 0: it succeeded. */
static int run(const char *program, const char *argument, int in, int out)
{
	const char *const argv[] = { PROGRAM, argument, NULL };
	posix_spawn_file_actions_t actions;
	int error, status = -1;
	pid_t child;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	error = posix_spawnp(&child, program, &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	while (error == 0 && waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return -1;
	}
	return error ? -1 : status;
}

/* Looks for uroce-report before the run, so that nobody measures for an hour and then has no page. */
static int find_program(struct perf_page *page)
{
	ssize_t bytes = readlink("/proc/self/exe", page->program, sizeof(page->program) - sizeof(PROGRAM));
	char *slash = bytes > 0 ? memrchr(page->program, '/', (size_t)bytes) : NULL;
	FILE *nothing = fopen("/dev/null", "r+");
	int status = -1;

	strcpy(slash ? slash + 1 : page->program, PROGRAM);
	if (access(page->program, X_OK) != 0)
		strcpy(page->program, PROGRAM);
	if (nothing) {
		status = run(page->program, "--version", fileno(nothing), fileno(nothing));
		fclose(nothing);
	}
	return status;
}

struct perf_page *perf_page_open(const char *path)
{
	struct perf_page *page = calloc(1, sizeof(*page));

	if (page == NULL)
		return NULL;
	page->path = path;
	/* The page is opened without being emptied: if the run is interrupted, the earlier page stays. */
	page->file = fopen(path, "a");
	if (page->file == NULL)
		app_refuse_path("--report", path);
	else if (find_program(page) != 0)
		app_complain(APP_EXIT_ENVIRONMENT,
			     "--report %s: " PROGRAM ", which creates the HTML page, cannot be run: install "
			     "uroce-report in the directory of uroce-perf, and install python3",
			     path);
	else
		return page;
	if (page->file)
		fclose(page->file);
	free(page);
	return NULL;
}

/* Something like a pipe cannot be emptied, and need not be. */
static int empty(FILE *file)
{
	struct stat status;

	return fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode) ? ftruncate(fileno(file), 0) : 0;
}

/* uroce-report reads the JSON from a file without a name. */
static int write_page(const struct perf_page *page, const json_t *root)
{
	FILE *json = tmpfile();
	int error;

	if (json == NULL)
		return -1;
	error = json_dumpf(root, json, JSON_COMPACT) != 0 || fflush(json) != 0 ||
		lseek(fileno(json), 0, SEEK_SET) != 0 || empty(page->file) != 0 ||
		run(page->program, "-", fileno(json), fileno(page->file)) != 0;
	fclose(json);
	return error ? -1 : 0;
}

int perf_page_close(struct perf_page *page, const json_t *root)
{
	int error = 0;

	if (page == NULL)
		return 0;
	if (root)
		error = write_page(page, root);
	error |= fclose(page->file);
	if (error)
		app_complain(APP_EXIT_ENVIRONMENT,
			     "--report %s: the page is incomplete; the printed results are complete", page->path);
	free(page);
	return error ? -1 : 0;
}
