/* pair.h - the two ports of a measurement with both ends in this process, wired to each other */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. perf_pair_open() behind EAL and the engine, then ports[]
 *   2. perf_pair_close()
 * "loop": rings, an mbuf that is sent is the one that arrives. "memif": the server and the client of one socket, both
 * of this process; every frame is copied into shared memory and out of it. "memif,bsize=N,rsize=N" passes them on.
 */
#ifndef APP_PERF_PAIR_H
#define APP_PERF_PAIR_H

#include "common/ports.h"

#define PAIR_DEVICE_BYTES 256u

struct perf_pair {
	struct app_port ends[2];
	struct app_port *ports[2]; /* NULL: not open */
	bool is_memif;
};

/* Is it one that has both ends? */
bool perf_pair_knows(const char *device);

/* As app_loop_open(). What was opened is in *pair even when the rest failed. */
int perf_pair_open(const struct app_port_config *config, uint16_t second_lcore_offset, struct perf_pair *pair);
void perf_pair_close(struct perf_pair *pair);

#endif
