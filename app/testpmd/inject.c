/* inject.c - injects faults at each port, with probabilities as numbers or per cent */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "common/number.h"
#include "drivers/fault/fault.h"
#include "testpmd/inject.h"

static struct injected {
	struct drivers_fault *fault;
	struct drivers_fault_config config;
	bool cut, stopped;
} ports[SETTINGS_PORTS];
static unsigned port_count;

static const struct {
	const char *name;
	size_t offset;
} kinds[] = {
	{ "loss", offsetof(struct drivers_fault_config, loss) },
	{ "dup", offsetof(struct drivers_fault_config, duplicate) },
	{ "reorder", offsetof(struct drivers_fault_config, reorder) },
	{ "corrupt", offsetof(struct drivers_fault_config, corrupt) },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static double *probability_of(struct drivers_fault_config *config, size_t kind)
{
	return (double *)(void *)((char *)config + kinds[kind].offset);
}

int inject_open(const struct traffic *traffic)
{
	for (port_count = 0; port_count < traffic->port_count; port_count++) {
		struct injected *port = &ports[port_count];
		struct uroce_error error;
		int code;

		port->config = (struct drivers_fault_config){ .seed = traffic->settings->seed + port_count };
		for (size_t i = 0; i < KINDS; i++)
			*probability_of(&port->config, i) = traffic->settings->faults[i];
		code = drivers_fault_attach(traffic->ports[port_count].port->ethdev, &port->config, &port->fault,
					    &error);
		if (code)
			return app_complain(app_exit_of(code), "%s", error.text);
	}
	return APP_EXIT_OK;
}

void inject_close(void)
{
	for (unsigned i = 0; i < SETTINGS_PORTS; i++)
		drivers_fault_detach(ports[i].fault);
}

static bool port_is_known(uint16_t port)
{
	if (port == INJECT_ALL || port < port_count)
		return true;
	app_complain(APP_EXIT_USAGE, "port %u does not exist: use a port from 0 to %u", port, port_count - 1);
	return false;
}

int inject_set(uint16_t port, const char *what, const char *text)
{
	double probability;
	size_t kind = 0;

	while (kind < KINDS && strcmp(kinds[kind].name, what) != 0)
		kind++;
	if (kind == KINDS || !app_probability_parse(text, &probability))
		return app_complain(-1, "%s %s: use 0 ... 1, or 0%% ... 100%%", what, text);
	if (!port_is_known(port))
		return -1;
	for (unsigned i = 0; i < port_count; i++) {
		struct uroce_error error;

		if (port != INJECT_ALL && port != i)
			continue;
		*probability_of(&ports[i].config, kind) = probability;
		drivers_fault_set(ports[i].fault, &ports[i].config, &error);
	}
	return 0;
}

int inject_cut(uint16_t port, bool cut)
{
	if (!port_is_known(port))
		return -1;
	for (unsigned i = 0; i < port_count; i++) {
		if (port != INJECT_ALL && port != i)
			continue;
		ports[i].cut = cut;
		drivers_fault_cut(ports[i].fault, cut || ports[i].stopped);
	}
	return 0;
}

void inject_stop(uint16_t port, bool stopped)
{
	ports[port].stopped = stopped;
	drivers_fault_cut(ports[port].fault, stopped || ports[port].cut);
}

void inject_none(void)
{
	for (size_t i = 0; i < KINDS; i++)
		inject_set(INJECT_ALL, kinds[i].name, "0");
	inject_cut(INJECT_ALL, false);
}

void inject_show(void)
{
	for (unsigned i = 0; i < port_count; i++) {
		struct drivers_fault_counts counts;

		drivers_fault_counts(ports[i].fault, &counts);
		printf("port %u:", i);
		for (size_t k = 0; k < KINDS; k++)
			printf(" %s %g", kinds[k].name, *probability_of(&ports[i].config, k));
		printf("%s\n  frames received: %lu; of these %lu lost, %lu duplicated, %lu delayed, %lu corrupted\n",
		       ports[i].cut ? ", cut" : "", counts.frames, counts.lost, counts.duplicated, counts.reordered,
		       counts.corrupted);
	}
}
