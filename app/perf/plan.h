/* plan.h - what uroce-perf --dry-run says */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_PLAN_H
#define APP_PERF_PLAN_H

#include "perf/options.h"

/* Prints ports, lcores and cases on standard output. The device has been chosen. */
void perf_plan_print(const struct perf_options *options);

#endif
