/* stats.h - what one lcore has counted for a device */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef API_STATS_H
#define API_STATS_H

#include <stdint.h>

struct uroce_device;
struct uroce_lcore;
struct uroce_stats;

/* On the owner: adds what this lcore has counted for the device, and its QPs. Returns how many QPs those are. */
uint32_t stats_collect(const struct uroce_lcore *lcore, const struct uroce_device *device, struct uroce_stats *stats);

#endif
