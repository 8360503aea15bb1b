/* core_latency.c - measures how long a cache line takes from one lcore to another, when both write it in turn */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdatomic.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_pause.h>

#include "common/eal.h"
#include "core_latency.h"
#include "window.h"

#define SAMPLES 301u
#define TRIPS 32u /* round trips of a sample */
#define MOST_S 0.01
#define STOP UINT32_MAX

static _Atomic uint32_t ball __attribute__((aligned(64)));

/* Answers every odd number with the next even one. */
static int play_back(void *argument)
{
	uint32_t seen;

	(void)argument;
	while ((seen = atomic_load_explicit(&ball, memory_order_acquire)) != STOP) {
		if (seen & 1)
			atomic_store_explicit(&ball, seen + 1, memory_order_release);
		else
			rte_pause();
	}
	return 0;
}

double perf_core_latency_ns(unsigned worker)
{
	double samples[SAMPLES];
	uint64_t end = rte_rdtsc() + (uint64_t)(MOST_S * (double)rte_get_tsc_hz());
	uint32_t number = 0, count = 0;
	struct uroce_eal_info eal;

	atomic_store(&ball, 0);
	uroce_eal_query(&eal);
	if (eal.shared_cores || rte_eal_remote_launch(play_back, NULL, app_eal_worker(worker)) != 0)
		return 0;
	do {
		uint64_t began = rte_rdtsc();

		for (uint32_t trip = 0; trip < TRIPS; trip++) {
			atomic_store_explicit(&ball, number + 1, memory_order_release);
			number += 2;
			while (atomic_load_explicit(&ball, memory_order_acquire) != number)
				rte_pause();
		}
		samples[count++] = (double)(rte_rdtsc() - began) * 1e9 / (double)rte_get_tsc_hz() / TRIPS / 2;
	} while (count < SAMPLES && rte_rdtsc() < end);
	atomic_store(&ball, STOP);
	rte_eal_wait_lcore(app_eal_worker(worker));
	return perf_window_spread(samples, count).median;
}
