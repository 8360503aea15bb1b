/* events.h - events of connection management: any lane hands them out to all lanes, each lane opens its own queues */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_EVENTS_H
#define NVMET_EVENTS_H

#include "nvmet/lane_state.h"

/* Hands out the waiting events to their lanes now, without waiting for the next regular time. */
void events_hand_out(struct lane *lane);
/* Opens queues for the lane's requests, and hands out events at regular times. Returns the number of requests. */
unsigned events_handle(struct lane *lane);
/* Drops the requests that the lane has not taken. */
void events_forget(struct lane *lane);

#endif
