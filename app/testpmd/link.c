/* link.c - "port stop" and "port start" */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "testpmd/link.h"

#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "testpmd/inject.h"

void link_set(const struct traffic *traffic, unsigned port, bool up)
{
	const struct drivers_ethdev *ethdev = traffic->ports[port].port->ethdev;
	int error = up ? rte_eth_dev_set_link_up(ethdev->port_id) : rte_eth_dev_set_link_down(ethdev->port_id);

	if (error == -ENOTSUP) {
		app_complain(APP_EXIT_ENVIRONMENT,
			     "port %u: the driver %s cannot set the link down: use \"inject cut port %u\", or \"ip "
			     "link\" for a kernel interface",
			     port, ethdev->driver, port);
		return;
	}
	if (error) {
		app_complain(APP_EXIT_ENVIRONMENT, "port %u: the driver %s reports an error: %s", port, ethdev->driver,
			     strerror(-error));
		return;
	}
	inject_stop((uint16_t)port, !up);
	printf("port %u is %s\n", port, up ? "started" : "stopped: its link is down");
}

/* Nothing else takes events of the devices, and events of queue pairs show in completions, too. */
void link_tell(const struct traffic *traffic, FILE *out)
{
	struct uroce_event event;

	for (unsigned i = 0; i < traffic->port_count; i++) {
		while (uroce_event_poll(traffic->ports[i].port->device, &event)) {
			if (event.type == UROCE_EVENT_PORT_ERR || event.type == UROCE_EVENT_PORT_ACTIVE)
				fprintf(out, "port %u: %s: its link is %s\n", i, uroce_event_name(event.type),
					event.type == UROCE_EVENT_PORT_ERR ? "down" : "up");
		}
	}
}
