/* json.h - writes the results as JSON (docs/perf.schema.json), from which page.h makes an HTML page */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_JSON_H
#define APP_PERF_JSON_H

#include "perf/case.h"
#include "perf/environment.h"

struct perf_json;
struct perf_beside;

/*
 * Checks that both files can be written, so that no result is lost after a long run. Either path may be NULL. An
 * earlier page stays until the new one is written. Returns NULL after a complaint.
 */
struct perf_json *perf_json_open(const char *path, const char *page_path);

/* Records when the run began, and its command line. */
void perf_json_start(struct perf_json *json, int argc, char *const *argv);

void perf_json_environment(struct perf_json *json, const struct perf_environment *environment);

/* beside: what adds to the result (beside.h); NULL: nothing. */
void perf_json_result(struct perf_json *json, const struct perf_result *result, const struct perf_beside *beside);

/* Writes the files and frees json. 0, or -1 after a complaint. */
int perf_json_close(struct perf_json *json);

#endif
