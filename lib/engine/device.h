/* device.h - a device: a port with addresses, and the lcores that serve its queue pairs */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_DEVICE_H
#define ENGINE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

struct uroce_device;
struct uroce_device_config;
struct uroce_engine;
struct uroce_lcore;

/* Traits of a port that not every driver reports; the creator of the device finds them out. */
struct engine_port_traits {
	uint32_t mtu_bytes;    /* the longest IP packet that passes whole; 0: not known */
	bool has_wired_queues; /* each queue receives just the frames that one queue of the other end sends */
};

/* As uroce_device_create(). */
int engine_device_create(struct uroce_engine *engine, const struct uroce_device_config *given,
			 const struct engine_port_traits *traits, struct uroce_device **result);

/* Returns the lcore for a new QP of device: wish, or NULL if that does not serve the device. wish NULL spreads QPs. */
struct uroce_lcore *engine_device_pick_lcore(struct uroce_device *device, struct uroce_lcore *wish);

#endif
