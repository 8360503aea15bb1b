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
	/* size of the memory from which the target takes data at random, like that of a namespace */
	uint64_t disk_bytes;
	double seconds;
};

/*
 * Measure exchanges a second; and the time of a single READ in nanoseconds, a median. Return APP_EXIT_OK or another
 * exit code.
 */
int bare_exchanges(const struct bare_config *config, double *per_second);
int bare_reads(const struct bare_config *config, double *ns);

#endif
