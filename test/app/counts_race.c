/* counts_race.c - counts of one lcore that another one reads meanwhile, under ThreadSanitizer */
/* SPDX-License-Identifier: BSD-3-Clause */
/* A plain program, for Criterion cannot start under ThreadSanitizer. A race that it finds has a status of its own. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "nvmet/pool.h"
#include "common/histogram.h"

#define ROUNDS 20000u
#define BYTES 4096u

static struct app_histogram times;
static struct pool pool;
static atomic_bool over;

/* What a lane does with each command. */
static void *serve(void *argument)
{
	(void)argument;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		void *buffer = pool_take(&pool, BYTES);

		app_histogram_record(&times, i);
		pool_return(&pool, buffer, BYTES);
	}
	atomic_store(&over, true);
	return NULL;
}

/* What `stats` does. Returns how often it saw what never was. */
static uint32_t read_all(void)
{
	static struct app_histogram sum;
	uint32_t wrong = 0;

	while (!atomic_load(&over)) {
		uint32_t units = __atomic_load_n(&pool.units.used, __ATOMIC_RELAXED);

		sum = (struct app_histogram){ 0 };
		app_histogram_add(&sum, &times);
		wrong += units > BYTES / POOL_LEAST_BYTES;
		wrong += sum.count > ROUNDS || app_histogram_percentile(&sum, 0.5) >= ROUNDS;
	}
	return wrong;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	uint32_t wrong;

	(void)argv;
	if (argc > 1)
		return 0;
	puts("1..1");
	if (pool_open(&pool, POOL_MOST_BYTES) != 0 || pthread_create(&thread, NULL, serve, NULL) != 0)
		return 1;
	wrong = read_all();
	pthread_join(thread, NULL);
	pool_close(&pool);
	printf("%s 1 - counts are read while they are written\n", wrong || times.count != ROUNDS ? "not ok" : "ok");
	return wrong ? 1 : 0;
}
