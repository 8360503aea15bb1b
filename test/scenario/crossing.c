/* crossing.c - what is on its way while we ask: an old answer, credits, an RNR NAK; nothing is lost nor spent */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An ACK of the packet before the oldest may be the answer to an ask, and then the oldest was lost. It may as well be
 * the answer to something older, or unsolicited, or followed by the NAK that says why. Each story here loses nothing.
 */
#include <criterion/criterion.h>

#include "packets.h"
#include "peek.h"
#include "places.h"
#include "rule.h"

#define ROUND_TRIP_NS 1000000ull
#define TIMEOUT_NS 67108864ull /* code 14 */
#define RNR_10_US 1

/* A asks early and has measured a round trip; PSN 0 is used then. No retry is left: a false alarm ends the QP. */
static struct pair *open_measured(const struct pair_options *options, bool credits)
{
	struct pair *pair = pair_open(options);

	for (int i = 0; i < 2; i++)
		qp_set_flow_control(pair->side[i].qp, credits);
	poke_probes(pair->side[A].qp, true);
	pair_measure(pair, ROUND_TRIP_NS);
	return pair;
}

static void post(struct pair *pair, enum uroce_wr_opcode opcode, uint32_t flags)
{
	const struct uroce_send_wr wr = { .wr_id = 1, .opcode = opcode, .send_flags = flags };

	cr_assert_eq(pair_post(pair, A, wr, 0, 8), 0);
}

/* A bind of a window of A's own: it waits until all before it is answered. */
static void post_bind(struct pair *pair)
{
	uint32_t key = rc_mr_insert_window(&pair->side[A].mrs, 1, MR_WINDOW_2);
	const struct uroce_send_wr wr = { .wr_id = 9, .send_flags = UROCE_SEND_SIGNALED };
	const struct rc_mr_bind bind = {
		.va = (uintptr_t)pair->side[A].memory,
		.bytes = 64,
		.region_key = pair->side[A].key,
		.access = UROCE_ACCESS_REMOTE_READ,
		.key = (key & ~0xFFu) | ((key + 1) & 0xFF),
	};

	cr_assert_eq(rc_qp_post_bind(pair->side[A].qp, &wr, &bind), 0);
}

/* To A's next deadline, and what it does then. */
static void fire(struct pair *pair)
{
	pair->now_ns = rc_qp_deadline(pair->side[A].qp);
	cr_assert_neq(pair->now_ns, RC_NEVER);
	rc_qp_timeout(pair->side[A].qp, pair->now_ns);
	pair_transmit(pair, A);
}

/* Everything has come to a good end, and no retry was spent. */
static void expect_nothing_spent(struct pair *pair)
{
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 0);
	expect_counts(pair, A, CNT_PACKET_SEQ_ERR, 0);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	cr_assert_eq(peek_state(pair->side[A].qp), UROCE_QPS_RTS);
	cr_assert_eq(peek_retries_left(pair->side[A].qp), peek_retry_count(pair->side[A].qp));
}

/* The peer has no receive: the ACK of the preceding packet arrives before the RNR NAK. */
Test(crossing, rnr_nak_after_an_answered_empty_write_is_no_loss)
{
	RULE("R-5");
	RULE("T-6");
	for (uint32_t timed = 0; timed < 2; timed++) { /* the ask leaves because a bind waits, or by its time */
		struct pair *pair =
			open_measured(&(struct pair_options){ .retry_cnt = 255, .rnr_timer = RNR_10_US }, false);

		post(pair, UROCE_WR_SEND, 0);
		if (!timed)
			post_bind(pair);
		pair_transmit(pair, A);
		if (timed)
			fire(pair);
		expect_counts(pair, A, CNT_DEFERRED_ACKREQS, 1);
		pair_cut(pair);
		pair_inject(pair, A, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
		pair_transmit(pair, A);
		pair_inject(pair, A, ack_packet(1, SYNDROME_RNR | RNR_10_US, 1));
		pair_transmit(pair, A);
		expect_counts(pair, A, CNT_RNR_NAK_RETRY_ERR, 1);
		expect_nothing_spent(pair);
		pair_mend(pair);
		pair_deliver(pair, B);
		pair_recv(pair, B, 7, 4096, 64);
		cr_assert(pair_settle(pair, 1000000000));
		expect_nothing_spent(pair);
		if (!timed)
			expect_completes(pair, A, "wr=9 BIND SUCCESS");
		expect_completes(pair, B, "wr=7 RECV SUCCESS len=8");
		pair_close(pair);
	}
}

/* Between two uroce ends: the NAK acknowledges earlier packets, and no separate ACK is sent. */
Test(crossing, peer_without_a_receive_sends_only_an_rnr_nak)
{
	struct pair *pair = open_measured(&(struct pair_options){ .retry_cnt = 255, .rnr_timer = RNR_10_US }, false);

	RULE("R-1");
	RULE("S-8");
	post(pair, UROCE_WR_SEND, 0);
	post_bind(pair);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "SEND_ONLY psn=1 bytes=8", "WRITE_ONLY psn=0 ackreq va=0x0 len=0 bytes=0");
	pair_deliver(pair, B);
	pair_transmit(pair, B);
	expect_leaves(pair, B, "RNR_NAK psn=1 timer=1 msn=1");
	pair_recv(pair, B, 7, 4096, 64);
	cr_assert(pair_settle(pair, 1000000000));
	expect_nothing_spent(pair);
	expect_completes(pair, A, "wr=9 BIND SUCCESS");
	pair_close(pair);
}

/*
 * Before the first request the peer sends credits with the PSN before the start: they do not answer the empty WRITE.
 */
Test(crossing, first_credits_that_cross_an_empty_write_are_no_loss)
{
	struct pair *pair = pair_open(&(struct pair_options){ .retry_cnt = 255 });

	RULE("F-4");
	RULE("T-3");
	for (int i = 0; i < 2; i++)
		qp_set_flow_control(pair->side[i].qp, true);
	poke_probes(pair->side[A].qp, true);
	pair_recv(pair, B, 7, 4096, 64);
	pair_transmit(pair, B);
	expect_leaves(pair, B, "ACK psn=16777215 credit=1 msn=0");
	post(pair, UROCE_WR_RDMA_WRITE, 0);
	post_bind(pair);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 va=0x0 len=8 bytes=8",
		      "WRITE_ONLY psn=16777215 ackreq va=0x0 len=0 bytes=0");
	pair_deliver(pair, A);
	pair->now_ns += ROUND_TRIP_NS;
	pair_transmit(pair, A);
	expect_leaves(pair, A);
	cr_assert(pair_settle(pair, 1000000000));
	expect_nothing_spent(pair);
	expect_completes(pair, A, "wr=9 BIND SUCCESS");
	pair_close(pair);
}

/* Credits that were posted meanwhile repeat the newest ACK while a READ is being answered, and asked for. */
Test(crossing, credits_that_cross_a_read_probe_are_no_loss)
{
	struct pair *pair = open_measured(&(struct pair_options){ .retry_cnt = 255 }, true);

	RULE("F-4");
	RULE("T-5");
	RULE("T-6");
	pair_read(pair, 1, 4000);
	pair_transmit(pair, A);
	pair_recv(pair, B, 7, 8192, 64);
	pair_transmit(pair, B);
	expect_leaves(pair, B, "ACK psn=0 credit=1 msn=1");
	fire(pair);
	expect_counts(pair, A, CNT_EARLY_PROBES, 1);
	pair_deliver(pair, A);
	pair->now_ns += ROUND_TRIP_NS;
	pair_transmit(pair, A);
	cr_assert(pair_settle(pair, 1000000000));
	expect_nothing_spent(pair);
	expect_completes(pair, A, "wr=1 READ SUCCESS len=4000");
	pair_close(pair);
}

/*
 * A probe has repeated a packet, and its answer is late. It arrives when the next READ has been probed, and covers
 * only the packet before that READ, like the ACK of the first copy.
 */
Test(crossing, answer_to_an_earlier_probe_reveals_no_later_loss)
{
	struct pair *pair = open_measured(&(struct pair_options){ 0 }, false);

	RULE("T-5");
	RULE("T-6");
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	fire(pair);
	expect_counts(pair, A, CNT_EARLY_PROBES, 1);
	pair_cut(pair);
	pair_respond(pair, ack_packet(1, SYNDROME_PLAIN_ACK, 2));
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	pair_read(pair, 2, 4000);
	pair_transmit(pair, A);
	fire(pair);
	pair_respond(pair, ack_packet(1, SYNDROME_PLAIN_ACK, 2)); /* of the copy */
	fire(pair);
	expect_nothing_spent(pair);
	pair_respond(pair, ack_packet(1, SYNDROME_PLAIN_ACK, 2)); /* of the empty WRITE: the READ was lost */
	expect_nothing_spent(pair);
	fire(pair);
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
	pair_mend(pair);
	cr_assert(pair_settle(pair, 1000000000));
	expect_completes(pair, A, "wr=2 READ SUCCESS len=4000");
	pair_close(pair);
}

/*
 * The probe's copies are in flight when the RNR NAK arrives. The peer posts a receive, accepts the copy of the oldest
 * packet, and must see no gap before the resend.
 */
Test(crossing, probe_that_meets_a_late_receive_leaves_no_gap)
{
	struct pair *pair = open_measured(&(struct pair_options){ .retry_cnt = 255, .rnr_timer = RNR_10_US }, false);
	struct side *a = &pair->side[A];
	uint32_t copies;

	RULE("T-5");
	RULE("T-6");
	post(pair, UROCE_WR_SEND, UROCE_SEND_SIGNALED);
	post(pair, UROCE_WR_RDMA_WRITE, 0);
	post(pair, UROCE_WR_RDMA_WRITE, UROCE_SEND_SIGNALED);
	pair_transmit(pair, A);
	pair_deliver(pair, B);
	pair_transmit(pair, B); /* an RNR NAK, which takes its time */
	fire(pair);
	copies = a->wire_tail - a->wire_head;
	cr_assert_gt(copies, 0);
	pair_deliver(pair, A);
	expect_counts(pair, A, CNT_RNR_NAK_RETRY_ERR, 1);
	fire(pair); /* the wait is over, and all of it leaves again */
	cr_assert_eq(a->wire_tail - a->wire_head, copies + 3);
	pair_recv(pair, B, 7, 4096, 64);
	for (; copies > 0; copies--) { /* the copies arrive first, each by itself */
		uint32_t tail = a->wire_tail;

		a->wire_tail = a->wire_head + 1;
		pair_deliver(pair, B);
		pair_transmit(pair, B);
		a->wire_tail = tail;
		pair_deliver(pair, A);
		pair_transmit(pair, A);
	}
	cr_assert(pair_settle(pair, 1000000000));
	expect_counts(pair, B, CNT_OUT_OF_SEQUENCE, 0);
	expect_nothing_spent(pair);
	expect_completes(pair, A, "wr=1 SEND SUCCESS", "wr=1 WRITE SUCCESS");
	pair_close(pair);
}

/* Later packets were dropped already, and the sender must receive the RNR NAK to resend them. */
Test(crossing, due_rnr_nak_leaves_before_a_copy_is_processed)
{
	struct pair *pair = open_measured(&(struct pair_options){ .retry_cnt = 255, .rnr_timer = RNR_10_US }, false);
	struct side *a = &pair->side[A];
	struct flight copy;

	RULE("R-3");
	RULE("R-7");
	post(pair, UROCE_WR_SEND, UROCE_SEND_SIGNALED);
	post(pair, UROCE_WR_RDMA_WRITE, UROCE_SEND_SIGNALED);
	pair_transmit(pair, A);
	copy = pair_copy_flight(&a->wire[a->wire_head % PAIR_IN_FLIGHT]);
	pair_deliver(pair, B);
	pair_recv(pair, B, 7, 4096, 64);
	a->wire[a->wire_tail++ % PAIR_IN_FLIGHT] = copy;
	pair_deliver(pair, B);
	expect_counts(pair, B, CNT_AFTER_NAK, 2);
	pair_transmit(pair, B);
	expect_leaves(pair, B, "RNR_NAK psn=1 timer=1 msn=1");
	cr_assert(pair_settle(pair, 1000000000));
	expect_nothing_spent(pair);
	expect_completes(pair, A, "wr=1 SEND SUCCESS", "wr=1 WRITE SUCCESS");
	expect_completes(pair, B, "wr=7 RECV SUCCESS len=8");
	pair_close(pair);
}

/* An ACK of the packet before a READ answers a probe only while the READ is the oldest request. */
Test(crossing, progress_cancels_the_pending_probe_answer)
{
	struct pair *pair = open_measured(&(struct pair_options){ .mtu = 256 }, false);
	struct rc_qp *qp = pair->side[A].qp;

	RULE("Q-8");
	pair_cut(pair);
	pair_read(pair, 1, 3 * 256);
	pair_transmit(pair, A);
	pair_timeout_at(pair, qp, peek_ask_ns(qp));
	pair_transmit(pair, A);
	cr_assert(peek_answer_is_expected(qp));
	pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 1, 256));
	pair_forget(pair);
	pair_respond(pair, ack_packet(1, SYNDROME_PLAIN_ACK, 1));
	expect_leaves(pair, A);
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 0);
	pair_close(pair);
}

/* Requests after the one without a receive were dropped, and leave again after the copies of that request. */
Test(crossing, answer_to_a_copy_is_no_loss_during_an_rnr_wait)
{
	struct pair *pair = open_measured(&(struct pair_options){ .retry_cnt = 255, .rnr_timer = RNR_10_US }, false);

	RULE("R-5");
	RULE("T-6");
	post(pair, UROCE_WR_SEND, 0);
	post(pair, UROCE_WR_SEND, 0);
	post(pair, UROCE_WR_RDMA_READ, 0);
	pair_transmit(pair, A);
	pair_cut(pair);
	pair_inject(pair, A, ack_packet(1, SYNDROME_RNR | RNR_10_US, 1));
	fire(pair); /* all three again */
	fire(pair); /* and a copy, to ask */
	pair_forget(pair);
	pair_inject(pair, A, ack_packet(1, SYNDROME_PLAIN_ACK, 2));
	fire(pair); /* what becomes of the second SEND? */
	pair_inject(pair, A, ack_packet(1, SYNDROME_PLAIN_ACK, 2));
	fire(pair);
	expect_nothing_spent(pair);
	pair_mend(pair);
	pair_close(pair);
}
