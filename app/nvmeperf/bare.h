/* bare.h - measures the messages of an I/O without NVMe: a SEND of 64 bytes, a WRITE of data, a SEND of 16 bytes */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMEPERF_BARE_H
#define NVMEPERF_BARE_H

#include <uroce/uroce.h>

struct bare_config {
	struct uroce_engine *engine;
	struct uroce_device *devices[2]; /* the devices of the host and of the target */
	struct uroce_addr addrs[2];
	uint32_t depth, bytes;
	/* size of the memory in which the target chooses a random place for each answer's data, as in a namespace */
	uint64_t disk_bytes;
	double seconds;
};

/*
 * bare_exchanges() measures exchanges a second, bare_reads() the time of a single READ in nanoseconds (a median). Both
 * return APP_EXIT_OK, or another exit code.
 */
int bare_exchanges(const struct bare_config *config, double *per_second);
int bare_reads(const struct bare_config *config, double *ns);

#endif
