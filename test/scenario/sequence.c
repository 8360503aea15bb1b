/* sequence.c - PSNs as the responder sees them: the next one, a gap, and what came before */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests are made up and handed to B one by one. TC-B-1 to B-7.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "rule.h"

/* TC-B-1, TC-B-2 */
Test(sequence, gap_draws_one_nak_until_the_expected_request_arrives)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 4 });

	RULE("K-SEQ");
	RULE("S-2");
	pair_request(pair, send_packet(OP_SEND_ONLY, 1, 16));
	expect_leaves(pair, B, "NAK_SEQUENCE psn=0 msn=0");
	for (uint32_t psn = 2; psn <= 100; psn++)
		pair_request(pair, send_packet(OP_SEND_ONLY, psn, 16));
	expect_leaves(pair, B);
	expect_completes(pair, B);
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 16));
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=1");
	expect_completes(pair, B, "wr=1000 RECV SUCCESS len=16");
	pair_request(pair, send_packet(OP_SEND_ONLY, 3, 16));
	expect_leaves(pair, B, "NAK_SEQUENCE psn=1 msn=1");
	expect_counts(pair, B, CNT_RX_SEND_REQUESTS, 1);
	cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_RTS);
	pair_close(pair);
}

Test(sequence, duplicates_are_served_during_an_open_gap)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 4 });

	RULE("K-SEQ");
	RULE("K-RULE");
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 16));
	pair_request(pair, send_packet(OP_SEND_ONLY, 2, 16));
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=1", "NAK_SEQUENCE psn=1 msn=1");
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 16));
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=1");
	pair_request(pair, send_packet(OP_SEND_ONLY, 3, 16));
	expect_leaves(pair, B);
	pair_request(pair, send_packet(OP_SEND_ONLY, 1, 16));
	expect_leaves(pair, B, "ACK psn=1 credit=31 msn=2");
	expect_completes(pair, B, "wr=1000 RECV SUCCESS len=16", "wr=1001 RECV SUCCESS len=16");
	pair_close(pair);
}

/* Reordered, not lost: the missing packet arrives before the NAK has left. */
Test(sequence, a_gap_that_closes_within_the_burst_draws_no_nak)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 4 });

	RULE("K-SEQ");
	RULE("K-RULE");
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 1, 16));
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 0, 16));
	pair_transmit(pair, B);
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=1");
	pair_close(pair);
}

/* TC-B-4: half of all numbers lies ahead, half behind, wherever ePSN is. */
Test(sequence, ahead_and_behind_meet_at_the_half_window)
{
	static const uint32_t starts[] = { 0, 1, 0x7FFFFF, 0x800000, 0xFFFFFE, 0xFFFFFF, 0x123456 };
	static const struct {
		uint32_t offset;
		bool ahead;
	} rows[] = {
		{ 1, true },         { 2, true },         { 0x7FFFFE, true },  { 0x7FFFFF, true },
		{ 0x800000, false }, { 0x800001, false }, { 0xFFFFFE, false }, { 0xFFFFFF, false },
	};

	RULE("P-6");
	RULE("P-1");
	for (size_t s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
		for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
			struct pair *pair = pair_open(&(struct pair_options){ .psn_a = starts[s], .receives = 1 });
			uint32_t before = (starts[s] - 1) & 0xFFFFFF;

			pair_request(pair, send_packet(OP_SEND_ONLY, starts[s] + rows[r].offset, 16));
			if (rows[r].ahead)
				expect_leaves(pair, B, pair_text("NAK_SEQUENCE psn=%u msn=0", starts[s]));
			else
				expect_leaves(pair, B, pair_text("ACK psn=%u credit=31 msn=0", before));
			expect_counts(pair, B, CNT_DUPLICATE_REQUEST, !rows[r].ahead);
			expect_counts(pair, B, CNT_OUT_OF_SEQUENCE, rows[r].ahead);
			expect_completes(pair, B);
			pair_close(pair);
		}
	}
}

/* TC-B-5: loss of each packet of a message that crosses the wrap. */
Test(sequence, a_loss_anywhere_around_the_wrap_is_repaired)
{
	RULE("P-1");
	RULE("K-SEQ-REQ");
	for (uint32_t lost = 0; lost < 4; lost++) {
		struct pair *pair = pair_open(&(struct pair_options){ .psn_a = 0xFFFFFE, .receives = 1 });
		uint32_t psn = (0xFFFFFE + lost) & 0xFFFFFF;

		for (uint32_t i = 0; i < 5; i++) {
			if (i == lost)
				continue;
			pair_request(pair, send_packet(i == 0 ? OP_SEND_FIRST :
						       i == 4 ? OP_SEND_LAST :
								OP_SEND_MIDDLE,
						       0xFFFFFE + i, i == 4 ? 100 : 1024));
		}
		expect_sent(pair, B, pair->side[B].sent_count - 1, pair_text("NAK_SEQUENCE psn=%u msn=0", psn));
		pair_forget(pair);
		for (uint32_t i = lost; i < 5; i++)
			pair_inject(pair, B,
				    send_packet(i == 0 ? OP_SEND_FIRST :
						i == 4 ? OP_SEND_LAST :
							 OP_SEND_MIDDLE,
						0xFFFFFE + i, i == 4 ? 100 : 1024));
		pair_transmit(pair, B);
		expect_leaves(pair, B, "ACK psn=2 credit=31 msn=1");
		expect_completes(pair, B, "wr=1000 RECV SUCCESS len=4196");
		pair_close(pair);
	}
}

/* TC-B-7: a peer that resends from the start of the message. */
Test(sequence, start_of_an_open_message_may_be_repeated)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("S-19");
	RULE("S-8");
	pair_fill(pair, B, 0, 0, 4096);
	pair_request(pair, write_packet(pair, OP_WRITE_FIRST, 0, 0, 3000, 1024));
	pair_request(pair, write_packet(pair, OP_WRITE_MIDDLE, 1, 0, 0, 1024));
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=0", "ACK psn=1 credit=31 msn=0");
	pair_fill(pair, B, 0, 0x11, 2048);
	pair_request(pair, write_packet(pair, OP_WRITE_FIRST, 0, 0, 3000, 1024));
	pair_request(pair, write_packet(pair, OP_WRITE_MIDDLE, 1, 0, 0, 1024));
	expect_leaves(pair, B, "ACK psn=1 credit=31 msn=0", "ACK psn=1 credit=31 msn=0");
	pair_request(pair, write_packet(pair, OP_WRITE_LAST, 2, 0, 0, 952));
	expect_leaves(pair, B, "ACK psn=2 credit=31 msn=1");
	cr_assert_eq(pair->side[B].memory[0], 0x11, "a duplicate wrote");
	cr_assert_eq(pair->side[B].memory[2047], 0x11, "a duplicate wrote");
	cr_assert_eq(pair->side[B].memory[2048], PACKETS_DATA);
	cr_assert_eq(pair->side[B].memory[2999], PACKETS_DATA);
	cr_assert_eq(pair->side[B].memory[3000], 0);
	expect_counts(pair, B, CNT_RX_WRITE_REQUESTS, 1);
	expect_counts(pair, B, CNT_DUPLICATE_REQUEST, 2);
	pair_close(pair);
}

/* A packet that would be invalid at ePSN is only a gap ahead of it, and nothing at all behind it (TC-A-10). */
Test(sequence, invalid_request_is_refused_only_at_the_expected_psn)
{
	static const uint8_t opcodes[] = { 0x15, 0x18, 0x1F, OP_SEND_MIDDLE, OP_WRITE_LAST, OP_FLUSH };

	RULE("K-RULE");
	RULE("S-1");
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		struct pair *pair = pair_open(&(struct pair_options){ .psn_a = 5, .receives = 1 });

		pair_request(pair, send_packet(opcodes[i], 4, 0));
		cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_RTS);
		for (uint32_t line = 0; line < pair->side[B].sent_count; line++)
			cr_assert_str_eq(pair->side[B].sent[line], "ACK psn=4 credit=31 msn=0");
		pair_forget(pair);
		pair_request(pair, send_packet(opcodes[i], 6, 0));
		expect_leaves(pair, B, "NAK_SEQUENCE psn=5 msn=0");
		pair_request(pair, send_packet(opcodes[i], 5, 0));
		expect_leaves(pair, B, "NAK_INVALID_REQUEST psn=5 msn=0");
		cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_ERR);
		pair_close(pair);
	}
}

/* The gap was on its way already when the receiver was found not ready (TC-C-4). */
Test(sequence, gap_after_an_rnr_nak_draws_no_nak)
{
	struct pair *pair = pair_open(&(struct pair_options){ .rnr_timer = 14 });

	RULE("R-3");
	RULE("R-1");
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 16));
	expect_leaves(pair, B, "RNR_NAK psn=0 timer=14 msn=0");
	pair_request(pair, send_packet(OP_SEND_ONLY, 1, 16));
	pair_request(pair, send_packet(OP_SEND_ONLY, 7, 16));
	pair_request(pair, read_packet(pair, 2, 0, 16));
	pair_request(pair, send_packet(0x1F, 3, 16));
	expect_leaves(pair, B);
	/* The expected one again, in vain: from then on a gap is a gap. */
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 16));
	expect_leaves(pair, B, "RNR_NAK psn=0 timer=14 msn=0");
	pair_recv(pair, B, 7, 0, 64);
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 16));
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=1");
	expect_completes(pair, B, "wr=7 RECV SUCCESS len=16");
	pair_request(pair, send_packet(OP_SEND_ONLY, 2, 16));
	expect_leaves(pair, B, "NAK_SEQUENCE psn=1 msn=1");
	expect_counts(pair, B, CNT_OUT_OF_BUFFER, 2);
	expect_counts(pair, B, CNT_AFTER_NAK, 4);
	pair_close(pair);
}

/* S-13: what counts, and when; the captures show a READ counted in its first response. */
Test(sequence, the_message_number_counts_each_message_once)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 2 });

	RULE("S-13");
	pair_set_word(pair, B, 0, 0);
	pair_request(pair, send_packet(OP_SEND_FIRST, 0, 1024));
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=0");
	pair_request(pair, send_packet(OP_SEND_LAST, 1, 1));
	expect_leaves(pair, B, "ACK psn=1 credit=31 msn=1");
	pair_request(pair, read_packet(pair, 2, 0, 2000));
	expect_leaves(pair, B, "READ_RESPONSE_FIRST psn=2 credit=31 msn=2 bytes=1024",
		      "READ_RESPONSE_LAST psn=3 credit=31 msn=2 bytes=976");
	pair_request(pair, fetch_add_packet(pair, 4, 0, 1));
	expect_leaves(pair, B, "ATOMIC_ACKNOWLEDGE psn=4 credit=31 msn=3 original=0x0");
	pair_request(pair, fetch_add_packet(pair, 4, 0, 1));
	expect_leaves(pair, B, "ATOMIC_ACKNOWLEDGE psn=4 credit=31 msn=3 original=0x0");
	pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 5, 0, 8, 8));
	expect_leaves(pair, B, "ACK psn=5 credit=31 msn=4");
	pair->side[B].qp->responder.msn = 0xFFFFFF;
	pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 6, 0, 8, 8));
	expect_leaves(pair, B, "ACK psn=6 credit=31 msn=0");
	pair_close(pair);
}

/* ACKs within a burst become one; the last packet of the burst does not have to ask. */
Test(sequence, one_acknowledge_answers_a_burst)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct wire_packet quiet = write_packet(pair, OP_WRITE_ONLY, 3, 0, 8, 8);

	RULE("S-14");
	RULE("S-18");
	quiet.flags = 0;
	for (uint32_t psn = 0; psn < 3; psn++)
		pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, psn, 0, 8, 8));
	pair_inject(pair, B, quiet);
	pair_transmit(pair, B);
	expect_leaves(pair, B, "ACK psn=3 credit=31 msn=4");
	pair_transmit(pair, B);
	expect_leaves(pair, B);
	pair_close(pair);
}

/* A's first packet and B's first answer, the NAK for the gap, are lost. */
static int lose_first_of_each(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	(void)pair;
	(void)from;
	(void)packet;
	return number != 0;
}

/* TC-B-3: only the ACK timer detects the gap; the responder's silence ends with the gap. */
Test(sequence, lost_nak_costs_only_a_timeout)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 4 });

	RULE("K-SEQ");
	RULE("T-2");
	pair->copies = lose_first_of_each;
	for (uint32_t i = 0; i < 3; i++)
		pair_send(pair, i, 16);
	pair_run(pair);
	expect_leaves(pair, B, "NAK_SEQUENCE psn=0 msn=0");
	expect_completes(pair, A);
	pair_fire(pair);
	expect_completes(pair, A, "wr=0 SEND SUCCESS", "wr=1 SEND SUCCESS", "wr=2 SEND SUCCESS");
	expect_completes(pair, B, "wr=1000 RECV SUCCESS len=16", "wr=1001 RECV SUCCESS len=16",
			 "wr=1002 RECV SUCCESS len=16");
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 1);
	expect_counts(pair, A, CNT_PACKET_SEQ_ERR, 0);
	pair_forget(pair);
	pair_request(pair, send_packet(OP_SEND_ONLY, 4, 16));
	expect_leaves(pair, B, "NAK_SEQUENCE psn=3 msn=3");
	pair_close(pair);
}

/*
 * TC-B-16: a copy in flight over a full PSN cycle is judged by its PSN like any other packet: a matching one is
 * accepted, which the protocol cannot prevent.
 */
Test(sequence, packet_from_a_full_psn_cycle_ago_is_judged_by_its_psn)
{
	static const struct {
		int32_t ahead;
		const char *leaves;
	} rows[] = {
		{ -3, "ACK psn=4 credit=31 msn=1" }, { -1, "ACK psn=4 credit=31 msn=1" },
		{ 0, "ACK psn=5 credit=31 msn=2" },  { 1, "NAK_SEQUENCE psn=5 msn=1" },
		{ 3, "NAK_SEQUENCE psn=5 msn=1" },
	};

	RULE("P-8");
	RULE("P-6");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pair *pair = pair_open(&(struct pair_options){ .receives = 4, .psn_a = 4 });
		const struct wire_packet old =
			write_packet(pair, OP_WRITE_ONLY, (uint32_t)(5 + rows[i].ahead), 64, 8, 8);

		pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 4, 0, 8, 8));
		pair_forget(pair);
		pair_fill(pair, B, 64, 0, 8);
		pair_request(pair, old);
		expect_leaves(pair, B, rows[i].leaves);
		cr_assert_eq(pair->side[B].memory[64], rows[i].ahead ? 0 : PACKETS_DATA, "%d ahead", rows[i].ahead);
		cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_RTS);
		pair_close(pair);
	}
}

/* One burst brings a duplicate, then new requests: the ACK leaves last, and must not say less than the others did. */
Test(sequence, ack_of_a_duplicate_covers_later_requests_of_its_burst)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 8 });

	RULE("S-8");
	RULE("S-14");
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 1));
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 0, 1));
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 1, 1));
	pair_inject(pair, B, fetch_add_packet(pair, 2, 8, 1));
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 4, 1));
	pair_transmit(pair, B);
	cr_assert(strncmp(pair->side[B].sent[1], "ATOMIC_ACKNOWLEDGE psn=2 ", 25) == 0);
	cr_expect_str_eq(pair->side[B].sent[2], "ACK psn=1 credit=31 msn=3", "up to the atomic, not to the duplicate");
	cr_expect_str_eq(pair->side[B].sent[3], "NAK_SEQUENCE psn=3 msn=3");
	pair_close(pair);
}

/* Though it would fit exactly behind what that has written. */
Test(sequence, rest_of_a_completed_write_is_refused)
{
	for (uint32_t last = 0; last < 2; last++) {
		struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256 });

		RULE("S-3");
		pair_request(pair, write_packet(pair, OP_WRITE_FIRST, 0, 0, 512 - last, 256));
		pair_request(pair, write_packet(pair, OP_WRITE_LAST, 1, 0, 0, 256 - last));
		pair_forget(pair);
		pair_request(pair, write_packet(pair, last ? OP_WRITE_LAST : OP_WRITE_MIDDLE, 2, 0, 0, 256 - last));
		expect_leaves(pair, B, "NAK_INVALID_REQUEST psn=2 msn=1");
		cr_assert_arr_eq(pair->side[B].memory + 512, pair_pattern(B) + 512, 256);
		pair_close(pair);
	}
}
