/* events.h - what the application is told of a device */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_EVENTS_H
#define ENGINE_EVENTS_H

struct uroce_device;
struct uroce_event;

/* Queues an event for the application; counts it when nobody has read the ones before. */
void engine_device_raise(struct uroce_device *device, const struct uroce_event *event);

#endif
