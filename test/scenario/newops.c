/* newops.c - ATOMIC WRITE and FLUSH: on the wire, answered like atomics, done in order */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What draws a NAK: newops_invalid.c.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "rule.h"

#define GLOBAL UROCE_FLUSH_GLOBAL
#define PERSISTENT UROCE_FLUSH_PERSISTENT

static int post(struct pair *pair, uint64_t wr_id, enum uroce_wr_opcode opcode, uint32_t flags, uint64_t offset)
{
	struct uroce_send_wr wr = {
		.wr_id = wr_id,
		.opcode = opcode,
		.send_flags = UROCE_SEND_SIGNALED | flags,
		.remote_addr = (uintptr_t)pair->side[B].memory + offset,
		.flush = GLOBAL,
		.flush_bytes = 64,
	};

	return pair_post(pair, A, wr, 0, opcode == UROCE_WR_FLUSH ? 0 : 8);
}

static struct wire_packet atomic_write_packet(const struct pair *pair, uint32_t psn, uint64_t offset)
{
	return write_packet(pair, OP_ATOMIC_WRITE, psn, offset, 8, 8);
}

static struct wire_packet empty_answer(uint32_t psn)
{
	return response_packet(OP_READ_RESPONSE_ONLY, psn, 0);
}

/* The eight bytes are those of the buffer; what is around them stays; each is answered by an empty READ response. */
Test(newops, each_operation_is_one_packet_and_is_answered)
{
	struct pair *pair = pair_open(&(struct pair_options){ .psn_a = 0xFFFFFF, .rd_atomic = 8 });
	struct uroce_send_wr wr = { .wr_id = 2, .opcode = UROCE_WR_FLUSH, .send_flags = UROCE_SEND_SIGNALED };

	RULE("S-20");
	RULE("Q-1");
	RULE("S-13");
	pair_set_word(pair, A, 0, 0x1122334455667788);
	for (uint32_t i = 0; i < 3; i++)
		pair_set_word(pair, B, 64 + 8 * i, 0);
	post(pair, 1, UROCE_WR_ATOMIC_WRITE, 0, 72);
	wr.remote_addr = (uintptr_t)pair->side[B].memory + 100;
	wr.flush_bytes = 3000;
	wr.flush = GLOBAL;
	cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0);
	wr.wr_id = 3;
	wr.flush = PERSISTENT;
	cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0);
	wr.wr_id = 4;
	wr.flush = GLOBAL | PERSISTENT | UROCE_FLUSH_WHOLE_REGION;
	wr.flush_bytes = 0;
	cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0);
	pair_write(pair, 5, 8);
	pair_run(pair);
	expect_leaves(pair, A, "ATOMIC_WRITE psn=16777215 ackreq va=0x48 len=8 bytes=8",
		      "FLUSH psn=0 ackreq flush=0x00000001 va=0x64 len=3000",
		      "FLUSH psn=1 ackreq flush=0x00000002 va=0x64 len=3000",
		      "FLUSH psn=2 ackreq flush=0x00000013 va=0x64 len=0",
		      "WRITE_ONLY psn=3 ackreq va=0x0 len=8 bytes=8");
	expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=16777215 credit=31 msn=1 bytes=0",
		      "READ_RESPONSE_ONLY psn=0 credit=31 msn=2 bytes=0",
		      "READ_RESPONSE_ONLY psn=1 credit=31 msn=3 bytes=0",
		      "READ_RESPONSE_ONLY psn=2 credit=31 msn=4 bytes=0", "ACK psn=3 credit=31 msn=5");
	expect_completes(pair, A, "wr=1 ATOMIC_WRITE SUCCESS", "wr=2 FLUSH SUCCESS", "wr=3 FLUSH SUCCESS",
			 "wr=4 FLUSH SUCCESS", "wr=5 WRITE SUCCESS");
	cr_assert_eq(pair_word(pair, B, 72), 0x1122334455667788);
	cr_assert_eq(pair_word(pair, B, 64), 0);
	cr_assert_eq(pair_word(pair, B, 80), 0);
	expect_counts(pair, B, CNT_RX_ATOMIC_WRITE_REQUESTS, 1);
	expect_counts(pair, B, CNT_RX_FLUSH_REQUESTS, 3);
	pair_close(pair);
}

Test(newops, invalid_posts_are_refused)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct uroce_send_wr flush = { .opcode = UROCE_WR_FLUSH, .flush = GLOBAL, .flush_bytes = 8 };
	struct uroce_send_wr write = { .opcode = UROCE_WR_ATOMIC_WRITE };
	struct uroce_sge two[2] = { { .addr = (uintptr_t)pair->side[A].memory, .length = 4 } };

	RULE("S-20");
	RULE("Q-13");
	two[1] = two[0];
	cr_assert_eq(pair_post(pair, A, write, 0, 0), -EINVAL);
	cr_assert_eq(pair_post(pair, A, write, 0, 7), -EINVAL);
	cr_assert_eq(pair_post(pair, A, write, 0, 16), -EINVAL);
	write.sg_list = two;
	write.num_sge = 2;
	cr_assert_eq(pair_post(pair, A, write, 0, 0), -EINVAL);
	cr_assert_eq(pair_post(pair, A, flush, 0, 8), -EINVAL, "a FLUSH has no data");
	flush.flush = 0;
	cr_assert_eq(pair_post(pair, A, flush, 0, 0), -EINVAL);
	flush.flush = UROCE_FLUSH_WHOLE_REGION;
	cr_assert_eq(pair_post(pair, A, flush, 0, 0), -EINVAL, "it reaches nowhere");
	flush.flush = GLOBAL | 8;
	cr_assert_eq(pair_post(pair, A, flush, 0, 0), -EINVAL);
	flush.flush = GLOBAL;
	flush.send_flags = UROCE_SEND_INLINE;
	cr_assert_eq(pair_post(pair, A, flush, 0, 0), -EINVAL);
	pair_close(pair);
	pair = pair_open(&(struct pair_options){ .rd_atomic = 255 });
	cr_assert_eq(post(pair, 1, UROCE_WR_ATOMIC_WRITE, 0, 0), -EINVAL);
	cr_assert_eq(post(pair, 1, UROCE_WR_FLUSH, 0, 0), -EINVAL);
	pair_run(pair);
	expect_leaves(pair, A);
	pair_close(pair);
}

/* Copied at the post, like any other data; and sent again as it was. */
Test(newops, an_atomic_write_may_be_inline)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("S-20");
	RULE("Q-2");
	pair_set_word(pair, A, 0, 0xAABB);
	cr_assert_eq(post(pair, 1, UROCE_WR_ATOMIC_WRITE, UROCE_SEND_INLINE, 64), 0);
	pair_set_word(pair, A, 0, 0);
	pair_cut(pair);
	pair_transmit(pair, A);
	pair_mend(pair);
	pair_fire(pair);
	expect_completes(pair, A, "wr=1 ATOMIC_WRITE SUCCESS");
	cr_assert_eq(pair_word(pair, B, 64), 0xAABB);
	pair_close(pair);
}

/* they count with READs and atomics, and what is behind the one that waits waits too. */
Test(newops, operations_count_towards_the_depth)
{
	struct pair *pair = pair_open(&(struct pair_options){ .rd_atomic = 2 });

	RULE("Q-3");
	RULE("S-20");
	pair_cut(pair);
	post(pair, 1, UROCE_WR_FLUSH, 0, 0);
	post(pair, 2, UROCE_WR_ATOMIC_WRITE, 0, 0);
	post(pair, 3, UROCE_WR_FLUSH, 0, 0);
	pair_write(pair, 4, 8);
	post(pair, 5, UROCE_WR_ATOMIC_WRITE, 0, 0);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "FLUSH psn=0 ackreq flush=0x00000001 va=0x0 len=64",
		      "ATOMIC_WRITE psn=1 ackreq va=0x0 len=8 bytes=8");
	pair_respond(pair, empty_answer(0));
	expect_leaves(pair, A, "FLUSH psn=2 ackreq flush=0x00000001 va=0x0 len=64",
		      "WRITE_ONLY psn=3 ackreq va=0x0 len=8 bytes=8");
	pair_respond(pair, empty_answer(1));
	expect_leaves(pair, A, "ATOMIC_WRITE psn=4 ackreq va=0x0 len=8 bytes=8");
	expect_completes(pair, A, "wr=1 FLUSH SUCCESS", "wr=2 ATOMIC_WRITE SUCCESS");
	pair_close(pair);
}

/* S-12, as the responder sees it: more at once than it has agreed to. */
Test(newops, operations_beyond_the_responder_depth_are_refused)
{
	RULE("S-12");
	RULE("S-20");
	for (uint32_t flush = 0; flush < 2; flush++) {
		for (uint32_t depth = 0; depth < 3; depth++) {
			struct pair *pair =
				pair_open(&(struct pair_options){ .rd_atomic = depth ? (uint8_t)depth : 255 });

			for (uint32_t psn = 0; psn <= depth; psn++)
				pair_inject(pair, B,
					    flush ? flush_packet(pair, psn, 0, 64, 2) :
						    atomic_write_packet(pair, psn, 0));
			pair_transmit(pair, B);
			expect_sent(pair, B, depth, pair_text("NAK_INVALID_REQUEST psn=%u msn=%u", depth, depth));
			expect_sent_count(pair, B, depth + 1);
			expect_counts(pair, B, flush ? CNT_RX_FLUSH_REQUESTS : CNT_RX_ATOMIC_WRITE_REQUESTS, depth);
			expect_events(pair, B, "QP_REQ_ERR");
			pair_close(pair);
		}
	}
}

/* The answer was lost. Memory has changed since, and an ATOMIC WRITE that is done again would undo that. */
Test(newops, a_duplicate_is_answered_from_the_cache)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("S-10");
	RULE("S-20");
	pair_request(pair, atomic_write_packet(pair, 0, 64));
	pair_request(pair, flush_packet(pair, 1, 0, 100000, 3));
	expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=0 credit=31 msn=1 bytes=0",
		      "READ_RESPONSE_ONLY psn=1 credit=31 msn=2 bytes=0");
	pair_set_word(pair, B, 64, 7);
	for (uint32_t i = 0; i < 2; i++) {
		pair_request(pair, flush_packet(pair, 1, 0, 100000, 3));
		pair_request(pair, atomic_write_packet(pair, 0, 64));
		expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=1 credit=31 msn=2 bytes=0",
			      "READ_RESPONSE_ONLY psn=0 credit=31 msn=1 bytes=0");
	}
	cr_assert_eq(pair_word(pair, B, 64), 7);
	expect_counts(pair, B, CNT_DUPLICATE_REQUEST, 4);
	expect_counts(pair, B, CNT_RX_ATOMIC_WRITE_REQUESTS, 1);
	expect_counts(pair, B, CNT_RX_FLUSH_REQUESTS, 1);
	/* Nothing of this moved the expected PSN or the message number. */
	pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 2, 0, 8, 8));
	expect_leaves(pair, B, "ACK psn=2 credit=31 msn=3");
	pair_close(pair);
}

Test(newops, a_duplicate_that_differs_from_the_first_is_dropped)
{
	static const uint8_t other_data[8] = { 1 };
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	uint32_t other_key = pair_region(pair, B, 1, 0, 4096, pair->side[B].entries[0].access & ~MR_ACCESS_LOCAL);
	struct wire_packet packets[12];
	uint32_t count = 0;

	RULE("S-10");
	RULE("K-RULE");
	pair_request(pair, atomic_write_packet(pair, 0, 64));
	pair_request(pair, flush_packet(pair, 1, 64, 128, 1));
	pair_forget(pair);
	pair_set_word(pair, B, 64, 7);
	for (uint32_t i = 0; i < 4; i++)
		packets[count++] = atomic_write_packet(pair, 0, i == 0 ? 72 : 64);
	packets[1].rkey = other_key;
	packets[2].payload = other_data;
	packets[3].payload_bytes = 16;
	for (uint32_t i = 0; i < 4; i++)
		packets[count++] = flush_packet(pair, 1, i == 0 ? 72 : 64, i == 1 ? 64 : 128, i == 2 ? 2 : 1);
	packets[count - 1].rkey = other_key;
	packets[count++] = flush_packet(pair, 0, 64, 0, 0);
	packets[count++] = atomic_write_packet(pair, 1, 64);
	packets[count++] = read_packet(pair, 0, 64, 8);
	packets[count++] = fetch_add_packet(pair, 1, 64, 0);
	for (uint32_t i = 0; i < count; i++) {
		pair_request(pair, packets[i]);
		cr_assert_eq(pair->side[B].sent_count, 0, "packet %u: %s", i, pair->side[B].sent[0]);
		expect_counts(pair, B, CNT_REPLAY_MISMATCH, i + 1);
	}
	pair_request(pair, atomic_write_packet(pair, 0xFFFFFF, 64)); /* from before the first one */
	expect_counts(pair, B, CNT_REPLAY_MISS, 1);
	expect_leaves(pair, B);
	cr_assert_eq(pair_word(pair, B, 64), 7);
	cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_RTS);
	pair_close(pair);
}

/* From the other end: the timer brings the request out again, as it was. */
Test(newops, lost_answer_causes_a_resend)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("S-20");
	RULE("T-2");
	pair_set_word(pair, A, 0, 5);
	post(pair, 1, UROCE_WR_ATOMIC_WRITE, 0, 64);
	post(pair, 2, UROCE_WR_FLUSH, 0, 64);
	pair_transmit(pair, A);
	pair_deliver(pair, B);
	pair_cut(pair);
	pair_transmit(pair, B);
	pair_mend(pair);
	pair_set_word(pair, B, 64, 6);
	pair_fire(pair);
	expect_leaves(pair, A, "ATOMIC_WRITE psn=0 ackreq va=0x40 len=8 bytes=8",
		      "FLUSH psn=1 ackreq flush=0x00000001 va=0x40 len=64",
		      "ATOMIC_WRITE psn=0 ackreq va=0x40 len=8 bytes=8",
		      "FLUSH psn=1 ackreq flush=0x00000001 va=0x40 len=64");
	expect_completes(pair, A, "wr=1 ATOMIC_WRITE SUCCESS", "wr=2 FLUSH SUCCESS");
	cr_assert_eq(pair_word(pair, B, 64), 6, "done twice");
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 1);
	pair_close(pair);
}

/* an ACK at or after it, or the answer to a later one, says that its own was lost. */
Test(newops, ack_beyond_an_operation_reveals_a_lost_answer)
{
	RULE("Q-8");
	RULE("S-20");
	for (uint32_t flush = 0; flush < 2; flush++) {
		for (uint32_t how = 0; how < 3; how++) {
			struct pair *pair = pair_open(&(struct pair_options){ .no_boards = true });
			const char *line = flush ? "FLUSH psn=1 ackreq flush=0x00000001 va=0x0 len=64" :
						   "ATOMIC_WRITE psn=1 ackreq va=0x0 len=8 bytes=8";

			pair_cut(pair);
			pair_write(pair, 1, 8);
			post(pair, 2, flush ? UROCE_WR_FLUSH : UROCE_WR_ATOMIC_WRITE, 0, 0);
			post(pair, 3, UROCE_WR_FLUSH, 0, 0);
			pair_transmit(pair, A);
			pair_forget(pair);
			pair_respond(pair, how == 0 ? ack_packet(1, SYNDROME_PLAIN_ACK, 2) :
					   how == 1 ? ack_packet(2, SYNDROME_ACCESS, 2) :
						      empty_answer(2));
			expect_leaves(pair, A, line, "FLUSH psn=2 ackreq flush=0x00000001 va=0x0 len=64");
			expect_completes(pair, A, "wr=1 WRITE SUCCESS");
			expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
			pair_respond(pair, empty_answer(1));
			pair_respond(pair, empty_answer(2));
			expect_completes(pair, A, flush ? "wr=2 FLUSH SUCCESS" : "wr=2 ATOMIC_WRITE SUCCESS",
					 "wr=3 FLUSH SUCCESS");
			pair_close(pair);
		}
	}
}

/* */
Test(newops, other_answers_break_the_protocol)
{
	RULE("Q-12");
	RULE("S-20");
	for (uint32_t flush = 0; flush < 2; flush++) {
		for (uint32_t how = 0; how < 7; how++) {
			struct pair *pair = pair_open(&(struct pair_options){ 0 });
			struct wire_packet answers[] = {
				response_packet(OP_READ_RESPONSE_ONLY, 0, 8),
				response_packet(OP_READ_RESPONSE_LAST, 0, 0),
				response_packet(OP_READ_RESPONSE_FIRST, 0, 0),
				response_packet(OP_READ_RESPONSE_MIDDLE, 0, 0),
				atomic_ack_packet(0, 5),
				response_packet(OP_READ_RESPONSE_ONLY, 0, 0),
				response_packet(OP_READ_RESPONSE_ONLY, 0, 2), /* and as much pad */
			};

			answers[5].syndrome = SYNDROME_RNR;
			pair_cut(pair);
			pair_fill(pair, A, 0, 0x33, 64);
			post(pair, 1, flush ? UROCE_WR_FLUSH : UROCE_WR_ATOMIC_WRITE, 0, 0);
			pair_write(pair, 2, 8);
			pair_transmit(pair, A);
			pair_respond(pair, answers[how]);
			cr_assert_eq(pair->side[A].done_count, 2, "answer %u", how);
			cr_assert_eq(pair->side[A].wcs[0].vendor_err, UROCE_CAUSE_BAD_RESPONSE);
			expect_completes(pair, A, flush ? "wr=1 FLUSH BAD_RESP_ERR" : "wr=1 ATOMIC_WRITE BAD_RESP_ERR",
					 "wr=2 WRITE WR_FLUSH_ERR");
			for (uint32_t i = 0; i < 64; i++)
				cr_assert_eq(pair->side[A].memory[i], 0x33, "answer %u wrote", how);
			pair_close(pair);
		}
	}
}

/* R-9, K-REQ: the other answers to these operations. */
Test(newops, rnr_nak_is_awaited_and_a_fatal_nak_completes)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("R-9");
	RULE("K-REQ");
	pair_cut(pair);
	post(pair, 1, UROCE_WR_ATOMIC_WRITE, 0, 0);
	post(pair, 2, UROCE_WR_FLUSH, 0, 0);
	pair_transmit(pair, A);
	pair_forget(pair);
	pair_respond(pair, ack_packet(0, SYNDROME_RNR + 1, 0));
	expect_leaves(pair, A);
	pair_fire(pair);
	expect_leaves(pair, A, "ATOMIC_WRITE psn=0 ackreq va=0x0 len=8 bytes=8",
		      "FLUSH psn=1 ackreq flush=0x00000001 va=0x0 len=64");
	pair_respond(pair, empty_answer(0));
	pair_respond(pair, ack_packet(1, SYNDROME_ACCESS, 1));
	expect_completes(pair, A, "wr=1 ATOMIC_WRITE SUCCESS", "wr=2 FLUSH REM_ACCESS_ERR");
	pair_close(pair);
}

/* the source of an ATOMIC WRITE, and a FLUSH of more than a message may have. */
Test(newops, local_fault_is_found_when_the_operation_is_sent)
{
	RULE("Q-13");
	for (uint32_t flush = 0; flush < 2; flush++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		struct uroce_sge sge = { .addr = (uintptr_t)pair->side[A].memory, .length = 8, .lkey = 0x999 };
		struct uroce_send_wr wr = {
			.wr_id = 1, .opcode = UROCE_WR_ATOMIC_WRITE, .sg_list = &sge, .num_sge = 1
		};

		if (flush)
			wr = (struct uroce_send_wr){
				.wr_id = 1, .opcode = UROCE_WR_FLUSH, .flush = GLOBAL, .flush_bytes = (1ull << 31) + 1
			};
		cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0);
		pair_run(pair);
		expect_leaves(pair, A);
		expect_completes(pair, A, flush ? "wr=1 FLUSH LOC_LEN_ERR" : "wr=1 ATOMIC_WRITE LOC_PROT_ERR");
		pair_close(pair);
	}
}

/* S-17, S-8: in the order of requests, before later ones, and no ACK reaches over one that is not answered. */
Test(newops, operations_execute_in_order)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 2 });

	RULE("S-17");
	RULE("S-14");
	RULE("S-8");
	pair_set_word(pair, B, 64, 0);
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 0, 8));
	pair_inject(pair, B, atomic_write_packet(pair, 1, 64));
	pair_inject(pair, B, fetch_add_packet(pair, 2, 64, 1));
	pair_inject(pair, B, flush_packet(pair, 3, 64, 8, 3));
	pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 4, 0, 8, 8));
	pair_transmit(pair, B);
	expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=1 credit=31 msn=2 bytes=0",
		      "ATOMIC_ACKNOWLEDGE psn=2 credit=31 msn=3 original=0xd7d7d7d7d7d7d7d7",
		      "READ_RESPONSE_ONLY psn=3 credit=31 msn=4 bytes=0", "ACK psn=4 credit=31 msn=5");
	cr_assert_eq(pair_word(pair, B, 64), 0xD7D7D7D7D7D7D7D8);
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 8));
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=5");
	pair_close(pair);
}

/* The ATOMIC WRITE sends the READ's buffer; its early answer carries no data that could be kept. */
Test(newops, early_atomic_write_answer_does_not_skip_read_data)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256, .rd_atomic = 8 });
	static const enum uroce_wr_opcode opcodes[] = { UROCE_WR_RDMA_READ, UROCE_WR_RDMA_READ, UROCE_WR_ATOMIC_WRITE };

	RULE("Q-15");
	pair_cut(pair);
	for (uint32_t i = 0; i < 3; i++)
		cr_assert_eq(pair_post(pair, A, (struct uroce_send_wr){ .opcode = opcodes[i] }, 0x8000, i ? 8 : 0), 0);
	pair_transmit(pair, A);
	memset(pair->side[A].memory + 0x8000, 0, 8);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_ONLY, 2, 0));
	pair_respond(pair, response_packet(OP_READ_RESPONSE_ONLY, 0, 0));
	pair_respond(pair, response_packet(OP_READ_RESPONSE_ONLY, 1, 8));
	cr_assert_eq(pair->side[A].memory[0x8000], PACKETS_DATA);
	pair_close(pair);
}
