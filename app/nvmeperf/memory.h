/* memory.h - where the commands of a host, their data and the answers lie: one mapping */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMEPERF_MEMORY_H
#define NVMEPERF_MEMORY_H

#include "nvmeperf/parts.h"

/* For the commands of all queues; 0 or a negative errno. The host unmaps and frees. */
int host_memory_make(struct host *host);

#endif
