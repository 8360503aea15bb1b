/* imprecise.c - local faults that are reported at once, on the oldest request, when the QP asks for that */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "rule.h"

static struct pair *open_pair(bool imprecise)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct uroce_qp_attr attr = { .imprecise_errors = imprecise };
	uint32_t bad;

	cr_assert_eq(rc_qp_modify(pair->side[A].qp, &attr, UROCE_QP_IMPRECISE_ERRORS, &bad), 0);
	return pair;
}

static int post(struct pair *pair, uint64_t wr_id, enum uroce_wr_opcode opcode, uint32_t flags, uint32_t lkey)
{
	struct uroce_sge sge = { .addr = (uintptr_t)pair->side[A].memory, .length = 8, .lkey = lkey };
	struct uroce_send_wr wr = {
		.wr_id = wr_id,
		.opcode = opcode,
		.send_flags = flags,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return pair_post(pair, A, wr, 0, 0);
}

/* The same story twice: an unanswered WRITE, one that cannot be sent, and one behind it. */
Test(imprecise, a_fault_is_reported_at_once_on_the_oldest_or_in_its_place)
{
	RULE("E-3");
	RULE("E-2");
	for (int imprecise = 0; imprecise < 2; imprecise++) {
		struct pair *pair = open_pair(imprecise);

		pair_cut(pair);
		pair_write(pair, 1, 2000);
		post(pair, 2, UROCE_WR_RDMA_WRITE, UROCE_SEND_SIGNALED, 0x999);
		pair_write(pair, 3, 8);
		pair_transmit(pair, A);
		expect_leaves(pair, A, "WRITE_FIRST psn=0 va=0x0 len=2000 bytes=1024",
			      "WRITE_LAST psn=1 ackreq bytes=976");
		if (imprecise) {
			cr_assert_eq(pair->side[A].wcs[0].vendor_err, UROCE_CAUSE_LOCAL_KEY);
			expect_completes(pair, A, "wr=1 WRITE LOC_PROT_ERR", "wr=2 WRITE WR_FLUSH_ERR",
					 "wr=3 WRITE WR_FLUSH_ERR");
			cr_assert_eq(rc_qp_deadline(pair->side[A].qp), RC_NEVER);
		} else {
			expect_completes(pair, A);
			cr_assert_eq(peek_state(pair->side[A].qp), UROCE_QPS_RTS);
		}
		/* It was done after all: reported as failed, never the reverse. */
		pair_respond(pair, ack_packet(1, SYNDROME_PLAIN_ACK, 1));
		expect_leaves(pair, A);
		if (imprecise)
			expect_completes(pair, A);
		else
			expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 WRITE LOC_PROT_ERR",
					 "wr=3 WRITE WR_FLUSH_ERR");
		expect_events(pair, A, "QP_FATAL");
		pair_close(pair);
	}
}

/* Answered requests have succeeded; the oldest unanswered one fails, signaled or not (E-9). */
Test(imprecise, oldest_is_the_first_unanswered_request)
{
	struct pair *pair = open_pair(true);

	RULE("E-3");
	RULE("E-9");
	pair_cut(pair);
	pair_write(pair, 1, 8);
	post(pair, 2, UROCE_WR_RDMA_WRITE, 0, pair->side[A].key);
	post(pair, 3, UROCE_WR_RDMA_WRITE, 0, pair->side[A].key);
	post(pair, 4, UROCE_WR_RDMA_WRITE, 0, pair->side[A].key);
	pair_transmit(pair, A);
	pair_inject(pair, A, ack_packet(1, SYNDROME_PLAIN_ACK, 2));
	post(pair, 5, UROCE_WR_RDMA_READ, 0, 0x999);
	pair_transmit(pair, A);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=3 WRITE LOC_PROT_ERR", "wr=4 WRITE WR_FLUSH_ERR",
			 "wr=5 READ WR_FLUSH_ERR");
	pair_close(pair);
}

/* With nothing before it, it is the oldest itself. */
Test(imprecise, fault_without_earlier_requests_is_reported_in_place)
{
	struct pair *pair = open_pair(true);

	RULE("E-3");
	pair_write(pair, 1, 8);
	pair_run(pair);
	post(pair, 2, UROCE_WR_RDMA_WRITE, 0, 0x999);
	pair_write(pair, 3, 8);
	pair_run(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 WRITE LOC_PROT_ERR", "wr=3 WRITE WR_FLUSH_ERR");
	pair_close(pair);
}

/* The length, the source of a SEND, where a READ would go: each kind of fault, on a READ that has half of its data. */
Test(imprecise, each_kind_of_local_fault_counts)
{
	static const char *const lines[] = { "wr=1 READ LOC_LEN_ERR", "wr=1 READ LOC_PROT_ERR",
					     "wr=1 READ LOC_PROT_ERR" };

	RULE("E-3");
	RULE("Q-13");
	RULE("Q-11");
	for (uint32_t i = 0; i < 3; i++) {
		struct pair *pair = open_pair(true);
		struct uroce_sge sge = { .addr = (uintptr_t)pair->side[A].memory, .length = UINT32_MAX };
		struct uroce_send_wr wr = { .wr_id = 2, .opcode = UROCE_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };

		sge.lkey = pair->side[A].key;
		pair_cut(pair);
		pair_fill(pair, A, 0, 0x44, 3000);
		pair_read(pair, 1, 3000);
		pair_transmit(pair, A);
		pair_inject(pair, A, response_packet(OP_READ_RESPONSE_FIRST, 0, 1024));
		if (i == 0)
			pair_post(pair, A, wr, 0, 0);
		else
			post(pair, 2, i == 1 ? UROCE_WR_SEND : UROCE_WR_RDMA_READ, 0, 0x999);
		pair_transmit(pair, A);
		expect_completes(pair, A, lines[i],
				 i == 0 ? "wr=2 WRITE WR_FLUSH_ERR" :
				 i == 1 ? "wr=2 SEND WR_FLUSH_ERR" :
					  "wr=2 READ WR_FLUSH_ERR");
		pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, 1, 1024));
		cr_assert_eq(pair->side[A].memory[1023], PACKETS_DATA);
		cr_assert_eq(pair->side[A].memory[1024], 0x44, "written after it was reported");
		expect_completes(pair, A);
		pair_close(pair);
	}
}

/* The key of a sent request is removed, and the resend finds it. Precise mode waits for its order. */
Test(imprecise, fault_found_by_a_resend_is_reported_like_any_other)
{
	RULE("E-3");
	RULE("E-2");
	for (int imprecise = 0; imprecise < 2; imprecise++) {
		struct pair *pair = open_pair(imprecise);
		uint32_t key = pair_region(pair, A, 1, 0, 4096, UROCE_ACCESS_LOCAL_WRITE);

		pair_cut(pair);
		pair_write(pair, 1, 8);
		post(pair, 2, UROCE_WR_RDMA_WRITE, 0, key);
		pair_transmit(pair, A);
		cr_assert_eq(rc_mr_remove(&pair->side[A].mrs, key), 0);
		pair_forget(pair);
		pair_fire(pair);
		expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=8 bytes=8");
		if (imprecise) {
			expect_completes(pair, A, "wr=1 WRITE LOC_PROT_ERR", "wr=2 WRITE WR_FLUSH_ERR");
		} else {
			expect_completes(pair, A);
			pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
			expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 WRITE LOC_PROT_ERR");
		}
		pair_close(pair);
	}
}

/* Only local faults: a refusal by the peer names its request, and waiting requests fail in order. */
Test(imprecise, other_failures_are_reported_in_place)
{
	struct pair *pair = open_pair(true);
	struct uroce_send_wr wr = { .wr_id = 3, .opcode = UROCE_WR_LOCAL_INV, .rkey = 0x12345678 };

	RULE("E-3");
	RULE("K-REQ");
	pair_cut(pair);
	for (uint64_t i = 1; i <= 3; i++)
		pair_write(pair, i, 8);
	pair_transmit(pair, A);
	pair_respond(pair, ack_packet(1, SYNDROME_ACCESS, 1));
	expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 WRITE REM_ACCESS_ERR", "wr=3 WRITE WR_FLUSH_ERR");
	pair_close(pair);
	pair = open_pair(true);
	pair_write(pair, 1, 8);
	pair_write(pair, 2, 8);
	pair_post(pair, A, wr, 0, 0);
	pair_run(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 WRITE SUCCESS", "wr=3 LOCAL_INV LOC_QP_OP_ERR");
	pair_close(pair);
}
