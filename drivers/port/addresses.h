/* addresses.h - makes sure that nobody else uses the addresses of a port */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_ADDRESSES_H
#define DRIVERS_ADDRESSES_H

#include <stdbool.h>

#include <uroce/device.h>

#include "drivers/ethdev/ethdev.h"
#include "drivers/port/claim.h"

struct drivers_addresses {
	struct drivers_claim claims[UROCE_ADDRS_MAX];
	unsigned count;
};

/*
 * Claims the addresses of the device to come on this machine, where on a packet socket the kernel may not have them,
 * and if `probe` asks the network who has them, on an open port that no lcore polls yet. Waits up to link_ms for the
 * link; without a link the network is not asked. Ports without a network behind them (loops, net_memif) may have any
 * addresses. Returns 0; -EADDRINUSE: the kernel, a program or a station has one; or another negative errno. After an
 * error nothing is claimed.
 */
int drivers_addresses_take(const struct drivers_ethdev *port, const struct uroce_device_config *device, bool probe,
			   unsigned link_ms, struct drivers_addresses *addresses, struct uroce_error *error);

/*
 * The same for a port that is not open, by its EAL name: claims nothing for longer than the call, and does not ask the
 * network.
 */
int drivers_addresses_check(const char *name, const struct uroce_device_config *device, struct uroce_error *error);

void drivers_addresses_release(struct drivers_addresses *addresses);

#endif
