/* beside.h - the seam at which a developers' program measures something beside the cases of uroce-perf */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_BESIDE_H
#define APP_PERF_BESIDE_H

#include <stdbool.h>

#include "perf/case.h"

struct json_t;
struct perf_end;

/* The calls of a program that measures something beside cases with both ends in this process, in this order. */
struct perf_beside {
	/* Checks the options, and may change them. Returns APP_EXIT_OK, or the exit code after a complaint. */
	int (*check)(struct perf_options *options);
	/* Ports and ends are open. The same returns; close() follows in either case. */
	int (*open)(const struct perf_options *options, struct uroce_engine *engine);
	/* Does run() take this case? Otherwise it is measured as ever. */
	bool (*takes)(const struct perf_case *test);
	/*
	 * Runs a connected case between ends[0] and ends[1]. Fills in the tally of ends[0], and may add to *result.
	 * Returns 0 or a negative errno.
	 */
	int (*run)(struct perf_end *ends, struct perf_result *result);
	/* Adds to what is reported of every case, also of one that run() has not taken. */
	void (*put)(struct json_t *object, const struct perf_result *result);
	void (*print)(const struct perf_result *result);
	void (*close)(void);
};

#endif
