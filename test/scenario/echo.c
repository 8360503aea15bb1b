/* echo.c - what comes after a restart: of the earlier flight, which is free, or an answer to what was sent again */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "opened.h"
#include "packets.h"
#include "peek.h"
#include "rule.h"

#define MTU 256u
#define ROUND_TRIP_NS 10000ull

/* A has measured a round trip; PSN 0 is used then. */
static const struct pair_options options = { .mtu = MTU, .rd_atomic = 8, .receives = 8, .no_boards = true };

/* Four atomics, of which the answer to the newest has come first; so many of them have gone out again. */
static struct pair *open_resending(uint32_t resent)
{
	struct pair *pair = pair_open_measured(&options, ROUND_TRIP_NS);

	pair_cut(pair);
	for (uint64_t i = 1; i <= 4; i++)
		pair_fetch_add(pair, i, 1);
	pair_transmit(pair, A);
	pair_inject(pair, A, atomic_ack_packet(4, 0));
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
	if (resent)
		pair_transmit_some(pair, A, resent);
	pair_forget(pair);
	return pair;
}

/* A packet about to leave needs no restart; a packet sent again does, however much is left to send. */
Test(echo, nak_for_a_packet_about_to_leave_is_an_echo)
{
	RULE("T-5");
	for (uint32_t resent = 1; resent < 3; resent++) {
		struct pair *pair = open_resending(resent);

		pair_inject(pair, A, atomic_ack_packet(1, 0)); /* progress: the next PSN has not been rewound to */
		pair_inject(pair, A, ack_packet(2, SYNDROME_SEQUENCE, 1));
		expect_counts(pair, A, CNT_PACKET_SEQ_ERR, resent - 1);
		expect_counts(pair, A, CNT_REPEATED_NAK, 2 - resent);
		pair_close(pair);
	}
}

/* A response may answer a resent packet, but not one that was not resent. */
Test(echo, response_to_a_resent_packet_counts_after_a_round_trip)
{
	RULE("T-5");
	RULE("Q-9");
	for (uint32_t psn = 2; psn < 4; psn++) {
		struct pair *pair = open_resending(2);

		pair->now_ns += 10 * ROUND_TRIP_NS;
		pair_inject(pair, A, atomic_ack_packet(psn, 0));
		expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, psn == 2 ? 2 : 1);
		pair_close(pair);
	}
}

/* The flight starts at its rewind: after a timeout it has no responses yet. */
Test(echo, timeout_starts_a_flight_without_responses)
{
	struct pair *pair = open_resending(4);

	RULE("T-2");
	RULE("Q-9");
	pair_timeout_at(pair, pair->side[A].qp, rc_qp_deadline(pair->side[A].qp));
	pair_transmit(pair, A);
	pair->now_ns += 20 * ROUND_TRIP_NS;
	pair_inject(pair, A, atomic_ack_packet(2, 0));
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
	pair_inject(pair, A, atomic_ack_packet(2, 0));
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 2);
	pair_close(pair);
}

/* What was first sent after the rewind can be answered by the new flight only: the last retry was in vain. */
Test(echo, answer_to_a_later_request_ends_the_last_retry)
{
	struct pair *pair = open_resending(4);

	RULE("T-4");
	poke_retries_left(pair->side[A].qp, 0);
	pair_fetch_add(pair, 5, 1);
	pair_transmit(pair, A);
	pair->now_ns += 1000 * ROUND_TRIP_NS;
	pair_respond(pair, atomic_ack_packet(4, 0));
	expect_completes(pair, A);
	pair_respond(pair, atomic_ack_packet(5, 0));
	cr_assert_eq(pair->side[A].wcs[0].status, UROCE_WC_RETRY_EXC_ERR);
	pair_close(pair);
}

/* Waits for a receive are no losses: after them a NAK, or an answer that is missing, counts as soon as it may. */
Test(echo, rnr_waits_do_not_suppress_later_naks)
{
	RULE("T-5");
	RULE("R-4");
	for (uint32_t implied = 0; implied < 2; implied++) {
		struct pair *pair = pair_open_measured(&options, ROUND_TRIP_NS);
		struct rc_qp *qp = pair->side[A].qp;
		uint64_t bound_ns = peek_round_trip_ns(qp) + 4 * peek_variation_ns(qp);

		pair_cut(pair);
		pair_fetch_add(pair, 1, 1);
		pair_fetch_add(pair, 2, 1);
		pair_transmit(pair, A);
		for (uint32_t i = 0; i < 20; i++) {
			pair->now_ns += ROUND_TRIP_NS;
			pair_respond(pair, ack_packet(1, SYNDROME_RNR | 1, 1));
			pair_timeout_at(pair, qp, rc_qp_deadline(qp));
			pair_transmit(pair, A);
		}
		expect_counts(pair, A, CNT_RNR_NAK_RETRY_ERR, 20);
		pair_forget(pair);
		pair->now_ns += bound_ns;
		for (uint32_t i = 0; i <= implied; i++) /* the first response may be of the flight before the wait */
			pair_respond(pair, implied ? atomic_ack_packet(2, 0) : ack_packet(1, SYNDROME_SEQUENCE, 1));
		expect_leaves(pair, A, "FETCH_ADD psn=1 ackreq va=0x0 add=0x1",
			      "FETCH_ADD psn=2 ackreq va=0x0 add=0x1");
		cr_assert_eq(peek_retries_left(qp), 6);
		pair_close(pair);
	}
}

/* The ACK that an empty WRITE draws is owed once: it begins the wait anew, and another one like it does not. */
Test(echo, answer_to_an_empty_write_postpones_the_timer_once)
{
	struct pair *pair = pair_open_measured(&options, ROUND_TRIP_NS);
	struct rc_qp *qp = pair->side[A].qp;
	uint64_t deadline_ns;

	RULE("T-1");
	RULE("T-5");
	poke_probes(qp, true);
	pair_cut(pair);
	pair_read(pair, 1, 4 * MTU);
	pair_transmit(pair, A);
	pair_forget(pair);
	pair_timeout_at(pair, qp, peek_ask_ns(qp));
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=0 bytes=0");
	pair->now_ns += 1000;
	pair_inject(pair, A, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	deadline_ns = pair->now_ns + peek_timeout_ns(qp);
	cr_assert_eq(peek_resend_ns(qp), deadline_ns);
	pair->now_ns += 1000;
	pair_inject(pair, A, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	cr_assert_eq(peek_resend_ns(qp), deadline_ns);
	pair_close(pair);
}
