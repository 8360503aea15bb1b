/* run_json.h - fields about the run that all JSON results have */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_RUN_JSON_H
#define APP_COMMON_RUN_JSON_H

#include <jansson.h>
#include <stdbool.h>

/* Adds "version", "started" and "command". */
void app_run_json_begin(json_t *root, int argc, char *const *argv);
/* Adds "interrupted", and "failed": status, sentence and time of the first failure, or null. */
void app_run_json_end(json_t *root, bool interrupted);

#endif
