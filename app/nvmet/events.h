/* events.h - events of connection management: any lane takes them for all, and opens the queues that are its own */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_EVENTS_H
#define NVMET_EVENTS_H

#include "nvmet/lane_state.h"

/* Hands out events to the lanes at once, before the next regular time for that. */
void events_hand_out(struct lane *lane);
/* Opens queues for the requests of the lane, and hands out events when it is time. Returns the number of requests. */
unsigned events_handle(struct lane *lane);
/* Drops the requests that the lane has not taken. */
void events_forget(struct lane *lane);

#endif
