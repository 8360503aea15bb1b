/* holes.c - one QP beside many that fill the room of the receiver's lcore for what comes before its turn */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each of the others sends one message whose first packet is always lost, so that its receiver has a hole until the
 * retries are over. They begin first; what they may keep together is more than the lcore has room for.
 */
#include "sim/holes.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/median.h"
#include "sim/world.h"

#define BYTES (1u << 16)
#define MESSAGES 20000u
#define OTHERS 1000u
#define WINDOW 1024u
#define SEEDS_MAX 100u
#define LEAST 0.9 /* of the goodput */

static const uint16_t mtus[] = { 1024, 4096 };
static const uint32_t losses[] = { 0, 10000 }; /* per million */

struct result {
	double gbps, kept; /* kept: packets of all QPs that were kept */
	bool bad;          /* an oracle objects, or the one failed */
};

static struct result run_once(uint16_t mtu, uint32_t loss, uint32_t others, uint64_t seed, struct sim_memory *memory)
{
	struct sim_world *world = malloc(sizeof(*world));
	struct sim_config config = sim_swarm_steady(MESSAGES);
	struct sim_options options = { .seed = seed, .steady = &config, .steady_bytes = BYTES };
	struct result result;
	const struct sim_end *end;

	options.messages = options.connections = UINT32_MAX;
	for (uint32_t i = 0; i < FAULT_KINDS; i++)
		options.rates[i] = UINT32_MAX;
	config.connections += others;
	config.holes = others;
	config.only_writes = true;
	config.mtu = mtu;
	config.max_packets = BYTES / mtu + 1;
	config.depth = 64;
	config.window = WINDOW;
	config.rates[FAULT_LOSS] = loss;
	sim_world_run(world, &options, memory);
	end = &world->ends[0];
	result = (struct result){
		.gbps = (double)MESSAGES * BYTES * 8 / (double)(end->last_progress_ns - end->begins_ns),
		.kept = (double)world->tally[CNT_KEPT],
		.bad = world->failed || world->successes != MESSAGES,
	};
	if (world->failed)
		printf("seed %lu: %s\n", seed, world->failure);
	sim_world_forget(world);
	free(world);
	return result;
}

static struct result run(uint16_t mtu, uint32_t loss, uint32_t others, uint64_t seed, uint32_t seeds,
			 struct sim_memory *memory)
{
	double gbps[SEEDS_MAX], kept[SEEDS_MAX];
	struct result all = { 0 };

	for (uint32_t i = 0; i < seeds; i++) {
		struct result one = run_once(mtu, loss, others, seed + i, memory);

		gbps[i] = one.gbps;
		kept[i] = one.kept;
		all.bad |= one.bad;
	}
	all.gbps = sim_median(gbps, seeds);
	all.kept = sim_median(kept, seeds);
	return all;
}

uint32_t sim_holes_run(uint64_t seed, uint32_t seeds, bool tap, struct sim_memory *memory)
{
	uint32_t bad = 0;

	if (seeds > SEEDS_MAX)
		seeds = SEEDS_MAX;
	printf("One QP, 100 Gbit/s, 10 us, WRITEs of 64 KiB, window %u; median of %u seeds. Beside it %u QPs of which "
	       "the first packet never comes: the part that is left of its goodput.\n\n",
	       WINDOW, seeds, OTHERS);
	printf("| MTU | loss | alone, Gbit/s | packets kept | beside them | packets kept |\n"
	       "|---|---|---|---|---|---|\n");
	for (uint32_t i = tap; i < sizeof(mtus) / sizeof(mtus[0]); i++) {
		for (uint32_t j = tap; j < sizeof(losses) / sizeof(losses[0]); j++) {
			struct result alone = run(mtus[i], losses[j], 0, seed, seeds, memory);
			struct result beside = run(mtus[i], losses[j], OTHERS, seed, seeds, memory);
			bool failed = alone.bad || beside.bad || beside.gbps < LEAST * alone.gbps;

			printf("| %u | %.0f %% | %.1f | %.0f | %.3f | %.0f |%s\n", mtus[i], losses[j] / 1e4, alone.gbps,
			       alone.kept, beside.gbps / alone.gbps, beside.kept, failed ? " not ok" : "");
			fflush(stdout);
			bad += failed;
		}
	}
	if (tap)
		printf("1..1\n%s 1 - a QP goes on beside %u that keep their receivers waiting\n", bad ? "not ok" : "ok",
		       OTHERS);
	return bad;
}
