/* memory.h - one mapping for the commands of a host, their data and the responses */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMEPERF_MEMORY_H
#define NVMEPERF_MEMORY_H

#include "nvmeperf/parts.h"

/* Makes the mapping for the commands of all queues. Returns 0 or a negative errno. The host unmaps and frees it. */
int host_memory_make(struct host *host);

#endif
