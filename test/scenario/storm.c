/* storm.c - random work over a wire that loses, repeats and reorders: everything completes once, in order, and right */
/* SPDX-License-Identifier: BSD-3-Clause */
/* The seed is printed; UROCE_STORM_SEED repeats it, UROCE_STORM_RUNS asks for more. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "pair.h"
#include "peek.h"
#include "rule.h"

#define MESSAGES 60
#define AREA 65536u           /* each request has its own piece of memory on both sides */
#define COUNTER_AT (3u << 20) /* where B's atomics go */

struct storm {
	uint64_t random;
	uint32_t loss, copies, reorder; /* per thousand */
};

static int fate(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	struct storm *storm = pair->user;
	struct side *side = &pair->side[from];

	(void)number;
	(void)packet;
	/* Reorder: swap the two newest on the wire. */
	if (side->wire_tail - side->wire_head >= 2 && draw_chance(&storm->random, storm->reorder)) {
		struct flight *a = &side->wire[(side->wire_tail - 1) % PAIR_IN_FLIGHT];
		struct flight *b = &side->wire[(side->wire_tail - 2) % PAIR_IN_FLIGHT];
		struct flight swap = *a;

		*a = *b;
		*b = swap;
	}
	if (draw_chance(&storm->random, storm->loss))
		return 0;
	return draw_chance(&storm->random, storm->copies) ? 2 : 1;
}

struct plan {
	enum uroce_wr_opcode opcode;
	uint32_t bytes;
	uint64_t offset;
	uint64_t add;
};

static void post_planned(struct pair *pair, const struct plan *plan, uint64_t wr_id)
{
	struct uroce_send_wr wr = {
		.wr_id = wr_id,
		.opcode = plan->opcode,
		.send_flags = UROCE_SEND_SIGNALED,
		.imm_data = htonl((uint32_t)wr_id),
		.remote_addr = (uintptr_t)pair->side[B].memory + plan->offset,
		.compare_add = plan->add,
	};

	if (plan->opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD)
		wr.remote_addr = (uintptr_t)pair->side[B].memory + COUNTER_AT;
	if (plan->opcode == UROCE_WR_FLUSH) {
		wr.flush = UROCE_FLUSH_GLOBAL | UROCE_FLUSH_PERSISTENT;
		wr.flush_bytes = 20000;
	}
	cr_assert_eq(pair_post(pair, A, wr, plan->offset, plan->bytes), 0);
}

static bool takes_receive(enum uroce_wr_opcode opcode)
{
	return opcode == UROCE_WR_SEND || opcode == UROCE_WR_SEND_WITH_IMM || opcode == UROCE_WR_RDMA_WRITE_WITH_IMM;
}

/* All data where it belongs, atomics counted once each and answered with what was there before. */
static void check_results(struct pair *pair, const struct plan *plans, uint64_t seed)
{
	uint8_t *a = pair->side[A].memory, *b = pair->side[B].memory;
	uint64_t sum = 0, counter;

	for (int i = 0; i < MESSAGES; i++) {
		const struct plan *plan = &plans[i];

		if (plan->opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD) {
			uint64_t original;

			memcpy(&original, a + plan->offset, 8);
			cr_assert_eq(original, sum, "seed %lu: atomic %d returned %lu, not %lu", seed, i, original,
				     sum);
			sum += plan->add;
		} else if (memcmp(a + plan->offset, b + plan->offset, plan->bytes) != 0) {
			cr_assert(false, "seed %lu: request %d (opcode %d) moved wrong bytes", seed, i, plan->opcode);
		}
	}
	memcpy(&counter, b + COUNTER_AT, 8);
	cr_assert_eq(counter, sum, "seed %lu: the counter is %lu, not %lu", seed, counter, sum);
}

static void run_storm(uint64_t seed)
{
	static const enum uroce_wr_opcode opcodes[] = {
		UROCE_WR_SEND,      UROCE_WR_SEND_WITH_IMM,        UROCE_WR_RDMA_WRITE,   UROCE_WR_RDMA_WRITE_WITH_IMM,
		UROCE_WR_RDMA_READ, UROCE_WR_ATOMIC_FETCH_AND_ADD, UROCE_WR_ATOMIC_WRITE, UROCE_WR_FLUSH,
	};
	static const uint32_t mtus[] = { 256, 512, 1024, 4096 };
	struct storm storm = { .random = draw_start(seed) };
	struct plan plans[MESSAGES];
	struct pair *pair;

	storm.loss = (uint32_t)(draw_next(&storm.random) % 60);
	storm.copies = (uint32_t)(draw_next(&storm.random) % 60);
	storm.reorder = (uint32_t)(draw_next(&storm.random) % 60);
	pair = pair_open(&(struct pair_options){
		.mtu = mtus[draw_next(&storm.random) % 4],
		.psn_a = (uint32_t)draw_next(&storm.random) & 0xFFFFFF,
		.rd_atomic = (uint8_t)(1 + draw_next(&storm.random) % 16),
		.rnr_timer = 1,
	});
	pair->copies = fate;
	for (int i = 0; i < 2; i++)
		poke_probes(pair->side[i].qp, seed & 1);
	pair->user = &storm;
	memset(pair->side[B].memory + COUNTER_AT, 0, 8);
	for (int i = 0; i < MESSAGES; i++) {
		plans[i] = (struct plan){
			.opcode = opcodes[draw_next(&storm.random) % (sizeof(opcodes) / sizeof(opcodes[0]))],
			.offset = (uint64_t)i * 16384,
			.bytes = (uint32_t)(draw_next(&storm.random) % 12000),
			.add = draw_next(&storm.random) % 1000,
		};
		if (plans[i].opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD || plans[i].opcode == UROCE_WR_ATOMIC_WRITE)
			plans[i].bytes = 8;
		if (plans[i].opcode == UROCE_WR_FLUSH)
			plans[i].bytes = 0;
	}
	for (int i = 0; i < MESSAGES; i++)
		post_planned(pair, &plans[i], (uint64_t)i);
	pair_run(pair);
	/* The receives come when the peer has met RNR: one by one, with timers firing in between. */
	for (int i = 0; i < MESSAGES; i++) {
		if (takes_receive(plans[i].opcode))
			cr_assert_eq(pair_recv(pair, B, 100 + (uint64_t)i, plans[i].offset, 16384), 0);
		if (draw_chance(&storm.random, 300))
			pair_fire(pair);
	}
	cr_assert(pair_settle(pair, 60000000000ull), "seed %lu: not settled", seed);
	expect_done_count(pair, A, MESSAGES);
	for (uint32_t i = 0; i < MESSAGES; i++) {
		char start[32];

		snprintf(start, sizeof(start), "wr=%u ", i);
		cr_assert(strncmp(pair->side[A].done[i], start, strlen(start)) == 0, "seed %lu: completion %u is %s",
			  seed, i, pair->side[A].done[i]);
		cr_assert(strstr(pair->side[A].done[i], "SUCCESS"), "seed %lu: %s", seed, pair->side[A].done[i]);
	}
	check_results(pair, plans, seed);
	pair_close(pair);
}

Test(storm, random_work_survives_loss_duplication_and_reordering, .timeout = 120)
{
	const char *given = getenv("UROCE_STORM_SEED");
	const char *runs = getenv("UROCE_STORM_RUNS");
	uint64_t first = given ? strtoull(given, NULL, 0) : 1;
	uint64_t count = given ? 1 : runs ? strtoull(runs, NULL, 0) : 150;

	RULE("P-1");
	RULE("Q-6");
	RULE("S-10");
	for (uint64_t seed = first; seed < first + count; seed++)
		run_storm(seed);
}
