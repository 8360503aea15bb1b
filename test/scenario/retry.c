/* retry.c - the ACK timer and the retry budget: when the requester tries again, how often, and when it gives up */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TC-E-5, E-11 to E-14, E-26.
 */
#include <criterion/criterion.h>

#include "opened.h"
#include "packets.h"
#include "peek.h"
#include "rule.h"

static uint64_t slack(uint64_t wait)
{
	return wait / 10 > 20000 ? wait / 10 : 20000;
}

/* One WRITE and its ACK, so that a round trip of 10 us has been measured. PSN 0 is used then. */
static struct pair *open_measured(uint8_t retry_cnt)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .retry_cnt = retry_cnt });

	pair_measure_alone(pair, 10000);
	return pair;
}

/* TC-E-12, TC-E-13 */
Test(retry, timer_fires_between_its_nominal_time_and_the_tolerance)
{
	RULE("T-1");
	RULE("T-2");
	for (uint32_t code = 1; code < 32; code++) {
		struct pair *pair = pair_open_cut(&(struct pair_options){ .timeout = (uint8_t)code });
		struct rc_qp *qp = pair->side[A].qp;
		uint64_t wait = 4096ull << code, start = pair->now_ns, deadline;

		cr_assert_eq(rc_qp_deadline(qp), RC_NEVER);
		pair_write(pair, 1, 8);
		pair_write(pair, 2, 2000);
		pair_transmit(pair, A);
		pair_forget(pair);
		deadline = rc_qp_deadline(qp);
		cr_assert_geq(deadline, start + wait, "code %u", code);
		cr_assert_leq(deadline, start + wait + slack(wait), "code %u", code);
		pair->now_ns = start + wait - 1;
		rc_qp_timeout(qp, pair->now_ns);
		pair_transmit(pair, A);
		expect_leaves(pair, A);
		pair->now_ns = deadline;
		rc_qp_timeout(qp, pair->now_ns);
		pair_transmit(pair, A);
		expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=8 bytes=8",
			      "WRITE_FIRST psn=1 va=0x0 len=2000 bytes=1024", "WRITE_LAST psn=2 ackreq bytes=976");
		expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 1);
		/* It runs anew for the resend. */
		cr_assert_geq(rc_qp_deadline(qp), deadline + wait, "code %u", code);
		cr_assert_leq(rc_qp_deadline(qp), deadline + wait + slack(wait), "code %u", code);
		pair_close(pair);
	}
}

/* TC-E-12 */
Test(retry, code_zero_is_no_timer)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .timeout = 255 });

	RULE("T-1");
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	pair_forget(pair);
	cr_assert_eq(rc_qp_deadline(pair->side[A].qp), RC_NEVER);
	pair->now_ns += 3600000000000ull;
	rc_qp_timeout(pair->side[A].qp, pair->now_ns);
	pair_transmit(pair, A);
	expect_leaves(pair, A);
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	pair_close(pair);
}

Test(retry, only_progress_restarts_the_timer)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .timeout = 10 });
	struct rc_qp *qp = pair->side[A].qp;
	uint64_t first, wait = 4096ull << 10;

	RULE("T-1");
	pair_write(pair, 1, 3000);
	pair_transmit(pair, A);
	first = rc_qp_deadline(qp);
	pair->now_ns += 100000;
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	pair_respond(pair, ack_packet(0xFFFFFF, SYNDROME_PLAIN_ACK, 0)); /* a ghost */
	cr_assert_eq(rc_qp_deadline(qp), first, "a new request moved the timer");
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 0));
	cr_assert_geq(rc_qp_deadline(qp), pair->now_ns + wait);
	first = rc_qp_deadline(qp);
	pair->now_ns += 100000;
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 0));
	cr_assert_eq(rc_qp_deadline(qp), first, "a stale ACK moved the timer");
	pair_respond(pair, ack_packet(3, SYNDROME_PLAIN_ACK, 2));
	cr_assert_eq(rc_qp_deadline(qp), RC_NEVER, "nothing is under way");
	pair_close(pair);
}

/* N means N resends; seven is seven (TC-E-11). */
static void check_count(uint8_t option, uint32_t resends)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .retry_cnt = option });

	pair_write(pair, 1, 8);
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	expect_sent_count(pair, A, 2);
	pair_forget(pair);
	for (uint32_t i = 0; i < resends; i++) {
		pair_fire(pair);
		expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=8 bytes=8",
			      "WRITE_ONLY psn=1 ackreq va=0x0 len=8 bytes=8");
		expect_completes(pair, A);
	}
	pair_fire(pair);
	expect_leaves(pair, A);
	cr_assert_eq(pair->side[A].wcs[0].vendor_err, UROCE_CAUSE_TIMEOUT);
	cr_assert_eq(pair->side[A].wcs[0].psn, 0);
	cr_assert_eq(pair->side[A].wcs[0].retries, resends, "%u retries", pair->side[A].wcs[0].retries);
	expect_completes(pair, A, "wr=1 WRITE RETRY_EXC_ERR", "wr=2 WRITE WR_FLUSH_ERR");
	expect_events(pair, A, "QP_FATAL");
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, resends + 1);
	cr_assert_eq(rc_qp_deadline(pair->side[A].qp), RC_NEVER);
	pair_close(pair);
}

/* TC-E-11 */
Test(retry, retry_cnt_counts_resends_and_seven_is_finite)
{
	RULE("T-3");
	RULE("T-4");
	RULE("E-4");
	check_count(255, 0);
	check_count(1, 1);
	check_count(6, 6);
	check_count(7, 7);
}

/* TC-E-3: one budget for timeouts, sequence NAKs and implied NAKs; the cause is that of the last. */
Test(retry, all_retry_triggers_share_one_budget)
{
	RULE("T-3");
	RULE("T-4");
	RULE("E-4");
	for (int last = 0; last < 3; last++) {
		static const uint8_t causes[] = { UROCE_CAUSE_TIMEOUT, UROCE_CAUSE_SEQUENCE_NAK,
						  UROCE_CAUSE_IMPLIED_NAK };
		struct pair *pair = open_measured(3);

		pair_read(pair, 1, 8);
		pair_write(pair, 2, 8);
		pair_transmit(pair, A);
		pair->now_ns += 20000;
		pair_respond(pair, ack_packet(2, SYNDROME_PLAIN_ACK, 3));
		pair_fire(pair);
		pair->now_ns += 60000; /* each restart at the same PSN doubles the time of echoes, 30000 at first */
		pair_respond(pair, ack_packet(1, SYNDROME_SEQUENCE, 1));
		expect_completes(pair, A);
		expect_sent_count(pair, A, 2 + 3 * 2);
		pair_forget(pair);
		pair->now_ns += 120000;
		if (last == 0) {
			pair_fire(pair);
		} else if (last == 1) {
			pair_respond(pair, ack_packet(1, SYNDROME_SEQUENCE, 1));
		} else {
			/* the first may still be of the old flight; a second one speaks of the resend */
			pair_respond(pair, ack_packet(2, SYNDROME_PLAIN_ACK, 3));
			pair_respond(pair, ack_packet(2, SYNDROME_PLAIN_ACK, 3));
		}
		cr_assert_eq(pair->side[A].wcs[0].vendor_err, causes[last], "cause %u",
			     pair->side[A].wcs[0].vendor_err);
		expect_completes(pair, A, "wr=1 READ RETRY_EXC_ERR", "wr=2 WRITE WR_FLUSH_ERR");
		pair_close(pair);
	}
}

/* TC-E-14: progress is a PSN not covered before, in mid-message too. */
Test(retry, progress_fills_the_budget)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .retry_cnt = 1 });

	RULE("T-3");
	pair_write(pair, 1, 8000);
	pair_transmit(pair, A);
	for (uint32_t psn = 0; psn < 6; psn++) {
		pair_fire(pair);
		pair_respond(pair, ack_packet(psn, SYNDROME_PLAIN_ACK, 0));
		cr_assert_eq(peek_state(pair->side[A].qp), UROCE_QPS_RTS);
	}
	pair_fire(pair);
	pair_respond(pair, ack_packet(5, SYNDROME_PLAIN_ACK, 0)); /* covers nothing new */
	pair_fire(pair);
	expect_completes(pair, A, "wr=1 WRITE RETRY_EXC_ERR");
	pair_close(pair);
}

Test(retry, nak_with_progress_refills_the_budget_and_costs_one)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .retry_cnt = 1 });

	RULE("T-3");
	pair_write(pair, 1, 3000);
	pair_transmit(pair, A);
	pair_fire(pair);
	pair_respond(pair, ack_packet(1, SYNDROME_SEQUENCE, 0));
	expect_completes(pair, A);
	pair_fire(pair);
	expect_completes(pair, A, "wr=1 WRITE RETRY_EXC_ERR");
	cr_assert_eq(pair->side[A].wcs[0].psn, 1);
	pair_close(pair);
	pair = pair_open_cut(&(struct pair_options){ .retry_cnt = 255 });
	pair_write(pair, 1, 3000);
	pair_transmit(pair, A);
	pair_respond(pair, ack_packet(1, SYNDROME_SEQUENCE, 0));
	expect_completes(pair, A, "wr=1 WRITE RETRY_EXC_ERR");
	cr_assert_eq(pair->side[A].wcs[0].vendor_err, UROCE_CAUSE_SEQUENCE_NAK);
	pair_close(pair);
}

/* TC-E-5: an answer to the resend takes a round trip; a NAK that is here sooner speaks of the old packets. */
Test(retry, nak_older_than_the_resend_is_a_repetition)
{
	struct pair *pair = open_measured(7);

	RULE("T-5");
	pair_write(pair, 1, 8);
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	pair->now_ns += 50000;
	pair_forget(pair);
	pair_respond(pair, ack_packet(1, SYNDROME_SEQUENCE, 1));
	expect_leaves(pair, A, "WRITE_ONLY psn=1 ackreq va=0x0 len=8 bytes=8",
		      "WRITE_ONLY psn=2 ackreq va=0x0 len=8 bytes=8");
	pair->now_ns += 29999; /* the mean is 10000, the deviation half of it */
	pair_respond(pair, ack_packet(1, SYNDROME_SEQUENCE, 1));
	expect_leaves(pair, A);
	expect_counts(pair, A, CNT_REPEATED_NAK, 1);
	expect_counts(pair, A, CNT_PACKET_SEQ_ERR, 1);
	pair->now_ns += 1;
	pair_respond(pair, ack_packet(1, SYNDROME_SEQUENCE, 1));
	expect_leaves(pair, A, "WRITE_ONLY psn=1 ackreq va=0x0 len=8 bytes=8",
		      "WRITE_ONLY psn=2 ackreq va=0x0 len=8 bytes=8");
	expect_counts(pair, A, CNT_PACKET_SEQ_ERR, 2);
	pair_close(pair);
}

/* Not the PSN that was rewound to: a new loss, however soon. */
Test(retry, a_nak_for_another_psn_is_a_new_failure)
{
	struct pair *pair = open_measured(7);

	RULE("T-5");
	pair_write(pair, 1, 8);
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	pair_respond(pair, ack_packet(1, SYNDROME_SEQUENCE, 1));
	pair_forget(pair);
	pair->now_ns += 1000;
	pair_respond(pair, ack_packet(2, SYNDROME_SEQUENCE, 2));
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	expect_leaves(pair, A, "WRITE_ONLY psn=2 ackreq va=0x0 len=8 bytes=8");
	expect_counts(pair, A, CNT_PACKET_SEQ_ERR, 2);
	pair_close(pair);
}

/* The ACK of a resend may answer the first copy, so it measures no round trip. */
Test(retry, a_resend_measures_no_round_trip)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ 0 });

	RULE("T-5");
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	pair_fire(pair);
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	cr_assert_eq(peek_round_trip_ns(pair->side[A].qp), 0);
	pair_close(pair);
}

/* the old flight ends with the last packet sent; an answer to a newer one shows a second loss. */
Test(retry, an_answer_beyond_the_old_flight_is_a_new_sign)
{
	struct pair *pair = open_measured(7);

	RULE("Q-9");
	RULE("Q-8");
	pair_read(pair, 1, 8);
	pair_write(pair, 2, 8);
	pair_write(pair, 3, 8);
	pair_transmit(pair, A);
	pair_respond(pair, ack_packet(2, SYNDROME_PLAIN_ACK, 3));
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
	pair->now_ns += 20000;
	pair_respond(pair, ack_packet(3, SYNDROME_PLAIN_ACK, 4));
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
	pair_write(pair, 4, 8);
	pair_transmit(pair, A);
	pair_forget(pair);
	pair->now_ns += 10000;
	pair_respond(pair, ack_packet(4, SYNDROME_PLAIN_ACK, 5));
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 2);
	expect_sent(pair, A, 0, "READ_REQUEST psn=1 ackreq va=0x0 len=8");
	pair_close(pair);
}

/* TC-E-26: a flood of NAKs draws at most one rewind a round trip, and ends with the budget. */
Test(retry, a_flood_of_naks_is_bounded)
{
	struct pair *pair = open_measured(7);

	RULE("T-5");
	RULE("T-3");
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	pair_forget(pair);
	for (uint32_t i = 0; i < 600; i++) {
		pair->now_ns += 100;
		pair_respond(pair, ack_packet(1, SYNDROME_SEQUENCE, 1));
	}
	expect_sent_count(pair, A, 2); /* at once, and after 30 us; the next one would be after another 60 */
	for (uint32_t i = 0; i < 40000; i++) {
		pair->now_ns += 100;
		pair_respond(pair, ack_packet(1, SYNDROME_SEQUENCE, 1));
	}
	expect_sent_count(pair, A, 7);
	expect_completes(pair, A, "wr=1 WRITE RETRY_EXC_ERR");
	pair_close(pair);
}

/* A peer that is only deaf for a while costs time, not data. */
Test(retry, resent_requests_are_executed_once)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .receives = 2 });

	RULE("T-2");
	RULE("S-8");
	pair_set_word(pair, B, 0, 5);
	pair_send(pair, 1, 3000);
	pair_fetch_add(pair, 2, 1);
	pair_send(pair, 3, 1);
	pair_transmit(pair, A);
	pair_fire(pair);
	pair_mend(pair);
	cr_assert(pair_settle(pair, 10000000000ull));
	expect_completes(pair, A, "wr=1 SEND SUCCESS", "wr=2 FADD SUCCESS", "wr=3 SEND SUCCESS");
	expect_completes(pair, B, "wr=1000 RECV SUCCESS len=3000", "wr=1001 RECV SUCCESS len=1");
	cr_assert_eq(pair_word(pair, B, 0), 6);
	pair_close(pair);
}

/* TC-E-12: off is off, after an ACK for a part of what is in flight as well. */
Test(retry, progress_starts_no_disabled_timer)
{
	struct pair *pair = pair_open(&(struct pair_options){ .timeout = 255 });

	RULE("T-1");
	pair_cut(pair);
	pair_write(pair, 1, 3000);
	pair_transmit(pair, A);
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 0));
	cr_assert_eq(rc_qp_deadline(pair->side[A].qp), RC_NEVER);
	rc_qp_timeout(pair->side[A].qp, pair->now_ns + 3600000000000ull);
	pair_transmit(pair, A);
	expect_sent_count(pair, A, 3);
	pair_close(pair);
}

/* ACKs of packets before the timed one do not end its round trip. */
Test(retry, round_trip_ends_with_the_answer_to_the_timed_packet)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ 0 });
	uint64_t sent_ns = pair->now_ns + 8000;

	RULE("T-5");
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	pair->now_ns = sent_ns;
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	pair_write(pair, 2, 3000);
	pair_transmit(pair, A);
	pair->now_ns += 1000;
	pair_respond(pair, ack_packet(1, SYNDROME_PLAIN_ACK, 0));
	cr_assert_eq(peek_round_trip_ns(pair->side[A].qp), 8000);
	pair->now_ns += 50000;
	pair_respond(pair, ack_packet(3, SYNDROME_PLAIN_ACK, 2));
	cr_assert_eq(peek_round_trip_ns(pair->side[A].qp), (7 * 8000 + pair->now_ns - sent_ns) / 8);
	pair_close(pair);
}

/* T-5, TC-E-5: a NAK within a round trip plus four deviations is an echo. */
Test(retry, rtt_mean_and_deviation_bound_repetitions)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .retry_cnt = 7 });
	struct rc_rtt *trip = &pair->side[A].qp->rtt;
	uint64_t bound_ns;

	RULE("T-5");
	for (uint32_t i = 0; i < 3; i++) {
		pair_write(pair, i, 8);
		pair_transmit(pair, A);
		pair->now_ns += 10000 + 1000 * i;
		pair_respond(pair, ack_packet(i, SYNDROME_PLAIN_ACK, i + 1));
	}
	bound_ns = trip->srtt_ns + 4 * trip->rttvar_ns;
	pair_write(pair, 3, 8);
	pair_transmit(pair, A);
	pair->now_ns += 100000;
	pair_respond(pair, ack_packet(3, SYNDROME_SEQUENCE, 3));
	expect_counts(pair, A, CNT_PACKET_SEQ_ERR, 1);
	for (uint32_t i = 0; i < 3; i++) { /* each restart at the same PSN makes it twice as long */
		pair->now_ns += (bound_ns << i) - 1;
		pair_respond(pair, ack_packet(3, SYNDROME_SEQUENCE, 3));
		expect_counts(pair, A, CNT_PACKET_SEQ_ERR, i + 1);
		expect_counts(pair, A, CNT_REPEATED_NAK, i + 1);
		pair->now_ns += 1;
		pair_respond(pair, ack_packet(3, SYNDROME_SEQUENCE, 3));
		expect_counts(pair, A, CNT_PACKET_SEQ_ERR, i + 2);
	}
	pair_close(pair);
}

/* One packet at a time is timed: the first of all, then the first that asks, once, until it is answered. */
Test(retry, round_trip_starts_with_the_first_ackreq)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ 0 });
	const struct rc_rtt *trip = &pair->side[A].qp->rtt;

	RULE("T-5");
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	pair->now_ns += 8000;
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	cr_assert_eq(trip->srtt_ns, 8000);
	pair_write(pair, 2, 3000);
	pair_transmit(pair, A);
	pair->now_ns += 1000;
	pair_respond(pair, ack_packet(1, SYNDROME_PLAIN_ACK, 1)); /* it did not ask, nor the one behind it */
	cr_assert_eq(trip->srtt_ns, 8000);
	pair->now_ns += 15000;
	pair_respond(pair, ack_packet(3, SYNDROME_PLAIN_ACK, 2));
	cr_assert_eq(trip->srtt_ns, 9000);
	pair_write(pair, 3, 8);
	pair_transmit(pair, A);
	pair->now_ns += 1000;
	pair_write(pair, 4, 8); /* asks as well */
	pair_transmit(pair, A);
	pair->now_ns += 16000;
	pair_respond(pair, ack_packet(4, SYNDROME_PLAIN_ACK, 3));
	cr_assert_eq(trip->srtt_ns, 10000);
	pair_fire(pair);
	pair->now_ns += 100;
	pair_respond(pair, ack_packet(5, SYNDROME_PLAIN_ACK, 4)); /* whether of the resend nobody knows */
	cr_assert_eq(trip->srtt_ns, 10000);
	pair_close(pair);
}
