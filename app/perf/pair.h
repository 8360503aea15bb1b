/* pair.h - opens the two connected ports of a measurement with both ends in this process */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. perf_pair_open() after EAL and engine have started, then use ends[]
 *   2. perf_pair_close()
 * "loop": rings, which pass on the sender's mbuf. "memif": server and client of one socket, both in this process; every
 * frame is copied into shared memory and out of it. The arguments of "memif,bsize=N,rsize=N" are passed on.
 */
#ifndef APP_PERF_PAIR_H
#define APP_PERF_PAIR_H

#include "common/ports.h"

#define PAIR_DEVICE_BYTES 256u

struct perf_pair {
	struct app_port ends[2];
	bool is_memif;
};

/* Does the name stand for both ends? */
bool perf_pair_knows(const char *device);

/* As app_loop_open(). *pair has what was opened, even if the call has failed half-way. */
int perf_pair_open(const struct app_port_config *config, uint16_t second_lcore_offset, struct perf_pair *pair);
void perf_pair_close(struct perf_pair *pair);

#endif
