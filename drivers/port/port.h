/* port.h - for programs of this project and captures: the ethdev of an open port, and its tap */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_PORT_H
#define DRIVERS_PORT_H

#include <uroce/port.h>

#include "drivers/ethdev/ethdev.h"

const struct drivers_ethdev *drivers_port_ethdev(const struct uroce_port *port);

struct drivers_tap;

/*
 * Takes the tap of a port, for a capture; makes a tap if the port has none. Returns 0, -EBUSY if a capture has the tap,
 * or the negative errno with which making it failed. The port must not be closed before the tap is released.
 */
int drivers_port_take_tap(struct uroce_port *port, struct drivers_tap **tap, struct uroce_error *error);
void drivers_port_release_tap(struct uroce_port *port);

#endif
