/* credit.c - a fast sender and a slow receiver: with credits nothing is sent that has no place */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "packets.h"
#include "rc/codes.h"
#include "places.h"
#include "rule.h"

static struct pair *open_with_credits(uint32_t receives)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = receives });

	for (int i = 0; i < 2; i++)
		qp_set_flow_control(pair->side[i].qp, true);
	return pair;
}

/* TC-E-18 */
Test(credit, credit_codes_follow_the_table_and_round_down)
{
	static const struct {
		uint32_t count, code;
	} rows[] = {
		{ 0, 0 },   { 1, 1 },   { 4, 4 },   { 5, 4 },    { 6, 5 },      { 7, 5 },           { 8, 6 },
		{ 47, 10 }, { 48, 11 }, { 49, 11 }, { 255, 15 }, { 32768, 30 }, { 4000000000, 30 },
	};

	RULE("F-1");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(rc_codes_credit_code(rows[i].count), rows[i].code, "%u entries", rows[i].count);
	for (uint32_t code = 0; code < 31; code++)
		cr_assert_eq(rc_codes_credit_code(rc_codes_credit_count(code)), code);
	cr_assert_eq(rc_codes_credit_count(31), UINT32_MAX);
}

Test(credit, ack_carries_the_free_receive_entries)
{
	struct pair *pair = open_with_credits(6);

	RULE("F-2");
	pair_write(pair, 1, 64);
	pair_run(pair);
	/* The first news comes unasked, before any request: the PSN before the start, MSN 0. */
	expect_sent(pair, B, 0, "ACK psn=16777215 credit=5 msn=0");
	expect_sent(pair, B, 1, "ACK psn=0 credit=5 msn=1");
	pair_send(pair, 2, 64);
	pair_run(pair);
	expect_sent(pair, B, 2, "ACK psn=1 credit=4 msn=2");
	pair_close(pair);
}

Test(credit, without_credits_there_is_no_limit)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 1 });

	RULE("F-6");
	for (uint64_t i = 0; i < 3; i++)
		pair_send(pair, i, 64);
	pair_transmit(pair, A);
	expect_sent_count(pair, A, 3);
	pair_run(pair);
	expect_sent(pair, B, 0, "RNR_NAK psn=1 timer=12 msn=1");
	pair_close(pair);
}

/* TC-E-18 */
Test(credit, one_send_precedes_the_first_credits)
{
	struct pair *pair = open_with_credits(0);

	RULE("F-3");
	for (uint64_t i = 0; i < 10; i++)
		pair_send(pair, i, 64);
	pair_write(pair, 10, 64);
	pair_transmit(pair, A);
	expect_sent_count(pair, A, 1);
	expect_sent(pair, A, 0, "SEND_ONLY psn=0 ackreq bytes=64");
	for (uint64_t i = 0; i < 4; i++)
		pair_recv(pair, B, 100 + i, i * 1024, 1024);
	pair_run(pair);
	/* Four entries: four SENDs complete, the others wait, and no RNR NAK was needed. */
	expect_done_count(pair, B, 4);
	cr_assert_eq(pair->side[B].qp->counters[CNT_OUT_OF_BUFFER], 0);
	for (uint64_t i = 4; i < 10; i++)
		pair_recv(pair, B, 100 + i, i * 1024, 1024);
	pair_run(pair);
	expect_done_count(pair, B, 10);
	expect_done_count(pair, A, 11);
	cr_assert_eq(pair->side[B].qp->counters[CNT_OUT_OF_BUFFER], 0);
	pair_close(pair);
}

Test(credit, requests_without_a_receive_need_no_credit)
{
	struct pair *pair = open_with_credits(1);

	RULE("F-3");
	pair_send(pair, 1, 64);
	pair_run(pair);
	for (uint64_t i = 2; i < 6; i++)
		pair_write(pair, i, 64);
	pair_run(pair);
	expect_done_count(pair, A, 5);
	pair_close(pair);
}

/* TC-E-18 */
Test(credit, lost_credits_are_probed_after_an_ack_timeout)
{
	struct pair *pair = open_with_credits(1);
	uint64_t start;

	RULE("F-3");
	pair_send(pair, 1, 64);
	pair_run(pair);
	pair_send(pair, 2, 64);
	pair_run(pair);
	expect_done_count(pair, A, 1);
	/* An entry is posted, but what B says of it does not arrive. */
	pair_recv(pair, B, 101, 0, 1024);
	pair_transmit(pair, B);
	while (pair->side[B].wire_head != pair->side[B].wire_tail)
		free(pair->side[B].wire[pair->side[B].wire_head++ % PAIR_IN_FLIGHT].frame);
	start = pair->now_ns;
	cr_assert(pair_fire(pair));
	cr_assert_geq(pair->now_ns - start, rc_codes_timeout_ns(14) / 2);
	expect_done_count(pair, A, 2);
	cr_assert_eq(pair->side[A].qp->counters[CNT_LOCAL_ACK_TIMEOUT_ERR], 0, "no retry was spent");
	pair_close(pair);
}

Test(credit, credits_after_a_read_carry_the_preceding_psn)
{
	struct pair *pair = open_with_credits(1);

	RULE("F-4");
	pair_send(pair, 1, 64);
	pair_read(pair, 2, 3000);
	pair_run(pair);
	expect_done_count(pair, A, 2);
	pair_forget(pair);
	pair_recv(pair, B, 101, 0, 1024);
	pair_run(pair);
	expect_sent(pair, B, 0, "ACK psn=0 credit=1 msn=2");
	expect_sent_count(pair, B, 1);
	expect_sent_count(pair, A, 0);
	/* Of several it is the last that counts: its three PSNs begin at 7. */
	pair_send(pair, 3, 64);
	pair_fetch_add(pair, 4, 1);
	pair_read(pair, 5, 8);
	pair_read(pair, 6, 3000);
	pair_run(pair);
	pair_forget(pair);
	pair_recv(pair, B, 102, 0, 1024);
	pair_run(pair);
	expect_sent(pair, B, 0, "ACK psn=6 credit=1 msn=6");
	expect_sent_count(pair, B, 1);
	pair_close(pair);
}

Test(credit, a_storage_like_load_draws_no_rnr_nak)
{
	struct pair *pair = open_with_credits(8);
	uint64_t posted = 0, receives = 0;

	RULE("F-5");
	while (pair->side[B].done_count < 500) {
		while (posted < 500 && pair_send(pair, posted, 2000) == 0)
			posted++;
		pair_run(pair);
		/* The receiver is slow: it gives back one entry at a time. */
		pair_recv(pair, B, receives++, 0, 4096);
	}
	cr_assert_eq(pair->side[B].qp->counters[CNT_OUT_OF_BUFFER], 0);
	pair_close(pair);
}

/* Credits on, A cut off, B told of by hand: n SENDs posted, of which one leaves. */
static struct pair *open_with_sends(uint32_t count, uint32_t flags)
{
	struct pair *pair = open_with_credits(0);

	pair_cut(pair);
	for (uint64_t i = 0; i < count; i++) {
		struct uroce_send_wr wr = { .wr_id = i, .opcode = UROCE_WR_SEND, .send_flags = flags };

		pair_post(pair, A, wr, 0, 8);
	}
	pair_transmit(pair, A);
	expect_leaves(pair, A, "SEND_ONLY psn=0 ackreq bytes=8");
	return pair;
}

/* TC-E-19 */
Test(credit, msn_outside_the_started_messages_carries_no_credit)
{
	struct pair *pair = open_with_sends(6, UROCE_SEND_SIGNALED);

	RULE("F-3");
	RULE("P-5");
	pair_respond(pair, ack_packet(0, 4, 2)); /* one message was started */
	expect_completes(pair, A, "wr=0 SEND SUCCESS");
	expect_leaves(pair, A);
	pair_respond(pair, ack_packet(0, 2, 1));
	expect_leaves(pair, A, "SEND_ONLY psn=1 ackreq bytes=8", "SEND_ONLY psn=2 ackreq bytes=8");
	pair_respond(pair, ack_packet(0, 4, 0)); /* older than the news taken */
	pair_respond(pair, ack_packet(0, 4, 0xFFFFFF));
	pair_respond(pair, ack_packet(0, 4, 4));
	expect_leaves(pair, A);
	pair_respond(pair, ack_packet(0, 3, 1)); /* the same message number: an entry more */
	expect_leaves(pair, A, "SEND_ONLY psn=3 ackreq bytes=8");
	pair_close(pair);
}

/* Message numbers wrap at 24 bits; the counts behind them go on. */
Test(credit, the_message_number_wraps)
{
	struct pair *pair = open_with_credits(0);
	struct rc_credit *credit = &pair->side[A].qp->credit;

	RULE("F-3");
	RULE("S-13");
	pair_cut(pair);
	credit->msn = credit->messages = 0xFFFFFF;
	for (uint64_t i = 0; i < 5; i++)
		pair_send(pair, i, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "SEND_ONLY psn=0 ackreq bytes=8");
	pair_respond(pair, ack_packet(0, 2, 0));
	expect_leaves(pair, A, "SEND_ONLY psn=1 ackreq bytes=8", "SEND_ONLY psn=2 ackreq bytes=8");
	pair_respond(pair, ack_packet(1, 4, 9));        /* not yet started */
	pair_respond(pair, ack_packet(1, 4, 0xFFFFFF)); /* behind */
	expect_leaves(pair, A);
	pair_respond(pair, ack_packet(1, 2, 1));
	expect_leaves(pair, A, "SEND_ONLY psn=3 ackreq bytes=8");
	pair_close(pair);
}

/* The peer may count a message after it has acknowledged its packets, when its slot here has been given back. */
Test(credit, credits_of_long_completed_messages_count)
{
	struct pair *pair = open_with_sends(8, UROCE_SEND_SIGNALED);

	RULE("F-3");
	pair_respond(pair, ack_packet(0, 1, 0));
	expect_completes(pair, A, "wr=0 SEND SUCCESS");
	expect_leaves(pair, A);
	pair_respond(pair, ack_packet(0, 3, 1)); /* nothing is unreported */
	expect_leaves(pair, A, "SEND_ONLY psn=1 ackreq bytes=8", "SEND_ONLY psn=2 ackreq bytes=8",
		      "SEND_ONLY psn=3 ackreq bytes=8");
	pair_respond(pair, ack_packet(1, 3, 1));
	expect_completes(pair, A, "wr=1 SEND SUCCESS");
	pair_respond(pair, ack_packet(1, 3, 2)); /* the two behind it are not */
	expect_leaves(pair, A, "SEND_ONLY psn=4 ackreq bytes=8");
	pair_close(pair);
}

/* TC-E-18 */
Test(credit, unlimited_credit_applies_until_revoked)
{
	struct pair *pair = open_with_sends(4, 0);

	RULE("F-3");
	RULE("F-1");
	pair_respond(pair, ack_packet(0, CREDIT_UNLIMITED, 1));
	expect_leaves(pair, A, "SEND_ONLY psn=1 bytes=8", "SEND_ONLY psn=2 bytes=8", "SEND_ONLY psn=3 ackreq bytes=8");
	pair_respond(pair, ack_packet(3, 0, 4));
	pair_send(pair, 9, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A);
	pair_close(pair);
}

/* Without an ACK timer there is a wait all the same: lost news must not stop it for ever. */
Test(credit, qp_without_an_ack_timer_probes_for_credits)
{
	struct pair *pair = pair_open(&(struct pair_options){ .timeout = 255 });
	uint64_t start;

	RULE("F-3");
	qp_set_flow_control(pair->side[A].qp, true);
	pair_cut(pair);
	pair_send(pair, 1, 8);
	pair_send(pair, 2, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "SEND_ONLY psn=0 ackreq bytes=8");
	pair_respond(pair, ack_packet(0, 0, 1));
	expect_leaves(pair, A);
	start = pair->now_ns;
	cr_assert(pair_fire(pair));
	expect_leaves(pair, A, "SEND_ONLY psn=1 ackreq bytes=8");
	cr_assert_geq(pair->now_ns - start, 10000000, "it did not wait");
	cr_assert_leq(pair->now_ns - start, 1000000000, "it waited for %lu ns", pair->now_ns - start);
	cr_assert_eq(rc_qp_deadline(pair->side[A].qp), RC_NEVER);
	pair_close(pair);
}

/* The last one that may go asks how many may follow; one before it need not. */
Test(credit, message_with_the_last_credit_requests_an_ack)
{
	struct pair *pair = open_with_sends(4, 0);

	RULE("Q-5");
	RULE("F-3");
	pair_respond(pair, ack_packet(0, 2, 1));
	expect_leaves(pair, A, "SEND_ONLY psn=1 bytes=8", "SEND_ONLY psn=2 ackreq bytes=8");
	pair_close(pair);
}

/* Each kind of message that needs an entry uses one up, the others none. */
Test(credit, every_operation_that_needs_an_entry_takes_a_credit)
{
	static const struct {
		enum uroce_wr_opcode opcode;
		bool needs;
	} rows[] = {
		{ UROCE_WR_SEND, true },
		{ UROCE_WR_SEND_WITH_IMM, true },
		{ UROCE_WR_SEND_WITH_INV, true },
		{ UROCE_WR_RDMA_WRITE_WITH_IMM, true },
		{ UROCE_WR_RDMA_WRITE, false },
		{ UROCE_WR_RDMA_READ, false },
		{ UROCE_WR_ATOMIC_FETCH_AND_ADD, false },
		{ UROCE_WR_ATOMIC_WRITE, false },
		{ UROCE_WR_FLUSH, false },
	};

	RULE("F-3");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pair *pair = open_with_credits(0);
		struct uroce_send_wr wr = { .opcode = rows[i].opcode, .flush = UROCE_FLUSH_GLOBAL };

		pair_cut(pair);
		for (uint32_t j = 0; j < 2; j++)
			cr_assert_eq(pair_post(pair, A, wr, 0, rows[i].opcode == UROCE_WR_FLUSH ? 0 : 8), 0);
		pair_transmit(pair, A);
		cr_assert_eq(pair->side[A].sent_count, rows[i].needs ? 1 : 2, "opcode %u", rows[i].opcode);
		pair_close(pair);
	}
}

/* An ACK timeout is worth one message, not one each from then on; and it is over when it has been told. */
Test(credit, credit_probe_is_one_message)
{
	struct pair *pair = open_with_sends(4, UROCE_SEND_SIGNALED);
	struct rc_qp *qp = pair->side[A].qp;

	RULE("F-3");
	pair_respond(pair, ack_packet(0, 0, 1));
	expect_leaves(pair, A);
	for (uint32_t psn = 1; psn < 3; psn++) {
		uint64_t deadline = rc_qp_deadline(qp);

		cr_assert_neq(deadline, RC_NEVER);
		pair->now_ns = deadline;
		rc_qp_timeout(qp, pair->now_ns);
		cr_assert_eq(rc_qp_deadline(qp), RC_NEVER);
		pair_transmit(pair, A);
		expect_leaves(pair, A, pair_text("SEND_ONLY psn=%u ackreq bytes=8", psn));
		pair_respond(pair, ack_packet(psn, 0, psn + 1));
		expect_leaves(pair, A);
	}
	pair_close(pair);
}

/* News of a message in the middle: those behind it have used entries already. */
Test(credit, messages_in_flight_reduce_received_credits)
{
	struct pair *pair = open_with_sends(7, UROCE_SEND_SIGNALED);

	RULE("F-3");
	pair_respond(pair, ack_packet(0, 4, 1));
	expect_leaves(pair, A, "SEND_ONLY psn=1 ackreq bytes=8", "SEND_ONLY psn=2 ackreq bytes=8",
		      "SEND_ONLY psn=3 ackreq bytes=8", "SEND_ONLY psn=4 ackreq bytes=8");
	pair_respond(pair, ack_packet(2, 3, 3)); /* of 3, two are used by PSN 3 and 4 */
	expect_leaves(pair, A, "SEND_ONLY psn=5 ackreq bytes=8");
	pair_close(pair);
}

/* The wait for a probe restarts with the latest credits, though they grant nothing. */
Test(credit, empty_credits_restart_the_probe_wait)
{
	struct pair *pair = open_with_sends(2, UROCE_SEND_SIGNALED);
	struct rc_qp *qp = pair->side[A].qp;

	RULE("F-3");
	pair->now_ns += rc_codes_timeout_ns(14) / 2;
	pair_respond(pair, ack_packet(0, 0, 1));
	cr_assert_geq(rc_qp_deadline(qp), pair->now_ns + rc_codes_timeout_ns(14));
	cr_assert_neq(rc_qp_deadline(qp), RC_NEVER);
	pair_close(pair);
}

/* A host that sleeps has to be woken by a post only when the peer waits to hear of it. */
Test(credit, post_wakes_only_while_the_peer_waits_for_credits)
{
	struct pair *pair = open_with_credits(0);
	struct rc_qp *qp = pair->side[B].qp;

	RULE("F-4");
	pair_transmit(pair, B);
	cr_assert(qp->win.post_wakes, "nothing has been told yet");
	pair_recv(pair, B, 1, 0, 64);
	pair_transmit(pair, B);
	expect_leaves(pair, B, "ACK psn=16777215 credit=1 msn=0");
	pair_transmit(pair, B);
	cr_assert_not(qp->win.post_wakes);
	pair_send(pair, 1, 8);
	pair_run(pair);
	cr_assert(qp->win.post_wakes, "there are none left, and the peer knows");
	pair_close(pair);
}

/* In ERR nothing is waited for: neither for entries, nor for the end of an RNR wait. */
Test(credit, a_failure_ends_every_wait)
{
	struct pair *pair;

	RULE("E-6");
	RULE("F-3");
	for (uint32_t rnr = 0; rnr < 2; rnr++) {
		pair = open_with_sends(2, UROCE_SEND_SIGNALED);
		if (rnr)
			pair_respond(pair, ack_packet(0, SYNDROME_RNR + 1, 0));
		cr_assert_neq(rc_qp_deadline(pair->side[A].qp), RC_NEVER);
		pair_respond(pair, ack_packet(0, SYNDROME_ACCESS, 0));
		expect_completes(pair, A, "wr=0 SEND REM_ACCESS_ERR", "wr=1 SEND WR_FLUSH_ERR");
		cr_assert_eq(rc_qp_deadline(pair->side[A].qp), RC_NEVER, "rnr %u", rnr);
		pair_close(pair);
	}
}

/* Before RTR no credits are sent, whatever is posted. */
Test(credit, no_credits_are_sent_before_rtr)
{
	struct pair *pair = open_with_credits(0);
	struct rc_qp *qp = pair->side[B].qp;
	uint32_t bad = 0;

	RULE("F-4");
	RULE("X-3");
	for (uint32_t init = 0; init < 2; init++) {
		struct uroce_qp_attr attr = { .qp_state = init ? UROCE_QPS_INIT : UROCE_QPS_RESET };

		cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_STATE | (init ? UROCE_QP_ACCESS_FLAGS : 0), &bad), 0);
		if (init)
			cr_assert_eq(pair_recv(pair, B, 1, 0, 64), 0);
		pair_transmit(pair, B);
		expect_leaves(pair, B);
	}
	pair_close(pair);
}

/* F-4: before the first request the ACK that brings credits has the PSN before the start, and no message behind it. */
Test(credit, only_the_psn_before_the_start_carries_the_first_credits)
{
	struct pair *pair = open_with_sends(6, UROCE_SEND_SIGNALED);

	RULE("F-4");
	RULE("P-5");
	pair_respond(pair, ack_packet(0xFFFFFF, 4, 1));
	pair_respond(pair, ack_packet(0xFFFFFE, 4, 0));
	pair_respond(pair, ack_packet(1, 4, 0));
	expect_leaves(pair, A);
	pair_respond(pair, ack_packet(0xFFFFFF, 3, 0));
	expect_leaves(pair, A, "SEND_ONLY psn=1 ackreq bytes=8", "SEND_ONLY psn=2 ackreq bytes=8");
	expect_counts(pair, A, CNT_GHOST_RESPONSE, 4);
	pair_close(pair);
}

/* F-2: the AETH of any response tells, also that of a READ. */
Test(credit, read_response_carries_credits)
{
	struct pair *pair = open_with_credits(0);
	struct wire_packet answer = response_packet(OP_READ_RESPONSE_ONLY, 0, 8);

	RULE("F-2");
	RULE("F-3");
	pair_cut(pair);
	pair_read(pair, 1, 8);
	for (uint64_t i = 2; i < 5; i++)
		pair_send(pair, i, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "READ_REQUEST psn=0 ackreq va=0x0 len=8", "SEND_ONLY psn=1 ackreq bytes=8");
	answer.syndrome = 2;
	pair_respond(pair, answer);
	expect_completes(pair, A, "wr=1 READ SUCCESS len=8");
	expect_leaves(pair, A, "SEND_ONLY psn=2 ackreq bytes=8");
	pair_close(pair);
}

/* A bind on A, which is done at once where nothing is outstanding. */
static void post_bind(struct pair *pair, uint32_t flags)
{
	uint32_t key = rc_mr_insert_window(&pair->side[A].mrs, 1, MR_WINDOW_2);
	const struct uroce_send_wr wr = { .wr_id = 1, .send_flags = flags };
	const struct rc_mr_bind bind = {
		.va = (uintptr_t)pair->side[A].memory,
		.bytes = 64,
		.region_key = pair->side[A].key,
		.access = UROCE_ACCESS_REMOTE_READ,
		.key = (key & ~0xFFu) | ((key + 1) & 0xFF),
	};

	cr_assert_eq(rc_qp_post_bind(pair->side[A].qp, &wr, &bind), 0);
}

/* Credits of the message before a local operation count the messages after it, but not the operation. */
Test(credit, local_operation_is_not_counted_as_message)
{
	struct pair *pair = open_with_sends(1, 0);

	RULE("F-3");
	RULE("S-13");
	post_bind(pair, 0);
	for (uint64_t i = 2; i < 8; i++)
		pair_send(pair, i, 8);
	pair_respond(pair, ack_packet(0, 4, 0)); /* the entries of before: the message is counted later */
	expect_leaves(pair, A, "SEND_ONLY psn=1 ackreq bytes=8", "SEND_ONLY psn=2 ackreq bytes=8",
		      "SEND_ONLY psn=3 ackreq bytes=8");
	pair_respond(pair, ack_packet(0, 4, 1));
	expect_leaves(pair, A, "SEND_ONLY psn=4 ackreq bytes=8");
	pair_close(pair);
}

/* The newest started request is a local operation unknown to the peer: its credits refer to the message before. */
Test(credit, credits_skip_a_completed_local_operation)
{
	struct pair *pair = open_with_sends(1, UROCE_SEND_SIGNALED);

	RULE("F-3");
	pair_respond(pair, ack_packet(0, 1, 0));
	post_bind(pair, UROCE_SEND_SIGNALED);
	outbox_reset(&pair->out);
	places_give(&pair->out, OUTBOX_PACKETS);
	pair->out.completion_count = OUTBOX_COMPLETIONS;
	cr_assert(rc_qp_transmit(pair->side[A].qp, pair->now_ns, &pair->out), "there was room to tell of it");
	pair_send(pair, 2, 8);
	pair_respond(pair, ack_packet(0, 1, 1));
	expect_completes(pair, A, "wr=0 SEND SUCCESS", "wr=1 BIND SUCCESS");
	expect_leaves(pair, A, "SEND_ONLY psn=1 ackreq bytes=8");
	pair_close(pair);
}

/* F-2: the entry that an unfinished message is filling is not free. */
Test(credit, an_entry_in_use_is_not_offered)
{
	struct pair *pair = open_with_credits(3);

	RULE("F-2");
	pair_request(pair, send_packet(OP_SEND_FIRST, 0, 1024));
	expect_leaves(pair, B, "ACK psn=0 credit=2 msn=0");
	pair_request(pair, send_packet(OP_SEND_LAST, 1, 8));
	expect_leaves(pair, B, "ACK psn=1 credit=2 msn=1");
	pair_close(pair);
}

/*
 * A message may be acknowledged before the peer counts it, so its credits may arrive twice: the second grants
 * nothing.
 */
Test(credit, repeated_credits_grant_nothing)
{
	struct pair *pair = open_with_sends(6, UROCE_SEND_SIGNALED);

	RULE("F-3");
	pair_respond(pair, ack_packet(0, 2, 0)); /* two entries behind no message: PSN 0 has one of them */
	expect_completes(pair, A, "wr=0 SEND SUCCESS");
	expect_leaves(pair, A, "SEND_ONLY psn=1 ackreq bytes=8");
	pair_respond(pair, ack_packet(0, 2, 0));
	expect_leaves(pair, A);
	pair_respond(pair, ack_packet(0, 2, 1));
	expect_leaves(pair, A, "SEND_ONLY psn=2 ackreq bytes=8");
	pair_close(pair);
}

/* The slot of the message that the news is of has been posted into again, before the peer counts it. */
Test(credit, credits_count_after_their_send_slot_is_reused)
{
	struct pair *pair = pair_open(&(struct pair_options){ .depth = 4 });
	struct rc_qp *qp = pair->side[A].qp;
	const struct uroce_send_wr unsignaled = { .wr_id = 9 };

	RULE("F-3");
	qp_set_flow_control(qp, true);
	pair_cut(pair);
	for (uint64_t i = 0; i < 4; i++)
		pair_send(pair, i, 8);
	pair_transmit(pair, A);
	pair_respond(pair, ack_packet(0, 2, 0));
	expect_completes(pair, A, "wr=0 SEND SUCCESS");
	expect_leaves(pair, A, "SEND_ONLY psn=0 ackreq bytes=8", "SEND_ONLY psn=1 ackreq bytes=8");
	cr_assert_eq(rc_qp_post_bind(qp, &unsignaled, &(struct rc_mr_bind){ 0 }), 0);
	pair_respond(pair, ack_packet(0, 2, 1));
	expect_leaves(pair, A, "SEND_ONLY psn=2 ackreq bytes=8");
	pair_close(pair);
}
