/* addresses.c - claims the addresses of a port on this machine */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/port/addresses.h"

#include <errno.h>
#include <string.h>

#include "drivers/ethdev/quirks.h"

static bool has_network(const struct drivers_ethdev *port)
{
	struct rte_eth_dev_info info;

	return rte_eth_dev_info_get(port->port_id, &info) == 0 && !drivers_quirks_of(&info)->has_no_network;
}

static int claim(const struct uroce_device_config *device, struct drivers_addresses *addresses,
		 struct uroce_error *error)
{
	char holder[DRIVERS_CLAIM_HOLDER_BYTES], text[64];
	int code = 0;

	for (; addresses->count < device->addr_count && code == 0; addresses->count++) {
		unsigned i = addresses->count;

		code = drivers_claim_take(&device->addrs[i], device->vlans[i].id, program_invocation_short_name,
					  &addresses->claims[i], holder);
		uroce_addr_format(&device->addrs[i], text, sizeof(text));
		if (code == -EADDRINUSE)
			drivers_error_set(error, code,
					  "%s is held by %s on this machine: use another address, or end that program",
					  text, holder);
		else if (code)
			drivers_error_set(error, code, "%s cannot be claimed on this machine (%s)", text,
					  strerror(-code));
	}
	return code;
}

int drivers_addresses_take(const struct drivers_ethdev *port, const struct uroce_device_config *device,
			   struct drivers_addresses *addresses, struct uroce_error *error)
{
	int code;

	addresses->count = 0;
	if (!has_network(port))
		return 0;
	code = claim(device, addresses, error);
	if (code)
		drivers_addresses_release(addresses);
	return code;
}

void drivers_addresses_release(struct drivers_addresses *addresses)
{
	for (unsigned i = 0; i < addresses->count; i++)
		drivers_claim_release(&addresses->claims[i]);
	addresses->count = 0;
}
