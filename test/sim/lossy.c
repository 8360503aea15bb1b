/* lossy.c - one QP over a way that loses packets: goodput over that of the same way without loss */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/lossy.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/median.h"
#include "sim/random.h"

#define US 1000ull
#define MS 1000000ull
#define SEEDS_MAX 100u

static const uint16_t mtus[] = { 1024, 4096 };
static const uint64_t trips[] = { 10 * US, 100 * US, MS };
static const uint32_t losses[] = { 0, 1000, 10000, 30000, 50000 }; /* per million */

#define LOSSES (sizeof(losses) / sizeof(losses[0]))

struct work {
	const char *name;
	uint8_t opcode;
	uint32_t bytes, depth, rd_atomic, messages;
	bool any_order;
	uint8_t repair;
	uint16_t window;
};

static const struct work works[] = {
	{ "READ 1 MiB, without repair", UROCE_WR_RDMA_READ, 1u << 20, 6, 6, 60, false, UROCE_READ_REPAIR_OFF },
	{ "READ 1 MiB, repaired upwards", UROCE_WR_RDMA_READ, 1u << 20, 6, 6, 60, false, UROCE_READ_REPAIR_UPWARDS },
	{ "READ 1 MiB, repaired in any order", UROCE_WR_RDMA_READ, 1u << 20, 6, 6, 60, true },
	{ "WRITE 64 KiB", UROCE_WR_RDMA_WRITE, 65536, 16, 1, 960 },
	{ "WRITE 64 KiB, SACKs, window 256", UROCE_WR_RDMA_WRITE, 65536, 16, 1, 960, false, 0, 256 },
	{ "WRITE 64 KiB, SACKs, window 512", UROCE_WR_RDMA_WRITE, 65536, 64, 1, 960, false, 0, 512 },
	{ "WRITE 64 KiB, SACKs, window 1024", UROCE_WR_RDMA_WRITE, 65536, 64, 1, 960, false, 0, 1024 },
};

struct result {
	double gbps, resent; /* resent: packets for each that is needed */
	uint64_t failed;
	bool bad;
};

static struct result run_once(const struct work *work, uint16_t mtu, uint64_t trip_ns, uint32_t loss, uint64_t seed,
			      struct sim_memory *memory)
{
	struct sim_world *world = malloc(sizeof(*world));
	struct sim_config config = sim_swarm_steady(work->messages);
	struct sim_options options = { .seed = seed, .steady = &config, .steady_bytes = work->bytes };
	struct result result;

	options.messages = options.connections = UINT32_MAX;
	for (uint32_t i = 0; i < FAULT_KINDS; i++)
		options.rates[i] = UINT32_MAX;
	config.mtu = mtu;
	config.any_order = work->any_order;
	config.repair = work->repair;
	config.window = work->window;
	config.delay_ns = trip_ns / 2;
	config.rates[FAULT_LOSS] = loss;
	config.max_packets = work->bytes / mtu + 1;
	config.depth = work->depth;
	config.rd_atomic = config.dest_rd_atomic = (uint8_t)work->rd_atomic;
	config.weights[UROCE_WR_RDMA_WRITE] = 0;
	config.weights[work->opcode] = 1;
	sim_world_run(world, &options, memory);
	result = (struct result){
		.gbps = (double)world->bytes_done * 8 / (double)world->now_ns,
		.resent = (double)world->payload_frames / ((double)work->messages * work->bytes / mtu),
		.failed = world->errors + world->flushes,
		.bad = world->failed,
	};
	if (world->failed)
		printf("seed %lu: %s\n", seed, world->failure);
	sim_world_forget(world);
	free(world);
	return result;
}

/* The goodput without loss is told in Gbit/s, the others as their part of it, with the packets that it took. */
static uint32_t run_row(const struct work *work, uint16_t mtu, uint64_t trip_ns, uint64_t seed, uint32_t seeds,
			struct sim_memory *memory)
{
	double goodput[SEEDS_MAX], sent[SEEDS_MAX], lossless = 0;
	uint64_t failed = 0;
	bool bad = false;

	printf("| %u | %lu us | %s |", mtu, (uint64_t)(trip_ns / US), work->name);
	for (uint32_t i = 0; i < LOSSES; i++) {
		for (uint32_t j = 0; j < seeds; j++) {
			struct result result = run_once(work, mtu, trip_ns, losses[i], seed + j, memory);

			goodput[j] = result.gbps;
			sent[j] = result.resent;
			failed += result.failed;
			bad |= result.bad;
		}
		if (losses[i] == 0) {
			lossless = sim_median(goodput, seeds);
			printf(" %.1f |", lossless);
		} else {
			printf(" %.3f, %.2f |", sim_median(goodput, seeds) / lossless, sim_median(sent, seeds));
		}
		fflush(stdout);
	}
	bad |= failed > 0;
	printf(" %lu |%s\n", failed, bad ? " not ok" : "");
	return bad;
}

uint32_t sim_lossy_run(uint64_t seed, uint32_t seeds, struct sim_memory *memory)
{
	uint32_t bad = 0;

	if (seeds > SEEDS_MAX)
		seeds = SEEDS_MAX;
	printf("One QP, 100 Gbit/s; median of %u seeds. Gbit/s without loss; with loss the part that is kept of it, "
	       "and packets with payload for each that is needed.\n\n",
	       seeds);
	printf("| MTU | there and back | requests | no loss |");
	for (uint32_t i = 1; i < LOSSES; i++)
		printf(" %.1f %% |", losses[i] / 1e4);
	printf(" failed |\n|---|---|---|---|---|---|---|---|---|\n");
	for (uint32_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		for (uint32_t j = 0; j < sizeof(mtus) / sizeof(mtus[0]); j++) {
			for (uint32_t k = 0; k < sizeof(trips) / sizeof(trips[0]); k++)
				bad += run_row(&works[i], mtus[j], trips[k], seed, seeds, memory);
		}
	}
	return bad;
}
