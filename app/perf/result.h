/* result.h - sums and rates of a case, from the tallies of its ends */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_RESULT_H
#define APP_PERF_RESULT_H

#include "perf/end.h"

void perf_result_begin(struct perf_result *result, const struct perf_case *test, uint32_t lcores);
void perf_result_add(struct perf_result *result, const struct perf_tally *tally);
void perf_result_close(struct perf_result *result, const struct perf_end *clock, bool both_here);

#endif
