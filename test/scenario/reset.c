/* reset.c - RESET: what one life of a QP has posted, owed, asked and counted is nothing to the next */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TC-F-7. What a peer sees of it: states.c.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "places.h"
#include "rule.h"

static void modify(struct pair *pair, enum side_name side, const struct uroce_qp_attr *attr, uint32_t mask)
{
	uint32_t bad = 0;

	cr_assert_eq(rc_qp_modify(pair->side[side].qp, attr, UROCE_QP_STATE | mask, &bad), 0, "state %d: %#x",
		     (int)attr->qp_state, bad);
}

/* Resets a QP and takes it up to the state `last` with the attributes that it had. Forgets the lines so far. */
static void begin_anew(struct pair *pair, enum side_name side, enum uroce_qp_state last)
{
	static const uint32_t masks[] = {
		[UROCE_QPS_INIT] = UROCE_QP_ACCESS_FLAGS,
		[UROCE_QPS_RTR] = UROCE_QP_PATH | UROCE_QP_PATH_MTU | UROCE_QP_DEST_QPN | UROCE_QP_RQ_PSN |
				  UROCE_QP_MAX_DEST_RD_ATOMIC,
		[UROCE_QPS_RTS] = UROCE_QP_TIMEOUT | UROCE_QP_RETRY_CNT | UROCE_QP_RNR_RETRY | UROCE_QP_MAX_RD_ATOMIC |
				  UROCE_QP_SQ_PSN,
	};
	struct uroce_qp_attr attr;

	rc_qp_query(pair->side[side].qp, &attr);
	for (uint32_t state = UROCE_QPS_RESET; state <= last; state++) {
		attr.qp_state = (enum uroce_qp_state)state;
		modify(pair, side, &attr, masks[state]);
	}
	pair_forget(pair);
}

static void post_unsignaled(struct pair *pair, uint64_t wr_id, uint32_t bytes)
{
	const struct uroce_send_wr wr = { .wr_id = wr_id, .opcode = UROCE_WR_RDMA_WRITE };

	cr_assert_eq(pair_post(pair, A, wr, 0, bytes), 0);
}

/* Sent, not sent and posted to receive: it has gone, and the first thing that flushes does not bring it back. */
Test(reset, reset_discards_posted_work_without_flush)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	const struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_ERR };

	RULE("X-1");
	RULE("E-6");
	pair_cut(pair);
	pair_recv(pair, A, 1, 0, 64);
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	pair_write(pair, 3, 8);
	begin_anew(pair, A, UROCE_QPS_INIT);
	pair_recv(pair, A, 4, 0, 64);
	modify(pair, A, &attr, 0);
	pair_transmit(pair, A);
	expect_completes(pair, A, "wr=4 RECV WR_FLUSH_ERR");
	pair_close(pair);
}

/* The next peer may be farther away. */
Test(reset, reset_forgets_the_round_trip)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("X-1");
	poke_round_trip(pair->side[A].qp, 1000);
	begin_anew(pair, A, UROCE_QPS_INIT);
	cr_assert_eq(peek_round_trip_ns(pair->side[A].qp), 0);
	pair_close(pair);
}

/* Neither of the timers, also that of a QP that asks early. */
Test(reset, reset_stops_all_timers)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct rc_qp *qp = pair->side[A].qp;

	RULE("X-1");
	RULE("T-1");
	poke_probes(qp, true);
	pair_cut(pair);
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	cr_assert_lt(rc_qp_deadline(qp), peek_resend_ns(qp), "it asks early");
	begin_anew(pair, A, UROCE_QPS_RESET);
	cr_assert_eq(rc_qp_deadline(qp), RC_NEVER);
	pair_close(pair);
}

/* An answer that has not left yet does not leave, however the QP is asked for it. */
Test(reset, reset_drops_owed_answers)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("X-1");
	pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 0, 0, 8, 8));
	pair_inject(pair, B, read_packet(pair, 1, 0, 8));
	begin_anew(pair, B, UROCE_QPS_RESET);
	outbox_reset(&pair->out);
	places_give(&pair->out, OUTBOX_PACKETS);
	rc_qp_respond(pair->side[B].qp, &pair->out);
	cr_assert_eq(pair->out.packet_count, 0);
	pair_close(pair);
}

/* Half a window without an AckReq was nearly full; the next one begins empty. */
Test(reset, reset_restarts_the_ackreq_count)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256 });

	RULE("X-1");
	RULE("Q-5");
	pair_cut(pair);
	post_unsignaled(pair, 1, WINDOW_PACKETS * 256);
	while (pair->side[A].packets < WINDOW_PACKETS / 2 - 2) {
		uint32_t left = WINDOW_PACKETS / 2 - 2 - pair->side[A].packets;

		pair_transmit_some(pair, A, left < OUTBOX_PACKETS ? left : OUTBOX_PACKETS);
	}
	cr_assert_null(strstr(pair->side[A].sent[WINDOW_PACKETS / 2 - 3], "ackreq"));
	begin_anew(pair, A, UROCE_QPS_RTS);
	for (uint64_t i = 0; i < 3; i++)
		post_unsignaled(pair, i, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 va=0x0 len=8 bytes=8", "WRITE_ONLY psn=1 va=0x0 len=8 bytes=8",
		      "WRITE_ONLY psn=2 ackreq va=0x0 len=8 bytes=8");
	pair_close(pair);
}

/* A READ was requested again from PSN 1, where FIRST is valid; after the reset it is not. */
Test(reset, read_after_reset_starts_at_its_first_response)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("X-1");
	RULE("Q-10");
	RULE("Q-12");
	pair_cut(pair);
	pair_read(pair, 1, 3000);
	pair_transmit(pair, A);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 0, 1024));
	pair_forget(pair);
	pair_fire(pair);
	expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x400 len=1976");
	begin_anew(pair, A, UROCE_QPS_RTS);
	pair_read(pair, 2, 3000);
	pair_transmit(pair, A);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 0, 1024));
	expect_completes(pair, A);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 1, 1024));
	expect_completes(pair, A, "wr=2 READ BAD_RESP_ERR");
	pair_close(pair);
}

/* The pending empty WRITE refers to packets before the reset. */
Test(reset, reset_cancels_a_pending_empty_write)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct uroce_qp_attr drain = { .qp_state = UROCE_QPS_SQD };
	uint32_t bad = 0;

	RULE("X-1");
	RULE("Q-5");
	pair_cut(pair);
	pair_write(pair, 0, 8);
	post_unsignaled(pair, 1, 8);
	cr_assert_eq(pair_post(pair, A, (struct uroce_send_wr){ .wr_id = 2, .opcode = UROCE_WR_LOCAL_INV }, 0, 0), 0);
	pair_transmit_some(pair, A, 2);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=8 bytes=8", "WRITE_ONLY psn=1 va=0x0 len=8 bytes=8");
	pair_inject(pair, A, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	expect_completes(pair, A, "wr=0 WRITE SUCCESS");
	cr_assert_eq(rc_qp_modify(pair->side[A].qp, &drain, UROCE_QP_STATE, &bad), 0);
	cr_assert(peek_ask_is_due(pair->side[A].qp));
	begin_anew(pair, A, UROCE_QPS_RTS);
	memset(pair->side[A].failed, 0, sizeof(pair->side[A].failed));
	post_unsignaled(pair, 3, 8);
	post_unsignaled(pair, 4, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 va=0x0 len=8 bytes=8", "WRITE_ONLY psn=1 ackreq va=0x0 len=8 bytes=8");
	pair_close(pair);
}

/* Guesses at PSNs that did not suffice for an alarm. */
Test(reset, reset_restarts_the_psn_sweep_count)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	const uint32_t far = 2 * ANOMALY_DISTANCE;

	RULE("X-1");
	RULE("V-1");
	for (uint32_t life = 0; life < 2; life++) {
		for (uint32_t i = 1; i < ANOMALY_PACKETS; i++)
			pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, far + i, 0, 8, 8));
		pair_transmit(pair, B);
		expect_events(pair, B);
		if (life == 0)
			begin_anew(pair, B, UROCE_QPS_RTS);
	}
	pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, far, 0, 8, 8));
	pair_transmit(pair, B);
	expect_events(pair, B, "ANOMALY");
	pair_close(pair);
}

/* After a reset posts of receives need not wake a sleeping host. */
Test(reset, reset_ends_credit_wake_ups)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct rc_qp *qp = pair->side[B].qp;

	RULE("X-1");
	RULE("F-4");
	qp_set_flow_control(qp, true);
	pair_transmit(pair, B);
	cr_assert(qp->win.post_wakes, "nothing has been told yet");
	begin_anew(pair, B, UROCE_QPS_INIT);
	cr_assert_not(qp->win.post_wakes);
	pair_close(pair);
}

/*
 * A post that another thread had begun lies in the queue of the next life. It has no connection to go out on; being
 * ready to send forgets it.
 */
Test(reset, post_racing_a_reset_is_discarded)
{
	struct uroce_sge nothing = { 0 };
	const struct uroce_send_wr wr = { .wr_id = 1, .opcode = UROCE_WR_SEND, .sg_list = &nothing, .num_sge = 1 };

	RULE("X-3");
	for (enum uroce_qp_state last = UROCE_QPS_RESET; last <= UROCE_QPS_RTR; last++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		struct rc_qp *qp = pair->side[A].qp;
		struct uroce_qp_attr attr;

		rc_qp_query(qp, &attr);
		begin_anew(pair, A, last);
		cr_assert_eq(rc_sendwin_post(&qp->win, &wr), 0, "it has looked at the state before");
		pair_transmit(pair, A);
		expect_sent_count(pair, A, 0);
		cr_assert_eq(rc_qp_deadline(qp), RC_NEVER);
		if (last == UROCE_QPS_RTR)
			modify(pair, A, &attr,
			       UROCE_QP_TIMEOUT | UROCE_QP_RETRY_CNT | UROCE_QP_RNR_RETRY | UROCE_QP_MAX_RD_ATOMIC |
				       UROCE_QP_SQ_PSN);
		pair_transmit(pair, A);
		expect_sent_count(pair, A, 0);
		pair_close(pair);
	}
}

/* Optional attributes of modify have the defaults of a new QP, as documented in the header. */
Test(reset, reset_restores_default_attributes)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct rc_qp *qp = pair->side[A].qp;
	struct uroce_qp_attr attr = { .pkey = 0x8001,
				      .min_rnr_timer = 3,
				      .imprecise_errors = true,
				      .no_probe = true,
				      .qp_state = UROCE_QPS_SQD };

	RULE("X-1");
	RULE("F-6");
	RULE("R-2");
	qp_set_flow_control(qp, true);
	modify(pair, A, &attr, 0);
	modify(pair, A, &attr, UROCE_QP_PKEY | UROCE_QP_MIN_RNR_TIMER | UROCE_QP_IMPRECISE_ERRORS | UROCE_QP_NO_PROBE);
	rc_qp_query(qp, &attr);
	cr_assert(attr.pkey == 0x8001 && attr.min_rnr_timer == 3 && attr.imprecise_errors && attr.no_probe &&
		  attr.flow_control);
	attr.qp_state = UROCE_QPS_RESET;
	modify(pair, A, &attr, 0);
	rc_qp_query(qp, &attr);
	cr_assert_eq(attr.pkey, 0xFFFF);
	cr_assert_eq(attr.min_rnr_timer, 12);
	cr_assert(!attr.imprecise_errors && !attr.no_probe && !attr.flow_control);
	pair_close(pair);
}

/* How little may be in flight after losses, and how long the peer is waited for before it is asked. */
Test(reset, reset_forgets_losses)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256 });
	struct rc_qp *qp = pair->side[A].qp;

	RULE("X-1");
	RULE("T-6");
	pair_cut(pair);
	poke_probes(qp, true);
	pair_write(pair, 1, 1 << 20);
	for (uint32_t i = 0; i < 2; i++) {
		pair_transmit(pair, A);
		pair_timeout_at(pair, qp, peek_ask_ns(qp));
		pair_transmit(pair, A);
		pair->now_ns += 100000000; /* no echo of the other one */
		pair_inject(pair, A, ack_packet(0, SYNDROME_SEQUENCE, 0));
	}
	cr_assert_lt(qp->cc.window, WINDOW_PACKETS);
	cr_assert_gt(peek_asks(qp), 0);
	begin_anew(pair, A, UROCE_QPS_RTS);
	cr_assert_eq(peek_asks(qp), 0);
	pair_write(pair, 1, 1 << 20);
	pair_transmit(pair, A);
	expect_sent_count(pair, A, WINDOW_PACKETS);
	pair_close(pair);
}
