/* deferred_ackreq.c - unsignaled requests at the end of the queue: the ACK is requested after a delay */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "rule.h"

#define DELAY_NS 10000ull
#define IN_ROW 8u /* the last of so many asks */

/* A asks early, has measured a round trip of so long, and has nothing in flight; the next PSN is 1. */
static struct pair *open_measured(uint64_t round_trip_ns)
{
	struct pair *pair = pair_open(&(struct pair_options){ .depth = 64, .rd_atomic = 4 });

	poke_probes(pair->side[A].qp, true);
	pair_cut(pair);
	pair_measure_alone(pair, round_trip_ns);
	return pair;
}

static void post(struct pair *pair, enum uroce_wr_opcode opcode, uint32_t flags)
{
	struct uroce_send_wr wr = { .wr_id = 7, .opcode = opcode, .send_flags = flags };

	cr_assert_eq(pair_post(pair, A, wr, 0, opcode == UROCE_WR_LOCAL_INV ? 0 : 8), 0);
	pair_transmit(pair, A);
}

/* To the QP's next deadline, which is so far away, and what it sends then. */
static void expect_waits(struct pair *pair, uint64_t ns)
{
	struct rc_qp *qp = pair->side[A].qp;

	cr_assert_eq(rc_qp_deadline(qp), pair->now_ns + ns, "%lu", rc_qp_deadline(qp) - pair->now_ns);
	pair->now_ns += ns;
	rc_qp_timeout(qp, pair->now_ns);
	pair_transmit(pair, A);
}

static const char alone[] = "WRITE_ONLY psn=1 va=0x0 len=8 bytes=8";
static const char asks[] = "WRITE_ONLY psn=0 ackreq va=0x0 len=0 bytes=0";

Test(deferred_ackreq, empty_write_solicits_the_ack_after_a_delay)
{
	struct pair *pair = open_measured(1000);

	RULE("Q-5");
	post(pair, UROCE_WR_RDMA_WRITE, 0);
	expect_leaves(pair, A, alone);
	expect_waits(pair, DELAY_NS);
	expect_leaves(pair, A, asks);
	expect_counts(pair, A, CNT_DEFERRED_ACKREQS, 1);
	expect_counts(pair, A, CNT_EARLY_PROBES, 0);
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 0);
	pair_transmit(pair, A);
	expect_leaves(pair, A);
	pair_respond(pair, ack_packet(1, SYNDROME_PLAIN_ACK, 2));
	cr_assert_eq(rc_qp_deadline(pair->side[A].qp), RC_NEVER, "all is answered");
	pair_close(pair);
}

/* SENDs do the same; the answer to the ask is the peer's own. */
Test(deferred_ackreq, empty_write_acknowledges_all_earlier_requests)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 8 });
	const uint64_t start_ns = pair->now_ns;

	RULE("Q-5");
	RULE("S-8");
	poke_probes(pair->side[A].qp, true);
	pair_write(pair, 1, 8);
	pair_run(pair);
	for (int i = 0; i < 3; i++)
		post(pair, i == 1 ? UROCE_WR_SEND : UROCE_WR_RDMA_WRITE, 0);
	cr_assert(pair_settle(pair, 1000000000));
	cr_assert_eq(peek_acked(pair->side[A].qp), peek_sent(pair->side[A].qp));
	expect_counts(pair, A, CNT_DEFERRED_ACKREQS, 1);
	expect_counts(pair, B, CNT_DUPLICATE_REQUEST, 1);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	cr_assert_lt(pair->now_ns - start_ns, 1000000);
	pair_close(pair);
}

Test(deferred_ackreq, every_nth_and_each_signaled_request_carries_ackreq)
{
	struct pair *pair = open_measured(1000);
	uint32_t count = 0;

	RULE("Q-5");
	for (uint32_t i = 1; i <= 3 * IN_ROW; i++) {
		post(pair, UROCE_WR_RDMA_WRITE, i == 2 * IN_ROW + 1 ? UROCE_SEND_SIGNALED : 0);
		count += strstr(pair->side[A].sent[pair->side[A].sent_count - 1], "ackreq") != NULL;
		cr_assert_eq(count, i <= 2 * IN_ROW ? i / IN_ROW : 3, "%u", i);
	}
	pair_close(pair);
}

/* A request within the delay does not extend it; a request after its end carries the AckReq itself. */
Test(deferred_ackreq, delay_is_not_extended_and_later_requests_carry_ackreq)
{
	struct pair *pair = open_measured(1000);
	struct rc_qp *qp = pair->side[A].qp;
	uint64_t deadline_ns;

	RULE("Q-5");
	post(pair, UROCE_WR_RDMA_WRITE, 0);
	deadline_ns = rc_qp_deadline(qp);
	pair->now_ns += DELAY_NS - 1;
	post(pair, UROCE_WR_RDMA_WRITE, 0);
	cr_assert_eq(rc_qp_deadline(qp), deadline_ns);
	pair_forget(pair);
	pair->now_ns = deadline_ns;
	rc_qp_timeout(qp, pair->now_ns);
	post(pair, UROCE_WR_RDMA_WRITE, 0);
	expect_leaves(pair, A, "WRITE_ONLY psn=3 ackreq va=0x0 len=8 bytes=8");
	expect_counts(pair, A, CNT_DEFERRED_ACKREQS, 0);
	cr_assert_gt(rc_qp_deadline(qp), pair->now_ns, "the answer is waited for");
	cr_assert_not(peek_ask_is_deferred(qp));
	pair_close(pair);
}

/*
 * The ACK of a duplicate stops before a later atomic, so an empty WRITE does not cover the requests after it. They
 * carry no AckReq and would wait for the timer when the atomic is answered.
 */
Test(deferred_ackreq, requests_after_an_atomic_are_acknowledged_after_its_answer)
{
	const uint64_t quarter_ns = 67108864 / 4; /* of the timeout: a round trip is longer, so that no probe runs */
	struct pair *pair = open_measured(20000000);

	RULE("Q-5");
	RULE("S-8");
	post(pair, UROCE_WR_RDMA_WRITE, 0);
	post(pair, UROCE_WR_ATOMIC_FETCH_AND_ADD, 0);
	post(pair, UROCE_WR_RDMA_WRITE, 0);
	pair_forget(pair);
	expect_waits(pair, quarter_ns);
	expect_leaves(pair, A, asks);
	pair->now_ns += 1000;
	pair_respond(pair, atomic_ack_packet(2, 7));
	expect_waits(pair, quarter_ns);
	expect_leaves(pair, A, "WRITE_ONLY psn=2 ackreq va=0x0 len=0 bytes=0");
	expect_counts(pair, A, CNT_DEFERRED_ACKREQS, 2);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	pair_respond(pair, ack_packet(3, SYNDROME_PLAIN_ACK, 4));
	cr_assert_eq(rc_qp_deadline(pair->side[A].qp), RC_NEVER, "all is answered");
	pair_close(pair);
}

/* A slow peer is asked once a round trip; the ACK timer has time left. */
Test(deferred_ackreq, the_delay_is_a_round_trip_and_well_below_the_timeout)
{
	struct pair *pair = open_measured(3000000);

	RULE("Q-5");
	RULE("T-1");
	post(pair, UROCE_WR_RDMA_WRITE, 0);
	expect_waits(pair, 3000000);
	pair_close(pair);
	pair = open_measured(60000000); /* the timeout is 67 ms */
	post(pair, UROCE_WR_RDMA_WRITE, 0);
	expect_waits(pair, peek_timeout_ns(pair->side[A].qp) / 4);
	pair_close(pair);
}

/* A fence after a READ needs no ACK; a local invalidate waits for all earlier requests. */
Test(deferred_ackreq, fence_invalidate_or_drain_solicits_the_ack_at_once)
{
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_SQD };
	uint32_t bad = 0;

	RULE("Q-5");
	RULE("X-2");
	for (int drains = 0; drains < 2; drains++) {
		struct pair *pair = open_measured(1000);

		post(pair, UROCE_WR_RDMA_WRITE, 0);
		expect_leaves(pair, A, alone);
		if (drains) {
			cr_assert_eq(rc_qp_modify(pair->side[A].qp, &attr, UROCE_QP_STATE, &bad), 0);
			pair_transmit(pair, A);
		} else {
			post(pair, UROCE_WR_LOCAL_INV, 0);
		}
		expect_leaves(pair, A, asks);
		pair_close(pair);
	}
}

/* The ACK cannot be requested later. */
Test(deferred_ackreq, without_probes_or_rtt_the_last_packet_carries_ackreq)
{
	struct pair *pair = open_measured(1000);

	RULE("Q-5");
	poke_probes(pair->side[A].qp, false);
	post(pair, UROCE_WR_RDMA_WRITE, 0);
	expect_leaves(pair, A, "WRITE_ONLY psn=1 ackreq va=0x0 len=8 bytes=8");
	pair_close(pair);
	pair = pair_open(&(struct pair_options){ .depth = 64 });
	poke_probes(pair->side[A].qp, true);
	pair_cut(pair);
	post(pair, UROCE_WR_RDMA_WRITE, 0);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=8 bytes=8");
	pair_close(pair);
}

/* The slots of unsignaled requests are free when a later one reports: with few left somebody waits soon. */
Test(deferred_ackreq, half_full_queue_requests_an_ack)
{
	struct pair *pair = pair_open(&(struct pair_options){ .depth = 8 });

	RULE("Q-5");
	poke_probes(pair->side[A].qp, true);
	pair_cut(pair);
	pair_measure_alone(pair, 1000);
	for (uint32_t i = 0; i < 5; i++) {
		post(pair, UROCE_WR_RDMA_WRITE, 0);
		cr_assert_eq(strstr(pair->side[A].sent[i], "ackreq") != NULL, i == 4, "%u", i);
	}
	pair_close(pair);
}

/*
 * The empty WRITE, its predecessor or the answer is lost: regular loss detection finds it, and no retry is spent
 * first.
 */
Test(deferred_ackreq, lost_empty_write_is_recovered_like_a_lost_tail)
{
	struct pair *pair = open_measured(1000);

	RULE("Q-5");
	RULE("T-6");
	post(pair, UROCE_WR_RDMA_WRITE, 0);
	expect_waits(pair, DELAY_NS);
	pair_forget(pair);
	pair_timeout_at(pair, pair->side[A].qp, peek_ask_ns(pair->side[A].qp));
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=1 ackreq va=0x0 len=8 bytes=8");
	expect_counts(pair, A, CNT_EARLY_PROBES, 1);
	pair_respond(pair, ack_packet(1, SYNDROME_PLAIN_ACK, 2));
	cr_assert_eq(rc_qp_deadline(pair->side[A].qp), RC_NEVER, "all is answered");
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	pair_close(pair);
}

/* Stopping the timer does not drop the pending ACK request. */
Test(deferred_ackreq, changed_timeout_solicits_the_ack_at_once)
{
	struct uroce_qp_attr attr = { .timeout = 18, .qp_state = UROCE_QPS_RTS };
	struct pair *pair = open_measured(1000);
	uint32_t bad = 0;

	RULE("Q-5");
	post(pair, UROCE_WR_RDMA_WRITE, 0);
	expect_leaves(pair, A, alone);
	attr.qp_state = UROCE_QPS_SQD;
	cr_assert_eq(rc_qp_modify(pair->side[A].qp, &attr, UROCE_QP_STATE, &bad), 0);
	cr_assert_eq(rc_qp_modify(pair->side[A].qp, &attr, UROCE_QP_TIMEOUT, &bad), 0, "%#x", bad);
	pair_transmit(pair, A);
	expect_leaves(pair, A, asks);
	pair_close(pair);
}

Test(deferred_ackreq, empty_write_without_room_leaves_later)
{
	struct pair *pair = open_measured(1000);
	struct rc_qp *qp = pair->side[A].qp;

	RULE("Q-5");
	post(pair, UROCE_WR_RDMA_WRITE, 0);
	pair_timeout_at(pair, qp, rc_qp_deadline(qp));
	pair_forget(pair);
	cr_assert(pair_transmit_some(pair, A, 0), "no room, and yet nothing more to do");
	expect_leaves(pair, A);
	cr_assert_not(pair_transmit_some(pair, A, 1));
	expect_leaves(pair, A, asks);
	pair_close(pair);
}
