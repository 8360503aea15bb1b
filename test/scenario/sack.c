/* sack.c - what SACKs tell a requester, and what it sends again because of them (T-7, Q-17) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "agreed.h"
#include "packets.h"
#include "peek.h"
#include "rc/cc.h"
#include "rc/codes.h"
#include "rc/scoreboard.h"
#include "rule.h"

/* ---- what is sent ---- */

Test(sack, only_the_lost_packet_is_resent)
{
	uint64_t lost = 1 << 2;
	struct pair *pair = open_losing(&lost, 0);

	RULE("S-21");
	RULE("S-22");
	RULE("T-7");
	pair_write(pair, 1, 6 * MTU);
	pair_run(pair);
	expect_leaves(pair, A, "WRITE_FIRST psn=16777213 va=0x0 len=1536 bytes=256",
		      "WRITE_MIDDLE psn=16777214 bytes=256", "WRITE_MIDDLE psn=16777215 bytes=256",
		      "WRITE_MIDDLE psn=0 bytes=256", "WRITE_MIDDLE psn=1 bytes=256",
		      "WRITE_LAST psn=2 ackreq bytes=256", "WRITE_MIDDLE psn=16777215 ackreq bytes=256",
		      "PROBE psn=0 id=1 kind=0x0001");
	expect_leaves(pair, B,
		      "SACK psn=16777214 ack=+4 entropy=0xface cack=16777214 mpr=0 map=-62:0x7fffffffffffffff kept=3",
		      "SACK psn=16777214 ack=+4 entropy=0xface cack=16777214 mpr=0 map=+2:0x0000000000000007 kept=3",
		      "SACK psn=2 probe=1 entropy=0xface cack=2 mpr=0 map=-2:0x0000000000000007 kept=0",
		      "SACK psn=2 probe=1 entropy=0xface cack=2 mpr=0 map=+62:0x0000000000000000 kept=0",
		      "ACK psn=2 credit=31 msn=1");
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	cr_assert_eq(memcmp(pair->side[B].memory, pair->side[A].memory, 6 * MTU), 0);
	cr_assert_eq(kept_by_b(pair), 0);
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 1);
	expect_counts(pair, A, CNT_EARLY_PROBES, 0);
	expect_counts(pair, A, CNT_SACK_PROBES, 1);
	expect_counts(pair, B, CNT_OUT_OF_SEQUENCE, 1);
	close_agreed(pair);
}

Test(sack, lost_tail_is_probed)
{
	uint64_t lost = 7 << 2;
	struct pair *pair = open_losing(&lost, 0);

	RULE("S-22");
	RULE("T-7");
	pair_write(pair, 1, 5 * MTU);
	pair_run(pair);
	cr_assert_eq(pair->side[A].done_count, 0);
	cr_assert(pair_settle(pair, 1000000000));
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 3);
	expect_counts(pair, A, CNT_EARLY_PROBES, 1);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	close_agreed(pair);
}

/* Each loss of a copy costs a round trip: what left behind it shows it, or a PROBE, and no timer. */
Test(sack, repeatedly_lost_packet_costs_no_timeout)
{
	for (uint32_t copies = 1; copies < 6; copies++) {
		uint64_t lost = 1 << 1;
		struct pair *pair = open_losing(&lost, 0);

		RULE("T-7");
		for (uint32_t i = 0; i + 1 < copies; i++)
			lost |= 1ull << (6 + 2 * i); /* and a PROBE leaves behind each */
		pair_write(pair, 1, 6 * MTU);
		pair_run(pair);
		expect_completes(pair, A, "wr=1 WRITE SUCCESS");
		expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, copies);
		cr_assert_eq(peek_retries_left(pair->side[A].qp), 7);
		close_agreed(pair);
	}
}

/* Nothing is acknowledged: so many leave as both ends have agreed upon, and after a rewind few. */
Test(sack, agreed_window_bounds_packets_in_flight)
{
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_ERR };
	struct pair *pair = open_with((struct pair_options){ .receives = 0 });
	struct rc_qp *qp = pair->side[A].qp;
	uint32_t bad;

	RULE("S-22");
	pair_cut(pair);
	rc_kept_agree(qp, 1024);
	rc_cc_reset(qp);
	pair_write(pair, 1, 1100 * MTU);
	pair_transmit(pair, A);
	expect_sent_count(pair, A, 1024);
	cr_assert_not(peek_window_is_limited(qp));
	pair_fire(pair);
	while (qp->counters[CNT_LOCAL_ACK_TIMEOUT_ERR] == 0)
		pair_fire(pair);
	cr_assert(peek_window_is_limited(qp));
	cr_assert_eq(cc_window(qp), CC_LEAST);
	cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_STATE, &bad), 0);
	close_agreed(pair);
}

/* The SACK reports all packets, and A accepts it: only an ACK completes a request. */
Test(sack, sack_completes_no_request)
{
	struct pair *pair = open_agreed(0);
	struct wire_packet sack = { .opcode = OP_SACK, .cack_psn = 0xFFFFFF, .psn = 0xFFFFFF };

	RULE("Q-17");
	pair_cut(pair);
	pair_write(pair, 1, 3 * MTU);
	pair_transmit(pair, A);
	pair_respond(pair, sack);
	expect_completes(pair, A);
	cr_assert_eq(peek_acked(pair->side[A].qp), 0xFFFFFD);
	expect_counts(pair, A, CNT_BAD_SACK, 0);
	pair_respond(pair, (struct wire_packet){ .opcode = OP_ACKNOWLEDGE, .psn = 0xFFFFFF, .syndrome = 31, .msn = 1 });
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	close_agreed(pair);
}

Test(sack, invalid_sack_is_dropped)
{
	static const struct {
		const char *what;
		struct wire_packet packet;
	} rows[] = {
		{ "a type", { .cack_psn = 0xFFFFFC, .control_kind = 0x1000 } },
		{ "a payload", { .cack_psn = 0xFFFFFC, .payload_bytes = 4 } },
		{ "all before what is not sent", { .cack_psn = 0 } },
		{ "one behind", { .cack_psn = 0xFFFFFC, .sack_offset = 1, .sack_bitmap = 8 } },
		{ "drawn by one behind", { .cack_psn = 0xFFFFFC, .ack_psn_offset = 4 } },
		{ "far ahead", { .cack_psn = 0x7FFFFF } },
	};
	struct pair *pair = open_agreed(0);

	RULE("T-7");
	pair_cut(pair);
	pair_write(pair, 1, 3 * MTU);
	pair_transmit(pair, A);
	pair_forget(pair);
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wire_packet packet = rows[i].packet;

		packet.opcode = OP_SACK;
		packet.payload = packets_data();
		pair_respond(pair, packet);
		expect_leaves(pair, A);
		cr_assert_eq(pair->side[A].qp->counters[CNT_BAD_SACK], i + 1, "%s", rows[i].what);
		cr_assert_not(peek_has_sack_map(pair->side[A].qp), "%s", rows[i].what);
	}
	close_agreed(pair);
}

Test(sack, idle_connection_rejects_a_sack_of_the_next_packet)
{
	struct wire_packet answer = { .opcode = OP_SACK, .control_kind = WIRE_SACK_OF_PROBE };
	struct pair *pair = open_agreed(0);

	RULE("T-7");
	pair_cut(pair);
	answer.cack_psn = 0xFFFFFD;
	pair_respond(pair, answer);
	expect_counts(pair, A, CNT_BAD_SACK, 1);
	answer.cack_psn = 0xFFFFFC;
	pair_respond(pair, answer);
	expect_counts(pair, A, CNT_BAD_SACK, 1);
	close_agreed(pair);
}

/* ---- what a SACK shows to be lost ---- */

/* A has sent `packets` packets of a WRITE from PSN 100 on, and nobody but the test answers. */
static struct pair *open_sent(uint32_t packets)
{
	struct pair *pair = open_with((struct pair_options){ .psn_a = 100 });

	pair_cut(pair);
	pair_write(pair, 1, packets * MTU);
	pair_transmit(pair, A);
	pair_forget(pair);
	return pair;
}

/* Everything before PSN 100 + `cack` has come, of the 64 from PSN 100 on those of the map, and `newest` last. */
static void tell(struct pair *pair, uint32_t cack, uint32_t newest, uint64_t map)
{
	pair_respond(pair, (struct wire_packet){
				   .opcode = OP_SACK,
				   .cack_psn = 99 + cack,
				   .ack_psn_offset = (uint16_t)(newest + 1 - cack),
				   .sack_offset = (uint16_t)(1 - (int)cack),
				   .sack_bitmap = map,
			   });
}

Test(sack, only_packets_sent_before_received_ones_are_lost)
{
	struct pair *pair = open_sent(6);

	RULE("T-7");
	tell(pair, 0, 2, 1 << 2);
	expect_leaves(pair, A, "WRITE_FIRST psn=100 ackreq va=0x0 len=1536 bytes=256",
		      "WRITE_MIDDLE psn=101 ackreq bytes=256", "PROBE psn=0 id=1 kind=0x0001");
	tell(pair, 0, 2, 1 << 2);
	expect_leaves(pair, A);
	close_agreed(pair);
}

/* It came in order before A got round to sending it again. */
Test(sack, packet_acknowledged_before_its_resend_is_not_resent)
{
	struct pair *pair = open_sent(6);
	const struct wire_packet later = { .opcode = OP_SACK, .cack_psn = 102, .sack_offset = 64 };

	RULE("T-7");
	pair_inject(
		pair, A,
		(struct wire_packet){
			.opcode = OP_SACK, .cack_psn = 99, .ack_psn_offset = 3, .sack_offset = 1, .sack_bitmap = 4 });
	cr_assert_eq(qp_board(pair->side[A].qp, BOARD_SACK)->sack.lost, 2);
	pair_respond(pair, later);
	expect_leaves(pair, A);
	close_agreed(pair);
}

/* A READ has a PSN for each of its responses, and one packet. */
Test(sack, one_lost_packet_counts_once_for_a_read)
{
	struct pair *pair = open_with((struct pair_options){ .psn_a = 100 });

	RULE("T-7");
	pair_cut(pair);
	pair_read(pair, 1, 4 * MTU);
	pair_write(pair, 2, MTU);
	pair_write(pair, 3, MTU);
	pair_transmit(pair, A);
	pair_forget(pair);
	tell(pair, 0, 5, 1 << 5);
	expect_leaves(pair, A, "READ_REQUEST psn=100 ackreq va=0x0 len=1024",
		      "WRITE_ONLY psn=104 ackreq va=0x0 len=256 bytes=256", "PROBE psn=0 id=1 kind=0x0001");
	close_agreed(pair);
}

/* The ACK timer resends all: SACKs of earlier copies show no loss. */
Test(sack, rewind_forgets_sacks)
{
	struct pair *pair = open_sent(4);
	const struct rc_qp *qp = pair->side[A].qp;

	RULE("T-7");
	RULE("T-2");
	tell(pair, 0, 3, 1 << 3);
	cr_assert(peek_has_sack_map(qp));
	while (qp->counters[CNT_LOCAL_ACK_TIMEOUT_ERR] == 0)
		pair_fire(pair);
	cr_assert_not(peek_has_sack_map(qp));
	pair_forget(pair);
	tell(pair, 0, 3, 1 << 3);
	expect_leaves(pair, A);
	close_agreed(pair);
}

/* Few leave again after a rewind, and the oldest of them is lost once more: a PROBE's answer says so, and no timer. */
Test(sack, probe_answer_reports_losses_after_a_rewind)
{
	struct pair *pair = open_with((struct pair_options){ 0 });
	const struct rc_qp *qp = pair->side[A].qp;
	struct wire_packet answer = { .opcode = OP_SACK, .sack_offset = 1 };

	RULE("T-2");
	RULE("T-7");
	pair_cut(pair);
	pair_measure_alone(pair, 1000);
	pair_write(pair, 1, 3 * CC_LEAST * MTU);
	pair_transmit(pair, A);
	while (qp->counters[CNT_LOCAL_ACK_TIMEOUT_ERR] == 0)
		pair_fire(pair);
	cr_assert_eq(psn_distance(qp->win.snd_nxt, qp->win.snd_una), CC_LEAST);
	answer.control_kind = WIRE_SACK_OF_PROBE;
	answer.probe_id = peek_probe_id(qp);
	pair_forget(pair);
	pair_respond(pair, answer);
	expect_leaves(pair, A); /* that PROBE left before the rewind */
	cr_assert(pair_fire(pair));
	expect_sent_count(pair, A, 1);
	pair_forget(pair);
	answer.probe_id = peek_probe_id(qp);
	answer.sack_bitmap = (1u << CC_LEAST) - 2;
	pair_respond(pair, answer);
	expect_sent_count(pair, A, 2);
	expect_sent(pair, A, 0, "WRITE_FIRST psn=1 ackreq va=0x0 len=6144 bytes=256");
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 1);
	cr_assert_eq(peek_retries_left(qp), 6);
	close_agreed(pair);
}

/*
 * A deferred ACK request is an empty WRITE. When its ACK shows that the next packet is missing, nothing is resent: a
 * PROBE is sent, and its answer reports the missing packets.
 */
Test(sack, gap_shown_by_an_ack_starts_a_probe)
{
	struct uroce_send_wr unsignaled = { .wr_id = 7, .opcode = UROCE_WR_RDMA_WRITE };
	struct pair *pair = open_with((struct pair_options){ 0 });
	const struct rc_qp *qp = pair->side[A].qp;

	RULE("T-7");
	RULE("Q-5");
	pair_cut(pair);
	pair_measure_alone(pair, 1000);
	cr_assert_eq(pair_post(pair, A, unsignaled, 0, 8), 0);
	pair_transmit(pair, A);
	pair_fire(pair);
	expect_leaves(pair, A, "WRITE_ONLY psn=1 va=0x0 len=8 bytes=8", "WRITE_ONLY psn=0 ackreq va=0x0 len=0 bytes=0");
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	expect_leaves(pair, A);
	pair_fire(pair);
	expect_leaves(pair, A, "PROBE psn=0 id=1 kind=0x0001");
	cr_assert_eq(peek_retries_left(qp), 7);
	pair_respond(pair, (struct wire_packet){ .opcode = OP_SACK,
						 .control_kind = WIRE_SACK_OF_PROBE,
						 .ack_psn_offset = 1,
						 .sack_offset = 1 });
	expect_leaves(pair, A, "WRITE_ONLY psn=1 ackreq va=0x0 len=8 bytes=8", "PROBE psn=0 id=2 kind=0x0001");
	pair_respond(pair, ack_packet(1, SYNDROME_PLAIN_ACK, 2));
	cr_assert_eq(rc_qp_deadline(qp), RC_NEVER);
	close_agreed(pair);
}

/* All packets sent before the PROBE are acknowledged when its answer arrives: it does not cover later ones. */
Test(sack, overtaken_probe_answer_reveals_no_later_loss)
{
	struct pair *pair = open_sent(1);

	RULE("T-7");
	cr_assert(pair_fire(pair));
	expect_leaves(pair, A, "PROBE psn=0 id=1 kind=0x0001");
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	pair_respond(pair, ack_packet(101, SYNDROME_PLAIN_ACK, 2));
	expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 WRITE SUCCESS");
	pair_write(pair, 3, 2 * MTU);
	pair_transmit(pair, A);
	pair_respond(pair, (struct wire_packet){
				   .opcode = OP_SACK,
				   .control_kind = WIRE_SACK_OF_PROBE,
				   .probe_id = 1,
				   .cack_psn = 101,
				   .sack_offset = (uint16_t)-10,
				   .sack_bitmap = 0x7FF,
			   });
	pair_transmit(pair, A);
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 0);
	close_agreed(pair);
}

/* That a packet is still missing is no news: it gives neither time nor retries back. */
Test(sack, probe_answer_without_news_postpones_no_timer)
{
	struct pair *pair = open_sent(1);
	const struct rc_loss *loss = &pair->side[A].qp->loss;
	uint64_t deadline_ns = loss->ack_deadline_ns;

	RULE("T-4");
	RULE("T-7");
	cr_assert(pair_fire(pair));
	expect_leaves(pair, A, "PROBE psn=0 id=1 kind=0x0001");
	pair_respond(pair, (struct wire_packet){ .opcode = OP_SACK,
						 .control_kind = WIRE_SACK_OF_PROBE,
						 .probe_id = 1,
						 .cack_psn = 99,
						 .sack_offset = 1 });
	pair_transmit(pair, A);
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 1);
	cr_assert_eq(loss->ack_deadline_ns, deadline_ns);
	close_agreed(pair);
}

static int lose_long_ones(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	uint32_t *long_ones = pair->user;

	(void)from;
	(void)number;
	*long_ones += packet->payload_bytes == MTU;
	return packet->payload_bytes == MTU ? 0 : 1;
}

/*
 * The path drops packets of the path MTU, but passes shorter ones and answers to PROBEs. A PROBE's answer refunds no
 * time and no retry, and after a few without news only the oldest packet leaves, once per PROBE timer.
 */
Test(sack, path_losing_only_long_packets_exhausts_the_retries)
{
	struct pair *pair = open_agreed(0);
	uint32_t fired = 0, long_ones = 0;

	RULE("T-4");
	RULE("T-7");
	RULE("E-4");
	pair->copies = lose_long_ones;
	pair->user = &long_ones;
	pair_write(pair, 1, 60 * MTU + 8);
	pair_run(pair);
	cr_assert_leq(long_ones, 3 * 60 + SACK_IDLE_PROBES, "%u packets", long_ones);
	while (pair->side[A].done_count == 0 && fired++ < 1000)
		pair_fire(pair);
	expect_completes(pair, A, "wr=1 WRITE RETRY_EXC_ERR");
	cr_assert_eq(pair->side[A].wcs[0].aeth >> 24, syndrome_make(SYNDROME_NAK, NAK_PSN_SEQUENCE));
	cr_assert_eq(pair->side[A].wcs[0].vendor_err, UROCE_CAUSE_TIMEOUT);
	close_agreed(pair);
}

/* A knows that PSN 100 has arrived, and B waits for it. Each rewind repeats the report, which is no progress. */
Test(sack, repeated_sacks_after_a_rewind_refund_no_retry)
{
	struct pair *pair = open_sent(4);

	RULE("T-3");
	RULE("T-4");
	pair_respond(pair, ack_packet(100, SYNDROME_PLAIN_ACK, 0));
	for (uint32_t i = 0; i < 100 && pair->side[A].done_count == 0; i++) {
		pair_fire(pair);
		tell(pair, 0, 3, 0xE);
	}
	expect_completes(pair, A, "wr=1 WRITE RETRY_EXC_ERR");
	close_agreed(pair);
}

/* SACKs without news and resends may continue forever: a PROBE leaves nevertheless. */
Test(sack, sack_without_news_postpones_no_probe)
{
	struct pair *pair = open_sent(6);
	const struct rc_qp *qp = pair->side[A].qp;
	uint64_t deadline_ns;

	RULE("T-6");
	tell(pair, 0, 2, 1 << 2);
	pair_transmit(pair, A);
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 2);
	deadline_ns = peek_ask_ns(qp);
	cr_assert_neq(deadline_ns, RC_NEVER);
	pair->now_ns += 1000;
	tell(pair, 0, 2, 1 << 2);
	cr_assert_eq(peek_ask_ns(qp), deadline_ns);
	pair_respond(pair, (struct wire_packet){ .opcode = OP_SACK,
						 .control_kind = WIRE_SACK_OF_PROBE,
						 .probe_id = 1,
						 .cack_psn = 99,
						 .sack_offset = 1,
						 .sack_bitmap = 1 << 2 });
	pair_transmit(pair, A);
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 7);
	cr_assert_eq(peek_ask_ns(qp), deadline_ns);
	tell(pair, 0, 3, 3 << 2);
	cr_assert_gt(peek_ask_ns(qp), deadline_ns, "but what is new does");
	close_agreed(pair);
}

/* B repeatedly keeps and drops packets, and PSN 100 never arrives: that is no progress either. */
Test(sack, repeatedly_dropped_packets_refund_neither_time_nor_retries)
{
	struct pair *pair = open_sent(4);
	const struct rc_qp *qp = pair->side[A].qp;

	RULE("T-4");
	RULE("T-7");
	for (uint32_t i = 0; i < 1000 && pair->side[A].done_count == 0; i++) {
		tell(pair, 0, 3, 0xE);
		pair->now_ns += peek_timeout_ns(qp) / 20;
		if (rc_qp_deadline(qp) <= pair->now_ns)
			rc_qp_timeout(pair->side[A].qp, pair->now_ns);
		pair_transmit(pair, A);
		pair_respond(pair, (struct wire_packet){ .opcode = OP_SACK,
							 .control_kind = WIRE_SACK_OF_PROBE,
							 .probe_id = peek_probe_id(qp),
							 .cack_psn = 99,
							 .sack_offset = 1 });
		pair_transmit(pair, A);
	}
	expect_completes(pair, A, "wr=1 WRITE RETRY_EXC_ERR");
	close_agreed(pair);
}

Test(sack, rnr_wait_ignores_sacks)
{
	struct pair *pair = open_sent(4);

	RULE("R-4");
	pair_respond(pair, (struct wire_packet){ .opcode = OP_ACKNOWLEDGE, .psn = 100, .syndrome = 0x2C });
	tell(pair, 0, 3, 1 << 3);
	expect_leaves(pair, A);
	cr_assert_not(peek_has_sack_map(pair->side[A].qp));
	close_agreed(pair);
}

/* B drops kept packets: the answer to a PROBE reports it, and all are resent. */
Test(sack, dropped_kept_packets_are_resent)
{
	uint64_t lost = 1 << 1;
	struct pair *pair = open_losing(&lost, 0);

	RULE("T-7");
	pair_write(pair, 1, 5 * MTU);
	pair_transmit(pair, A);
	pair_deliver(pair, B);
	pair_transmit(pair, B);
	pair_deliver(pair, A);
	cr_assert_eq(kept_by_b(pair), 3);
	rc_kept_forget(pair->side[B].qp);
	cr_assert(pair_settle(pair, 1000000000));
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	cr_assert_eq(memcmp(pair->side[B].memory, pair->side[A].memory, 5 * MTU), 0);
	close_agreed(pair);
}
