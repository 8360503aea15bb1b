/* bare.h - what an I/O's messages cost without NVMe: a SEND of 64 bytes, a WRITE of the data, a SEND of 16 bytes */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMEPERF_BARE_H
#define NVMEPERF_BARE_H

#include <uroce/uroce.h>

struct bare_config {
	struct uroce_engine *engine;
	struct uroce_device *devices[2]; /* host, target */
	struct uroce_addr addrs[2];
	uint32_t depth, bytes;
	uint64_t disk_bytes; /* the target's data lie somewhere in so much memory, as in a namespace of that size */
	double seconds;
};

/* Exchanges a second, and with `read` READs one after the other: nanoseconds each, a median. APP_EXIT_OK or not. */
int bare_exchanges(const struct bare_config *config, double *per_second);
int bare_reads(const struct bare_config *config, double *ns);

#endif
