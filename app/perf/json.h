/* json.h - the results for programs, docs/perf.schema.json, of which page.h makes a page for people */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_JSON_H
#define APP_PERF_JSON_H

#include "perf/case.h"
#include "perf/environment.h"

struct perf_json;

/*
 * Checks that both files can be written, so that nobody waits for a result that is then lost. Either may be NULL; a
 * page of before stays until the new one is written. NULL: complained.
 */
struct perf_json *perf_json_open(const char *path, const char *page_path);

/* When it began, and the words that it was started with. */
void perf_json_start(struct perf_json *json, int argc, char *const *argv);

void perf_json_environment(struct perf_json *json, const struct perf_environment *environment);
void perf_json_result(struct perf_json *json, const struct perf_result *result);

/* Writes the files and frees json. 0, or -1 after a complaint. */
int perf_json_close(struct perf_json *json);

#endif
