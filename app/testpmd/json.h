/* json.h - writes the final statistics of uroce-testpmd as JSON */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_JSON_H
#define APP_TESTPMD_JSON_H

#include "testpmd/traffic.h"

/*
 * Checks that the file can be written, so that no result is lost after a long run. Returns 0, or the exit code after a
 * complaint.
 */
int json_check(const char *path);
/* Writes it. Returns the same. */
int json_write(struct traffic *traffic, const char *path);

#endif
