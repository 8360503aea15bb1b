/* copies.c - a wire that loses a tenth of all packets, brings the others eight times and in any order */
/* SPDX-License-Identifier: BSD-3-Clause */
/* The seed is in each message; what there is of each request happens once and in its order all the same. */
#include <criterion/criterion.h>
#include <string.h>

#include "draw.h"
#include "packets.h"
#include "rule.h"

#define COPIES 8
#define SEEDS 20u
#define WORD_AT 65536u

static uint64_t state;

static uint32_t draw(uint32_t below)
{
	return draw_below(&state, below);
}

/* Exchanges pairs of what is on the wire already. */
static int fate(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	struct side *side = &pair->side[from];
	uint32_t count = side->wire_tail - side->wire_head;

	(void)number;
	(void)packet;
	for (uint32_t i = 0; i < COPIES && count > 1; i++) {
		struct flight *a = &side->wire[(side->wire_head + draw(count)) % PAIR_IN_FLIGHT];
		struct flight *b = &side->wire[(side->wire_head + draw(count)) % PAIR_IN_FLIGHT];
		struct flight swap = *a;

		*a = *b;
		*b = swap;
	}
	return draw(10) == 0 ? 0 : COPIES;
}

static void post_atomic(struct pair *pair, uint64_t wr_id)
{
	struct uroce_send_wr wr = {
		.wr_id = wr_id,
		.opcode = UROCE_WR_ATOMIC_FETCH_AND_ADD,
		.send_flags = UROCE_SEND_SIGNALED,
		.compare_add = 2,
		.remote_addr = (uintptr_t)pair->side[B].memory + WORD_AT,
	};

	cr_assert_eq(pair_post(pair, A, wr, WORD_AT + 8 * wr_id, 8), 0);
}

/* TC-B-18 */
Test(copies, eight_unordered_copies_act_like_one)
{
	RULE("S-8");
	RULE("S-10");
	RULE("S-17");
	RULE("Q-6");
	for (uint32_t seed = 1; seed <= SEEDS; seed++) {
		struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256, .receives = 4, .rnr_timer = 1 });

		state = draw_start(seed);
		pair->copies = fate;
		pair_set_word(pair, B, WORD_AT, 40);
		pair_write(pair, 0, 3000);
		post_atomic(pair, 1);
		pair_send(pair, 2, 2500);
		pair_read(pair, 3, 1500);
		post_atomic(pair, 4);
		pair_send(pair, 5, 0);
		pair_write(pair, 6, 100);
		cr_assert(pair_settle(pair, 60000000000ull), "seed %u: not settled", seed);
		expect_completes(pair, A, "wr=0 WRITE SUCCESS", "wr=1 FADD SUCCESS", "wr=2 SEND SUCCESS",
				 "wr=3 READ SUCCESS len=1500", "wr=4 FADD SUCCESS", "wr=5 SEND SUCCESS",
				 "wr=6 WRITE SUCCESS");
		expect_completes(pair, B, "wr=1000 RECV SUCCESS len=2500", "wr=1001 RECV SUCCESS len=0");
		cr_assert_eq(pair_word(pair, A, WORD_AT + 8), 40, "seed %u", seed);
		cr_assert_eq(pair_word(pair, A, WORD_AT + 32), 42, "seed %u", seed);
		cr_assert_eq(pair_word(pair, B, WORD_AT), 44, "seed %u", seed);
		cr_assert_eq(memcmp(pair->side[A].memory, pair->side[B].memory, 3000), 0, "seed %u", seed);
		expect_counts(pair, B, CNT_RX_WRITE_REQUESTS, 2);
		expect_counts(pair, B, CNT_RX_SEND_REQUESTS, 2);
		expect_counts(pair, B, CNT_RX_READ_REQUESTS, 1);
		expect_counts(pair, B, CNT_RX_ATOMIC_REQUESTS, 2);
		cr_assert_gt(pair->side[B].qp->counters[CNT_DUPLICATE_REQUEST], 0);
		pair_close(pair);
	}
}
