/* environment.c - records where a measurement ran, and warns of what makes its results worthless */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include <rte_version.h>

#include "common/eal.h"
#include "perf/environment.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BUILD "sanitized"
#elif !defined(__OPTIMIZE__)
#define BUILD "debug"
#else
#define BUILD "optimised"
#endif

static void find_cpu(char *out, size_t out_bytes)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[256];

	snprintf(out, out_bytes, "unknown processor");
	while (file && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) == 0 && colon) {
			line[strcspn(line, "\n")] = '\0';
			snprintf(out, out_bytes, "%s", colon[1] == ' ' ? colon + 2 : colon + 1);
			break;
		}
	}
	if (file)
		fclose(file);
}

static void warn(struct perf_environment *environment, bool condition, const char *text)
{
	if (condition && environment->warning_count < ENVIRONMENT_WARNINGS_MAX)
		environment->warnings[environment->warning_count++] = text;
}

void perf_environment_collect(const struct perf_options *options, const struct app_port *ports, uint32_t port_count,
			      struct perf_environment *environment)
{
	struct uroce_eal_info eal;

	uroce_eal_query(&eal);
	memset(environment, 0, sizeof(*environment));
	environment->version = uroce_version();
	environment->dpdk = strchr(rte_version(), ' ') ? strchr(rte_version(), ' ') + 1 : rte_version();
	environment->build = BUILD;
	environment->lcores = options_lcore_count(options);
	environment->hugepages = eal.hugepages;
	environment->icrc = uroce_icrc();
	environment->port_count = port_count;
	find_cpu(environment->cpu, sizeof(environment->cpu));
	for (uint32_t i = 0; i < port_count; i++) {
		const uint8_t *mac;
		struct uroce_device_info info;

		uroce_device_query(ports[i].device, &info);
		mac = info.mac.bytes;
		environment->ports[i].name = ports[i].ethdev->name;
		environment->ports[i].driver = ports[i].ethdev->driver;
		uroce_addr_format(&ports[i].addr, environment->ports[i].address, sizeof(environment->ports[i].address));
		snprintf(environment->ports[i].mac, sizeof(environment->ports[i].mac), "%02x:%02x:%02x:%02x:%02x:%02x",
			 mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	}
	warn(environment, strcmp(BUILD, "optimised") != 0,
	     "this is a " BUILD
	     " build: the results are not meaningful; use meson's buildtype debugoptimized or release");
	warn(environment, !eal.hugepages,
	     "no hugepages, which causes more TLB misses: reserve hugepages (echo 512 > /proc/sys/vm/nr_hugepages)");
	warn(environment, eal.shared_cores, "two busy lcores share a core: use one core per lcore");
	warn(environment, options_have_faults(options),
	     "faults are injected into the link: the results do not apply to a link without faults");
	warn(environment, options->test.verify,
	     "--verify writes and checks every byte, which takes longer than the transfer");
}
