/* data.h - the memory of commands under way: buffers of the pool, shared fairly between hosts */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_DATA_H
#define NVMET_DATA_H

#include "nvmet/queue_state.h"

/*
 * May this command's host have the memory that the command needs? No host may take more of the memory than is left for
 * the other hosts, so hosts that take no answers cannot use it up.
 */
bool data_has_share(const struct slot *slot);
/*
 * Takes a buffer for the command's data. Returns false if no buffer is free now, or if earlier commands wait for one.
 */
bool data_take(struct slot *slot);
/* The command waits for memory behind the commands that wait already. */
void data_await(struct slot *slot);
/* Returns the command's buffer to the pool, if it has one, and ends its use of the store. */
void data_return(struct slot *slot);

#endif
