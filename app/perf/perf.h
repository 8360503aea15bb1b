/* perf.h - uroce-perf as a function */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_PERF_H
#define APP_PERF_PERF_H

#include "perf/beside.h"

/* beside: what is measured beside the cases; NULL: nothing. Returns the exit code. */
int perf_main(int argc, char **argv, const struct perf_beside *beside);

#endif
