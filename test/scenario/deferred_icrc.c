/* deferred_icrc.c - checking the ICRC while placing gives the same packets and state as checking it first */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two pairs live through the same random story, one of them checks each ICRC before it places a byte. The seed is
 * printed; UROCE_ICRC_SEED repeats it, UROCE_ICRC_RUNS asks for more.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "pair.h"
#include "peek.h"
#include "rule.h"
#include "pair_compare.h"

#define RUNS 150u
#define STEPS 150u

struct story {
	uint64_t seed, random;
	uint32_t loss; /* per thousand */
	struct pair *pairs[2];
};

/* The same for the same packet of both. */
static int fate(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	const struct story *story = pair->user;
	uint64_t random = draw_start(story->seed * 2 + from) + number * 0x9E3779B97F4A7C15ull;

	(void)packet;
	draw_next(&random);
	return !draw_chance(&random, story->loss);
}

static struct pair *open_one(struct story *story, bool checked)
{
	const struct pair_options options = {
		.mtu = story->seed & 1 ? 256 : 1024,
		.psn_a = 0xFFFFE0,
		.receives = 8,
		.depth = story->seed & 2 ? 16 : 400,
		.retry_cnt = 7,
	};
	struct pair *pair = pair_open(&options);

	pair->user = story;
	pair->copies = fate;
	for (int i = 0; i < 2; i++) {
		pair->side[i].checked = checked;
		poke_probes(pair->side[i].qp, true);
	}
	return pair;
}

static void post(struct story *story)
{
	static const enum uroce_wr_opcode opcodes[] = { UROCE_WR_SEND, UROCE_WR_RDMA_READ, UROCE_WR_RDMA_WRITE_WITH_IMM,
							UROCE_WR_SEND_WITH_IMM };
	uint32_t kind = draw_below(&story->random, 20), size = draw_below(&story->random, 4);
	struct uroce_send_wr wr = {
		.opcode = kind < 16 ? UROCE_WR_RDMA_WRITE : opcodes[kind - 16],
		.send_flags = (draw_chance(&story->random, 200) ? UROCE_SEND_SIGNALED : 0) |
			      (draw_chance(&story->random, 50) ? UROCE_SEND_FENCE : 0) |
			      (draw_chance(&story->random, 50) ? UROCE_SEND_SOLICITED : 0),
	};
	uint32_t bytes = size == 0 ? draw_below(&story->random, 20000) : draw_below(&story->random, 100);

	if (bytes <= 100 && wr.opcode != UROCE_WR_RDMA_READ && draw_chance(&story->random, 300))
		wr.send_flags |= UROCE_SEND_INLINE;
	for (int i = 0; i < 2; i++)
		pair_post(story->pairs[i], A, wr, 0, bytes);
}

static void pass_time(struct pair *pair)
{
	for (int i = 0; i < 2; i++) {
		struct rc_qp *qp = pair->side[i].qp;

		if (rc_qp_deadline(qp) != RC_NEVER && rc_qp_deadline(qp) > pair->now_ns)
			pair->now_ns = rc_qp_deadline(qp);
		rc_qp_timeout(qp, pair->now_ns);
	}
}

/* From RTS to SQD or back; or with early questions from now on, or without. */
static void modify(struct story *story)
{
	bool runs = peek_state(story->pairs[0]->side[A].qp) == UROCE_QPS_RTS;
	struct uroce_qp_attr attr = {
		.qp_state = runs ? UROCE_QPS_SQD : UROCE_QPS_RTS,
		.no_probe = draw_chance(&story->random, 500),
	};
	uint32_t mask = draw_chance(&story->random, runs ? 300 : 800) ? UROCE_QP_STATE : UROCE_QP_NO_PROBE, bad = 0;

	for (int i = 0; i < 2; i++)
		cr_assert_eq(rc_qp_modify(story->pairs[i]->side[A].qp, &attr, mask, &bad), 0, "%#x", bad);
}

static void step(struct story *story)
{
	uint32_t what = draw_below(&story->random, 10), count = draw_below(&story->random, OUTBOX_PACKETS + 1);

	if (what < 4)
		post(story);
	else if (draw_chance(&story->random, 30))
		modify(story);
	for (int i = 0; i < 2; i++) {
		struct pair *pair = story->pairs[i];

		pair->now_ns += 700;
		if (what == 4 && story->seed % 3)
			pass_time(pair);
		if (what < 7)
			pair_transmit_some(pair, A, count);
		if (what == 7 || what == 9) {
			pair_deliver(pair, B);
			pair_transmit_some(pair, B, count);
		}
		if (what >= 8)
			pair_deliver(pair, A);
	}
}

static void run(uint64_t seed)
{
	struct story story = { .seed = seed, .random = draw_start(seed), .loss = seed % 4 * 20 };
	uint32_t at = 0;

	for (int i = 0; i < 2; i++)
		story.pairs[i] = open_one(&story, i);
	while (at++ < STEPS && peek_state(story.pairs[0]->side[A].qp) < UROCE_QPS_ERR) {
		step(&story);
		pair_compare(story.pairs, seed, at);
	}
	for (int i = 0; i < 2; i++)
		pair_close(story.pairs[i]);
}

Test(deferred_icrc, random_traffic_matches_when_icrc_is_checked_first)
{
	uint64_t first = env_number("UROCE_ICRC_SEED", 1), runs = env_number("UROCE_ICRC_RUNS", RUNS);

	RULE("Q-5");
	RULE("T-1");
	RULE("T-2");
	RULE("X-2");
	unsetenv("UROCE_PAIR_CHECKED"); /* or both would check first */
	printf("# seeds %lu ... %lu\n", first, first + runs - 1);
	for (uint64_t seed = first; seed < first + runs; seed++)
		run(seed);
}
