/* port.h - what our own programs know of an open port besides: its ethdev, to look at and to put faults on */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_PORT_H
#define DRIVERS_PORT_H

#include <uroce/port.h>

#include "drivers/ethdev/ethdev.h"

const struct drivers_ethdev *drivers_port_ethdev(const struct uroce_port *port);

#endif
