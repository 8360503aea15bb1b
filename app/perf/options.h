/* options.h - reads the options of uroce-perf, and checks them against each other */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_OPTIONS_H
#define APP_PERF_OPTIONS_H

#include "perf/values.h"

/* Returns 0 to go on, or 1 + the exit code. */
int perf_options_parse(int argc, char **argv, struct perf_options *options);

#endif
