/* ports.c - opens ports for programs, and prints what fails */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/ports.h"

#include <stdlib.h>
#include <string.h>

#include "common/eal.h"

/*
 * Returns the number at *text, and moves *text behind it. If there is no number, or one above `most`, returns most + 1.
 */
static unsigned long parse_number(const char **text, unsigned long most)
{
	char *end;
	unsigned long value = strtoul(*text, &end, 10);

	if (**text < '0' || **text > '9' || value > most)
		return most + 1;
	*text = end;
	return value;
}

int app_vlan_expect(const char *option, const char *text, void *vlan)
{
	const char *at = text;
	unsigned long id = parse_number(&at, UROCE_VLAN_ID_MAX), priority = 0;

	if (id <= UROCE_VLAN_ID_MAX && *at == ':') {
		at++;
		priority = parse_number(&at, UROCE_VLAN_PRIORITY_MAX);
	}
	if (id > UROCE_VLAN_ID_MAX || priority > UROCE_VLAN_PRIORITY_MAX || *at)
		return app_complain(
			APP_EXIT_USAGE,
			"%s %s: use a VLAN from 0 (none) to %u, and a priority from 0 to %u behind it, such "
			"as 100 or 100:3",
			option, text, UROCE_VLAN_ID_MAX, UROCE_VLAN_PRIORITY_MAX);
	*(struct uroce_vlan *)vlan = (struct uroce_vlan){ .id = (uint16_t)id, .priority = (uint8_t)priority };
	return APP_EXIT_OK;
}

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
		app_complain(APP_EXIT_INTERNAL, "port %s is not closed: %s", port->port->name, strerror(-code));
	else if (code > 0)
		app_complain(APP_EXIT_INTERNAL, "%d mbufs did not come back", code);
	memset(port, 0, sizeof(*port));
}

void app_loop_close(struct app_port ports[2])
{
	app_port_close(&ports[0]);
	app_port_close(&ports[1]);
}
