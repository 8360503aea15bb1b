/* link.h - notices that the link of a port went down or came back */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_LINK_H
#define ENGINE_LINK_H

#include "engine/engine.h"

/* The device's events PORT_ERR and PORT_ACTIVE come from now on; and no more. */
void engine_link_watch(struct uroce_device *device);
void engine_link_forget(struct uroce_device *device);

/* Looks at the links of the lcore's ports when it is time. */
void engine_link_poll(struct uroce_lcore *lcore);

#endif
