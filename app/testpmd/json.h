/* json.h - writes the final statistics of uroce-testpmd as JSON */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_JSON_H
#define APP_TESTPMD_JSON_H

#include "common/run_json.h"
#include "testpmd/traffic.h"

/* Writes the statistics into the file of --json, if there is one. Returns the same as app_json_close(). */
int json_close(struct app_json *json, struct traffic *traffic);

#endif
