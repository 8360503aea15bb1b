/* steps.c - the work that one received packet causes, counted in basic blocks of lib/rc */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "agreed.h"
#include "draw.h"
#include "packets.h"
#include "rc/cc.h"
#include "rule.h"

#define READS LIMIT_RD_ATOMIC
#define PIECE_BYTES 64u
#define PACKETS (LIMIT_SGE * PIECE_BYTES / MTU) /* per READ */
#define STEPS_MOST 40000u                       /* some 20 us */

static uint64_t steps;

/* The compiler calls this at the beginning of each basic block of lib/rc. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	steps++;
}

/* Where piece `piece` of READ `read` lies in A's memory, in pieces. */
typedef uint32_t (*layout)(uint32_t read, uint32_t piece);

static uint32_t one_behind_another(uint32_t read, uint32_t piece)
{
	return read * LIMIT_SGE + piece;
}

static uint32_t in_random_order(uint32_t read, uint32_t piece)
{
	return read * 37 % READS * LIMIT_SGE + piece;
}

static uint32_t scattered(uint32_t read, uint32_t piece)
{
	return piece * READS + read;
}

static uint32_t all_the_same(uint32_t read, uint32_t piece)
{
	return read * 0 + piece;
}

/* The last READ has the last piece of the READ before it. */
static uint32_t last_two_overlap(uint32_t read, uint32_t piece)
{
	return read == READS - 1 && piece == 0 ? one_behind_another(read - 1, LIMIT_SGE - 1) :
						 one_behind_another(read, piece);
}

static uint32_t last_two_overlap_scattered(uint32_t read, uint32_t piece)
{
	return read == READS - 1 && piece == 0 ? scattered(read - 1, LIMIT_SGE - 1) : scattered(read, piece);
}

/* Posts a READ of the most pieces, without a completion. */
static void post_read(struct pair *pair, uint32_t read, layout at)
{
	const struct side *side = &pair->side[A];
	struct uroce_sge sges[LIMIT_SGE];
	struct uroce_send_wr wr = {
		.wr_id = read,
		.opcode = UROCE_WR_RDMA_READ,
		.send_flags = UROCE_SEND_SIGNALED,
		.sg_list = sges,
		.num_sge = LIMIT_SGE,
		.remote_addr = (uintptr_t)pair->side[B].memory,
		.rkey = pair->side[B].key,
	};

	for (uint32_t i = 0; i < LIMIT_SGE; i++)
		sges[i] = (struct uroce_sge){
			.addr = (uintptr_t)side->memory + at(read, i) * PIECE_BYTES,
			.length = PIECE_BYTES,
			.lkey = side->key,
		};
	cr_assert_eq(rc_qp_post_send(side->qp, &wr), 0);
}

/* A has as many READs in flight as it may, and only the test answers them. */
static struct pair *open_reading(layout at)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU, .rd_atomic = READS, .depth = 2 * READS });

	pair_cut(pair);
	for (uint32_t i = 0; i < READS; i++)
		post_read(pair, i, at);
	pair_transmit(pair, A);
	cr_assert_eq(sendwin_outstanding(&pair->side[A].qp->win), READS * PACKETS);
	return pair;
}

/* Returns the steps that the response at this PSN costs. */
static uint64_t answer(struct pair *pair, uint32_t psn)
{
	uint32_t part = psn % PACKETS;
	uint8_t opcode = part == 0           ? OP_READ_RESPONSE_FIRST :
			 part == PACKETS - 1 ? OP_READ_RESPONSE_LAST :
					       OP_READ_RESPONSE_MIDDLE;

	steps = 0;
	pair_inject(pair, A, response_packet(opcode, psn, MTU));
	return steps;
}

/* Each response but the first one arrives, in the order of the PSNs or in the reverse one. Returns the most steps. */
static uint64_t answer_all(struct pair *pair, bool reverse)
{
	uint64_t most = 0;

	for (uint32_t i = 1; i < READS * PACKETS; i++) {
		uint64_t cost = answer(pair, reverse ? READS * PACKETS - i : i);

		if (cost > most)
			most = cost;
	}
	return most;
}

/* dropped: at most so many responses may be dropped, because comparing all memory would take too long. */
static void expect_bounded(const char *name, layout at, uint64_t dropped)
{
	for (uint32_t reverse = 0; reverse < 2; reverse++) {
		struct pair *pair = open_reading(at);
		const uint64_t *ahead = &pair->side[A].qp->counters[CNT_RESPONSE_AHEAD];
		uint64_t most = answer_all(pair, reverse);

		cr_expect_leq(most, STEPS_MOST, "%s, reverse %u: %lu steps", name, reverse, (unsigned long)most);
		cr_expect_leq(*ahead, dropped, "%s, reverse %u: %lu dropped", name, reverse, (unsigned long)*ahead);
		cr_expect_leq(answer_all(pair, reverse), STEPS_MOST, "%s, reverse %u, copies", name, reverse);
		pair_close(pair);
	}
}

Test(steps, read_response_is_placed_in_bounded_time)
{
	RULE("Q-15");
	expect_bounded("one behind another", one_behind_another, 0);
	expect_bounded("in random order", in_random_order, 32);
	expect_bounded("scattered", scattered, 256);
	expect_bounded("all the same", all_the_same, 0);
	expect_bounded("the last two overlap", last_two_overlap, PACKETS);
	expect_bounded("the last two overlap, scattered", last_two_overlap_scattered, 256);
}

/* ---- SACKs, and requests that are kept ---- */

/* Both ends have agreed to SACKs and the largest window, and spread their packets over the most paths. */
static struct pair *open_wide(void)
{
	struct pair *pair = open_with((struct pair_options){ .depth = 2 * KEPT_SPAN, .rd_atomic = READS });

	for (enum side_name side = A; side <= B; side++) {
		rc_kept_agree(pair->side[side].qp, KEPT_SPAN);
		rc_spread_over(pair->side[side].qp, 8);
		rc_cc_reset(pair->side[side].qp);
	}
	pair_cut(pair);
	return pair;
}

/* A SACK of a random block of what is in flight. */
static struct wire_packet draw_sack(const struct pair *pair, uint64_t *state)
{
	const struct rc_sendwin *win = &pair->side[A].qp->win;
	uint32_t in_flight = sendwin_outstanding(win), una = win->snd_una.v;
	uint32_t block = 1 + draw_below(state, in_flight / KEPT_BLOCK - 2);

	return (struct wire_packet){
		.opcode = OP_SACK,
		.psn = psn_add(win->snd_una, draw_below(state, in_flight)).v,
		.cack_psn = psn_previous(win->snd_una).v,
		.sack_offset = (uint16_t)(1 + KEPT_BLOCK * block - una % KEPT_BLOCK),
		.sack_bitmap = draw_next(state) & draw_next(state),
		.ooo_count = (uint16_t)draw_below(state, in_flight / 2),
	};
}

Test(steps, sack_is_processed_in_bounded_time)
{
	struct pair *pair = open_wide();
	uint64_t state = draw_start(1), most = 0;

	RULE("T-7");
	for (uint32_t i = 0; i < KEPT_SPAN; i++)
		cr_assert_eq(i % 17 ? pair_write(pair, i, 8) : pair_read(pair, i, 8), 0);
	pair_transmit(pair, A);
	cr_assert_eq(sendwin_outstanding(&pair->side[A].qp->win), KEPT_SPAN);
	for (uint32_t i = 0; i < 3000; i++) {
		struct wire_packet sack = draw_sack(pair, &state);

		pair->now_ns += 5000;
		steps = 0;
		pair_inject(pair, A, sack);
		cr_assert_leq(steps, STEPS_MOST, "SACK %u: %lu steps", i, (unsigned long)steps);
		steps = 0;
		pair_transmit(pair, A);
		most = steps > most ? steps : most;
	}
	cr_assert_leq(most, STEPS_MOST, "packets that are sent again: %lu steps", (unsigned long)most);
	expect_counts(pair, A, CNT_BAD_SACK, 0);
	cr_assert_gt(pair->side[A].qp->counters[CNT_RETRANSMITTED_PACKETS], 0);
	close_agreed(pair);
}

/* A request of a random kind, mostly ahead of ePSN within the window, seldom expected, else a duplicate. */
static struct wire_packet draw_request(const struct pair *pair, uint64_t *state)
{
	psn_t epsn = pair->side[B].qp->responder.epsn;
	uint32_t ahead = draw_below(state, 4) ? draw_below(state, KEPT_SPAN) : PSN_MASK - draw_below(state, 3000);
	uint32_t psn = psn_add(epsn, draw_below(state, 300) ? ahead : 0).v;

	switch (draw_below(state, 5)) {
	case 0:
		return read_packet(pair, psn, 0, 1 + draw_below(state, 60000));
	case 1:
		return fetch_add_packet(pair, psn, 0, 1);
	case 2:
		return (struct wire_packet){ .opcode = OP_PROBE, .control_kind = WIRE_PROBE_KIND };
	default:
		return write_packet(pair, OP_WRITE_ONLY, psn, 0, 64, 64);
	}
}

Test(steps, request_is_processed_in_bounded_time)
{
	struct pair *pair = open_wide();
	uint64_t state = draw_start(1);

	RULE("S-21");
	for (uint32_t i = 0; i < 20000; i++) {
		struct wire_packet request = draw_request(pair, &state);

		pair->now_ns += 5000;
		steps = 0;
		pair_inject(pair, B, request);
		cr_assert_leq(steps, STEPS_MOST, "request %u: %lu steps", i, (unsigned long)steps);
		pair_transmit(pair, B);
	}
	cr_assert_gt(pair->side[B].qp->counters[CNT_KEPT], 1000);
	cr_assert_gt(pair->side[B].qp->counters[CNT_DUPLICATE_REQUEST], 1000);
	close_agreed(pair);
}
