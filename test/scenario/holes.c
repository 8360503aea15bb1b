/* holes.c - the list of what is missing of READs: its room, its boards, and when it is asked for again */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "rule.h"

#define MTU 256u
#define READ_AT 0x8000u /* where the data of a READ lands in A's memory */
#define WIDTH 4u        /* packets of a hole and of the response behind it */

static void post_read(struct pair *pair, uint64_t wr_id, uint64_t offset, uint32_t packets)
{
	struct uroce_send_wr wr = {
		.wr_id = wr_id,
		.opcode = UROCE_WR_RDMA_READ,
		.send_flags = UROCE_SEND_SIGNALED,
	};

	memset(pair->side[A].memory + offset, 0, packets * MTU);
	cr_assert_eq(pair_post(pair, A, wr, offset, packets * MTU), 0);
	pair_transmit(pair, A);
	pair_forget(pair);
}

/* A repairs READs, and nobody but the test answers. */
static struct pair *open_repairing(void)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU, .rd_atomic = 8 });

	poke_read_repair(pair->side[A].qp, UROCE_READ_REPAIR_UPWARDS);
	pair_cut(pair);
	return pair;
}

static void answer(struct pair *pair, uint32_t psn)
{
	pair_inject(pair, A, response_packet(psn ? OP_READ_RESPONSE_MIDDLE : OP_READ_RESPONSE_FIRST, psn, MTU));
}

static bool is_placed(const struct pair *pair, uint32_t psn)
{
	return pair->side[A].memory[READ_AT + psn * MTU] == PACKETS_DATA;
}

/* With a full list, responses that shrink a hole are accepted, and those that split one are dropped. */
Test(holes, full_hole_list_accepts_only_shrinking_responses)
{
	struct pair *pair = open_repairing();
	const uint32_t hole = 100 * WIDTH, other = 200 * WIDTH;

	RULE("Q-15");
	post_read(pair, 1, READ_AT, LIMIT_HOLES * WIDTH + 1);
	for (uint32_t i = 0; i < LIMIT_HOLES; i++)
		answer(pair, i * WIDTH + WIDTH - 1);
	cr_assert_eq(qp_board(pair->side[A].qp, BOARD_HOLES)->holes.count, LIMIT_HOLES);
	answer(pair, hole + 1);
	cr_assert_not(is_placed(pair, hole + 1));
	answer(pair, hole + WIDTH - 2);
	cr_assert(is_placed(pair, hole + WIDTH - 2), "the last of a hole");
	answer(pair, other);
	cr_assert(is_placed(pair, other), "the first of a hole");
	cr_assert_eq(qp_board(pair->side[A].qp, BOARD_HOLES)->holes.count, LIMIT_HOLES);
	pair_close(pair);
}

/* The board of another QP reveals nothing about ours: the second READ overlaps the first one. */
Test(holes, recycled_board_is_empty)
{
	struct pair *pair = open_repairing();

	RULE("Q-15");
	for (uint32_t i = 0; i < 2; i++)
		pair->side[A].boards[i].holes.clear = 1000;
	post_read(pair, 1, READ_AT, 6);
	post_read(pair, 2, READ_AT + 4 * MTU, 4);
	answer(pair, 0);
	answer(pair, 2);
	cr_assert(is_placed(pair, 2));
	pair_inject(pair, A, response_packet(OP_READ_RESPONSE_FIRST, 6, MTU));
	cr_assert_not(is_placed(pair, 4));
	pair_close(pair);
}

/* As soon as the response to it should have come, and not before. */
Test(holes, repair_request_is_repeated_after_a_round_trip)
{
	struct pair *pair = open_repairing();
	struct rc_qp *qp = pair->side[A].qp;

	RULE("Q-15");
	RULE("T-5");
	post_read(pair, 1, READ_AT, 8);
	answer(pair, 0);
	poke_round_trip(qp, 10000);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, 2, MTU));
	expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x100 len=256");
	pair->now_ns += 9999;
	pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, 3, MTU));
	expect_leaves(pair, A);
	cr_assert_eq(peek_resend_ns(qp), pair->now_ns + peek_timeout_ns(qp), "a sign of life");
	pair->now_ns += 1;
	pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, 4, MTU));
	expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x100 len=256");
	pair_close(pair);
}

/* Each repair response shows that the next one is in flight; it does not for skipped ones. */
Test(holes, repair_in_progress_is_not_requested_again)
{
	for (uint32_t any_order = 0; any_order < 2; any_order++) {
		struct pair *pair = open_repairing();
		struct rc_qp *qp = pair->side[A].qp;

		RULE("Q-15");
		RULE("T-5");
		if (any_order)
			poke_read_repair(qp, UROCE_READ_REPAIR_ANY_ORDER);
		post_read(pair, 1, READ_AT, 9);
		answer(pair, 0);
		poke_round_trip(qp, 10000);
		if (any_order)
			answer(pair, 2);
		pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, 7, MTU));
		if (any_order)
			expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x100 len=256",
				      "READ_REQUEST psn=3 ackreq va=0x300 len=1024");
		else
			expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x100 len=1536");
		for (uint32_t psn = any_order ? 3 : 1; psn <= 4; psn++) {
			pair->now_ns += 9999;
			pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, psn, MTU));
			if (any_order && psn == 4)
				expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x100 len=256");
			else
				expect_leaves(pair, A);
		}
		pair->now_ns += 10000;
		pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, 6, MTU));
		expect_leaves(pair, A, "READ_REQUEST psn=5 ackreq va=0x500 len=256");
		pair_close(pair);
	}
}

/* The window is behind the hole already: the rest is still to be sent again, until the peer shows that it has it. */
Test(holes, resend_behind_a_hole_ends_when_the_peer_has_it)
{
	struct pair *pair = open_repairing();
	struct rc_qp *qp = pair->side[A].qp;
	uint64_t resent;

	RULE("Q-15");
	RULE("T-5");
	post_read(pair, 1, READ_AT, 4);
	for (uint64_t i = 2; i < 22; i++)
		pair_write(pair, i, 8);
	pair_transmit(pair, A);
	pair_timeout_at(pair, qp, peek_resend_ns(qp));
	pair_transmit(pair, A);
	cr_assert(peek_resends(qp) && peek_next(qp) > 4 && peek_next(qp) < 15);
	answer(pair, 2);
	cr_assert(is_placed(pair, 2) && peek_resends(qp));
	answer(pair, 0);
	answer(pair, 1);
	pair_inject(pair, A, response_packet(OP_READ_RESPONSE_LAST, 3, MTU));
	resent = qp->counters[CNT_RETRANSMITTED_PACKETS];
	pair_inject(pair, A, ack_packet(15, SYNDROME_PLAIN_ACK, 13));
	pair_transmit(pair, A);
	cr_assert_eq(peek_acked(qp), 16);
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, resent);
	pair_close(pair);
}

/* Places that touch do not overlap, on whichever side. */
Test(holes, read_into_adjacent_memory_is_placed)
{
	RULE("Q-15");
	for (uint32_t behind = 0; behind < 2; behind++) {
		struct pair *pair = open_repairing();
		uint32_t at = behind ? 4 : 2;

		post_read(pair, 1, READ_AT + (behind ? 0 : 4) * MTU, 4);
		post_read(pair, 2, READ_AT + at * MTU, 2);
		pair_inject(pair, A, response_packet(OP_READ_RESPONSE_FIRST, 4, MTU));
		cr_assert(is_placed(pair, at), "behind: %u", behind);
		pair_close(pair);
	}
}

/* The first hole is being filled, and the answer to the ask for another one is overdue. */
Test(holes, in_order_response_triggers_an_overdue_repair_request)
{
	struct pair *pair = open_repairing();
	struct rc_qp *qp = pair->side[A].qp;

	RULE("Q-15");
	RULE("T-5");
	poke_read_repair(qp, UROCE_READ_REPAIR_ANY_ORDER);
	post_read(pair, 1, READ_AT, 8);
	answer(pair, 0);
	poke_round_trip(qp, 10000);
	answer(pair, 3);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, 5, MTU));
	expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x100 len=512",
		      "READ_REQUEST psn=4 ackreq va=0x400 len=256");
	pair->now_ns += 10000;
	pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 1, MTU));
	expect_leaves(pair, A, "READ_REQUEST psn=4 ackreq va=0x400 len=256");
	pair_close(pair);
}

/* An RNR NAK shows that a response was lost, and the lcore has no core until long after. */
Test(holes, timer_starts_with_the_repair_request)
{
	struct pair *pair = open_repairing();
	struct rc_qp *qp = pair->side[A].qp;

	RULE("Q-15");
	RULE("T-1");
	post_read(pair, 1, READ_AT, 4);
	answer(pair, 0);
	answer(pair, 2);
	pair_inject(pair, A, response_packet(OP_READ_RESPONSE_LAST, 3, MTU));
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	pair_forget(pair);
	pair_inject(pair, A, ack_packet(4, syndrome_make(SYNDROME_RNR_NAK, 1), 1));
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
	pair->now_ns += 2 * peek_timeout_ns(qp);
	if (rc_qp_deadline(qp) <= pair->now_ns)
		rc_qp_timeout(qp, pair->now_ns);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	pair_transmit(pair, A);
	cr_assert_leq(rc_qp_deadline(qp), pair->now_ns + peek_timeout_ns(qp), "a hole that was asked for has a timer");
	pair_close(pair);
}
