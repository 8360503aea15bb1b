/* plan.h - what uroce-perf --dry-run says */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_PLAN_H
#define APP_PERF_PLAN_H

#include "perf/options.h"

/* Ports, lcores and cases on the standard output; the device has been chosen. */
void perf_plan_print(const struct perf_options *options);

#endif
