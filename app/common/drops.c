/* drops.c - prints a line for each reason for which a port has dropped frames */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/drops.h"

#include <string.h>

#include "common/eal.h"

/*
 * Does the counter with this name count drops of the port? Drops of queue pairs are not counted here: they are reported
 * with the state of the queue pair, on which they depend.
 */
static bool is_drop(const char *name)
{
	return strncmp(name, "drop_", 5) == 0 || strcmp(name, "rx_icrc_encapsulated") == 0;
}

void app_drops_tell(struct app_drops *drops, const struct app_port *port)
{
	struct uroce_stats now;

	uroce_device_stats(port->device, &now);
	for (uint32_t i = uroce_qp_counter_count(); i < now.count; i++) {
		const char *name = uroce_counter_name(i);

		if (is_drop(name) && now.values[i] > drops->told.values[i])
			app_complain(0, "port %s dropped %lu frames: %s (%s)", port->ethdev->name,
				     (unsigned long)(now.values[i] - drops->told.values[i]), uroce_counter_text(i),
				     name);
	}
	drops->told = now;
}
