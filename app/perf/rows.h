/* rows.h - the options of uroce-perf, a row each */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_ROWS_H
#define APP_PERF_ROWS_H

#include "common/option.h"
#include "perf/values.h"

extern const struct option_set perf_option_set;
extern const struct perf_options perf_defaults;

#endif
