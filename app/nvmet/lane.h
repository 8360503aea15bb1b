/* lane.h - opens an lcore of the target, and polls all that belongs to it */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_LANE_H
#define NVMET_LANE_H

#include "nvmet/lane_state.h"

/* pool_bytes: a multiple of POOL_MOST_BYTES. Returns APP_EXIT_OK, or the exit code after a complaint. */
int lane_open(struct lane *lane, uint64_t pool_bytes, bool threads);
void lane_close(struct lane *lane);
/* Runs one poll, always on the same thread. Returns whether there was work. */
bool lane_poll(struct lane *lane);

#endif
