/* deferred_icrc_all.c - as deferred_icrc.c, with all request types from both sides */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * As deferred_icrc.c, but both sides post all opcodes in pieces, some with wrong keys, windows, a shared receive queue,
 * another path. Packets are lost, duplicated, reordered and damaged. UROCE_ICRC_SEED and UROCE_ICRC_RUNS as there.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "operations.h"
#include "peek.h"
#include "rule.h"
#include "pair_compare.h"
#include "two_paths.h"

#define RUNS 400u
#define STEPS 160u
#define STEPS_IN_ERROR 12u
#define PIECES 4u
#define REGION_BYTES 65536u
#define PD 1u

struct story {
	uint64_t seed, random;
	struct pair *pairs[2];
	struct two_paths paths[2];
	struct rc_srq *srqs[2];
	uint32_t window[2]; /* of each side: the key that was bound last */
	uint64_t posted;
	bool armed, damages;
	bool careful;  /* nobody asks for what must fail, so that stories are long */
	bool bound[2]; /* the side's window is, or will be */
};

static struct story story;

static bool chance(uint32_t per_thousand)
{
	return draw_chance(&story.random, per_thousand);
}

static uint32_t below(uint32_t limit)
{
	return draw_below(&story.random, limit);
}

/* The same for the same packet of both. */
static int fate(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	uint64_t random = draw_start(story.seed * 2 + from) + number * 0x9E3779B97F4A7C15ull;

	draw_next(&random);
	if (!two_paths_fate(pair, from, number, packet) || draw_chance(&random, story.seed % 4 * 15))
		return 0;
	return draw_chance(&random, story.seed % 5 * 5) ? 2 : 1;
}

static struct rc_srq *make_srq(void)
{
	void *memory = aligned_alloc(64, (rc_srq_bytes(32, PIECES) + 63) / 64 * 64);

	cr_assert(memory);
	memset(memory, 0, (rc_srq_bytes(32, PIECES) + 63) / 64 * 64);
	return rc_srq_init(memory, 32, PIECES, NULL);
}

static void open_one(int which)
{
	const struct pair_options options = {
		.mtu = 256u << 2 * (story.seed % 3),
		.psn_a = 0xFFFFE0,
		.psn_b = story.seed % 7 ? 5 : 0xFFFFF8,
		.depth = story.seed & 2 ? 16 : 200,
		.rd_atomic = (uint8_t)(1 + story.seed % 4),
		.retry_cnt = 7,
		.srq_b = story.seed & 8 ? (story.srqs[which] = make_srq()) : NULL,
	};
	struct pair *pair = two_paths_open(&story.paths[which], &options);

	story.pairs[which] = pair;
	for (int i = 0; i < 2; i++) {
		pair->side[i].checked = which;
		poke_probes(pair->side[i].qp, true);
	}
	if (story.armed)
		two_paths_arm(pair);
	pair->copies = fate;
}

/* ---- what is asked for ---- */

static uint32_t window_of(int side)
{
	if (story.window[side] == 0) {
		for (int i = 0; i < 2; i++)
			story.window[side] = rc_mr_insert_window(&story.pairs[i]->side[side].mrs, PD, MR_WINDOW_2);
	}
	return story.window[side];
}

static void bind(int side)
{
	uint32_t key = window_of(side) + 1, offset = below(REGION_BYTES / 2), bytes = 1 + below(REGION_BYTES / 2);
	bool wrong = !story.careful && chance(20);

	key = (window_of(side) & ~0xFFu) | (key & 0xFF);
	for (int i = 0; i < 2; i++) {
		struct side *own = &story.pairs[i]->side[side];
		struct rc_mr_bind what = { .va = (uintptr_t)own->memory + offset,
					   .bytes = bytes,
					   .region_key = own->key + wrong,
					   .access = UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_WRITE,
					   .key = key };
		struct uroce_send_wr wr = { .wr_id = story.posted,
					    .opcode = UROCE_WR_BIND_MW,
					    .send_flags = UROCE_SEND_SIGNALED };

		if (rc_qp_post_bind(own->qp, &wr, &what) == 0)
			story.window[side] = key, story.bound[side] = true;
	}
}

/* Lengths and places of the pieces, the same for both: from the start of the memory on. */
struct pieces {
	uint32_t count, bytes, offset[PIECES], length[PIECES];
	bool wrong;
};

static struct pieces draw_pieces(uint32_t most)
{
	struct pieces pieces = { .count = below(PIECES + 1), .wrong = !story.careful && chance(3) };

	for (uint32_t i = 0; i < pieces.count; i++) {
		pieces.length[i] = chance(300) ? below(most) : below(120);
		pieces.offset[i] = below(REGION_BYTES - pieces.length[i]);
		pieces.bytes += pieces.length[i];
	}
	return pieces;
}

static void fill(const struct side *side, const struct pieces *pieces, struct uroce_sge sges[PIECES])
{
	for (uint32_t i = 0; i < pieces->count; i++)
		sges[i] = (struct uroce_sge){ (uintptr_t)side->memory + pieces->offset[i], pieces->length[i],
					      side->key + (pieces->wrong && i == 0) };
}

static bool is_eight_bytes(enum uroce_wr_opcode opcode)
{
	return opcode == UROCE_WR_ATOMIC_CMP_AND_SWP || opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD ||
	       opcode == UROCE_WR_ATOMIC_WRITE;
}

static void post_both(int side, struct uroce_send_wr wr, const struct pieces *pieces, uint32_t remote, uint32_t key)
{
	int results[2];

	for (int i = 0; i < 2; i++) {
		struct side *own = &story.pairs[i]->side[side], *peer = &story.pairs[i]->side[!side];
		struct uroce_sge sges[PIECES];

		fill(own, pieces, sges);
		wr.sg_list = sges;
		wr.num_sge = pieces->count;
		wr.remote_addr = (uintptr_t)peer->memory + remote;
		wr.rkey = key ? key : peer->key;
		results[i] = rc_qp_post_send(own->qp, &wr);
	}
	cr_assert_eq(results[0], results[1], "seed %lu", story.seed);
}

/* Only a window that is bound; and then it is no more. */
static bool may_invalidate(enum uroce_wr_opcode opcode, int side)
{
	int whose = opcode == UROCE_WR_LOCAL_INV ? side : !side;
	bool bound = story.bound[whose];

	if (opcode != UROCE_WR_LOCAL_INV && opcode != UROCE_WR_SEND_WITH_INV)
		return true;
	story.bound[whose] = false;
	return bound;
}

static void post(int side)
{
	enum uroce_wr_opcode opcode = (enum uroce_wr_opcode)operations[below(OPERATIONS - 1)];
	bool eight = is_eight_bytes(opcode);
	struct pieces pieces = draw_pieces(8000);
	struct uroce_send_wr wr = {
		.wr_id = story.posted,
		.opcode = opcode,
		.send_flags = (chance(300) ? UROCE_SEND_SIGNALED : 0) | (chance(50) ? UROCE_SEND_FENCE : 0) |
			      (chance(50) ? UROCE_SEND_SOLICITED : 0),
		.imm_data = below(UINT32_MAX),
		.compare_add = below(4),
		.swap = below(4),
	};
	uint32_t key = 0, remote = below(REGION_BYTES / 2);

	if (eight) /* from where nothing is ever received: what is sent again is compared with what was sent first */
		pieces = (struct pieces){
			.count = 1, .bytes = 8, .length = { 8 }, .offset = { 3 * REGION_BYTES + below(1000) }
		};
	if (eight) /* where nothing of a damaged packet ever lies: they tell what they found */
		remote = REGION_BYTES + remote;
	if (eight && (story.careful || !chance(5)))
		remote &= ~7u;
	if (opcode == UROCE_WR_FLUSH) {
		pieces = (struct pieces){ 0 };
		wr.flush = 1 + below(3);
		wr.flush_bytes = below(20000);
	}
	if (opcode == UROCE_WR_LOCAL_INV) {
		pieces = (struct pieces){ 0 };
		key = window_of(side);
	} else if (opcode == UROCE_WR_SEND_WITH_INV || (!story.careful && chance(60))) {
		key = window_of(!side);
	}
	if (story.careful && !may_invalidate(opcode, side))
		return;
	if (!story.careful && chance(3))
		key = 0x1234;
	if (pieces.bytes <= 100 && opcode != UROCE_WR_RDMA_READ && !eight && chance(300))
		wr.send_flags |= UROCE_SEND_INLINE;
	post_both(side, wr, &pieces, remote, key);
}

static void receive(int side)
{
	struct pieces pieces = draw_pieces(30000);

	if (story.careful)
		pieces = (struct pieces){ .count = 1, .length = { 40000 }, .offset = { below(20000) } };

	for (int i = 0; i < 2; i++) {
		struct side *own = &story.pairs[i]->side[side];
		struct uroce_sge sges[PIECES];
		struct uroce_recv_wr wr = { .wr_id = story.posted, .sg_list = sges, .num_sge = pieces.count };

		fill(own, &pieces, sges);
		if (side == B && story.srqs[i])
			rc_srq_post(story.srqs[i], &wr);
		else
			rc_qp_post_recv(own->qp, &wr);
	}
}

/* ---- what happens to it ---- */

/* Of what is on its way from the side: two packets change places, or one is damaged. */
static void disturb(int side)
{
	uint32_t count = story.pairs[0]->side[side].wire_tail - story.pairs[0]->side[side].wire_head;
	uint32_t one = count ? below(count) : 0, other = count ? below(count) : 0;
	bool damages = story.damages && chance(300);

	for (int i = 0; i < 2 && count; i++) {
		struct side *from = &story.pairs[i]->side[side];
		struct flight *a = &from->wire[(from->wire_head + one) % PAIR_IN_FLIGHT];
		struct flight *b = &from->wire[(from->wire_head + other) % PAIR_IN_FLIGHT], held = *a;

		if (damages) {
			a->damaged = true;
		} else {
			*a = *b;
			*b = held;
		}
	}
}

static void pass_time(int side)
{
	for (int i = 0; i < 2; i++) {
		struct pair *pair = story.pairs[i];
		struct rc_qp *qp = pair->side[side].qp;

		if (rc_qp_deadline(qp) != RC_NEVER && rc_qp_deadline(qp) > pair->now_ns)
			pair->now_ns = rc_qp_deadline(qp);
		rc_qp_timeout(qp, pair->now_ns);
	}
}

/* The path in use fails, or software leaves it. */
static void change_way(int side)
{
	struct uroce_qp_attr attr = { .path_mig_state = UROCE_PATH_MIGRATED };
	bool dies = chance(500);
	uint32_t bad = 0;

	for (int i = 0; i < 2; i++) {
		struct rc_qp *qp = story.pairs[i]->side[side].qp;

		if (dies)
			story.paths[i].dead[side][0] = true;
		else if (qp->migration.state == UROCE_PATH_ARMED)
			rc_qp_modify(qp, &attr, UROCE_QP_PATH_MIG_STATE, &bad);
	}
}

static void go_on(int side, uint32_t what, uint32_t count)
{
	for (int i = 0; i < 2; i++) {
		struct pair *pair = story.pairs[i];

		pair->now_ns += 700;
		if (what < 3)
			pair_deliver(pair, side);
		if (what < 5)
			pair_transmit_some(pair, side, count);
	}
}

static void step(void)
{
	int side = (int)below(2);
	uint32_t what = below(8), count = below(OUTBOX_PACKETS + 1);

	story.posted++;
	if (chance(400))
		post(side);
	if (chance(250))
		receive(side);
	if (chance(20))
		bind(side);
	if (story.seed % 3 && chance(100))
		disturb(side);
	if (story.armed && chance(10))
		change_way(side);
	if (what == 7 && chance(300))
		pass_time(side);
	go_on(side, what, count);
}

/* Whether a repeated WRITE looks like another one is told by memory, where part of a damaged packet may lie. */
static void forgive_hints(void)
{
	for (int i = 0; i < 4 && story.damages; i++)
		story.pairs[i / 2]->side[i % 2].qp->counters[CNT_SUSPICIOUS_DUPLICATE] = 0;
}

static bool is_over(void)
{
	return peek_state(story.pairs[0]->side[A].qp) >= UROCE_QPS_ERR ||
	       peek_state(story.pairs[0]->side[B].qp) >= UROCE_QPS_ERR;
}

static void run(uint64_t seed)
{
	uint32_t left = STEPS;

	story = (struct story){ .seed = seed,
				.random = draw_start(seed),
				.armed = seed % 4 == 3,
				.damages = seed % 3 == 1,
				.careful = seed % 5 > 0 };
	for (int i = 0; i < 2; i++)
		open_one(i);
	for (uint32_t at = 1; left > 0; at++) {
		step();
		forgive_hints();
		pair_compare(story.pairs, seed, at);
		left = is_over() && left > STEPS_IN_ERROR ? STEPS_IN_ERROR : left - 1;
	}
	/* Of a damaged packet some may lie where nobody may look yet. */
	for (int i = 0; i < 2 && !story.damages; i++)
		cr_assert_arr_eq(story.pairs[0]->side[i].memory, story.pairs[1]->side[i].memory, REGION_BYTES,
				 "seed %lu: memory of side %c", seed, "AB"[i]);
	for (int i = 0; i < 2; i++) {
		pair_close(story.pairs[i]);
		free(story.srqs[i]);
	}
}

Test(deferred_icrc_all, all_request_types_match_when_icrc_is_checked_first, .timeout = 1200)
{
	uint64_t first = env_number("UROCE_ICRC_SEED", 1), runs = env_number("UROCE_ICRC_RUNS", RUNS);

	RULE("Q-5");
	RULE("S-1");
	unsetenv("UROCE_PAIR_CHECKED"); /* or both would check first */
	printf("# seeds %lu ... %lu\n", first, first + runs - 1);
	for (uint64_t seed = first; seed < first + runs; seed++)
		run(seed);
}
