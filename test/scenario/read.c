/* read.c - the answers to a READ: in order, in place, and what the requester does when one is missing or wrong */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A's requests go into a cut wire; responses are made up. TC-E-3, E-15, E-16, E-17.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "rule.h"

#define EMPTY 0xEE

/* A has a READ of 3000 bytes at PSN 0 to 2 (wr 1), then a WRITE at PSN 3 (wr 2). */
static struct pair *open_with_read(void)
{
	struct pair *pair = pair_open(&(struct pair_options){ .no_boards = true });

	pair_cut(pair);
	pair_fill(pair, A, 0, EMPTY, 8192);
	pair_read(pair, 1, 3000);
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "READ_REQUEST psn=0 ackreq va=0x0 len=3000",
		      "WRITE_ONLY psn=3 ackreq va=0x0 len=8 bytes=8");
	return pair;
}

static void respond(struct pair *pair, uint8_t opcode, uint32_t psn, uint32_t bytes)
{
	pair_respond(pair, response_packet(opcode, psn, bytes));
}

/* [0, bytes) of A's memory hold the answer, what follows is as it was. */
static void expect_placed(const struct pair *pair, uint32_t bytes)
{
	for (uint32_t i = 0; i < 4096; i++)
		cr_assert_eq(pair->side[A].memory[i], i < bytes ? PACKETS_DATA : EMPTY, "byte %u, placed %u", i, bytes);
}

Test(read, responses_are_placed_and_complete_the_read)
{
	struct pair *pair = open_with_read();

	RULE("Q-7");
	RULE("Q-11");
	respond(pair, OP_READ_RESPONSE_FIRST, 0, 1024);
	expect_placed(pair, 1024);
	respond(pair, OP_READ_RESPONSE_MIDDLE, 1, 1024);
	expect_completes(pair, A);
	respond(pair, OP_READ_RESPONSE_LAST, 2, 952);
	expect_placed(pair, 3000);
	expect_completes(pair, A, "wr=1 READ SUCCESS len=3000");
	pair_respond(pair, ack_packet(3, SYNDROME_PLAIN_ACK, 2));
	expect_completes(pair, A, "wr=2 WRITE SUCCESS");
	expect_leaves(pair, A);
	pair_close(pair);
}

Test(read, response_acknowledges_earlier_requests)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("Q-7");
	pair_cut(pair);
	pair_write(pair, 1, 2000);
	pair_read(pair, 2, 8);
	pair_write(pair, 3, 8);
	pair_fetch_add(pair, 4, 1);
	pair_transmit(pair, A);
	respond(pair, OP_READ_RESPONSE_ONLY, 2, 8);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 READ SUCCESS len=8");
	pair_respond(pair, atomic_ack_packet(4, 77));
	expect_completes(pair, A, "wr=3 WRITE SUCCESS", "wr=4 FADD SUCCESS");
	cr_assert_eq(pair_word(pair, A, 0), 77);
	pair_close(pair);
}

/*
 * TC-E-3, TC-E-15: each shows that the READ's first response was lost; the repeated request is equal, and later
 * requests follow it.
 */
Test(read, answer_to_a_later_request_restarts_the_read_at_once)
{
	static const char *const triggers[] = { "ACK of the WRITE", "ACK inside", "ACK of its last", "second response",
						"last response" };

	RULE("Q-8");
	RULE("Q-9");
	for (uint32_t i = 0; i < 5; i++) {
		struct pair *pair = open_with_read();

		if (i < 3)
			pair_respond(pair, ack_packet(i == 0 ? 3 : i == 1 ? 0 : 2, SYNDROME_PLAIN_ACK, 2));
		else
			respond(pair, i == 3 ? OP_READ_RESPONSE_MIDDLE : OP_READ_RESPONSE_LAST, i - 2,
				i == 3 ? 1024 : 952);
		cr_assert_eq(pair->side[A].sent_count, 2, "%s", triggers[i]);
		expect_leaves(pair, A, "READ_REQUEST psn=0 ackreq va=0x0 len=3000",
			      "WRITE_ONLY psn=3 ackreq va=0x0 len=8 bytes=8");
		expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
		expect_completes(pair, A);
		expect_placed(pair, 0);
		pair_close(pair);
	}
}

/* TC-E-3 */
Test(read, ack_after_an_atomic_restarts_it)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("Q-8");
	pair_cut(pair);
	pair_send(pair, 1, 8);
	pair_fetch_add(pair, 2, 1);
	pair_send(pair, 3, 8);
	pair_transmit(pair, A);
	pair_forget(pair);
	pair_respond(pair, ack_packet(2, SYNDROME_PLAIN_ACK, 3));
	expect_completes(pair, A, "wr=1 SEND SUCCESS");
	expect_leaves(pair, A, "FETCH_ADD psn=1 ackreq va=0x0 add=0x1", "SEND_ONLY psn=2 ackreq bytes=8");
	pair_respond(pair, atomic_ack_packet(1, 5));
	expect_completes(pair, A, "wr=2 FADD SUCCESS");
	pair_close(pair);
}

/* TC-E-15: only missing responses are requested, once per loss. */
Test(read, gap_requests_only_the_missing_bytes_once)
{
	struct pair *pair = open_with_read();

	RULE("Q-9");
	RULE("Q-10");
	RULE("Q-11");
	respond(pair, OP_READ_RESPONSE_FIRST, 0, 1024);
	respond(pair, OP_READ_RESPONSE_LAST, 2, 952);
	expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x400 len=1976",
		      "WRITE_ONLY psn=3 ackreq va=0x0 len=8 bytes=8");
	expect_placed(pair, 1024);
	pair_respond(pair, ack_packet(3, SYNDROME_PLAIN_ACK, 2));
	expect_leaves(pair, A);
	expect_completes(pair, A);
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
	respond(pair, OP_READ_RESPONSE_FIRST, 1, 1024);
	respond(pair, OP_READ_RESPONSE_LAST, 2, 952);
	expect_placed(pair, 3000);
	pair_respond(pair, ack_packet(3, SYNDROME_PLAIN_ACK, 2));
	expect_completes(pair, A, "wr=1 READ SUCCESS len=3000", "wr=2 WRITE SUCCESS");
	expect_leaves(pair, A);
	pair_close(pair);
}

/* Linux continues a repeated READ with MIDDLE and LAST. */
Test(read, restarted_answer_may_begin_with_first_or_middle)
{
	static const uint8_t opcodes[][2] = {
		{ OP_READ_RESPONSE_FIRST, OP_READ_RESPONSE_LAST },
		{ OP_READ_RESPONSE_MIDDLE, OP_READ_RESPONSE_LAST },
	};

	RULE("Q-10");
	for (int i = 0; i < 2; i++) {
		struct pair *pair = open_with_read();

		respond(pair, OP_READ_RESPONSE_FIRST, 0, 1024);
		respond(pair, OP_READ_RESPONSE_LAST, 2, 952);
		respond(pair, opcodes[i][0], 1, 1024);
		respond(pair, opcodes[i][1], 2, 952);
		expect_completes(pair, A, "wr=1 READ SUCCESS len=3000");
		expect_placed(pair, 3000);
		pair_close(pair);
	}
	for (int i = 0; i < 2; i++) {
		struct pair *pair = open_with_read();

		respond(pair, OP_READ_RESPONSE_FIRST, 0, 1024);
		respond(pair, OP_READ_RESPONSE_MIDDLE, 1, 1024);
		pair_forget(pair);
		pair_respond(pair, ack_packet(3, SYNDROME_PLAIN_ACK, 2));
		expect_leaves(pair, A, "READ_REQUEST psn=2 ackreq va=0x800 len=952",
			      "WRITE_ONLY psn=3 ackreq va=0x0 len=8 bytes=8");
		respond(pair, i ? OP_READ_RESPONSE_ONLY : OP_READ_RESPONSE_LAST, 2, 952);
		expect_completes(pair, A, "wr=1 READ SUCCESS len=3000");
		pair_close(pair);
	}
}

/* Where an earlier READ was asked for again the next one does not begin, though it has the same PSN 2^24 later. */
Test(read, answer_restarts_only_where_its_request_did)
{
	struct pair *pair = open_with_read();
	struct rc_sendwin *win = &pair->side[A].qp->win;

	RULE("Q-10");
	RULE("Q-12");
	respond(pair, OP_READ_RESPONSE_FIRST, 0, 1024);
	respond(pair, OP_READ_RESPONSE_LAST, 2, 952);
	pair_forget(pair);
	respond(pair, OP_READ_RESPONSE_FIRST, 1, 1024);
	respond(pair, OP_READ_RESPONSE_LAST, 2, 952);
	pair_respond(pair, ack_packet(3, SYNDROME_PLAIN_ACK, 2));
	expect_completes(pair, A, "wr=1 READ SUCCESS len=3000", "wr=2 WRITE SUCCESS");
	win->snd_una = win->snd_nxt = win->snd_max = psn_make(0); /* all other PSNs have been used meanwhile */
	pair_read(pair, 3, 3000);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "READ_REQUEST psn=0 ackreq va=0x0 len=3000");
	respond(pair, OP_READ_RESPONSE_FIRST, 0, 1024);
	respond(pair, OP_READ_RESPONSE_FIRST, 1, 1024);
	expect_completes(pair, A, "wr=3 READ BAD_RESP_ERR");
	pair_close(pair);
}

/* Only FIRST and ONLY are bound to a beginning. */
Test(read, middle_and_last_fit_where_the_first_request_began)
{
	struct pair *pair = open_with_read();

	RULE("Q-10");
	respond(pair, OP_READ_RESPONSE_MIDDLE, 0, 1024);
	respond(pair, OP_READ_RESPONSE_MIDDLE, 1, 1024);
	respond(pair, OP_READ_RESPONSE_LAST, 2, 952);
	expect_completes(pair, A, "wr=1 READ SUCCESS len=3000");
	expect_placed(pair, 3000);
	pair_close(pair);
}

/* TC-E-15, TC-E-16 */
Test(read, duplicate_and_late_responses_are_dropped)
{
	struct pair *pair = open_with_read();

	RULE("P-5");
	RULE("Q-11");
	respond(pair, OP_READ_RESPONSE_FIRST, 0, 1024);
	pair_fill(pair, A, 0, 0x11, 1024);
	respond(pair, OP_READ_RESPONSE_FIRST, 0, 1024);
	cr_assert_eq(pair->side[A].memory[0], 0x11, "placed twice");
	respond(pair, OP_READ_RESPONSE_MIDDLE, 1, 1024);
	respond(pair, OP_READ_RESPONSE_LAST, 2, 952);
	expect_completes(pair, A, "wr=1 READ SUCCESS len=3000");
	pair_fill(pair, A, 0, 0x11, 4096);
	respond(pair, OP_READ_RESPONSE_MIDDLE, 1, 1024);
	respond(pair, OP_READ_RESPONSE_LAST, 2, 952);
	for (uint32_t i = 0; i < 4096; i++)
		cr_assert_eq(pair->side[A].memory[i], 0x11, "written after completion at %u", i);
	expect_counts(pair, A, CNT_STALE_RESPONSE, 3);
	expect_leaves(pair, A);
	pair_close(pair);
}

/* Nothing is written after the flush either. */
Test(read, a_response_after_the_flush_writes_nothing)
{
	struct pair *pair = open_with_read();

	RULE("Q-11");
	RULE("E-6");
	cr_assert_eq(rc_qp_modify(pair->side[A].qp, &(struct uroce_qp_attr){ .qp_state = UROCE_QPS_ERR },
				  UROCE_QP_STATE, &(uint32_t){ 0 }),
		     0);
	pair_transmit(pair, A);
	expect_completes(pair, A, "wr=1 READ WR_FLUSH_ERR", "wr=2 WRITE WR_FLUSH_ERR");
	respond(pair, OP_READ_RESPONSE_FIRST, 0, 1024);
	expect_placed(pair, 0);
	pair_close(pair);
}

/* TC-E-16, Q-12, one row a way to be wrong; each comes when PSN `psn` is the next one due. */
Test(read, a_response_that_breaks_the_protocol_fails_the_request)
{
	static const struct {
		const char *name;
		uint8_t opcode, syndrome;
		uint32_t psn, bytes;
		uint8_t pad_bytes; /* more than there should be */
	} rows[] = {
		{ "FIRST short", OP_READ_RESPONSE_FIRST, 0x1F, 0, 1020 },
		{ "FIRST long", OP_READ_RESPONSE_FIRST, 0x1F, 0, 1028 },
		{ "FIRST empty", OP_READ_RESPONSE_FIRST, 0x1F, 0, 0 },
		{ "LAST at the first", OP_READ_RESPONSE_LAST, 0x1F, 0, 952 },
		{ "ONLY at the first", OP_READ_RESPONSE_ONLY, 0x1F, 0, 1024 },
		{ "MIDDLE short", OP_READ_RESPONSE_MIDDLE, 0x1F, 1, 1000 },
		{ "MIDDLE with pad", OP_READ_RESPONSE_MIDDLE, 0x1F, 1, 1024, 1 },
		{ "FIRST in the middle", OP_READ_RESPONSE_FIRST, 0x1F, 1, 1024 },
		{ "LAST in the middle", OP_READ_RESPONSE_LAST, 0x1F, 1, 1024 },
		{ "ONLY in the middle", OP_READ_RESPONSE_ONLY, 0x1F, 1, 1024 },
		{ "MIDDLE at the last", OP_READ_RESPONSE_MIDDLE, 0x1F, 2, 1024 },
		{ "FIRST at the last", OP_READ_RESPONSE_FIRST, 0x1F, 2, 1024 },
		{ "ONLY at the last", OP_READ_RESPONSE_ONLY, 0x1F, 2, 952 },
		{ "LAST short", OP_READ_RESPONSE_LAST, 0x1F, 2, 951 },
		{ "LAST long", OP_READ_RESPONSE_LAST, 0x1F, 2, 953 },
		{ "LAST empty", OP_READ_RESPONSE_LAST, 0x1F, 2, 0 },
		{ "atomic acknowledge", OP_ATOMIC_ACKNOWLEDGE, 0x1F, 0, 0 },
		{ "FIRST with a NAK", OP_READ_RESPONSE_FIRST, 0x61, 0, 1024 },
		{ "FIRST with a sequence NAK", OP_READ_RESPONSE_FIRST, 0x60, 0, 1024 },
		{ "LAST with an RNR NAK", OP_READ_RESPONSE_LAST, 0x21, 2, 952 },
	};

	RULE("Q-12");
	RULE("E-4");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pair *pair = open_with_read();
		struct wire_packet packet = response_packet(rows[i].opcode, rows[i].psn, rows[i].bytes);

		if (rows[i].psn > 0)
			respond(pair, OP_READ_RESPONSE_FIRST, 0, 1024);
		if (rows[i].psn > 1)
			respond(pair, OP_READ_RESPONSE_MIDDLE, 1, 1024);
		packet.syndrome = rows[i].syndrome;
		packet.pad_bytes = (uint8_t)(packet.pad_bytes + rows[i].pad_bytes);
		pair_respond(pair, packet);
		cr_assert_eq(pair->side[A].wcs[0].status, UROCE_WC_BAD_RESP_ERR, "%s: %s", rows[i].name,
			     pair->side[A].done[0]);
		cr_assert_eq(pair->side[A].wcs[0].vendor_err, UROCE_CAUSE_BAD_RESPONSE, "%s", rows[i].name);
		expect_completes(pair, A, "wr=1 READ BAD_RESP_ERR", "wr=2 WRITE WR_FLUSH_ERR");
		expect_events(pair, A, "QP_FATAL");
		expect_placed(pair, rows[i].psn * 1024);
		expect_leaves(pair, A);
		pair_close(pair);
	}
}

/* TC-E-17: an answer with data to a request without any; earlier requests have succeeded. */
Test(read, unexpected_answer_fails_the_request_that_owns_its_psn)
{
	RULE("Q-12");
	for (int i = 0; i < 4; i++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		struct wire_packet packet =
			i & 1 ? atomic_ack_packet(1, 5) : response_packet(OP_READ_RESPONSE_ONLY, 1, 8);

		pair_cut(pair);
		pair_fill(pair, A, 0, EMPTY, 4096);
		pair_write(pair, 1, 8);
		if (i < 2)
			pair_send(pair, 2, 8);
		else if (i == 2)
			pair_fetch_add(pair, 2, 1);
		else
			pair_read(pair, 2, 8);
		pair_send(pair, 3, 8);
		pair_transmit(pair, A);
		pair_respond(pair, packet);
		expect_completes(pair, A, "wr=1 WRITE SUCCESS",
				 i < 2  ? "wr=2 SEND BAD_RESP_ERR" :
				 i == 2 ? "wr=2 FADD BAD_RESP_ERR" :
					  "wr=2 READ BAD_RESP_ERR",
				 "wr=3 SEND WR_FLUSH_ERR");
		expect_placed(pair, 0);
		pair_close(pair);
	}
}

/*
 * The order of Q-12: a missing answer is detected first, so the same answer after an unanswered READ only indicates
 * the loss.
 */
Test(read, missing_answer_is_detected_before_a_wrong_one)
{
	struct pair *pair = open_with_read();

	RULE("Q-12");
	RULE("Q-8");
	respond(pair, OP_READ_RESPONSE_ONLY, 3, 8);
	expect_leaves(pair, A, "READ_REQUEST psn=0 ackreq va=0x0 len=3000",
		      "WRITE_ONLY psn=3 ackreq va=0x0 len=8 bytes=8");
	cr_assert_eq(peek_state(pair->side[A].qp), UROCE_QPS_RTS);
	pair_close(pair);
}

/* The responder refuses the READ itself, part-way: that says more than the response lost before it (K-REQ). */
Test(read, fatal_nak_inside_a_read_fails_it_despite_a_missing_response)
{
	RULE("K-REQ");
	for (uint32_t psn = 0; psn < 3; psn++) {
		struct pair *pair = open_with_read();

		pair_respond(pair, ack_packet(psn, SYNDROME_ACCESS, 1));
		expect_completes(pair, A, "wr=1 READ REM_ACCESS_ERR", "wr=2 WRITE WR_FLUSH_ERR");
		expect_leaves(pair, A);
		expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 0);
		pair_close(pair);
	}
}

/* K-SEQ-REQ: inside a READ it requests the responses not placed, and is counted as a sequence NAK. */
Test(read, sequence_nak_inside_a_read_requests_the_missing_bytes)
{
	RULE("K-SEQ-REQ");
	RULE("Q-10");
	for (uint32_t placed = 0; placed < 2; placed++) {
		struct pair *pair = open_with_read();

		if (placed)
			respond(pair, OP_READ_RESPONSE_FIRST, 0, 1024);
		pair_respond(pair, ack_packet(1, SYNDROME_SEQUENCE, 0));
		expect_leaves(pair, A,
			      placed ? "READ_REQUEST psn=1 ackreq va=0x400 len=1976" :
				       "READ_REQUEST psn=0 ackreq va=0x0 len=3000",
			      "WRITE_ONLY psn=3 ackreq va=0x0 len=8 bytes=8");
		expect_counts(pair, A, CNT_PACKET_SEQ_ERR, 1);
		expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 0);
		pair_close(pair);
	}
}

/* Two READs; the answer to the second does not go where the first one's belongs, nor into its own place too early. */
Test(read, out_of_order_answer_places_nothing)
{
	struct pair *pair = pair_open(&(struct pair_options){ .no_boards = true });
	struct uroce_send_wr wr = { .wr_id = 2, .opcode = UROCE_WR_RDMA_READ, .send_flags = UROCE_SEND_SIGNALED };

	RULE("Q-11");
	RULE("Q-8");
	pair_cut(pair);
	pair_fill(pair, A, 0, EMPTY, 8192);
	pair_read(pair, 1, 8);
	pair_post(pair, A, wr, 2048, 8);
	pair_transmit(pair, A);
	pair_forget(pair);
	respond(pair, OP_READ_RESPONSE_ONLY, 1, 8);
	expect_placed(pair, 0);
	expect_leaves(pair, A, "READ_REQUEST psn=0 ackreq va=0x0 len=8", "READ_REQUEST psn=1 ackreq va=0x0 len=8");
	respond(pair, OP_READ_RESPONSE_ONLY, 0, 8);
	expect_placed(pair, 8);
	respond(pair, OP_READ_RESPONSE_ONLY, 1, 8);
	expect_completes(pair, A, "wr=1 READ SUCCESS len=8", "wr=2 READ SUCCESS len=8");
	cr_assert_eq(pair->side[A].memory[2048], PACKETS_DATA);
	pair_close(pair);
}

/* A buffer that is only to be read from is not written to; found before the READ is sent, or when it lands. */
Test(read, buffer_without_local_write_is_a_local_fault)
{
	RULE("Q-13");
	RULE("Q-11");
	for (int late = 0; late < 2; late++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		uint32_t key =
			pair_region(pair, A, 1, 0, 4096, late ? UROCE_ACCESS_LOCAL_WRITE : UROCE_ACCESS_REMOTE_READ);
		struct uroce_sge sge = { .addr = (uintptr_t)pair->side[A].memory, .length = 2000, .lkey = key };
		struct uroce_send_wr wr = { .wr_id = 1, .opcode = UROCE_WR_RDMA_READ, .sg_list = &sge, .num_sge = 1 };

		pair_cut(pair);
		pair_fill(pair, A, 0, EMPTY, 8192);
		pair_post(pair, A, wr, 0, 0);
		pair_transmit(pair, A);
		if (late) {
			respond(pair, OP_READ_RESPONSE_FIRST, 0, 1024);
			expect_placed(pair, 1024);
			cr_assert_eq(rc_mr_remove(&pair->side[A].mrs, key), 0);
			respond(pair, OP_READ_RESPONSE_LAST, 1, 976);
		}
		cr_assert_eq(pair->side[A].wcs[0].vendor_err, late ? UROCE_CAUSE_LOCAL_KEY : UROCE_CAUSE_LOCAL_RIGHTS);
		expect_completes(pair, A, "wr=1 READ LOC_PROT_ERR");
		expect_events(pair, A, "QP_FATAL");
		expect_placed(pair, late ? 1024 : 0);
		pair_close(pair);
	}
}

/* What happens to B's answer number `victim`: lost, doubled, or overtaken by the next one. */
enum mishap_kind { LOST, DOUBLED, OVERTAKEN };

struct mishap {
	uint32_t victim;
	enum mishap_kind kind;
};

static int answer_fate(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	const struct mishap *mishap = pair->user;

	(void)packet;
	if (from == A || number != mishap->victim)
		return 1;
	return mishap->kind == LOST ? 0 : mishap->kind == DOUBLED ? 2 : 1;
}

/* What B sends, the victim behind the next. */
static void transmit_in_disorder(struct pair *pair, uint32_t victim)
{
	struct side *side = &pair->side[B];
	struct flight swap;

	pair_transmit(pair, B);
	swap = side->wire[victim];
	side->wire[victim] = side->wire[victim + 1];
	side->wire[victim + 1] = swap;
}

/* Whichever is lost, doubled or late: only what is missing is asked for; it completes once, and is right. */
static void check_mishap(uint32_t packets, const struct mishap *mishap)
{
	struct pair *pair = pair_open(&(struct pair_options){ .no_boards = true, .mtu = 256 });
	uint32_t bytes = packets * 256 - 56, at = mishap->victim * 256;

	pair->user = (void *)mishap;
	pair->copies = answer_fate;
	pair_fill(pair, A, 0, EMPTY, 2048);
	for (uint32_t i = 0; i < bytes; i++)
		pair->side[B].memory[i] = (uint8_t)(i * 11 + i / 256);
	pair_read(pair, 1, bytes);
	if (mishap->kind == OVERTAKEN) {
		pair_transmit(pair, A);
		pair_deliver(pair, B);
		transmit_in_disorder(pair, mishap->victim);
		pair_deliver(pair, A);
	}
	cr_assert(pair_settle(pair, 1000000000));
	if (mishap->kind == DOUBLED)
		expect_leaves(pair, A, pair_text("READ_REQUEST psn=0 ackreq va=0x0 len=%u", bytes));
	else if (mishap->kind == LOST)
		expect_leaves(pair, A, pair_text("READ_REQUEST psn=0 ackreq va=0x0 len=%u", bytes),
			      pair_text("READ_REQUEST psn=%u ackreq va=0x%x len=%u", mishap->victim, at, bytes - at));
	cr_assert_leq(pair->side[A].sent_count, 2);
	expect_completes(pair, A, pair_text("wr=1 READ SUCCESS len=%u", bytes));
	cr_assert_eq(memcmp(pair->side[A].memory, pair->side[B].memory, bytes), 0);
	cr_assert_eq(pair->side[A].memory[bytes], EMPTY);
	pair_close(pair);
}

/* TC-E-15 */
Test(read, lost_duplicate_or_late_answer_costs_only_the_missing_bytes)
{
	RULE("Q-9");
	RULE("Q-10");
	RULE("Q-11");
	for (uint32_t packets = 1; packets <= 4; packets++) {
		for (uint32_t victim = 0; victim < packets; victim++) {
			check_mishap(packets, &(struct mishap){ .victim = victim, .kind = LOST });
			check_mishap(packets, &(struct mishap){ .victim = victim, .kind = DOUBLED });
			if (victim + 1 < packets)
				check_mishap(packets, &(struct mishap){ .victim = victim, .kind = OVERTAKEN });
		}
	}
}

/* Pad where none belongs, or too little of it, breaks the protocol in a response as in a request (W-6). */
Test(read, a_response_with_a_wrong_pad_fails_the_request)
{
	RULE("W-6");
	RULE("Q-12");
	for (int short_one = 0; short_one < 2; short_one++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		struct wire_packet packet;

		pair_cut(pair);
		pair_read(pair, 1, short_one ? 5 : 2048);
		pair_transmit(pair, A);
		packet = response_packet(short_one ? OP_READ_RESPONSE_ONLY : OP_READ_RESPONSE_FIRST, 0,
					 short_one ? 5 : 1024);
		packet.pad_bytes = short_one ? 2 : 3;
		pair_respond(pair, packet);
		expect_completes(pair, A, "wr=1 READ BAD_RESP_ERR");
		pair_close(pair);
	}
}

/* A piece of no bytes is nowhere, so its key is not looked at, wherever it stands. */
Test(read, empty_piece_needs_no_key)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct uroce_sge sges[3] = {
		{ .addr = 1, .length = 0, .lkey = 0xBAD },
		{ .addr = (uintptr_t)pair->side[A].memory, .length = 1500, .lkey = pair->side[A].key },
		{ .length = 0 },
	};
	struct uroce_send_wr wr = {
		.wr_id = 1,
		.opcode = UROCE_WR_RDMA_READ,
		.send_flags = UROCE_SEND_SIGNALED,
		.sg_list = sges,
		.num_sge = 3,
	};

	RULE("Q-2");
	RULE("Q-13");
	pair_post(pair, A, wr, 0, 1500);
	pair_run(pair);
	expect_completes(pair, A, "wr=1 READ SUCCESS len=1500");
	cr_assert_arr_eq(pair->side[A].memory, pair->side[B].memory, 1500);
	pair_close(pair);
}
