/* rnr.c - a receiver that is not ready: how long the requester waits, and how often */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TC-E-8, E-9, E-10, E-14.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "rc/codes.h"
#include "rule.h"

/* The table of the book, in units of 10 us. */
static const uint32_t waits[32] = { 65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
				    48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
				    2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152 };

static uint64_t slack(uint64_t wait)
{
	return wait / 10 > 20000 ? wait / 10 : 20000;
}

static struct pair *open_with_send(const struct pair_options *options)
{
	struct pair *pair = pair_open(options);

	pair_cut(pair);
	pair_send(pair, 1, 16);
	pair_transmit(pair, A);
	pair_forget(pair);
	return pair;
}

/* TC-E-8 */
Test(rnr, each_of_the_32_codes_is_waited_for_no_less_and_hardly_more)
{
	RULE("R-2");
	RULE("R-4");
	for (uint32_t code = 0; code < 32; code++) {
		struct pair *pair = open_with_send(&(struct pair_options){ .rnr_timer = 31, .timeout = 8 });
		struct rc_qp *qp = pair->side[A].qp;
		uint64_t wait = waits[code] * 10000ull, start, deadline;

		cr_assert_eq(rc_codes_rnr_ns(code), wait, "code %u", code);
		pair->now_ns += 5000;
		start = pair->now_ns;
		pair_respond(pair, ack_packet(0, (uint8_t)(SYNDROME_RNR + code), 0));
		expect_leaves(pair, A);
		deadline = rc_qp_deadline(qp);
		cr_assert_geq(deadline, start + wait, "code %u: %lu ns early", code, start + wait - deadline);
		cr_assert_leq(deadline, start + wait + slack(wait), "code %u: %lu ns late", code,
			      deadline - start - wait);
		pair->now_ns = start + wait - 1;
		rc_qp_timeout(qp, pair->now_ns);
		pair_transmit(pair, A);
		expect_leaves(pair, A);
		pair->now_ns = deadline;
		rc_qp_timeout(qp, pair->now_ns);
		pair_transmit(pair, A);
		expect_leaves(pair, A, "SEND_ONLY psn=0 ackreq bytes=16");
		/* The ACK timer stood still. */
		expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
		expect_counts(pair, A, CNT_RNR_NAK_RETRY_ERR, 1);
		cr_assert_geq(rc_qp_deadline(qp), deadline + rc_codes_timeout_ns(8));
		pair_close(pair);
	}
}

Test(rnr, new_qp_uses_the_default_rnr_timer)
{
	struct rc_qp_config config = { .qpn = 5,
				       .pd = 1,
				       .max_send_wr = 4,
				       .max_recv_wr = 4,
				       .max_send_sge = 1,
				       .max_recv_sge = 1,
				       .max_mtu_bytes = 4096,
				       .start_psn = 0x123456 };
	void *memory = aligned_alloc(64, rc_qp_bytes(&config));
	struct uroce_qp_attr attr;

	RULE("R-2");
	RULE("P-2");
	memset(memory, 0, rc_qp_bytes(&config));
	rc_qp_query(rc_qp_init(memory, &config), &attr);
	cr_assert_eq(attr.min_rnr_timer, 12);
	cr_assert_eq(attr.sq_psn, 0x123456, "the random one, until the user sets another");
	free(memory);
}

/* TC-C-3 */
Test(rnr, the_responder_sends_its_own_code)
{
	RULE("R-2");
	RULE("R-1");
	for (uint32_t code = 1; code < 32; code++) {
		struct pair *pair = pair_open(&(struct pair_options){ .rnr_timer = (uint8_t)code });

		pair_request(pair, send_packet(OP_SEND_ONLY, 0, 8));
		expect_leaves(pair, B, pair_text("RNR_NAK psn=0 timer=%u msn=0", code));
		pair_close(pair);
	}
}

/* Packets after the NAKed one were not lost: resends after a wait and after a loss have separate counters. */
Test(rnr, resend_after_an_rnr_wait_is_not_counted_as_loss)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	uint64_t naks;

	RULE("R-4");
	RULE("O-1");
	pair_send(pair, 1, 8);
	pair_write(pair, 2, 8);
	pair_settle(pair, 100000);
	pair_recv(pair, B, 9, 0, 64);
	pair_settle(pair, 1000000000);
	expect_completes(pair, A, "wr=1 SEND SUCCESS", "wr=2 WRITE SUCCESS");
	naks = pair->side[A].qp->counters[CNT_RNR_NAK_RETRY_ERR];
	cr_assert_geq(naks, 1);
	expect_counts(pair, A, CNT_RNR_RESENT_PACKETS, 2 * naks);
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 0);
	pair_cut(pair);
	pair_write(pair, 3, 8);
	pair_transmit(pair, A);
	pair_mend(pair);
	pair_settle(pair, 1000000000);
	expect_completes(pair, A, "wr=3 WRITE SUCCESS");
	expect_counts(pair, A, CNT_RNR_RESENT_PACKETS, 2 * naks);
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 1);
	pair_close(pair);
}

/* Packets before the NAK's PSN are done; none from it on leaves, including new requests. */
Test(rnr, no_packet_from_the_rnr_psn_on_leaves_during_the_wait)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("R-4");
	RULE("K-0");
	pair_cut(pair);
	pair_write(pair, 1, 8);
	pair_send(pair, 2, 8);
	pair_write(pair, 3, 8);
	pair_transmit(pair, A);
	pair_forget(pair);
	pair_respond(pair, ack_packet(1, SYNDROME_RNR + 14, 1));
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	pair_write(pair, 4, 8);
	pair_transmit(pair, A);
	/* Repeated, or from Linux, which sends a sequence NAK for what came behind: both free. */
	pair->now_ns += 100000;
	pair_respond(pair, ack_packet(1, SYNDROME_RNR + 20, 1));
	pair_respond(pair, ack_packet(1, SYNDROME_SEQUENCE, 1));
	expect_leaves(pair, A);
	cr_assert_leq(rc_qp_deadline(pair->side[A].qp), pair->now_ns + 1280000 + 128000);
	expect_counts(pair, A, CNT_RNR_NAK_RETRY_ERR, 1);
	expect_counts(pair, A, CNT_PACKET_SEQ_ERR, 0);
	expect_counts(pair, A, CNT_REPEATED_NAK, 2);
	pair_mend(pair);
	pair_recv(pair, B, 9, 0, 64);
	pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 0, 0, 8, 8)); /* it was cut off too */
	pair_settle(pair, 1000000000);
	expect_completes(pair, A, "wr=2 SEND SUCCESS", "wr=3 WRITE SUCCESS", "wr=4 WRITE SUCCESS");
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	pair_close(pair);
}

static void check_count(uint8_t option, uint32_t resends)
{
	struct pair *pair = open_with_send(&(struct pair_options){ .rnr_retry = option });

	pair_write(pair, 2, 8);
	for (uint32_t i = 0; i < resends; i++) {
		pair_respond(pair, ack_packet(0, SYNDROME_RNR + 1, 0));
		expect_completes(pair, A);
		pair_forget(pair);
		pair_fire(pair);
		cr_assert_str_eq(pair->side[A].sent[0], "SEND_ONLY psn=0 ackreq bytes=16", "resend %u of %u", i,
				 resends);
		pair_forget(pair);
	}
	pair_respond(pair, ack_packet(0, SYNDROME_RNR + 1, 0));
	cr_assert_eq(pair->side[A].wcs[0].vendor_err, UROCE_CAUSE_RNR);
	cr_assert_eq(pair->side[A].wcs[0].retries, resends, "%u retries reported", pair->side[A].wcs[0].retries);
	expect_completes(pair, A, "wr=1 SEND RNR_RETRY_EXC_ERR", "wr=2 WRITE WR_FLUSH_ERR");
	expect_events(pair, A, "QP_FATAL");
	expect_leaves(pair, A);
	cr_assert_eq(peek_state(pair->side[A].qp), UROCE_QPS_ERR);
	pair_close(pair);
}

/* TC-E-9 */
Test(rnr, rnr_retry_counts_the_resends)
{
	RULE("R-5");
	RULE("R-6");
	RULE("E-4");
	check_count(255, 0);
	check_count(1, 1);
	check_count(6, 6);
}

/* TC-E-10 */
Test(rnr, rnr_retry_seven_is_unlimited_until_modified)
{
	struct pair *pair = open_with_send(&(struct pair_options){ .rnr_retry = 7, .retry_cnt = 255 });

	RULE("R-5");
	RULE("E-6");
	for (uint32_t i = 0; i < 500; i++) {
		pair_respond(pair, ack_packet(0, SYNDROME_RNR + 1, 0));
		expect_leaves(pair, A);
		pair_fire(pair);
		expect_leaves(pair, A, "SEND_ONLY psn=0 ackreq bytes=16");
	}
	pair_respond(pair, ack_packet(0, SYNDROME_RNR + 1, 0));
	cr_assert_eq(rc_qp_modify(pair->side[A].qp, &(struct uroce_qp_attr){ .qp_state = UROCE_QPS_ERR },
				  UROCE_QP_STATE, &(uint32_t){ 0 }),
		     0);
	pair_transmit(pair, A);
	expect_completes(pair, A, "wr=1 SEND WR_FLUSH_ERR");
	cr_assert_eq(rc_qp_deadline(pair->side[A].qp), RC_NEVER);
	expect_events(pair, A);
	pair_close(pair);
}

/* TC-E-14: two budgets, neither pays for the other; both are full again after an answer. */
Test(rnr, rnr_and_loss_budgets_are_separate)
{
	struct pair *pair = open_with_send(&(struct pair_options){ .rnr_retry = 2, .retry_cnt = 2 });

	RULE("R-5");
	RULE("T-3");
	pair_fire(pair);                                        /* timeout 1 of 2 */
	pair_respond(pair, ack_packet(0, SYNDROME_RNR + 1, 0)); /* RNR 1 of 2 */
	pair_fire(pair);
	pair_respond(pair, ack_packet(0, SYNDROME_RNR + 1, 0)); /* RNR 2 of 2 */
	pair_fire(pair);
	pair_fire(pair); /* timeout 2 of 2 */
	expect_completes(pair, A);
	cr_assert_eq(peek_state(pair->side[A].qp), UROCE_QPS_RTS);
	pair_send(pair, 2, 8);
	pair_transmit(pair, A);
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	expect_completes(pair, A, "wr=1 SEND SUCCESS");
	for (int i = 0; i < 2; i++) {
		pair_respond(pair, ack_packet(1, SYNDROME_RNR + 1, 1));
		pair_fire(pair);
		pair_fire(pair);
	}
	expect_completes(pair, A);
	pair_respond(pair, ack_packet(1, SYNDROME_RNR + 1, 1));
	expect_completes(pair, A, "wr=2 SEND RNR_RETRY_EXC_ERR");
	pair_close(pair);
}

/* An RNR NAK may come for anything: a READ in the middle as well. */
Test(rnr, each_request_kind_recovers_from_an_rnr_nak)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("R-9");
	RULE("R-1");
	pair_cut(pair);
	pair_write(pair, 1, 2000);
	pair_read(pair, 2, 3000);
	pair_fetch_add(pair, 3, 1);
	pair_transmit(pair, A);
	pair_forget(pair);
	pair_respond(pair, ack_packet(1, SYNDROME_RNR + 1, 0));
	pair_fire(pair);
	expect_leaves(pair, A, "WRITE_LAST psn=1 ackreq bytes=976", "READ_REQUEST psn=2 ackreq va=0x0 len=3000",
		      "FETCH_ADD psn=5 ackreq va=0x0 add=0x1");
	pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 2, 1024));
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	pair_respond(pair, ack_packet(3, SYNDROME_RNR + 1, 1));
	expect_leaves(pair, A);
	pair_fire(pair);
	expect_leaves(pair, A, "READ_REQUEST psn=3 ackreq va=0x400 len=1976", "FETCH_ADD psn=5 ackreq va=0x0 add=0x1");
	pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 3, 1024));
	pair_respond(pair, response_packet(OP_READ_RESPONSE_LAST, 4, 952));
	expect_completes(pair, A, "wr=2 READ SUCCESS len=3000");
	pair_respond(pair, ack_packet(5, SYNDROME_RNR + 1, 2));
	pair_fire(pair);
	expect_leaves(pair, A, "FETCH_ADD psn=5 ackreq va=0x0 add=0x1");
	pair_respond(pair, atomic_ack_packet(5, 3));
	expect_completes(pair, A, "wr=3 FADD SUCCESS");
	pair_close(pair);
}

/* with the shortest code a ping-pong whose receives always come late still flows. */
Test(rnr, a_ping_pong_through_rnr_flows)
{
	struct pair *pair = pair_open(&(struct pair_options){ .rnr_timer = 1 });
	uint64_t start = pair->now_ns;

	RULE("R-7");
	RULE("R-8");
	for (uint32_t i = 0; i < 100; i++) {
		cr_assert_eq(pair_send(pair, i, 100), 0);
		pair_run(pair);
		cr_assert_eq(pair_recv(pair, B, i, 8192, 128), 0);
		pair_fire(pair);
		expect_completes(pair, A, pair_text("wr=%u SEND SUCCESS", i));
		expect_completes(pair, B, pair_text("wr=%u RECV SUCCESS len=100", i));
	}
	cr_assert_lt(pair->now_ns - start, 100 * 50000, "%lu ns for a hundred", pair->now_ns - start);
	expect_counts(pair, B, CNT_OUT_OF_BUFFER, 100);
	/* A peer that does not wait is judged as it comes. */
	pair_request(pair, send_packet(OP_SEND_ONLY, 100, 8));
	pair_recv(pair, B, 500, 8192, 128);
	pair_request(pair, send_packet(OP_SEND_ONLY, 100, 8));
	expect_completes(pair, B, "wr=500 RECV SUCCESS len=8");
	pair_close(pair);
}

/* The NAK was of an earlier try, and the request has been taken meanwhile: there is nothing left to wait for. */
Test(rnr, an_acknowledge_ends_the_wait)
{
	struct pair *pair = open_with_send(&(struct pair_options){ 0 });

	RULE("R-4");
	RULE("Q-7");
	pair_respond(pair, ack_packet(0, SYNDROME_RNR + 31, 0));
	cr_assert_neq(rc_qp_deadline(pair->side[A].qp), RC_NEVER);
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	expect_completes(pair, A, "wr=1 SEND SUCCESS");
	cr_assert_eq(rc_qp_deadline(pair->side[A].qp), RC_NEVER);
	pair_write(pair, 2, 8);
	pair_forget(pair);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=1 ackreq va=0x0 len=8 bytes=8");
	pair_close(pair);
}

/* Answers of the READ that came before the packet for which there is no receive do not end the wait for it. */
Test(rnr, answers_to_earlier_requests_do_not_end_the_wait)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = 1024, .rnr_timer = 14 });
	struct rc_qp *qp = pair->side[A].qp;
	uint64_t until;

	RULE("R-4");
	RULE("R-9");
	pair_cut(pair);
	pair_read(pair, 1, 4096);
	pair_transmit(pair, A);
	pair_respond(pair, ack_packet(2, SYNDROME_RNR | 14, 0)); /* of its third packet, for want of memory */
	until = peek_rnr_ns(qp);
	cr_assert_neq(until, RC_NEVER);
	pair_forget(pair);
	for (uint32_t i = 0; i < 2; i++) {
		struct wire_packet answer = send_packet(i ? OP_READ_RESPONSE_MIDDLE : OP_READ_RESPONSE_FIRST, i, 1024);

		pair_respond(pair, answer);
	}
	cr_assert_eq(peek_acked(qp), 2);
	cr_assert_eq(peek_rnr_ns(qp), until);
	expect_leaves(pair, A);
	pair_respond(pair, send_packet(OP_READ_RESPONSE_MIDDLE, 2, 1024)); /* it was ready after all */
	cr_assert_eq(peek_rnr_ns(qp), RC_NEVER);
	expect_leaves(pair, A, "READ_REQUEST psn=3 ackreq va=0xc00 len=1024");
	pair_close(pair);
}

/*
 * The queue of a slow node holds RNR NAKs that answer earlier copies, one each 100 us for 0.3 s; a round trip takes
 * 1 ms. If each of them ended in a resend, 32 packets would leave 3000 times, and each time draw one more RNR NAK.
 */
Test(rnr, stale_rnr_naks_cause_few_resends)
{
	struct pair *pair = pair_open(&(struct pair_options){ .rnr_timer = 1 });
	struct rc_qp *qp = pair->side[A].qp;
	uint64_t left_ns = 0;
	uint32_t rounds = 0;

	RULE("R-4");
	RULE("T-5");
	pair_measure(pair, 1000000);
	pair_cut(pair);
	for (uint32_t i = 0; i < 32; i++)
		pair_send(pair, i, 8);
	pair_transmit(pair, A);
	for (uint32_t i = 0; i < 3000; i++) {
		uint32_t sent = pair->side[A].packets;

		pair->now_ns += 100000;
		rc_qp_timeout(qp, pair->now_ns);
		pair_transmit(pair, A);
		if (pair->side[A].packets > sent) {
			rounds++;
			left_ns = pair->now_ns;
		}
		pair_respond(pair, ack_packet(peek_acked(qp), SYNDROME_RNR + 1, 0));
	}
	cr_assert_lt(rounds, 16, "%u", rounds);
	cr_assert_eq(peek_retries_left(qp), 7);
	cr_assert_leq(peek_rnr_ns(qp) - left_ns, peek_timeout_ns(qp), "no wait is longer than the ACK timeout");
	pair_close(pair);
}

/* An answer that came no sooner than an answer can come: the wait is the advertised one, however often. */
Test(rnr, rnr_naks_in_time_do_not_prolong_the_wait)
{
	struct pair *pair = pair_open(&(struct pair_options){ .rnr_timer = 1 });
	struct rc_qp *qp = pair->side[A].qp;

	RULE("R-4");
	pair_measure(pair, 1000000);
	pair_cut(pair);
	pair_send(pair, 1, 8);
	pair_transmit(pair, A);
	for (uint32_t i = 0; i < 20; i++) {
		pair->now_ns += 1000000;
		pair_respond(pair, ack_packet(peek_acked(qp), SYNDROME_RNR + 1, 0));
		cr_assert_eq(peek_rnr_ns(qp), pair->now_ns + 10000, "round %u", i);
		pair_timeout_at(pair, qp, peek_rnr_ns(qp));
		pair_transmit(pair, A);
	}
	pair_close(pair);
}

/*
 * A peer without a receive has dropped the READ after the SEND, and accepts a copy of the SEND as soon as it has one:
 * a new request after the copy would look like a gap.
 */
Test(rnr, message_is_not_repeated_before_a_read)
{
	struct pair *pair = pair_open(&(struct pair_options){ .rd_atomic = 1 });

	RULE("T-6");
	RULE("R-3");
	poke_probes(pair->side[A].qp, true);
	pair_write(pair, 100, 8); /* measures a round trip */
	pair_run(pair);
	pair_cut(pair);
	pair_send(pair, 1, 8);
	pair_read(pair, 2, 3000);
	pair_transmit(pair, A);
	pair_forget(pair);
	pair_timeout_at(pair, pair->side[A].qp, rc_qp_deadline(pair->side[A].qp));
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=0 bytes=0");
	pair_close(pair);
}
