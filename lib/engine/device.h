/* device.h - a port with addresses, and who serves its queue pairs */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_DEVICE_H
#define ENGINE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

struct uroce_device;
struct uroce_device_config;
struct uroce_engine;
struct uroce_lcore;

/* What a port is like that not every driver says: who creates a device has found it out. */
struct engine_port_traits {
	uint32_t mtu_bytes;    /* the longest IP packet that passes whole; 0: no limit is known */
	bool has_wired_queues; /* a queue receives what one queue of the other end sends */
};

/* As uroce_device_create(). */
int engine_device_create(struct uroce_engine *engine, const struct uroce_device_config *given,
			 const struct engine_port_traits *traits, struct uroce_device **result);

/* Which lcore serves QPs of device, given a wish (n: lcore n - 1; 0: spread). NULL: none such. */
struct uroce_lcore *engine_device_pick_lcore(struct uroce_device *device, uint32_t wish);

#endif
