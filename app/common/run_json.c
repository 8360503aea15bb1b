/* run_json.c - the file of --json, and the fields about the run that its results have */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/run_json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <uroce/device.h>

#include "common/exit.h"

#define REAL_DIGITS 12

/* Takes standard output away from everything else that is printed. */
static int take_stdout(void)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	return fflush(stdout) == 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 ? fd : -1;
}

int app_json_open(struct app_json *json, const char *path)
{
	struct stat status;
	bool to_stdout = path && strcmp(path, "-") == 0;
	int fd;

	*json = (struct app_json){ .path = path };
	if (path == NULL || *path == '\0')
		return APP_EXIT_OK;
	fd = to_stdout ? take_stdout() : open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	json->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (json->file == NULL)
		return app_refuse_path("--json", path);
	json->regular = !to_stdout && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
	return APP_EXIT_OK;
}

/*
 * The file is cut only after the new contents are written: otherwise a program that is killed in between would lose
 * the results.
 */
bool app_json_write(const struct app_json *json, const json_t *root)
{
	char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(REAL_DIGITS));
	bool written = text && (!json->regular || fseek(json->file, 0, SEEK_SET) == 0) &&
		       fprintf(json->file, "%s\n", text) > 0 && fflush(json->file) == 0 &&
		       (!json->regular || ftruncate(fileno(json->file), ftell(json->file)) == 0);

	if (text == NULL)
		errno = ENOMEM;
	free(text);
	return written;
}

int app_json_close(struct app_json *json, const json_t *root)
{
	bool written;

	if (json->file == NULL)
		return APP_EXIT_OK;
	written = app_json_write(json, root);
	if (fclose(json->file) == 0 && written)
		return APP_EXIT_OK;
	return app_complain(APP_EXIT_ENVIRONMENT, "--json %s is not complete: %s", json->path, strerror(errno));
}

void app_run_json_begin(json_t *root, int argc, char *const *argv)
{
	json_t *words = json_array();
	time_t now = time(NULL);
	struct tm utc;
	char text[32];

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	/* JSON strings are UTF-8; "?" stands for a word that is not. */
	for (int i = 0; i < argc; i++) {
		if (json_array_append_new(words, json_string(argv[i])) != 0)
			json_array_append_new(words, json_string("?"));
	}
	json_object_set_new(root, "version", json_string(uroce_version()));
	json_object_set_new(root, "started", json_string(text));
	json_object_set_new(root, "command", words);
}

/* A sentence may quote a file or a peer, whose bytes need not be UTF-8. */
static json_t *failure_json(const struct app_failure *failure)
{
	json_t *sentence = json_string(failure->sentence);
	char day[32], at[48];
	struct tm utc;

	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", gmtime_r(&failure->at.tv_sec, &utc));
	snprintf(at, sizeof(at), "%s.%03ldZ", day, failure->at.tv_nsec / 1000000);
	return json_pack("{s:o, s:o, s:s}", "status", failure->status ? json_string(failure->status) : json_null(),
			 "sentence", sentence ? sentence : json_string("?"), "at", at);
}

void app_run_json_end(json_t *root, bool interrupted)
{
	const struct app_failure *failure = app_first_failure();

	json_object_set_new(root, "interrupted", json_boolean(interrupted));
	json_object_set_new(root, "failed", failure ? failure_json(failure) : json_null());
}
