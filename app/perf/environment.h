/* environment.h - records where a measurement ran, and warns of what makes its results worthless */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_ENVIRONMENT_H
#define APP_PERF_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/ports.h"
#include "perf/options.h"

#define ENVIRONMENT_WARNINGS_MAX 8

struct perf_environment {
	const char *version, *dpdk, *build;
	char cpu[128];
	uint32_t lcores;
	bool hugepages;
	const char *icrc; /* implementation of the ICRC */
	uint32_t port_count;
	struct {
		const char *name, *driver;
		char address[64], mac[24];
	} ports[2];
	uint32_t warning_count;
	const char *warnings[ENVIRONMENT_WARNINGS_MAX];
};

/* Collects warnings and a description of the machine. EAL has been started, and the ports are open. */
void perf_environment_collect(const struct perf_options *options, const struct app_port *ports, uint32_t port_count,
			      struct perf_environment *environment);

#endif
