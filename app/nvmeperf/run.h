/* run.h - one case of a measurement: a host that reads, writes or both for some time, and compares what it reads */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMEPERF_RUN_H
#define NVMEPERF_RUN_H

#include <jansson.h>

#include "nvmeperf/failover.h"
#include "nvmeperf/host.h"
#include "nvmeperf/options.h"

struct run_case {
	const char *rw; /* of options_rw_names */
	uint32_t bytes, depth;
};

/* host: how to connect; depth and data_bytes are of the case. failover: NULL: none. A line is printed, and results has
 * one more. */
int run_measure(const struct options *options, const struct host_config *host, const struct run_case *which,
		struct failover *failover, json_t *results);

#endif
