/* ack.c - acknowledges as the requester sees them: what they complete, what they refuse, what is a ghost */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sends into a cut wire; every response is made up. TC-E-1, E-2, E-4, E-6, E-7.
 */
#include <criterion/criterion.h>

#include "packets.h"
#include "peek.h"
#include "rc/ack.h"
#include "rc/outbox.h"
#include "rule.h"

/* A with `count` WRITEs of one packet under way, wr 1 ... count at PSN start ... */
static struct pair *open_with_writes(uint32_t start, uint32_t count)
{
	struct pair *pair = pair_open(&(struct pair_options){ .psn_a = start });

	pair_cut(pair);
	for (uint32_t i = 0; i < count; i++)
		cr_assert_eq(pair_write(pair, i + 1, 8), 0);
	pair_transmit(pair, A);
	expect_sent_count(pair, A, count);
	pair_forget(pair);
	return pair;
}

/* TC-E-2 */
Test(ack, one_ack_completes_all_earlier_messages_in_order)
{
	struct pair *pair = open_with_writes(0xFFFFFE, 4);

	RULE("Q-7");
	RULE("Q-6");
	RULE("P-1");
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 3));
	expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 WRITE SUCCESS", "wr=3 WRITE SUCCESS");
	pair_respond(pair, ack_packet(1, SYNDROME_PLAIN_ACK, 4));
	expect_completes(pair, A, "wr=4 WRITE SUCCESS");
	expect_leaves(pair, A);
	cr_assert_eq(rc_qp_deadline(pair->side[A].qp), RC_NEVER);
	pair_close(pair);
}

Test(ack, a_message_completes_with_its_last_packet)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 1 });

	RULE("Q-7");
	pair_cut(pair);
	pair_send(pair, 1, 3000);
	pair_write(pair, 2, 2000);
	pair_transmit(pair, A);
	pair_respond(pair, ack_packet(1, SYNDROME_PLAIN_ACK, 0));
	expect_completes(pair, A);
	pair_respond(pair, ack_packet(3, SYNDROME_PLAIN_ACK, 1));
	expect_completes(pair, A, "wr=1 SEND SUCCESS");
	pair_respond(pair, ack_packet(4, SYNDROME_PLAIN_ACK, 2));
	expect_completes(pair, A, "wr=2 WRITE SUCCESS");
	pair_close(pair);
}

/* TC-E-1, TC-E-4, P-5: U = start + 4, N = start + 9. */
Test(ack, ack_psn_is_used_stale_or_ghost_by_the_window)
{
	static const struct {
		int32_t offset; /* from the start PSN */
		uint32_t completes;
		bool stale, ghost;
	} rows[] = {
		{ 4, 1, .ghost = false },
		{ 9, 6, .ghost = false },
		{ 10, .ghost = true },
		{ 3, .stale = true },
		{ 0, .stale = true },
		{ -1, .ghost = true },
		{ 0x7FFFFF, .ghost = true },
		{ 9 + 0x800000, .ghost = true },
		{ 10 + 0x800000, .ghost = true },
		{ -1000, .ghost = true },
	};
	static const uint32_t starts[] = { 0, 0xFFFFF8, 0x7FFFFE, 0x400000 };
	static const uint8_t syndromes[] = { SYNDROME_PLAIN_ACK, SYNDROME_SEQUENCE, SYNDROME_INVALID,
					     SYNDROME_RNR + 1 };

	RULE("P-5");
	RULE("P-1");
	for (size_t s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
		for (size_t r = 0; r < 4 * sizeof(rows) / sizeof(rows[0]); r++) {
			struct pair *pair = open_with_writes(starts[s], 10);
			const int32_t offset = rows[r / 4].offset;
			bool used = !rows[r / 4].stale && !rows[r / 4].ghost;

			pair_respond(pair, ack_packet(starts[s] + 3, SYNDROME_PLAIN_ACK, 4));
			expect_done_count(pair, A, 4);
			pair_forget(pair);
			if (r % 4 != 0 && used) {
				pair_close(pair);
				continue;
			}
			pair_respond(pair, ack_packet(starts[s] + (uint32_t)offset, syndromes[r % 4], 4));
			expect_done_count(pair, A, rows[r / 4].completes);
			expect_counts(pair, A, CNT_GHOST_RESPONSE, rows[r / 4].ghost);
			expect_counts(pair, A, CNT_STALE_RESPONSE, rows[r / 4].stale);
			expect_leaves(pair, A);
			cr_assert_eq(peek_state(pair->side[A].qp), UROCE_QPS_RTS);
			pair_close(pair);
		}
	}
}

/* TC-E-1 */
Test(ack, with_nothing_in_flight_the_next_psn_is_a_ghost)
{
	struct pair *pair = open_with_writes(0, 2);

	RULE("P-5");
	pair_respond(pair, ack_packet(1, SYNDROME_PLAIN_ACK, 2));
	pair_forget(pair);
	pair_respond(pair, ack_packet(2, SYNDROME_PLAIN_ACK, 2));
	expect_counts(pair, A, CNT_GHOST_RESPONSE, 1);
	pair_respond(pair, ack_packet(1, SYNDROME_PLAIN_ACK, 2));
	expect_counts(pair, A, CNT_STALE_RESPONSE, 1);
	expect_completes(pair, A);
	pair_close(pair);
}

/* TC-E-7: ignored and counted with any PSN; the timer continues. */
Test(ack, a_reserved_syndrome_is_ignored_and_counted)
{
	uint32_t rows = 0;

	RULE("Q-12");
	RULE("O-1");
	for (uint32_t syndrome = 0; syndrome < 256; syndrome++) {
		struct pair *pair;
		uint64_t deadline;
		bool known = syndrome >> 5 == 0 || syndrome >> 5 == 1 || (syndrome >= 0x60 && syndrome <= 0x63);

		if (known)
			continue;
		rows++;
		pair = open_with_writes(7, 3);
		deadline = rc_qp_deadline(pair->side[A].qp);
		pair->now_ns += 1000;
		pair_respond(pair, ack_packet(8, (uint8_t)syndrome, 2));
		expect_completes(pair, A);
		expect_leaves(pair, A);
		expect_counts(pair, A, CNT_RESERVED_SYNDROME, 1);
		cr_assert_eq(rc_qp_deadline(pair->side[A].qp), deadline, "syndrome %#x", syndrome);
		cr_assert_eq(peek_state(pair->side[A].qp), UROCE_QPS_RTS);
		pair_close(pair);
	}
	cr_assert_eq(rows, 256 - 64 - 4);
}

/* TC-E-6, K-REQ: the owner of the NAK's PSN fails, earlier requests succeed, later ones are flushed. */
Test(ack, a_fatal_nak_fails_the_request_that_owns_its_psn)
{
	static const struct {
		uint8_t syndrome;
		const char *status;
		enum rc_counter counter;
	} rows[] = {
		{ SYNDROME_INVALID, "REM_INV_REQ_ERR", CNT_REQ_REMOTE_INVALID_REQUEST },
		{ SYNDROME_ACCESS, "REM_ACCESS_ERR", CNT_REQ_REMOTE_ACCESS_ERRORS },
		{ SYNDROME_OPERATIONAL, "REM_OP_ERR", CNT_REQ_REMOTE_OPERATIONAL },
	};

	RULE("K-REQ");
	RULE("E-1");
	RULE("E-4");
	RULE("E-7");
	RULE("V-1");
	for (size_t i = 0; i < 3; i++) {
		struct pair *pair = pair_open(&(struct pair_options){ .receives = 0 });

		pair_cut(pair);
		pair_recv(pair, A, 50, 0, 64);
		pair_recv(pair, A, 51, 0, 64);
		pair_write(pair, 1, 8);
		pair_write(pair, 2, 3000);
		pair_write(pair, 3, 8);
		pair_transmit(pair, A);
		pair_write(pair, 4, 8);
		pair_respond(pair, ack_packet(2, rows[i].syndrome, 1));
		for (uint32_t d = 0; d < 6; d++)
			if (pair->side[A].wcs[d].wr_id == 2) {
				cr_assert_eq(pair->side[A].wcs[d].vendor_err, UROCE_CAUSE_REMOTE_NAK);
				cr_assert_eq(pair->side[A].wcs[d].psn, 2, "psn %u", pair->side[A].wcs[d].psn);
				cr_assert_eq(pair->side[A].wcs[d].aeth, (uint32_t)rows[i].syndrome << 24 | 1);
			}
		expect_completes(pair, A, "wr=1 WRITE SUCCESS", pair_text("wr=2 WRITE %s", rows[i].status),
				 "wr=3 WRITE WR_FLUSH_ERR", "wr=4 WRITE WR_FLUSH_ERR", "wr=50 RECV WR_FLUSH_ERR",
				 "wr=51 RECV WR_FLUSH_ERR");
		cr_assert_eq(pair->side[A].done_at_event[0], 6);
		expect_events(pair, A, "QP_FATAL");
		expect_counts(pair, A, rows[i].counter, 1);
		expect_counts(pair, A, CNT_REQ_CQE_ERROR, 1);
		expect_counts(pair, A, CNT_REQ_CQE_FLUSH_ERROR, 2);
		expect_counts(pair, A, CNT_RESP_CQE_FLUSH_ERROR, 2);
		cr_assert_eq(rc_qp_deadline(pair->side[A].qp), RC_NEVER);
		pair_close(pair);
	}
}

/* More flushes than one outbox holds: the event that they explain waits for the last of them. */
Test(ack, failure_event_follows_all_flushes)
{
	struct pair *pair = pair_open(&(struct pair_options){ .depth = 1024 });

	RULE("V-1");
	RULE("E-1");
	pair_cut(pair);
	for (uint32_t i = 0; i < 1024; i++) {
		cr_assert_eq(pair_write(pair, i, 8), 0);
		cr_assert_eq(pair_recv(pair, A, 5000 + i, 0, 8), 0);
	}
	pair_transmit(pair, A);
	pair_forget(pair);
	pair_respond(pair, ack_packet(0, SYNDROME_ACCESS, 0));
	expect_done_count(pair, A, 2048);
	cr_assert_eq(pair->side[A].done_at_event[0], 2048, "after %u", pair->side[A].done_at_event[0]);
	expect_events(pair, A, "QP_FATAL");
	for (uint32_t i = 0; i < 1024; i++) {
		cr_assert_eq(pair->side[A].wcs[i].wr_id, i);
		cr_assert_eq(pair->side[A].wcs[1024 + i].wr_id, 5000 + i);
	}
	pair_close(pair);
}

/* A NAK after an unanswered READ means only that its response was lost (K-REQ, Q-8). */
Test(ack, a_nak_behind_an_unanswered_read_restarts_the_read)
{
	static const uint8_t syndromes[] = { SYNDROME_INVALID, SYNDROME_ACCESS, SYNDROME_OPERATIONAL, SYNDROME_SEQUENCE,
					     SYNDROME_RNR + 1 };

	RULE("K-REQ");
	RULE("Q-8");
	RULE("K-SEQ-REQ");
	for (size_t i = 0; i < sizeof(syndromes); i++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });

		pair_cut(pair);
		pair_write(pair, 1, 8);
		pair_read(pair, 2, 2000);
		pair_write(pair, 3, 8);
		pair_transmit(pair, A);
		pair_forget(pair);
		pair_respond(pair, ack_packet(3, syndromes[i], 3));
		expect_completes(pair, A, "wr=1 WRITE SUCCESS");
		expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x0 len=2000",
			      "WRITE_ONLY psn=3 ackreq va=0x0 len=8 bytes=8");
		expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
		expect_counts(pair, A, CNT_PACKET_SEQ_ERR, 0);
		expect_counts(pair, A, CNT_RNR_NAK_RETRY_ERR, 0);
		cr_assert_eq(peek_state(pair->side[A].qp), UROCE_QPS_RTS);
		pair_close(pair);
	}
}

/* TC-E-4 */
Test(ack, sequence_nak_completes_earlier_requests_and_resends_the_rest)
{
	struct pair *pair = pair_open(&(struct pair_options){ .psn_a = 0xFFFFFE });

	RULE("K-SEQ-REQ");
	RULE("Q-10");
	RULE("P-1");
	pair_cut(pair);
	pair_write(pair, 1, 8);
	pair_write(pair, 2, 3000);
	pair_send(pair, 3, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=16777214 ackreq va=0x0 len=8 bytes=8",
		      "WRITE_FIRST psn=16777215 va=0x0 len=3000 bytes=1024", "WRITE_MIDDLE psn=0 bytes=1024",
		      "WRITE_LAST psn=1 ackreq bytes=952", "SEND_ONLY psn=2 ackreq bytes=8");
	pair_respond(pair, ack_packet(0, SYNDROME_SEQUENCE, 1));
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	expect_leaves(pair, A, "WRITE_MIDDLE psn=0 bytes=1024", "WRITE_LAST psn=1 ackreq bytes=952",
		      "SEND_ONLY psn=2 ackreq bytes=8");
	expect_counts(pair, A, CNT_PACKET_SEQ_ERR, 1);
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 3);
	pair_respond(pair, ack_packet(2, SYNDROME_PLAIN_ACK, 3));
	expect_completes(pair, A, "wr=2 WRITE SUCCESS", "wr=3 SEND SUCCESS");
	pair_close(pair);
}

/* TC-E-24: the payload is read again, so that a resend shows what the buffer holds now. */
Test(ack, a_resend_reads_the_payload_again)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("Q-10");
	pair_cut(pair);
	pair_fill(pair, A, 0, 0x01, 8);
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	pair_fill(pair, A, 0, 0x02, 8);
	pair_mend(pair);
	pair_fire(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	cr_assert_eq(pair->side[B].memory[0], 0x02);
	pair_close(pair);
}

#define IN_FLIGHT 4u

static struct wire_ack ack_of(psn_t snd_una, uint32_t number)
{
	return (struct wire_ack){
		.begin = packet_bth_of(OP_ACKNOWLEDGE, WIRE_MIGREQ, 0xFFFF, 7),
		.bth_end = __builtin_bswap32(psn_add(snd_una, number).v) |
			   (uint64_t)__builtin_bswap32((uint32_t)SYNDROME_PLAIN_ACK << 24 | number) << 32,
	};
}

/* Of the ACKs of all that is in flight those whose bit is set, one after the other. */
static void take_acks(struct rc_qp *qp, uint32_t bits, struct rc_outbox *out)
{
	const psn_t snd_una = qp->win.snd_una;

	outbox_reset(out);
	for (uint32_t i = 0; i < IN_FLIGHT; i++) {
		const struct wire_ack ack = ack_of(snd_una, i);

		if (!(bits & 1u << i))
			continue;
		cr_assert(qp_ack_is_plain(qp, &ack));
		rc_completer_handle_ack(qp, &ack, 5000, out);
		cr_assert_not(qp_ack_is_plain(qp, &ack), "it has been acknowledged");
	}
}

/* What the engine relies on when it takes only the last one (lib/engine/receive.c). */
Test(ack, consecutive_acks_equal_the_last_one)
{
	struct pair *pair = open_with_writes(0xFFFFFE, IN_FLIGHT);
	struct rc_qp *qp = pair->side[A].qp, before, each;
	static struct rc_outbox out;

	RULE("Q-7");
	before = *qp;
	for (uint32_t i = 0; i < IN_FLIGHT * IN_FLIGHT; i++) {
		const struct wire_ack first = ack_of(qp->win.snd_una, i / IN_FLIGHT);
		const struct wire_ack second = ack_of(qp->win.snd_una, i % IN_FLIGHT);

		cr_assert_eq(qp_ack_goes_on(qp, &second, &first), i % IN_FLIGHT > i / IN_FLIGHT, "%u", i);
	}
	for (uint32_t bits = 1; bits < 1u << IN_FLIGHT; bits++) {
		uint32_t last = 31u - (uint32_t)__builtin_clz(bits);

		*qp = before;
		take_acks(qp, bits, &out);
		cr_assert_eq(out.completion_count, last + 1);
		each = *qp;
		*qp = before;
		take_acks(qp, 1u << last, &out);
		cr_assert_eq(out.completion_count, last + 1);
		cr_assert_arr_eq((uint8_t *)qp, (uint8_t *)&each, sizeof(each), "%#x", bits);
	}
	pair_close(pair);
}
