/* ports.c - opens ports for programs, and prints what fails and what ports drop */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/ports.h"

#include <string.h>

#include "common/eal.h"

int app_port_open(const struct app_port_config *config, struct app_port *port)
{
	struct uroce_error error;
	int code;

	memset(port, 0, sizeof(*port));
	code = uroce_port_open(config->device, &config->port, &port->port, &error);
	if (code)
		return app_complain(app_exit_of(code), "%s", error.text);
	port->device = port->port->device;
	port->ethdev = drivers_port_ethdev(port->port);
	uroce_addr_parse(config->port.addresses[0], &port->addr, NULL);
	return APP_EXIT_OK;
}

int app_loop_open(const struct app_port_config *config, uint16_t second_lcore_offset, struct app_port ports[2])
{
	static const char *const defaults[] = { "10.0.0.1/24", "10.0.0.2/24" };
	static const char *const seconds[] = { "10.0.1.1/24", "10.0.1.2/24" };
	int code = APP_EXIT_OK;

	for (unsigned side = 0; side < 2 && code == APP_EXIT_OK; side++) {
		struct app_port_config one = *config;

		one.device = "loop";
		one.port.first_lcore = (uint16_t)(config->port.first_lcore + (side ? second_lcore_offset : 0));
		one.port.addresses[0] = config->port.addresses[0] ? config->port.addresses[side] : defaults[side];
		one.port.addresses[1] = config->two_addresses ? seconds[side] : NULL;
		code = app_port_open(&one, &ports[side]);
		if (code && side == 1)
			app_port_close(&ports[0]);
	}
	return code;
}

void app_port_close(struct app_port *port)
{
	int code = port->port ? uroce_port_close(port->port) : 0;

	if (code < 0)
		app_complain(APP_EXIT_INTERNAL, "port %s cannot be closed: %s", port->port->name, strerror(-code));
	else if (code > 0)
		app_complain(APP_EXIT_INTERNAL, "%d mbufs were not returned", code);
	memset(port, 0, sizeof(*port));
}

void app_loop_close(struct app_port ports[2])
{
	app_port_close(&ports[0]);
	app_port_close(&ports[1]);
}

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
