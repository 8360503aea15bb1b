/* event.c - asynchronous events */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/engine.h"

bool uroce_event_poll(struct uroce_device *device, struct uroce_event *event)
{
	return rte_ring_dequeue_elem(device->events, event, sizeof(*event)) == 0;
}
