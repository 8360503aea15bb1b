/* atomic.c - compare-and-swap and fetch-and-add: done once, on aligned host-order memory, in PSN order */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "packets.h"
#include "peek.h"
#include "rule.h"

static int post_atomic(struct pair *pair, uint64_t wr_id, enum uroce_wr_opcode opcode, uint64_t compare_add,
		       uint64_t swap, uint64_t local)
{
	struct uroce_send_wr wr = {
		.wr_id = wr_id,
		.opcode = opcode,
		.send_flags = UROCE_SEND_SIGNALED,
		.compare_add = compare_add,
		.swap = swap,
		.remote_addr = (uintptr_t)pair->side[B].memory + 64,
	};

	return pair_post(pair, A, wr, local, 8);
}

Test(atomic, each_atomic_executes_and_returns_the_previous_value)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("S-7");
	RULE("Q-7");
	pair_set_word(pair, B, 64, 0x1122334455667788);
	pair_set_word(pair, B, 56, 0);
	pair_set_word(pair, B, 72, 0);
	post_atomic(pair, 1, UROCE_WR_ATOMIC_FETCH_AND_ADD, 0x10, 0, 0);
	post_atomic(pair, 2, UROCE_WR_ATOMIC_CMP_AND_SWP, 0x1122334455667788, 5, 8);
	post_atomic(pair, 3, UROCE_WR_ATOMIC_CMP_AND_SWP, 0x1122334455667798, UINT64_MAX, 16);
	post_atomic(pair, 4, UROCE_WR_ATOMIC_FETCH_AND_ADD, 2, 0, 24);
	pair_run(pair);
	expect_leaves(pair, A, "FETCH_ADD psn=0 ackreq va=0x40 add=0x10",
		      "COMPARE_SWAP psn=1 ackreq va=0x40 compare=0x1122334455667788 swap=0x5",
		      "COMPARE_SWAP psn=2 ackreq va=0x40 compare=0x1122334455667798 swap=0xffffffffffffffff",
		      "FETCH_ADD psn=3 ackreq va=0x40 add=0x2");
	expect_leaves(pair, B, "ATOMIC_ACKNOWLEDGE psn=0 credit=31 msn=1 original=0x1122334455667788",
		      "ATOMIC_ACKNOWLEDGE psn=1 credit=31 msn=2 original=0x1122334455667798",
		      "ATOMIC_ACKNOWLEDGE psn=2 credit=31 msn=3 original=0x1122334455667798",
		      "ATOMIC_ACKNOWLEDGE psn=3 credit=31 msn=4 original=0xffffffffffffffff");
	expect_completes(pair, A, "wr=1 FADD SUCCESS", "wr=2 CSWAP SUCCESS", "wr=3 CSWAP SUCCESS", "wr=4 FADD SUCCESS");
	cr_assert_eq(pair_word(pair, A, 0), 0x1122334455667788);
	cr_assert_eq(pair_word(pair, A, 8), 0x1122334455667798);
	cr_assert_eq(pair_word(pair, A, 16), 0x1122334455667798);
	cr_assert_eq(pair_word(pair, A, 24), UINT64_MAX);
	cr_assert_eq(pair_word(pair, B, 64), 1, "the sum wraps");
	cr_assert_eq(pair_word(pair, B, 56), 0);
	cr_assert_eq(pair_word(pair, B, 72), 0);
	pair_close(pair);
}

/* TC-D-9 */
Test(atomic, unaligned_address_is_refused)
{
	RULE("S-7");
	for (uint32_t offset = 1; offset < 8; offset++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });

		pair_set_word(pair, B, 0, 0);
		pair_set_word(pair, B, 8, 0);
		pair_request(pair, fetch_add_packet(pair, 0, offset, UINT64_MAX));
		expect_leaves(pair, B, "NAK_INVALID_REQUEST psn=0 msn=0");
		cr_assert_eq(pair_word(pair, B, 0), 0);
		cr_assert_eq(pair_word(pair, B, 8), 0);
		pair_close(pair);
	}
}

/* S-17: each sees the results of earlier requests, though all arrive in one burst and no answer has left yet. */
Test(atomic, a_read_and_an_atomic_see_every_earlier_request)
{
	struct pair *pair = pair_open(&(struct pair_options){ .rd_atomic = 8 });
	uint8_t *bytes;

	RULE("S-17");
	pair_set_word(pair, B, 0, 0);
	pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 0, 0, 8, 8));
	pair_inject(pair, B, fetch_add_packet(pair, 1, 0, 1));
	pair_inject(pair, B, read_packet(pair, 2, 0, 8));
	pair_inject(pair, B, fetch_add_packet(pair, 3, 0, 1));
	pair_transmit(pair, B);
	expect_sent(pair, B, pair->side[B].sent_count - 1,
		    "ATOMIC_ACKNOWLEDGE psn=3 credit=31 msn=4 original=0xd7d7d7d7d7d7d7d8");
	cr_assert_eq(pair_word(pair, B, 0), 0xD7D7D7D7D7D7D7D9);
	/* The READ's answer may show the later atomic or not, but the earlier one it must. */
	bytes = pair->side[B].wire[pair->side[B].wire_tail - 2].bytes + WIRE_BTH_BYTES + 4;
	cr_assert(bytes[0] == 0xD8 || bytes[0] == 0xD9, "the READ saw %02x", bytes[0]);
	pair_close(pair);
}

/* A peer may leave anything in the field that only a compare-and-swap uses. */
Test(atomic, fetch_add_with_compare_value_executes_once_and_is_replayed)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct wire_packet packet = fetch_add_packet(pair, 0, 64, 5);

	RULE("S-7");
	RULE("S-10");
	packet.compare = 9;
	pair_set_word(pair, B, 64, 100);
	pair_request(pair, packet);
	pair_request(pair, packet);
	expect_leaves(pair, B, "ATOMIC_ACKNOWLEDGE psn=0 credit=31 msn=1 original=0x64",
		      "ATOMIC_ACKNOWLEDGE psn=0 credit=31 msn=1 original=0x64");
	cr_assert_eq(pair_word(pair, B, 64), 105);
	pair_close(pair);
}

/* The result of an atomic is written to its SGE, or the post or the request fails. */
Test(atomic, local_fault_is_found_before_or_at_placing)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct uroce_sge sge = { .addr = (uintptr_t)pair->side[A].memory, .length = 8, .lkey = 0x999 };
	struct uroce_send_wr wr = {
		.wr_id = 1,
		.opcode = UROCE_WR_ATOMIC_FETCH_AND_ADD,
		.sg_list = &sge,
		.num_sge = 1,
	};

	RULE("Q-13");
	RULE("E-9");
	cr_assert_eq(pair_post(pair, A, wr, 0, 8), 0);
	pair_run(pair);
	expect_completes(pair, A, "wr=1 FADD LOC_PROT_ERR");
	expect_events(pair, A, "QP_FATAL");
	pair_close(pair);
}

/* */
Test(atomic, any_other_answer_breaks_the_protocol)
{
	RULE("Q-12");
	for (uint32_t compare = 0; compare < 2; compare++) {
		for (uint32_t how = 0; how < 5; how++) {
			struct pair *pair = pair_open(&(struct pair_options){ 0 });
			const struct wire_packet answers[] = {
				response_packet(OP_READ_RESPONSE_ONLY, 0, 0),
				response_packet(OP_READ_RESPONSE_ONLY, 0, 8),
				response_packet(OP_ATOMIC_ACKNOWLEDGE, 0, 8),
				response_packet(OP_ATOMIC_ACKNOWLEDGE, 0, 2), /* and as much pad */
				response_packet(OP_ATOMIC_ACKNOWLEDGE, 0, 1),
			};

			pair_cut(pair);
			pair_set_word(pair, A, 0, 0x3333);
			post_atomic(pair, 1, compare ? UROCE_WR_ATOMIC_CMP_AND_SWP : UROCE_WR_ATOMIC_FETCH_AND_ADD, 1,
				    2, 0);
			pair_transmit(pair, A);
			pair_respond(pair, answers[how]);
			cr_assert_eq(pair->side[A].done_count, 1, "answer %u", how);
			cr_assert_eq(pair->side[A].wcs[0].vendor_err, UROCE_CAUSE_BAD_RESPONSE, "answer %u", how);
			expect_completes(pair, A, compare ? "wr=1 CSWAP BAD_RESP_ERR" : "wr=1 FADD BAD_RESP_ERR");
			cr_assert_eq(pair_word(pair, A, 0), 0x3333, "answer %u wrote", how);
			pair_close(pair);
		}
	}
}

/* A result is forgotten when its PSN is so far back that the window of PSNs no longer tells older from newer. */
Test(atomic, results_outside_the_psn_window_are_forgotten)
{
	struct pair *pair = pair_open(&(struct pair_options){ .rd_atomic = 4 });
	struct rc_qp *b = pair->side[B].qp;

	RULE("P-6");
	pair_request(pair, fetch_add_packet(pair, 0, 0, 1));
	poke_expected(b, PSN_WINDOW - 1); /* after as many others */
	pair_request(pair, fetch_add_packet(pair, PSN_WINDOW - 1, 0, 1));
	cr_assert_eq(b->replay.used, 2);
	pair_request(pair, fetch_add_packet(pair, PSN_WINDOW, 0, 1));
	cr_assert_eq(b->replay.used, 2);
	cr_assert_null(rc_replay_find(&b->replay, psn_make(0)));
	pair_close(pair);
}
