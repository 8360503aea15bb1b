/* link.h - whether a port works: its link, frames that it does not send, frames of unknown senders */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_LINK_H
#define ENGINE_LINK_H

#include <stdbool.h>
#include <stdint.h>

struct uroce_device;
struct uroce_lcore;

/* engine_link_watch(): from now on the device raises PORT_ERR and PORT_ACTIVE; engine_link_forget(): no more. */
void engine_link_watch(struct uroce_device *device);
void engine_link_forget(struct uroce_device *device);

/*
 * Asks the port and its interface now, because a port of shared memory reports no change. For threads beside the lcore.
 */
bool engine_link_is_down(const struct uroce_device *device);

/* Checks the lcore's ports if that is due. */
void engine_link_poll(struct uroce_lcore *lcore);

#endif
