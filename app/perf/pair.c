/* pair.c - opens two connected ports: a loop, or both ends of a memif */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_alarm.h>
#include <rte_cycles.h>

#include "common/eal.h"
#include "perf/pair.h"

#define LINK_MS 3000u /* time for the driver's thread to connect the two ends */

static bool is_memif(const char *device)
{
	return strncmp(device, "memif", 5) == 0 && (device[5] == '\0' || device[5] == ',');
}

bool perf_pair_knows(const char *device)
{
	return strcmp(device, "loop") == 0 || is_memif(device);
}

static int open_memifs(const struct app_port_config *config, uint16_t second_lcore_offset, struct perf_pair *pair)
{
	static const char *const addresses[] = { "10.0.0.1/24", "10.0.0.2/24" };
	char device[PAIR_DEVICE_BYTES];

	pair->is_memif = true;
	for (unsigned i = 0; i < 2; i++) {
		struct app_port_config one = *config;
		int code;

		snprintf(device, sizeof(device), "net_memif%u,role=%s,socket=uroce-perf-%d,mac=02:00:00:00:00:%02x%s",
			 i, i ? "client" : "server", (int)getpid(), i + 1, config->device + strlen("memif"));
		one.device = device;
		one.port.first_lcore = (uint16_t)(config->port.first_lcore + i * second_lcore_offset);
		one.port.addresses[0] = config->port.addresses[0] ? config->port.addresses[i] : addresses[i];
		one.port.addresses[1] = NULL;
		code = app_port_open(&one, &pair->ends[i]);
		if (code)
			return code;
	}
	if (!drivers_ethdev_link_is_up(pair->ends[0].ethdev, LINK_MS, NULL) ||
	    !drivers_ethdev_link_is_up(pair->ends[1].ethdev, LINK_MS, NULL))
		return app_complain(APP_EXIT_ENVIRONMENT,
				    "cannot connect %s and %s: --log-level=8 before -- shows details",
				    pair->ends[0].port->name, pair->ends[1].port->name);
	return APP_EXIT_OK;
}

int perf_pair_open(const struct app_port_config *config, uint16_t second_lcore_offset, struct perf_pair *pair)
{
	memset(pair, 0, sizeof(*pair));
	return is_memif(config->device) ? open_memifs(config, second_lcore_offset, pair) :
					  app_loop_open(config, second_lcore_offset, pair->ends);
}

static void tell(void *argument)
{
	atomic_store((_Atomic bool *)argument, true);
}

/* Returns when the driver's thread, which also runs alarms, has finished what it was doing. */
static void wait_for_driver(void)
{
	static _Atomic bool told;

	atomic_store(&told, false);
	if (rte_eal_alarm_set(1, tell, &told) != 0)
		return;
	while (!atomic_load(&told))
		rte_delay_us_sleep(1000);
}

/*
 * When one end closes, the driver's thread takes the other end's link down and then disconnects that end. Closing the
 * other end at the same time would free its memory twice (DPDK 22.11).
 */
static void close_memifs(struct perf_pair *pair)
{
	app_port_close(&pair->ends[0]);
	if (pair->ends[1].port == NULL)
		return;
	for (unsigned ms = 0; ms < LINK_MS && drivers_ethdev_link_is_up(pair->ends[1].ethdev, 0, NULL); ms++)
		rte_delay_us_sleep(1000);
	wait_for_driver();
	app_port_close(&pair->ends[1]);
}

void perf_pair_close(struct perf_pair *pair)
{
	if (pair->is_memif)
		close_memifs(pair);
	else
		app_loop_close(pair->ends);
	memset(pair, 0, sizeof(*pair));
}
