/* json.h - the final statistics of uroce-testpmd for programs */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_JSON_H
#define APP_TESTPMD_JSON_H

#include "testpmd/traffic.h"

/* Can it be written? So that nobody waits for what is then lost. 0, or what to exit with, said. */
int json_check(const char *path);
/* The same, after it is written. */
int json_write(struct traffic *traffic, const char *path);

#endif
