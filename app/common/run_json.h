/* run_json.h - the file of --json, and the fields about the run that its results have */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_RUN_JSON_H
#define APP_COMMON_RUN_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* The file of --json. All zeros: none. */
struct app_json {
	const char *path;
	FILE *file;
	bool regular; /* can be written again; a pipe and standard output cannot */
};

/*
 * Opens the file before a long run, so that no result is lost. The old contents stay until the new ones are written.
 * "-" is standard output: what the program prints from now on goes to standard error. NULL, "": there is no file.
 * Returns APP_EXIT_OK, or the exit code after a complaint.
 */
int app_json_open(struct app_json *json, const char *path);
/* Replaces the contents of the file. Returns false with errno. */
bool app_json_write(const struct app_json *json, const json_t *root);
/* Writes and closes the file, if there is one. Returns the same as app_json_open(). */
int app_json_close(struct app_json *json, const json_t *root);

/* Adds "version", "started" and "command". */
void app_run_json_begin(json_t *root, int argc, char *const *argv);
/* Adds "interrupted", and "failed": status, sentence and time of the first failure, or null. */
void app_run_json_end(json_t *root, bool interrupted);

#endif
