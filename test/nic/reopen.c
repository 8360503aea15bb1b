/* reopen.c - opens a port, is asked something over it, closes it, and does so again in one process */
/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: nic-reopen DEVICE ADDRESS/LEN TIMES    whoever pings the address meanwhile is answered; exit 0: each time */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uroce/port.h>
#include <uroce/uroce.h>

#include "common/clock.h"

#define WAIT_S 20.0
#define ASKED 3u /* an ARP request, an echo request, and one more */

static uint64_t asked(struct uroce_device *device)
{
	struct uroce_stats stats;

	uroce_device_stats(device, &stats);
	for (uint32_t i = 0; i < stats.count; i++) {
		if (strcmp(uroce_counter_name(i), "rx_neighbour") == 0)
			return stats.values[i];
	}
	return 0;
}

/* 0: it was asked and nothing is missing behind it. */
static int open_once(struct uroce_engine *engine, const char *name, const char *address, int number)
{
	struct uroce_port_config config = { .engine = engine, .addresses = { address } };
	double end = app_now_seconds() + WAIT_S;
	struct uroce_error error;
	struct uroce_port *port;
	uint64_t count = 0;
	int missing;

	if (uroce_port_open(name, &config, &port, &error) != 0) {
		fprintf(stderr, "time %d: %s\n", number, error.text);
		return 1;
	}
	while (count < ASKED && app_now_seconds() < end) {
		for (int i = 0; i < 1000; i++)
			uroce_lcore_poll(uroce_engine_lcore(engine, 0));
		count = asked(port->device);
	}
	missing = uroce_port_close(port);
	printf("time %d: asked %s, %d mbufs missing\n", number, count < ASKED ? "too little" : "enough", missing);
	return count < ASKED || missing != 0;
}

int main(int argc, char **argv)
{
	struct uroce_engine_config config = { .lcore_count = 1 };
	struct uroce_eal_config eal = { 0 };
	struct uroce_engine *engine;
	struct uroce_error error;
	int failed = 0;

	if (argc != 4)
		return 2;
	eal.devices[0] = argv[1];
	if (uroce_eal_start(&eal, &error) != 0 || uroce_engine_create(&config, &engine) != 0) {
		fprintf(stderr, "no EAL, or no engine: %s\n", error.text);
		return 3;
	}
	for (int number = 1; number <= atoi(argv[3]); number++)
		failed += open_once(engine, argv[1], argv[2], number);
	uroce_engine_destroy(engine);
	uroce_eal_stop();
	return failed > 0;
}
