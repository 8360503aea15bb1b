/* stats.h - the counts of one lcore for a device */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef API_STATS_H
#define API_STATS_H

#include <stdint.h>

struct uroce_device;
struct uroce_lcore;
struct uroce_stats;

/* On the owner: adds the counts of this lcore for the device and its QPs. Returns how many QPs there are. */
uint32_t stats_collect(const struct uroce_lcore *lcore, const struct uroce_device *device, struct uroce_stats *stats);

#endif
