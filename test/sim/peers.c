/* peers.c - one QP and a peer that is near, far, slow, serial, away, lossy or out of order; with probes and without */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "sim/peers.h"
#include "sim/median.h"
#include "sim/random.h"

#define US 1000ull
#define MS 1000000ull
#define SEEDS_MAX 100u
#define LEAST_RATIO 0.98 /* of the goodput without probes */

/* What the peer and the way to it are like. */
struct row {
	const char *name;
	uint64_t delay_ns, jitter_ns, late_ns;
	uint32_t loss, reorder; /* per million */
	struct sim_pace pace;
	double resent; /* at most so many packets for each that is needed; 0: it is only told */
	double ratio;  /* at least so much of the goodput without probes; 0: LEAST_RATIO */
};

/* A Linux kernel in an emulated guest: 33 000 packets a second each way, one thing at a time. */
#define GUEST .receive_ns = 20 * US, .send_ns = 30 * US, .serial = true

static const struct row rows[] = {
	{ "1 us", .delay_ns = 500 },
	{ "10 us", .delay_ns = 5 * US },
	{ "1 ms", .delay_ns = 500 * US },
	{ "100 ms", .delay_ns = 50 * MS },
	{ "10 us, 0.1 % loss", .delay_ns = 5 * US, .loss = 1000 },
	{ "10 us, 1 % loss", .delay_ns = 5 * US, .loss = 10000 },
	{ "10 us, 5 % loss", .delay_ns = 5 * US, .loss = 50000 },
	{ "1 ms, 1 % loss", .delay_ns = 500 * US, .loss = 10000 },
	{ "10 us, jitter of 1 ms", .delay_ns = 5 * US, .jitter_ns = MS },
	{ "slow", .delay_ns = 50 * US, .pace = { .receive_ns = 20 * US, .send_ns = 5 * US } },
	{ "slow, serial", .delay_ns = 50 * US, .pace = { GUEST } },
	{ "slow, serial, 5 ms", .delay_ns = 5 * MS, .pace = { GUEST } },
	{ "slow, serial, trains each 4 ms", .delay_ns = 50 * US, .pace = { GUEST, .tick_ns = 4 * MS } },
	{ "slow, serial, away 50 ms of 300", .delay_ns = 50 * US,
	  .pace = { GUEST, .away_ns = 50 * MS, .away_every_ns = 300 * MS } },
	{ "slow, serial, 1 % loss", .delay_ns = 50 * US, .loss = 10000, .pace = { GUEST }, .resent = 1.3 },
	{ "slow, serial, 5 % loss", .delay_ns = 50 * US, .loss = 50000, .pace = { GUEST } },
	{ "slow, serial, 5 % 1 ms early", .delay_ns = MS, .pace = { GUEST, .early = 50000 } },
	{ "10 us, 5 % up to 1 ms late", .delay_ns = 5 * US, .late_ns = MS, .reorder = 50000 },
	/* READs with repair, where nothing comes in order: 140 Mbit/s with probes, 177 without, 13 without repair */
	{ "each frame up to 1 ms late", .delay_ns = 5 * US, .late_ns = MS, .reorder = MILLION, .ratio = 0.7 },
	{ "slow, serial, each up to 1 ms late", .delay_ns = 50 * US, .late_ns = MS, .reorder = MILLION,
	  .pace = { GUEST } },
};

struct work {
	const char *name;
	uint8_t opcode;
	uint32_t bytes, depth, rd_atomic, messages, share;
};

static const struct work works[] = {
	{ "READ 1 MiB", UROCE_WR_RDMA_READ, 1u << 20, 6, 6, 24, 100 },
	{ "READ 4 KiB", UROCE_WR_RDMA_READ, 4096, 6, 6, 600, 1 },
	{ "WRITE 64 KiB", UROCE_WR_RDMA_WRITE, 65536, 16, 1, 160, 16 },
	{ "WRITE 64 B", UROCE_WR_RDMA_WRITE, 64, 1, 1, 600, 1 },
};

struct result {
	double mbps;
	uint64_t stale, probes, resent, timeouts, failed, needed;
	bool bad;
};

static struct result run_once(const struct row *row, const struct work *work, uint64_t seed, bool probes,
			      struct sim_memory *memory)
{
	struct sim_world *world = malloc(sizeof(*world));
	struct sim_config config = sim_swarm_steady(work->messages);
	struct sim_options options = { .seed = seed, .steady = &config, .steady_bytes = work->bytes };
	const uint64_t *tally = world->tally;
	struct result result;

	options.messages = options.connections = UINT32_MAX;
	for (uint32_t i = 0; i < FAULT_KINDS; i++)
		options.rates[i] = UINT32_MAX;
	config.delay_ns = row->delay_ns;
	config.jitter_ns = row->jitter_ns;
	config.late_ns = row->late_ns;
	config.pace = row->pace;
	config.rates[FAULT_LOSS] = row->loss;
	config.rates[FAULT_REORDER] = row->reorder;
	config.max_packets = work->bytes / config.mtu + 1;
	config.depth = work->depth;
	config.rd_atomic = config.dest_rd_atomic = (uint8_t)work->rd_atomic;
	config.weights[UROCE_WR_RDMA_WRITE] = 0;
	config.weights[work->opcode] = 1;
	config.no_probe = !probes;
	if (2 * row->delay_ns > 20 * MS)
		config.timeout = 17; /* the ACK timer has to allow for the way */
	sim_world_run(world, &options, memory);
	result = (struct result){
		.mbps = (double)world->bytes_done * 8e3 / (double)world->now_ns,
		.stale = tally[CNT_STALE_RESPONSE],
		.probes = tally[CNT_EARLY_PROBES],
		.resent = tally[CNT_RETRANSMITTED_PACKETS] + tally[CNT_RNR_RESENT_PACKETS],
		.timeouts = tally[CNT_LOCAL_ACK_TIMEOUT_ERR],
		.failed = world->errors + world->flushes,
		.needed = (uint64_t)work->messages * (work->bytes / config.mtu + 1),
		.bad = world->failed,
	};
	if (world->failed)
		printf("seed %lu: %s\n", seed, world->failure);
	sim_world_forget(world);
	free(world);
	return result;
}

static uint32_t run_row(const struct row *row, const struct work *work, uint64_t seed, uint32_t seeds,
			struct sim_memory *memory)
{
	double ratios[SEEDS_MAX], with[SEEDS_MAX], ratio, resent;
	struct result sum = { 0 };
	uint64_t failed = 0;
	bool bad;

	for (uint32_t i = 0; i < seeds; i++) {
		struct result asks = run_once(row, work, seed + i, true, memory);
		struct result waits = run_once(row, work, seed + i, false, memory);

		with[i] = asks.mbps;
		ratios[i] = asks.mbps / waits.mbps;
		sum.stale += asks.stale;
		sum.probes += asks.probes;
		sum.resent += asks.resent;
		sum.timeouts += asks.timeouts;
		sum.needed += asks.needed;
		failed += asks.failed + waits.failed;
		sum.bad |= asks.bad || waits.bad;
	}
	ratio = sim_median(ratios, seeds);
	resent = (double)sum.resent / (double)sum.needed;
	bad = sum.bad || failed > 0 || ratio < (row->ratio > 0 ? row->ratio : LEAST_RATIO) ||
	      (row->resent > 0 && resent > row->resent);
	printf("| %s | %s | %.1f | %.2f | %.3f | %.3f | %.3f | %lu | %lu |%s\n", row->name, work->name,
	       sim_median(with, seeds), ratio, (double)sum.stale / (double)sum.needed,
	       (double)sum.probes / (double)sum.needed, resent, sum.timeouts, failed, bad ? " not ok" : "");
	fflush(stdout);
	return bad;
}

/* messages: of the small requests, and of the large ones their share; 0: as many as the table says. */
static uint32_t messages_of(const struct work *work, uint32_t messages)
{
	if (messages == 0)
		return work->messages;
	return messages > work->share ? messages / work->share : 1;
}

uint32_t sim_peers_run(uint64_t seed, uint32_t seeds, uint32_t messages, struct sim_memory *memory)
{
	uint32_t bad = 0;

	printf("One QP, MTU 1024, 100 Gbit/s unless the peer is slower, 7 retries of 67 ms; median of %u seeds. "
	       "Counted for each packet that is needed.\n\n",
	       seeds);
	printf("| the peer, and the way there and back | requests | Mbit/s | over no probes | stale responses | probes "
	       "| sent again | time-outs | failed |\n|---|---|---|---|---|---|---|---|---|\n");
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (uint32_t j = 0; j < sizeof(works) / sizeof(works[0]); j++) {
			struct work work = works[j];

			work.messages = messages_of(&work, messages);
			bad += run_row(&rows[i], &work, seed, seeds > SEEDS_MAX ? SEEDS_MAX : seeds, memory);
		}
	}
	return bad;
}
