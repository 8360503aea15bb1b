/* main.c - uroce-perf: bandwidth and latency of RDMA operations, in one process or between two */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>

#include "perf/perf.h"

int main(int argc, char **argv)
{
	return perf_main(argc, argv, NULL);
}
