/* port.h - what our own programs and captures know of an open port besides: its ethdev, and a tap on it */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_PORT_H
#define DRIVERS_PORT_H

#include <uroce/port.h>

#include "drivers/ethdev/ethdev.h"

const struct drivers_ethdev *drivers_port_ethdev(const struct uroce_port *port);

struct drivers_tap;

/*
 * The tap of a port, made when it is first wanted, for one who captures. 0; -EBUSY: there is one; or why there is no
 * tap. The port is not closed before it is released.
 */
int drivers_port_take_tap(struct uroce_port *port, struct drivers_tap **tap, struct uroce_error *error);
void drivers_port_release_tap(struct uroce_port *port);

#endif
