/* run.h - runs one case: a host reads, writes or both for a time, and compares what it reads */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMEPERF_RUN_H
#define NVMEPERF_RUN_H

#include <jansson.h>

#include "nvmeperf/failover.h"
#include "nvmeperf/host.h"
#include "nvmeperf/options.h"

struct run_case {
	const char *rw; /* index in options_rw_names */
	uint32_t bytes, depth;
};

/*
 * host: how to connect; the case sets depth and data_bytes. failover: NULL: none. Prints a line and adds an entry to
 * results.
 */
int run_measure(const struct options *options, const struct host_config *host, const struct run_case *which,
		struct failover *failover, json_t *results);

#endif
