/* link.h - whether a port works: its link, frames that it does not take, unknown senders */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_LINK_H
#define ENGINE_LINK_H

#include <stdbool.h>
#include <stdint.h>

struct uroce_device;
struct uroce_lcore;

/* The device raises its events PORT_ERR and PORT_ACTIVE from now on; no more. */
void engine_link_watch(struct uroce_device *device);
void engine_link_forget(struct uroce_device *device);

/* Asks the port now, and its interface: one of shared memory tells no change. Whoever does that beside its lcore. */
bool engine_link_is_down(const struct uroce_device *device);

/* Looks at the lcore's ports when it is time. */
void engine_link_poll(struct uroce_lcore *lcore);

#endif
