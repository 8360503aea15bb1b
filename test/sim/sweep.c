/* sweep.c - one QP, WRITEs of 4 KiB, a link of 100 Gbit/s, and loss from 0.1 to 30 % */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "sim/random.h"
#include "sim/sweep.h"

#define BYTES 4096u

/* Requests that may fail with seven retries, of a hundred thousand; ANY: it is only told. */
#define ANY UINT32_MAX

struct row {
	uint32_t loss; /* per million */
	uint32_t may_fail;
};

static uint32_t run_row(const struct row *row, uint64_t seed, uint32_t messages, struct sim_memory *memory)
{
	struct sim_config config = sim_swarm_steady(messages);
	struct sim_options options = {
		.seed = seed,
		.messages = messages,
		.connections = 1,
		.steady = &config,
		.steady_bytes = BYTES,
	};
	struct sim_world *world = malloc(sizeof(*world));
	uint64_t failed;
	uint32_t bad;

	for (uint32_t i = 0; i < FAULT_KINDS; i++)
		options.rates[i] = 0;
	options.rates[FAULT_LOSS] = row->loss;
	sim_world_run(world, &options, memory);
	failed = world->errors + world->flushes;
	/* Each one is done, or failed for all to see. */
	if (world->successes + failed != messages)
		sim_world_fail(world, "%lu requests are missing", messages - world->successes - failed);
	bad = world->failed || (row->may_fail != ANY && failed * 100000 > (uint64_t)row->may_fail * messages);
	printf("%6.1f %%  %10.3f Gbit/s  %8lu of %u requests failed  %10lu frames  %6.2f s%s%s\n", row->loss / 1e4,
	       (double)world->bytes_done * 8 / (double)world->now_ns, failed, messages, world->frames,
	       (double)world->now_ns / 1e9, bad ? "  not ok " : "", world->failure);
	sim_world_forget(world);
	free(world);
	return bad;
}

uint32_t sim_sweep_run(uint64_t seed, uint32_t messages, struct sim_memory *memory)
{
	static const struct row rows[] = {
		{ 0, 0 }, { 1000, 0 }, { 10000, 0 }, { 50000, 0 }, { 100000, 1 }, { 300000, ANY },
	};
	uint32_t bad = 0;

	printf("loss, goodput in virtual time: one QP, WRITEs of %u bytes, MTU 1024, 16 outstanding, 100 Gbit/s, "
	       "round trip 10 us, 7 retries of 67 ms\n",
	       BYTES);
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		bad += run_row(&rows[i], seed, messages, memory);
	return bad;
}
