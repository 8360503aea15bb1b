/* asleep.c - a thread that sleeps until a frame comes is woken by each, and takes hardly any time of its core */
/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: nic-asleep DEVICE ADDRESS/LEN    while somebody pings the address once a second; exit 0: it was woken */
#include <stdio.h>
#include <time.h>

#include <uroce/port.h>
#include <uroce/uroce.h>

#define LONG_NS 10000000000u /* who is not woken by frames sees those of 10 s at once */
#define FOR_S 20.0
#define WAKES 5u     /* by pings; two without any interrupt */
#define MOST_CPU 0.1 /* of the time; an emulated core is slow */

static double seconds_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* How often a sleep ended with a frame, until that was often enough or the time is over. */
static unsigned count_wakes(struct uroce_lcore *lcore)
{
	double end = seconds_of(CLOCK_MONOTONIC) + FOR_S;
	unsigned wakes = 0;

	while (wakes < WAKES && seconds_of(CLOCK_MONOTONIC) < end) {
		while (uroce_lcore_poll(lcore))
			;
		uroce_lcore_wait(lcore, NULL, 0, LONG_NS);
		wakes += uroce_lcore_poll(lcore) > 0;
	}
	return wakes;
}

int main(int argc, char **argv)
{
	struct uroce_engine_config engine_config = { .lcore_count = 1, .idle = UROCE_IDLE_SLEEP };
	struct uroce_port_config config = { .addresses = { argc > 2 ? argv[2] : NULL } };
	struct uroce_eal_config eal = { 0 };
	struct uroce_lcore *lcore;
	struct uroce_error error;
	struct uroce_port *port;
	double cpu_s, time_s;
	unsigned wakes;

	if (argc != 3)
		return 2;
	eal.devices[0] = argv[1];
	if (uroce_eal_start(&eal, &error) != 0 || uroce_engine_create(&engine_config, &config.engine) != 0 ||
	    uroce_port_open(argv[1], &config, &port, &error) != 0) {
		fprintf(stderr, "no EAL, no engine or no port: %s\n", error.text);
		return 3;
	}
	lcore = uroce_engine_lcore(config.engine, 0);
	printf("frames %s\n", uroce_lcore_wakes(lcore) ? "wake it" : "do not wake it");
	cpu_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
	time_s = seconds_of(CLOCK_MONOTONIC);
	wakes = count_wakes(lcore);
	cpu_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_s;
	time_s = seconds_of(CLOCK_MONOTONIC) - time_s;
	printf("woken by frames %u times in %.1f s, %.1f %% of a core\n", wakes, time_s, 100 * cpu_s / time_s);
	uroce_port_close(port);
	uroce_engine_destroy(config.engine);
	uroce_eal_stop();
	return wakes < WAKES || cpu_s > MOST_CPU * time_s;
}
