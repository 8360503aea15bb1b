/* away.c - an lcore that was away reports to its SACK peers for how long, and the report changes nothing else */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "agreed.h"
#include "packets.h"
#include "patterned.h"
#include "peek.h"
#include "rc/ask.h"
#include "rc/emit.h"
#include "rule.h"

#define AWAY_MS 350u
#define REPORT "WRITE_ONLY psn=16777212 ackreq va=0x15e rkey=0x41574159 len=0 bytes=0"
#define BEFORE_FIRST_PSN 0xFFFFFCu /* of open_agreed() */
#define HOUR_MS 3600000u

/* An empty WRITE that A may have sent before its first request. */
static struct wire_packet report_packet(uint64_t va)
{
	struct wire_packet packet = send_packet(OP_WRITE_ONLY, BEFORE_FIRST_PSN, 0);

	packet.va = va;
	packet.rkey = EMIT_AWAY_RKEY;
	return packet;
}

static void expect_learned(struct pair *pair, uint32_t away_ms, uint64_t reports)
{
	const struct rc_qp *qp = pair->side[B].qp;

	cr_expect_eq(qp->peer_away_ms, away_ms, "%u", qp->peer_away_ms);
	expect_counts(pair, B, CNT_PEER_AWAY, reports);
}

/* A is back. */
static void report(struct pair *pair)
{
	cr_assert(rc_ask_report_away(pair->side[A].qp, AWAY_MS));
}

static void set_state(struct pair *pair, enum side_name side, uint8_t state)
{
	const struct uroce_qp_attr attr = { .qp_state = state };

	cr_assert_eq(rc_qp_modify(pair->side[side].qp, &attr, UROCE_QP_STATE, NULL), 0);
}

Test(away, sack_peer_learns_how_long_an_idle_lcore_was_away)
{
	struct pair *pair = open_agreed(0);
	const struct rc_qp *qp = pair->side[A].qp;

	RULE("C-33");
	report(pair);
	pair_run(pair);
	expect_leaves(pair, A, REPORT);
	expect_leaves(pair, B, "ACK psn=16777212 credit=31 msn=0");
	expect_learned(pair, AWAY_MS, 1);
	expect_counts(pair, A, CNT_KEEPALIVES, 1);
	expect_counts(pair, A, CNT_GHOST_RESPONSE, 0);
	expect_counts(pair, A, CNT_STALE_RESPONSE, 0);
	cr_expect_not(peek_waits_beside(qp), "the report was acknowledged");
	close_agreed(pair);
}

Test(away, report_changes_no_timer_and_no_state_at_either_end)
{
	struct pair *pair = open_agreed(0);
	const struct rc_qp *qp = pair->side[B].qp;
	const struct rc_responder before = qp->responder;

	RULE("C-33");
	pair_cut(pair);
	report(pair);
	pair_transmit(pair, A);
	cr_expect_eq(rc_qp_deadline(pair->side[A].qp), RC_NEVER, "a lost report is not sent again");
	pair_mend(pair);
	pair_request(pair, report_packet(AWAY_MS));
	expect_learned(pair, AWAY_MS, 1);
	cr_expect_eq(rc_qp_deadline(qp), RC_NEVER);
	cr_expect_eq(peek_retries_left(qp), peek_retry_count(qp));
	cr_expect_eq(peek_expected(qp), before.epsn.v);
	cr_expect_eq(peek_msn(qp), before.msn);
	cr_expect_eq(memcmp(pair->side[B].memory, pair_pattern(B), PATTERNED_BYTES), 0);
	expect_completes(pair, A);
	expect_completes(pair, B);
	expect_events(pair, A);
	expect_events(pair, B);
	close_agreed(pair);
}

/* The keep-alive of a plain peer is as it always was, and a report from it is an empty WRITE like any other. */
Test(away, peer_without_sacks_gets_no_report_and_takes_none)
{
	const struct uroce_qp_attr attr = { .keepalive_ms = 500 };
	struct pair *pair = pair_open(&(struct pair_options){ .psn_a = 0xFFFFFD });
	struct rc_qp *qp = pair->side[A].qp;

	RULE("C-33");
	cr_expect_not(rc_ask_report_away(qp, AWAY_MS));
	pair_run(pair);
	expect_sent_count(pair, A, 0);
	cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_KEEPALIVE, NULL), 0);
	while (qp->counters[CNT_KEEPALIVES] == 0)
		cr_assert(pair_fire(pair));
	expect_leaves(pair, A, "WRITE_ONLY psn=16777212 ackreq va=0x0 rkey=0x00000000 len=0 bytes=0");
	pair_request(pair, report_packet(AWAY_MS));
	expect_leaves(pair, B, "ACK psn=16777212 credit=31 msn=0", "ACK psn=16777212 credit=31 msn=0");
	expect_learned(pair, 0, 0);
	pair_close(pair);
}

/* The report serves as the ACK request of the requests that have left. */
Test(away, report_with_requests_in_flight_costs_no_retransmission)
{
	struct pair *pair = open_agreed(0);

	RULE("C-33");
	RULE("T-5");
	pair_write(pair, 1, 2 * MTU);
	pair_transmit(pair, A);
	pair_read(pair, 2, 3 * MTU);
	report(pair);
	pair_run(pair);
	expect_leaves(pair, A, "WRITE_FIRST psn=16777213 va=0x0 len=512 bytes=256",
		      "WRITE_LAST psn=16777214 ackreq bytes=256", REPORT,
		      "READ_REQUEST psn=16777215 ackreq va=0x0 len=768");
	expect_learned(pair, AWAY_MS, 1);
	cr_assert(pair_settle(pair, 1000000000));
	expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 READ SUCCESS len=768");
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 0);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	expect_counts(pair, A, CNT_KEEPALIVES, 0);
	close_agreed(pair);
}

/* The report takes the ACK timer of the keep-alive neither away nor farther off, and the next keep-alive is plain. */
Test(away, report_leaves_the_keepalive_its_timer)
{
	const struct uroce_qp_attr attr = { .keepalive_ms = 500 };
	struct pair *pair = open_agreed(0);
	struct rc_qp *qp = pair->side[A].qp;
	uint64_t deadline_ns;

	RULE("C-33");
	RULE("T-3");
	cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_KEEPALIVE, NULL), 0);
	pair_cut(pair);
	while (qp->counters[CNT_KEEPALIVES] == 0)
		cr_assert(pair_fire(pair));
	deadline_ns = peek_resend_ns(qp);
	cr_assert_neq(deadline_ns, RC_NEVER);
	pair->now_ns += 1000;
	report(pair);
	pair_transmit(pair, A);
	cr_expect_eq(peek_resend_ns(qp), deadline_ns);
	while (peek_state(qp) == UROCE_QPS_RTS)
		cr_assert(pair_fire(pair));
	expect_sent_count(pair, A, 9); /* a keep-alive, the report, and 7 retries */
	cr_expect(strstr(pair->side[A].sent[0], " va=0x0 rkey=0x00000000 "), "%s", pair->side[A].sent[0]);
	cr_expect(strstr(pair->side[A].sent[1], REPORT), "%s", pair->side[A].sent[1]);
	cr_expect(strstr(pair->side[A].sent[2], " va=0x0 rkey=0x00000000 "), "%s", pair->side[A].sent[2]);
	expect_events(pair, A, "QP_FATAL");
	close_agreed(pair);
}

/* A keep-alive that is due and the report are one packet, with the timer and the retries of the keep-alive. */
Test(away, report_of_a_due_keepalive_is_one_packet)
{
	const struct uroce_qp_attr attr = { .keepalive_ms = 500 };
	struct pair *pair = open_agreed(0);
	struct rc_qp *qp = pair->side[A].qp;

	RULE("C-33");
	cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_KEEPALIVE, NULL), 0);
	pair_cut(pair);
	while (!peek_ask_is_due(qp))
		pair_timeout_at(pair, qp, rc_qp_deadline(qp));
	report(pair);
	pair_transmit(pair, A);
	expect_leaves(pair, A, REPORT);
	cr_expect_eq(peek_resend_ns(qp), pair->now_ns + peek_timeout_ns(qp));
	close_agreed(pair);
}

Test(away, forged_report_changes_nothing_but_the_text)
{
	static const uint64_t wrong[] = { 0, HOUR_MS + 1, 1ull << 32 | AWAY_MS, UINT64_MAX };
	struct pair *pair = open_agreed(0);
	uint64_t learned_ns = pair->now_ns;

	RULE("C-33");
	pair_request(pair, report_packet(HOUR_MS));
	expect_learned(pair, HOUR_MS, 1);
	cr_expect_eq(pair->side[B].qp->peer_away_at_ns, learned_ns);
	pair->now_ns += 1000;
	for (uint32_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		pair_request(pair, report_packet(wrong[i]));
		expect_learned(pair, HOUR_MS, i + 2);
		cr_expect_eq(pair->side[B].qp->peer_away_at_ns, learned_ns);
	}
	expect_sent_count(pair, B, 5); /* each is acknowledged */
	expect_events(pair, B);
	close_agreed(pair);
}

Test(away, other_empty_or_marked_writes_are_no_reports)
{
	struct pair *pair = open_agreed(1);
	struct wire_packet packet = report_packet(AWAY_MS);

	RULE("C-33");
	packet.rkey ^= 1;
	pair_request(pair, packet);
	packet = report_packet(AWAY_MS);
	packet.dma_length = packet.payload_bytes = 8;
	pair_request(pair, packet);
	packet = report_packet(AWAY_MS);
	packet.dma_length = 8;
	pair_request(pair, packet);
	packet = report_packet(AWAY_MS);
	packet.payload_bytes = 8;
	pair_request(pair, packet);
	packet = report_packet(AWAY_MS);
	packet.opcode = OP_WRITE_ONLY_IMM;
	pair_request(pair, packet);
	packet = report_packet(AWAY_MS);
	packet.opcode = OP_WRITE_FIRST;
	pair_request(pair, packet);
	packet = report_packet(AWAY_MS);
	packet.psn = BEFORE_FIRST_PSN + 1; /* executed: a WRITE of the application */
	pair_request(pair, packet);
	expect_counts(pair, B, CNT_RX_WRITE_REQUESTS, 1);
	expect_learned(pair, 0, 0);
	close_agreed(pair);
}

Test(away, qp_that_may_not_send_requests_reports_nothing)
{
	struct pair *pair = open_agreed(0);

	RULE("C-33");
	set_state(pair, A, UROCE_QPS_SQD);
	cr_expect_not(rc_ask_report_away(pair->side[A].qp, AWAY_MS));
	set_state(pair, A, UROCE_QPS_ERR);
	cr_expect_not(rc_ask_report_away(pair->side[A].qp, AWAY_MS));
	pair_run(pair);
	expect_sent_count(pair, A, 0);
	close_agreed(pair);
}

Test(away, absence_is_reported_as_an_hour_at_most)
{
	struct pair *pair = open_agreed(0);

	RULE("C-33");
	cr_assert(rc_ask_report_away(pair->side[A].qp, UINT32_MAX));
	pair_run(pair);
	expect_learned(pair, HOUR_MS, 1);
	close_agreed(pair);
}

Test(away, reset_forgets_the_report_and_modify_does_not)
{
	const struct uroce_qp_attr attr = { .keepalive_ms = 500 };
	struct pair *pair = open_agreed(0);
	struct rc_qp *qp = pair->side[B].qp;

	RULE("C-33");
	pair_request(pair, report_packet(AWAY_MS));
	cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_KEEPALIVE, NULL), 0);
	expect_learned(pair, AWAY_MS, 1);
	set_state(pair, B, UROCE_QPS_RESET);
	cr_expect_eq(qp->peer_away_ms, 0);
	cr_expect_eq(qp->peer_away_at_ns, 0);
	close_agreed(pair);
}
