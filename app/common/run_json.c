/* run_json.c - fields about the run that all JSON results have */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/run_json.h"

#include <stdio.h>
#include <time.h>

#include <uroce/device.h>

#include "common/exit.h"

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
