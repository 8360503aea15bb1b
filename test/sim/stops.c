/* stops.c - READs from a peer that stands still now and then, over links of all rates */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nothing is lost here. The peer looks at nothing and sends nothing for 0.05 to 0.5 seconds, as a guest does whose
 * machine is busy; then it serves whatever has come meanwhile, each copy of a READ in full, one behind the other. While
 * it answers nothing may fail, however long these answers keep the next READ waiting.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/random.h"
#include "sim/stops.h"
#include "sim/world.h"

#define US 1000ul
#define MS 1000000ul
#define KIB 1024u
#define MIB (1024u * KIB)
#define BATCH_BYTES (256ull * MIB) /* of one run: the next one has another seed, and other stops */

struct link {
	const char *name;
	uint64_t byte_ps;
};

static const struct link links[] = {
	{ "10 Mbit/s", 800000 }, { "100 Mbit/s", 80000 }, { "1 Gbit/s", 8000 },
	{ "10 Gbit/s", 800 },    { "100 Gbit/s", 80 },
};

struct work {
	const char *name;
	uint32_t bytes, depth;
	uint32_t share; /* one of so many that the table is asked for */
	bool asked;     /* only when it is asked for */
};

static const struct work works[] = {
	{ "4 KiB", 4 * KIB, 16, 1, false },
	{ "1 MiB", MIB, 6, 100, false },
	{ "64 MiB", 64 * MIB, 4, 10000, false },
	{ "1 GiB", 1024 * MIB, 1, 100000, true },
};

struct result {
	uint64_t done, failed, timeouts, resent, stale, time_ns;
	uint32_t bad;
};

static void run_once(const struct link *link, const struct work *work, uint64_t seed, uint32_t messages,
		     struct sim_memory *memory, struct result *result)
{
	struct sim_random random = random_stream(seed, STREAM_HOST, work->bytes);
	struct sim_world *world = malloc(sizeof(*world));
	struct sim_config config = sim_swarm_steady(messages);
	struct sim_options options = { .seed = seed, .steady = &config, .steady_bytes = work->bytes };

	options.messages = options.connections = UINT32_MAX;
	for (uint32_t i = 0; i < FAULT_KINDS; i++)
		options.rates[i] = UINT32_MAX;
	config.only_reads = true;
	config.mtu = random_chance(&random, 500000) ? 1024 : 4096;
	config.max_packets = work->bytes / config.mtu;
	config.depth = work->depth;
	config.rd_atomic = config.dest_rd_atomic = (uint8_t)work->depth;
	config.weights[UROCE_WR_RDMA_WRITE] = 0;
	config.weights[UROCE_WR_RDMA_READ] = 1;
	config.byte_ps = link->byte_ps;
	config.delay_ns = random_between(&random, 5 * US, 5 * MS);
	config.pace.receive_ns = random_between(&random, 1, 20) * US;
	config.pace.serial = true;
	config.pace.away_ns = random_between(&random, 50, 500) * MS;
	config.pace.away_every_ns = config.pace.away_ns + random_between(&random, 50, 3000) * MS;
	sim_world_run(world, &options, memory);
	result->done += world->successes;
	result->failed += world->errors + world->flushes;
	result->timeouts += world->tally[CNT_LOCAL_ACK_TIMEOUT_ERR];
	result->resent += world->tally[CNT_RETRANSMITTED_PACKETS] + world->tally[CNT_RNR_RESENT_PACKETS];
	result->stale += world->tally[CNT_STALE_RESPONSE];
	result->time_ns += world->now_ns;
	if (world->failed || world->successes != messages) {
		result->bad++;
		printf("not ok: seed %lu, %s, away %lu of %lu ms, mtu %u, delay %lu us: %lu of %u done %s\n", seed,
		       link->name, config.pace.away_ns / MS, config.pace.away_every_ns / MS, config.mtu,
		       config.delay_ns / US, world->successes, messages, world->failure);
	}
	sim_world_forget(world);
	free(world);
}

static uint32_t run_row(const struct link *link, const struct work *work, uint64_t seed, uint32_t messages,
			struct sim_memory *memory)
{
	uint32_t batch = (uint32_t)(BATCH_BYTES / work->bytes);
	struct result sum = { 0 };

	if (batch > 1000)
		batch = 1000;
	if (batch == 0)
		batch = 1;
	for (uint32_t left = messages; left > 0; seed++) {
		uint32_t now = left < batch ? left : batch;

		run_once(link, work, seed, now, memory, &sum);
		left -= now;
	}
	printf("| %s | %s | %lu | %lu | %lu | %lu | %lu | %.0f |%s\n", link->name, work->name, sum.done, sum.failed,
	       sum.timeouts, sum.resent, sum.stale, (double)sum.time_ns / 1e9, sum.bad ? " not ok" : "");
	fflush(stdout);
	return sum.bad > 0;
}

bool sim_stops_knows(const char *text, uint32_t *bytes)
{
	for (uint32_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		char number[16];

		snprintf(number, sizeof(number), "%u", works[i].bytes);
		if (strcmp(number, text) == 0) {
			*bytes = works[i].bytes;
			return true;
		}
	}
	return false;
}

uint32_t sim_stops_run(uint64_t seed, uint32_t messages, uint32_t bytes, struct sim_memory *memory)
{
	uint32_t bad = 0, count = sizeof(links) / sizeof(links[0]);

	printf("READs, 1 to 16 outstanding, 7 retries of 67 ms; the peer stands still for 50 to 500 ms now and then, "
	       "and answers each copy in full.\n\n| link | bytes | done | failed | time-outs | sent again | stale "
	       "responses | virtual seconds |\n|---|---|---|---|---|---|---|---|\n");
	for (uint32_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		uint32_t share = messages / works[i].share / count;

		if (bytes ? works[i].bytes != bytes : works[i].asked)
			continue;
		for (uint32_t j = 0; j < count; j++)
			bad += run_row(&links[j], &works[i], seed, share ? share : 1, memory);
	}
	return bad;
}
