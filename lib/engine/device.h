/* device.h - a port with addresses, and who serves its queue pairs */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_DEVICE_H
#define ENGINE_DEVICE_H

#include <stdint.h>

struct uroce_device;
struct uroce_lcore;

/* Which lcore serves QPs of device, given a wish (n: lcore n - 1; 0: spread). NULL: none such. */
struct uroce_lcore *engine_device_pick_lcore(struct uroce_device *device, uint32_t wish);

#endif
