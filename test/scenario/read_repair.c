/* read_repair.c - out-of-order READ responses are placed, and only the missing ones are requested again */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "rc/loss.h"
#include "rule.h"

#define MTU 256u
#define READ_AT 0x8000u /* where the data of a READ lands in A's memory */
#define PACKETS 12u

static void post_read(struct pair *pair, uint64_t wr_id, uint64_t offset, uint32_t bytes)
{
	struct uroce_send_wr wr = {
		.wr_id = wr_id,
		.opcode = UROCE_WR_RDMA_READ,
		.send_flags = UROCE_SEND_SIGNALED,
	};

	cr_assert_eq(pair_post(pair, A, wr, offset, bytes), 0);
}

/* A READ of so many packets has been asked for, from PSN 0 on, and nobody but the test answers. */
static struct pair *open_asked(uint32_t packets, bool any_order)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU, .rd_atomic = 8 });
	struct uroce_qp_attr attr = { .read_repair =
					      any_order ? UROCE_READ_REPAIR_ANY_ORDER : UROCE_READ_REPAIR_UPWARDS };
	uint32_t bad;

	cr_assert_eq(rc_qp_modify(pair->side[A].qp, &attr, UROCE_QP_READ_REPAIR, &bad), 0);
	pair_cut(pair);
	memset(pair->side[A].memory + READ_AT, 0, packets * MTU);
	post_read(pair, 1, READ_AT, packets * MTU);
	pair_transmit(pair, A);
	pair_forget(pair);
	return pair;
}

static void repair(struct pair *pair, bool any_order)
{
	for (enum side_name side = A; side <= B; side++)
		poke_read_repair(pair->side[side].qp,
				 any_order ? UROCE_READ_REPAIR_ANY_ORDER : UROCE_READ_REPAIR_UPWARDS);
}

static void answer(struct pair *pair, uint32_t psn, uint32_t packets)
{
	uint8_t opcode = psn == 0           ? OP_READ_RESPONSE_FIRST :
			 psn + 1 == packets ? OP_READ_RESPONSE_LAST :
					      OP_READ_RESPONSE_MIDDLE;

	pair_respond(pair, response_packet(opcode, psn, MTU));
}

static bool is_placed(const struct pair *pair, uint32_t psn)
{
	return pair->side[A].memory[READ_AT + psn * MTU] == PACKETS_DATA;
}

static uint64_t count(const struct pair *pair, enum rc_counter counter)
{
	return pair->side[A].qp->counters[counter];
}

/* None is lent any more. */
static void expect_boards_back(struct pair *pair, enum side_name side)
{
	cr_assert_eq(pair->side[side].pool.boards.pool.used, 0);
}

Test(read_repair, out_of_order_response_is_placed_and_the_gap_is_requested)
{
	struct pair *pair = open_asked(4, false);

	RULE("Q-15");
	answer(pair, 0, 4);
	answer(pair, 2, 4);
	expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x100 len=256");
	answer(pair, 3, 4);
	expect_leaves(pair, A);
	cr_assert(is_placed(pair, 0) && !is_placed(pair, 1) && is_placed(pair, 2) && is_placed(pair, 3));
	expect_completes(pair, A);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_ONLY, 1, MTU));
	expect_completes(pair, A, "wr=1 READ SUCCESS len=1024");
	cr_assert(is_placed(pair, 1));
	cr_assert_eq(count(pair, CNT_RETRANSMITTED_PACKETS), 1);
	cr_assert_eq(count(pair, CNT_IMPLIED_NAK_SEQ_ERR), 0, "no retry is spent");
	expect_boards_back(pair, A);
	pair_close(pair);
}

/* Linux never answers a part that lies before one that it was asked for later. */
Test(read_repair, only_the_first_hole_of_a_read_is_requested)
{
	struct pair *pair = open_asked(8, false);

	RULE("Q-16");
	answer(pair, 1, 8);
	expect_leaves(pair, A, "READ_REQUEST psn=0 ackreq va=0x0 len=256");
	answer(pair, 3, 8);
	answer(pair, 6, 8);
	answer(pair, 7, 8);
	expect_leaves(pair, A);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_ONLY, 0, MTU));
	expect_leaves(pair, A, "READ_REQUEST psn=2 ackreq va=0x200 len=256");
	pair_respond(pair, response_packet(OP_READ_RESPONSE_ONLY, 2, MTU));
	expect_leaves(pair, A, "READ_REQUEST psn=4 ackreq va=0x400 len=512");
	pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 4, MTU));
	pair_respond(pair, response_packet(OP_READ_RESPONSE_LAST, 5, MTU));
	expect_completes(pair, A, "wr=1 READ SUCCESS len=2048");
	pair_close(pair);
}

Test(read_repair, any_order_peer_receives_requests_for_all_holes)
{
	struct pair *pair = open_asked(8, true);

	RULE("Q-16");
	answer(pair, 1, 8);
	expect_leaves(pair, A, "READ_REQUEST psn=0 ackreq va=0x0 len=256");
	answer(pair, 3, 8);
	expect_leaves(pair, A, "READ_REQUEST psn=2 ackreq va=0x200 len=256");
	answer(pair, 6, 8);
	expect_leaves(pair, A, "READ_REQUEST psn=4 ackreq va=0x400 len=512");
	pair_close(pair);
}

/* What comes behind an ask that was lost says so, when the answer ought to have come (T-5). */
/* An answer requested over the old path may be the first packet after a path change. */
Test(read_repair, rewind_repeats_a_partly_answered_read_upwards)
{
	struct pair *pair = open_asked(8, false);

	RULE("Q-16");
	rc_loss_path_changed(pair->side[A].qp);
	answer(pair, 3, 8);
	expect_leaves(pair, A, "READ_REQUEST psn=0 ackreq va=0x0 len=2048");
	for (uint32_t psn = 0; psn < 8; psn++)
		answer(pair, psn, 8);
	expect_leaves(pair, A);
	expect_completes(pair, A, "wr=1 READ SUCCESS len=2048");
	expect_boards_back(pair, A);
	pair_close(pair);
}

Test(read_repair, rewind_to_an_any_order_peer_requests_only_the_holes)
{
	struct pair *pair = open_asked(8, true);

	RULE("Q-16");
	rc_loss_path_changed(pair->side[A].qp);
	answer(pair, 3, 8);
	expect_leaves(pair, A, "READ_REQUEST psn=0 ackreq va=0x0 len=768",
		      "READ_REQUEST psn=4 ackreq va=0x400 len=1024");
	pair_close(pair);
}

/* What an ACK covers needs no resend, though the window was rewound in front of it. */
Test(read_repair, acknowledged_requests_are_not_resent_after_a_rewind)
{
	struct pair *pair = open_asked(4, false);
	struct uroce_send_wr write = { .wr_id = 2, .opcode = UROCE_WR_RDMA_WRITE, .send_flags = UROCE_SEND_SIGNALED };

	RULE("Q-15");
	cr_assert_eq(pair_post(pair, A, write, 0, MTU), 0);
	pair_transmit(pair, A);
	pair_forget(pair);
	rc_loss_path_changed(pair->side[A].qp);
	pair_inject(pair, A, response_packet(OP_READ_RESPONSE_LAST, 3, MTU));
	pair_inject(pair, A, ack_packet(4, SYNDROME_PLAIN_ACK, 2));
	pair_transmit(pair, A);
	expect_leaves(pair, A, "READ_REQUEST psn=0 ackreq va=0x0 len=768");
	pair_close(pair);
}

Test(read_repair, lost_repair_request_is_repeated_after_a_round_trip)
{
	struct pair *pair = open_asked(8, false);
	struct rc_qp *qp = pair->side[A].qp;

	RULE("Q-15");
	RULE("T-5");
	answer(pair, 0, 8);
	poke_round_trip(qp, 10000);
	answer(pair, 2, 8);
	expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x100 len=256");
	pair->now_ns += 9000;
	answer(pair, 3, 8);
	expect_leaves(pair, A);
	pair->now_ns += 2000;
	answer(pair, 4, 8);
	expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x100 len=256");
	pair->now_ns += 19000;
	answer(pair, 5, 8);
	expect_leaves(pair, A);
	pair->now_ns += 2000;
	answer(pair, 6, 8);
	expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x100 len=256");
	cr_assert_eq(peek_retries_left(qp), 7, "no retry is spent by what was never silent");
	pair_close(pair);
}

/* The late part of the older one must not overwrite what the newer one has brought. */
Test(read_repair, overlapping_reads_are_placed_in_order)
{
	struct pair *pair = open_asked(2, false);

	RULE("Q-15");
	post_read(pair, 2, READ_AT + MTU, MTU);
	pair_transmit(pair, A);
	pair_forget(pair);
	answer(pair, 0, 2);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_ONLY, 2, MTU));
	cr_assert_not(is_placed(pair, 1), "it would land where the older one's second packet does");
	cr_assert_eq(count(pair, CNT_RESPONSE_AHEAD), 1);
	expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x100 len=256",
		      "READ_REQUEST psn=2 ackreq va=0x0 len=256");
	pair_close(pair);
}

/* As programs do that read into one buffer and look at it in the end: memory is as if all had come in their order. */
Test(read_repair, newer_of_two_reads_into_the_same_buffer_stays)
{
	struct pair *pair = open_asked(2, false);
	uint8_t *places = pair->side[A].memory + READ_AT;

	RULE("Q-15");
	post_read(pair, 2, READ_AT, 2 * MTU);
	pair_transmit(pair, A);
	pair_forget(pair);
	answer(pair, 0, 2);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_LAST, 3, MTU));
	cr_assert(is_placed(pair, 1));
	memset(places, 1, 2 * MTU);
	answer(pair, 1, 2);
	expect_completes(pair, A, "wr=1 READ SUCCESS len=512");
	cr_assert_eq(places[MTU], 1, "what the older one brings late is not copied over it");
	pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 2, MTU));
	expect_completes(pair, A, "wr=2 READ SUCCESS len=512");
	cr_assert_eq(places[0], PACKETS_DATA, "what had not come is");
	expect_boards_back(pair, A);
	pair_close(pair);
}

/* The same, with a damaged one: what lies there already is right. */
Test(read_repair, damaged_response_keeps_data_of_a_newer_read)
{
	struct pair *pair = open_asked(2, false);
	uint8_t *places = pair->side[A].memory + READ_AT;

	RULE("Q-15");
	RULE("P-2");
	post_read(pair, 2, READ_AT, 2 * MTU);
	pair_transmit(pair, A);
	pair_forget(pair);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 2, MTU));
	memset(places, 1, MTU);
	pair->inject_damage = !pair->side[A].checked; /* else it is refused before it gets here */
	answer(pair, 0, 2);
	pair->inject_damage = false;
	cr_assert_eq(places[0], 1);
	pair_close(pair);
}

Test(read_repair, duplicate_response_is_not_placed_again)
{
	struct pair *pair = open_asked(4, false);

	RULE("Q-15");
	answer(pair, 2, 4);
	memset(pair->side[A].memory + READ_AT + 2 * MTU, 1, MTU);
	answer(pair, 2, 4);
	cr_assert_not(is_placed(pair, 2));
	cr_assert_eq(count(pair, CNT_RESPONSE_AHEAD), 1);
	pair_close(pair);
}

Test(read_repair, response_with_a_wrong_icrc_is_dropped)
{
	struct pair *pair = open_asked(4, false);

	RULE("Q-15");
	answer(pair, 3, 4);
	expect_leaves(pair, A, "READ_REQUEST psn=0 ackreq va=0x0 len=768");
	if (pair->side[A].checked) { /* before it gets here */
		pair_close(pair);
		return;
	}
	pair->inject_damage = true;
	pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, 1, MTU));
	pair->inject_damage = false;
	pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 0, MTU));
	cr_assert_eq(peek_acked(pair->side[A].qp), 1);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, 1, MTU));
	pair_respond(pair, response_packet(OP_READ_RESPONSE_LAST, 2, MTU));
	expect_completes(pair, A, "wr=1 READ SUCCESS len=1024");
	pair_close(pair);
}

/* an invalid out-of-order response is dropped; it ends the connection only when in order. */
Test(read_repair, response_of_a_wrong_length_is_not_placed)
{
	struct pair *pair = open_asked(4, false);

	RULE("Q-12");
	answer(pair, 1, 4);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, 2, MTU - 4));
	cr_assert_not(is_placed(pair, 2));
	cr_assert_eq(peek_state(pair->side[A].qp), UROCE_QPS_RTS);
	pair_close(pair);
}

/* All repair requests are lost: only the ACK timer spends the budget. */
Test(read_repair, peer_silent_after_a_hole_exhausts_the_retries)
{
	struct pair *pair = open_asked(4, false);
	uint32_t fired = 0;

	RULE("T-3");
	RULE("T-4");
	answer(pair, 0, 4);
	answer(pair, 2, 4);
	while (peek_state(pair->side[A].qp) == UROCE_QPS_RTS) {
		cr_assert(pair_fire(pair));
		cr_assert_lt(++fired, 100);
	}
	expect_completes(pair, A, "wr=1 READ RETRY_EXC_ERR");
	cr_assert_eq(count(pair, CNT_LOCAL_ACK_TIMEOUT_ERR), 8);
	expect_boards_back(pair, A);
	pair_close(pair);
}

/* What the silence has cost is given back once: the budget is never more than the user's. */
Test(read_repair, out_of_order_response_refunds_retries_of_silence)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU, .rd_atomic = 8, .depth = 64 });
	struct rc_qp *qp = pair->side[A].qp;

	RULE("T-4");
	RULE("Q-15");
	poke_probes(qp, true);
	poke_read_repair(qp, UROCE_READ_REPAIR_UPWARDS);
	pair_cut(pair);
	pair_measure_alone(pair, 10000);
	pair_read(pair, 1, 100 * MTU);
	pair_transmit(pair, A);
	while (peek_asked(qp) == 0) {
		pair_forget(pair);
		cr_assert(pair_fire(pair));
		pair_transmit(pair, A);
	}
	cr_assert_eq(peek_retries_left(qp), 5, "one retry sent the READ again, one asked");
	pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, 3, MTU));
	cr_assert_eq(peek_retries_left(qp), 7);
	cr_assert_eq(peek_asked(qp) + qp->loss.silences, 0);
	pair_close(pair);
}

/* where it would land is not ours any more. The QP fails, and what was to be sent again is not. */
Test(read_repair, hole_with_deregistered_memory_fails_the_qp)
{
	struct pair *pair = open_asked(4, false);
	struct uroce_send_wr write = { .wr_id = 2, .opcode = UROCE_WR_RDMA_WRITE, .send_flags = UROCE_SEND_INLINE };
	struct rc_qp *qp = pair->side[A].qp;

	RULE("Q-11");
	RULE("Q-13");
	cr_assert_eq(pair_post(pair, A, write, 0, 8), 0);
	pair_transmit(pair, A);
	answer(pair, 0, 4);
	answer(pair, 2, 4);
	answer(pair, 3, 4);
	pair_forget(pair);
	pair->now_ns = peek_resend_ns(qp);
	cr_assert_eq(rc_mr_remove(&pair->side[A].mrs, pair->side[A].key), 0);
	rc_qp_timeout(qp, pair->now_ns);
	cr_assert_eq(peek_next(qp), 4, "the WRITE goes out again behind the READ");
	pair_transmit(pair, A);
	expect_leaves(pair, A);
	expect_completes(pair, A, "wr=1 READ LOC_PROT_ERR", "wr=2 WRITE WR_FLUSH_ERR");
	expect_boards_back(pair, A);
	pair_close(pair);
}

/* ---- both ends ---- */

/* Loses packets of these numbers, from B to A. */
struct loser {
	uint32_t first, second;
};

static int lose(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	const struct loser *loser = pair->user;

	(void)packet;
	return from == B && (number == loser->first || number == loser->second) ? 0 : 1;
}

static void post_mix(struct pair *pair)
{
	struct uroce_send_wr write = { .wr_id = 10, .opcode = UROCE_WR_RDMA_WRITE };

	post_read(pair, 1, READ_AT, PACKETS * MTU);
	write.remote_addr = (uintptr_t)pair->side[B].memory + 0x4000;
	cr_assert_eq(pair_post(pair, A, write, 0, 3 * MTU), 0);
	post_read(pair, 2, READ_AT + PACKETS * MTU, 2 * MTU);
	cr_assert_eq(pair_fetch_add(pair, 3, 0), 0);
	post_read(pair, 4, READ_AT + (PACKETS + 2) * MTU, 3 * MTU);
}

/* A READ owns PSNs that no packet of its own has: between WRITEs and atomics each answer is lost, and each two. */
Test(read_repair, lost_read_responses_between_other_requests_are_repaired)
{
	RULE("Q-15");
	RULE("S-9");
	for (uint32_t any_order = 0; any_order < 2; any_order++) {
		for (uint32_t i = 0; i < 21 * 21; i++) {
			struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU, .rd_atomic = 8 });
			struct loser loser = { .first = i / 21, .second = i % 21 };

			repair(pair, any_order);
			pair->user = &loser;
			pair->copies = lose;
			post_mix(pair);
			cr_assert(pair_settle(pair, 10000000000ull));
			expect_completes(pair, A, "wr=1 READ SUCCESS len=3072", "wr=2 READ SUCCESS len=512",
					 "wr=3 FADD SUCCESS", "wr=4 READ SUCCESS len=768");
			cr_assert_arr_eq(pair->side[A].memory + READ_AT, pair->side[B].memory, PACKETS * MTU,
					 "%u and %u lost", loser.first, loser.second);
			cr_assert_arr_eq(pair->side[A].memory + READ_AT + (PACKETS + 2) * MTU, pair->side[B].memory,
					 3 * MTU);
			expect_boards_back(pair, A);
			expect_boards_back(pair, B);
			pair_close(pair);
		}
	}
}

/* Whichever two answers are lost: the newest READ's data lie there in the end. */
Test(read_repair, newest_of_overlapping_reads_stays_despite_losses)
{
	RULE("Q-15");
	for (uint32_t any_order = 0; any_order < 2; any_order++) {
		for (uint32_t i = 0; i < 12 * 12; i++) {
			struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU, .rd_atomic = 8 });
			struct loser loser = { .first = i / 12, .second = i % 12 };
			const uint8_t *theirs = pair->side[B].memory;

			repair(pair, any_order);
			for (uint32_t part = 0; part < 12; part++)
				memset(pair->side[B].memory + part * MTU, (int)part + 1, MTU);
			pair->user = &loser;
			pair->copies = lose;
			for (uint32_t read = 0; read < 4; read++) {
				struct uroce_send_wr wr = {
					.wr_id = read,
					.opcode = UROCE_WR_RDMA_READ,
					.send_flags = UROCE_SEND_SIGNALED,
					.remote_addr = (uintptr_t)theirs + read * 3 * MTU,
				};

				cr_assert_eq(pair_post(pair, A, wr, READ_AT, 3 * MTU), 0);
			}
			cr_assert(pair_settle(pair, 10000000000ull));
			cr_assert_arr_eq(pair->side[A].memory + READ_AT, theirs + 9 * MTU, 3 * MTU, "%u and %u lost",
					 loser.first, loser.second);
			expect_boards_back(pair, A);
			pair_close(pair);
		}
	}
}

/* Without a board it is as it was before there were any: everything from the loss on goes out again. */
Test(read_repair, without_a_board_all_after_the_loss_is_requested)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU, .no_boards = true });

	RULE("Q-9");
	pair_cut(pair);
	post_read(pair, 1, READ_AT, 4 * MTU);
	pair_transmit(pair, A);
	pair_forget(pair);
	answer(pair, 0, 4);
	answer(pair, 2, 4);
	cr_assert_not(is_placed(pair, 2));
	expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x100 len=768");
	pair_close(pair);
}

/* ---- the responder ---- */

Test(read_repair, sent_part_is_repeated_before_the_rest_of_the_read)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU });

	RULE("S-9");
	pair_cut(pair);
	pair_inject(pair, B, read_packet(pair, 0, 0, 40 * MTU));
	pair_transmit_some(pair, B, 6);
	pair_forget(pair);
	pair_inject(pair, B, read_packet(pair, 2, 2 * MTU, 2 * MTU));
	pair_inject(pair, B, read_packet(pair, 1, MTU, MTU));
	pair_transmit_some(pair, B, 5);
	expect_leaves(pair, B, "READ_RESPONSE_FIRST psn=2 credit=31 msn=1 bytes=256",
		      "READ_RESPONSE_LAST psn=3 credit=31 msn=1 bytes=256",
		      "READ_RESPONSE_ONLY psn=1 credit=31 msn=1 bytes=256", "READ_RESPONSE_MIDDLE psn=6 bytes=256",
		      "READ_RESPONSE_MIDDLE psn=7 bytes=256");
	expect_boards_back(pair, B);
	pair_close(pair);
}

/* Some of it has never left: the READ begins again there, and goes on to its end. */
Test(read_repair, partly_sent_part_restarts_the_read)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU });

	RULE("S-9");
	pair_cut(pair);
	pair_inject(pair, B, read_packet(pair, 0, 0, 40 * MTU));
	pair_transmit_some(pair, B, 6);
	pair_forget(pair);
	pair_inject(pair, B, read_packet(pair, 4, 4 * MTU, 4 * MTU));
	pair_transmit_some(pair, B, 5);
	expect_leaves(pair, B, "READ_RESPONSE_FIRST psn=4 credit=31 msn=1 bytes=256",
		      "READ_RESPONSE_MIDDLE psn=5 bytes=256", "READ_RESPONSE_MIDDLE psn=6 bytes=256",
		      "READ_RESPONSE_MIDDLE psn=7 bytes=256", "READ_RESPONSE_MIDDLE psn=8 bytes=256");
	pair_close(pair);
}

/* The same of a READ that has been answered, while another one is. */
Test(read_repair, parts_of_an_answered_read_precede_another_read)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU });

	RULE("S-9");
	pair_cut(pair);
	pair_request(pair, read_packet(pair, 0, 0, 4 * MTU));
	pair_inject(pair, B, read_packet(pair, 4, 0, 40 * MTU));
	pair_transmit_some(pair, B, 2);
	pair_forget(pair);
	pair_inject(pair, B, read_packet(pair, 0, 0, MTU));
	pair_inject(pair, B, read_packet(pair, 2, 2 * MTU, MTU));
	pair_transmit_some(pair, B, 3);
	expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=0 credit=31 msn=1 bytes=256",
		      "READ_RESPONSE_ONLY psn=2 credit=31 msn=1 bytes=256", "READ_RESPONSE_MIDDLE psn=6 bytes=256");
	pair_close(pair);
}

/* S-9: the key is checked again. Responses to an invalid key are not sent, and later requests are answered. */
Test(read_repair, part_with_a_deregistered_key_is_dropped)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU });

	RULE("S-9");
	pair_cut(pair);
	pair_request(pair, read_packet(pair, 0, 0, 4 * MTU));
	pair_forget(pair);
	pair_inject(pair, B, read_packet(pair, 1, MTU, MTU));
	cr_assert_eq(rc_mr_remove(&pair->side[B].mrs, pair->side[B].key), 0);
	pair_transmit(pair, B);
	expect_leaves(pair, B);
	cr_assert_eq(pair->side[B].qp->counters[CNT_REPLAY_KEY], 1);
	cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_RTS);
	expect_boards_back(pair, B);
	pair_close(pair);
}

/* A new connection owes no responses and has no holes. */
Test(read_repair, reset_returns_boards)
{
	struct pair *pair = open_asked(4, false);
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_RESET };
	uint32_t bad;

	RULE("X-4");
	poke_read_repair(pair->side[B].qp, UROCE_READ_REPAIR_UPWARDS);
	answer(pair, 2, 4);
	pair_request(pair, read_packet(pair, 0, 0, 4 * MTU));
	pair_inject(pair, B, read_packet(pair, 1, MTU, MTU));
	for (enum side_name side = A; side <= B; side++) {
		cr_assert_eq(rc_qp_modify(pair->side[side].qp, &attr, UROCE_QP_STATE, &bad), 0);
		expect_boards_back(pair, side);
	}
	pair_close(pair);
}
