/* slot.h - a command that is being carried out: what host and store have to do for it */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_SLOT_H
#define NVMET_SLOT_H

#include "nvmet/queue_state.h"

void slot_go_on(struct slot *slot, enum nvmf_step step);
/* The host's data has come. */
void slot_fetched(struct slot *slot);
/*
 * Memory has become free: serves the commands that wait for memory, in the order in which they began to wait. Returns
 * the number of commands served.
 */
unsigned slot_try_again(struct lane *lane);
/* Answers the held commands whose events have come. */
void slot_tell_events(struct lane *lane);

#endif
