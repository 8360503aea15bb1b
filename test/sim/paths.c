/* paths.c - one QP that spreads its packets over several paths: goodput, packets sent in vain, a path that dies */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/paths.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/median.h"

#define US 1000ull
#define SEEDS_MAX 100u
#define MESSAGES 960u
#define BYTES 65536u
#define DEPTH 64u
#define WINDOW 2048u
#define PATHS 8u
#define DIES_AT_NS 2000000u

/* depth: so many requests fill the way twice, and no queue that hides for how long a path has been dead */
static const struct {
	uint16_t mtu;
	uint64_t trip_ns;
	uint32_t depth;
} ways[] = { { 4096, 10 * US, 4 }, { 1024, 10 * US, 4 }, { 4096, 100 * US, 40 }, { 1024, 100 * US, 40 } };

struct result {
	double gbps, vain; /* vain: packets sent again of which a copy had not been lost, for each that is needed */
	double gap;        /* the longest time without a completion while a path is dead, in round trips */
	bool bad;
};

static struct result run_once(uint32_t way, uint8_t paths, uint32_t loss, bool dies, uint64_t seed,
			      struct sim_memory *memory)
{
	struct sim_world *world = malloc(sizeof(*world));
	struct sim_config config = sim_swarm_steady(MESSAGES);
	struct sim_options options = { .seed = seed, .steady = &config, .steady_bytes = BYTES };
	uint64_t trip_ns = ways[way].trip_ns;
	uint16_t mtu = ways[way].mtu;
	struct result result;
	double resent;

	options.messages = options.connections = UINT32_MAX;
	for (uint32_t i = 0; i < FAULT_KINDS; i++)
		options.rates[i] = UINT32_MAX;
	config.mtu = mtu;
	config.window = WINDOW;
	config.paths = paths;
	config.skew_ns = paths && !dies ? trip_ns : 0;
	config.dead_ns = dies ? DIES_AT_NS : 0;
	config.delay_ns = trip_ns / 2;
	config.rates[FAULT_LOSS] = loss;
	config.max_packets = BYTES / mtu + 1;
	config.depth = dies ? ways[way].depth : DEPTH;
	sim_world_run(world, &options, memory);
	resent = (double)world->tally[CNT_RETRANSMITTED_PACKETS] - (double)world->payload_lost;
	result = (struct result){
		.gbps = (double)world->bytes_done * 8 / (double)world->now_ns,
		.vain = resent / ((double)MESSAGES * BYTES / mtu),
		.gap = (double)world->longest_ns / (double)trip_ns,
		.bad = world->failed || world->errors + world->flushes > 0,
	};
	if (world->failed)
		printf("seed %lu: %s\n", seed, world->failure);
	sim_world_forget(world);
	free(world);
	return result;
}

/* The medians of so many seeds. */
static struct result run(uint32_t way, uint8_t paths, uint32_t loss, bool dies, uint64_t seed, uint32_t seeds,
			 struct sim_memory *memory)
{
	double gbps[SEEDS_MAX], vain[SEEDS_MAX], gap[SEEDS_MAX];
	struct result all = { 0 };

	for (uint32_t i = 0; i < seeds; i++) {
		struct result one = run_once(way, paths, loss, dies, seed + i, memory);

		gbps[i] = one.gbps;
		vain[i] = one.vain;
		gap[i] = one.gap;
		all.bad |= one.bad;
	}
	all.gbps = sim_median(gbps, seeds);
	all.vain = sim_median(vain, seeds);
	all.gap = sim_median(gap, seeds);
	return all;
}

uint32_t sim_paths_run(uint64_t seed, uint32_t seeds, struct sim_memory *memory)
{
	uint32_t bad = 0;

	if (seeds > SEEDS_MAX)
		seeds = SEEDS_MAX;
	printf("One QP, 100 Gbit/s, WRITE of 64 KiB, window %u; median of %u seeds. One path without loss in Gbit/s; "
	       "%u paths, one of which may take a round trip longer than another: the part that is left of it, and "
	       "packets sent again in vain. One of %u equal paths dies: the longest time without a completion.\n\n",
	       WINDOW, seeds, PATHS, PATHS);
	printf("| MTU | there and back | one path | no loss | in vain | 1 %% | in vain | one dies |\n");
	printf("|---|---|---|---|---|---|---|---|\n");
	for (uint32_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct result one = run(i, 0, 0, false, seed, seeds, memory);
		struct result clean = run(i, PATHS, 0, false, seed, seeds, memory);
		struct result lossy = run(i, PATHS, 10000, false, seed, seeds, memory);
		struct result dead = run(i, PATHS, 0, true, seed, seeds, memory);
		bool failed = one.bad || clean.bad || lossy.bad || dead.bad;

		printf("| %u | %lu us | %.1f | %.3f | %.2f %% | %.3f | %.2f %% | %.1f round trips |%s\n", ways[i].mtu,
		       (uint64_t)(ways[i].trip_ns / US), one.gbps, clean.gbps / one.gbps, clean.vain * 100,
		       lossy.gbps / one.gbps, lossy.vain * 100, dead.gap, failed ? " not ok" : "");
		fflush(stdout);
		bad += failed;
	}
	return bad;
}
