/* data.h - the memory of commands under way: buffers of the pool, shared fairly between hosts */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_DATA_H
#define NVMET_DATA_H

#include "nvmet/queue_state.h"

/*
 * May this command's host have the memory that the command needs, by the rule of share.h? The holder is the host's
 * address, so hosts that take no answers cannot use up the memory. An address without buffers may always ask: if too
 * little memory is free, its command then waits in order, and smaller commands do not overtake it (slot_try_again()).
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
