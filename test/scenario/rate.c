/* rate.c - congestion notifications, and what leaves at the rate that they leave (N-2, N-3) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "packets.h"
#include "peek.h"
#include "places.h"
#include "rc/cc.h"
#include "rc/loss.h"
#include "rule.h"

#define MTU 1024u
#define LINE 8000u        /* Mbit/s: a byte a ns */
#define SHORT_NS 2097152u /* a wait for the rate is short up to a 32nd of the ACK timer, 67.1 ms */
#define AT_ONCE 8u        /* packets of the MTU in two ticks at half of that */

static const struct wire_packet notification = { .opcode = OP_CNP, .flags = WIRE_BECN };

static struct pair *open_listening(void)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU, .receives = 4 });

	for (enum side_name side = A; side <= B; side++) {
		pair->side[side].qp->line_mbps = LINE;
		rc_cc_choose(pair->side[side].qp, UROCE_CC_DCQCN);
	}
	pair->now_ns = 1000000;
	return pair;
}

static void notify(struct pair *pair, enum side_name side)
{
	struct wire_packet packet = notification;

	packet.pkey = 0xFFFF;
	packet.dest_qpn = pair->side[side].qp->qpn;
	pair_inject(pair, side, packet);
}

/* Returns how many packets leave a side now. */
static uint32_t leaves(struct pair *pair, enum side_name side)
{
	uint32_t before = pair->side[side].packets;

	pair_transmit(pair, side);
	return pair->side[side].packets - before;
}

Test(rate, notification_halves_the_rate_and_packets_leave_in_bursts)
{
	struct pair *pair = open_listening();
	const struct rc_qp *qp = pair->side[A].qp;
	uint64_t began_ns = pair->now_ns, bytes = 0;

	RULE("N-3");
	notify(pair, A);
	cr_assert_eq(qp->counters[CNT_CNP_HANDLED], 1);
	cr_assert_eq(pair_write(pair, 1, 64 * MTU), 0);
	for (uint32_t bursts = 0; bursts < 8; bursts++) {
		cr_assert_eq(leaves(pair, A), AT_ONCE);
		cr_assert_eq(leaves(pair, A), 0);
		bytes += AT_ONCE * MTU;
		if (bursts == 7)
			break;
		cr_assert_neq(rc_qp_deadline(qp), RC_NEVER);
		pair->now_ns = rc_qp_deadline(qp);
		rc_qp_timeout(pair->side[A].qp, pair->now_ns);
		cr_assert_geq(pair->now_ns - began_ns, 2 * bytes, "too early");
		cr_assert_leq(pair->now_ns - began_ns, 2 * (bytes + bytes / 10), "too late");
	}
	pair_run(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	pair_close(pair);
}

Test(rate, delayed_packets_leave_in_one_burst_only)
{
	struct pair *pair = open_listening();

	RULE("N-3");
	notify(pair, A);
	pair->now_ns += 100000;
	cr_assert_eq(pair_write(pair, 1, 64 * MTU), 0);
	cr_assert_eq(leaves(pair, A), AT_ONCE);
	pair->now_ns += 1;
	cr_assert_leq(leaves(pair, A), AT_ONCE);
	cr_assert_eq(leaves(pair, A), 0);
	pair_close(pair);
}

/* The responses that a READ requests count; a higher rate shortens the wait. */
Test(rate, read_requests_are_paced)
{
	struct pair *pair = open_listening();
	const struct rc_qp *qp = pair->side[A].qp;

	RULE("N-3");
	notify(pair, A);
	for (uint64_t id = 1; id <= 3; id++)
		cr_assert_eq(pair_read(pair, id, 400 * MTU), 0);
	cr_assert_eq(leaves(pair, A), 1);
	cr_assert_eq(leaves(pair, A), 0);
	pair->now_ns += 350000; /* of the 819 us that its responses take; after 300 it is 6000 Mbit/s, then 7000 */
	cr_assert_eq(leaves(pair, A), 0);
	cr_assert_leq(rc_qp_deadline(qp), pair->now_ns + 320000);
	pair->now_ns += 320000;
	cr_assert_eq(leaves(pair, A), 1);
	cr_assert_eq(leaves(pair, A), 0);
	pair_close(pair);
}

/* The rate may rise meanwhile. */
Test(rate, long_wait_is_rechecked_each_millisecond)
{
	struct pair *pair = open_listening();

	RULE("N-3");
	notify(pair, A);
	cr_assert_eq(pair_read(pair, 1, 1000 * MTU), 0);
	cr_assert_eq(pair_read(pair, 2, 1000 * MTU), 0);
	cr_assert_eq(leaves(pair, A), 1);
	cr_assert_eq(rc_qp_deadline(pair->side[A].qp), pair->now_ns + 1000000);
	pair_close(pair);
}

Test(rate, read_responses_are_paced)
{
	struct pair *pair = open_listening();

	RULE("N-3");
	notify(pair, B);
	pair_request(pair, read_packet(pair, 0, 0, 32 * MTU));
	cr_assert_eq(pair->side[B].packets, AT_ONCE);
	cr_assert_eq(leaves(pair, B), 0);
	pair->now_ns = rc_qp_deadline(pair->side[B].qp);
	cr_assert_eq(leaves(pair, B), AT_ONCE);
	pair_close(pair);
}

/* What others have put into the outbox before is not the QP's: a response and its own requests make one burst. */
Test(rate, burst_counts_only_its_own_packets)
{
	struct pair *pair = open_listening();
	uint32_t before;

	RULE("N-3");
	notify(pair, B);
	cr_assert_eq(pair_write(pair, 1, 4 * MTU), 0);
	cr_assert_eq(pair_post(pair, B, (struct uroce_send_wr){ .opcode = UROCE_WR_RDMA_WRITE }, 0, 64 * MTU), 0);
	pair_inject(pair, B, read_packet(pair, 0, 0, MTU));
	outbox_reset(&pair->out);
	places_give(&pair->out, OUTBOX_PACKETS);
	rc_qp_transmit(pair->side[A].qp, pair->now_ns, &pair->out);
	before = pair->out.packet_count;
	cr_assert_eq(before, 4);
	rc_qp_transmit(pair->side[B].qp, pair->now_ns, &pair->out);
	cr_assert_eq(pair->out.packet_count - before, AT_ONCE);
	pair_close(pair);
}

/* B has requested READs that take 2 ms at its rate; its responses do not wait for that. */
Test(rate, responses_do_not_wait_for_paced_requests)
{
	struct pair *pair = open_listening();

	RULE("N-3");
	notify(pair, B);
	cr_assert_eq(pair_post(pair, B, (struct uroce_send_wr){ .opcode = UROCE_WR_RDMA_READ }, 0, 1000 * MTU), 0);
	cr_assert_eq(pair_post(pair, B, (struct uroce_send_wr){ .opcode = UROCE_WR_RDMA_READ }, 0, 1000 * MTU), 0);
	cr_assert_eq(leaves(pair, B), 1);
	pair->now_ns += 1000;
	pair_forget(pair);
	pair_request(pair, read_packet(pair, 0, 0, MTU));
	expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=0 credit=31 msn=1 bytes=1024");
	pair_close(pair);
}

/* One READ at a time: behind the first one and a WRITE that has not asked, the second READ waits for the rate. */
static struct pair *open_waiting_for(uint64_t wait_ns)
{
	struct pair *pair = open_listening();
	struct rc_qp *qp = pair->side[A].qp;

	poke_probes(qp, false);
	qp->requester.max_rd_atomic = 1;
	cr_assert_eq(pair_read(pair, 1, MTU), 0);
	cr_assert_eq(pair_post(pair, A, (struct uroce_send_wr){ .opcode = UROCE_WR_RDMA_WRITE }, 0, 64), 0);
	cr_assert_eq(pair_read(pair, 2, MTU), 0);
	cr_assert_eq(leaves(pair, A), 2, "the second READ waits for the first");
	notify(pair, A);
	qp->asked_ns = pair->now_ns + wait_ns; /* now it waits for the rate */
	pair_deliver(pair, B);
	pair_transmit(pair, B);
	pair_deliver(pair, A);
	expect_completes(pair, A, "wr=1 READ SUCCESS len=1024");
	return pair;
}

/* The wait may exceed the ACK timer, and without probes no ACK is requested in between. */
Test(rate, long_pacing_wait_solicits_an_ack)
{
	struct pair *pair = open_waiting_for(100000000);

	RULE("Q-5");
	cr_assert_eq(leaves(pair, A), 1, "an empty WRITE asks for the ACK of the WRITE");
	cr_assert_eq(leaves(pair, A), 0);
	pair_close(pair);
}

/* A probe would only fill the queue that the rate is to empty. */
Test(rate, short_pacing_wait_defers_ackreq_to_the_next_packet)
{
	struct pair *pair = open_waiting_for(SHORT_NS);

	RULE("Q-5");
	cr_assert_eq(leaves(pair, A), 0);
	pair->now_ns += SHORT_NS;
	cr_assert_eq(leaves(pair, A), 1, "the READ");
	pair_deliver(pair, B);
	pair_transmit(pair, B);
	pair_deliver(pair, A);
	expect_completes(pair, A, "wr=2 READ SUCCESS len=1024");
	cr_assert_eq(pair->side[A].qp->counters[CNT_EARLY_PROBES], 0);
	pair_close(pair);
}

/* B is ahead of its rate with requests of its own. */
Test(rate, acks_are_not_paced)
{
	struct pair *pair = open_listening();

	RULE("N-3");
	notify(pair, B);
	cr_assert_eq(pair_post(pair, B, (struct uroce_send_wr){ .opcode = UROCE_WR_RDMA_WRITE }, 0, 64 * MTU), 0);
	cr_assert_eq(leaves(pair, B), AT_ONCE);
	pair_forget(pair);
	pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 0, 0, MTU, MTU));
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=1");
	pair_close(pair);
}

/* A peer may draw any number of them, and what waits for the rate must not wait for ever. */
Test(rate, acks_do_not_count_towards_the_rate)
{
	struct pair *pair = open_listening();
	const struct rc_qp *qp = pair->side[B].qp;

	RULE("N-3");
	for (uint32_t i = 0; i < 40; i++) {
		pair->now_ns += 100000;
		rc_cc_notified(pair->side[B].qp, pair->now_ns); /* as CNPs for what it has sent do */
	}
	cr_assert_leq(peek_rate_mbps(qp), 10);
	for (uint32_t psn = 0; psn < 100; psn++)
		pair_request(pair, write_packet(pair, OP_WRITE_ONLY, psn, 0, 8, 8));
	cr_assert_leq(peek_next_frame_ns(qp), pair->now_ns);
	pair_forget(pair);
	pair_request(pair, read_packet(pair, 100, 0, 8));
	expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=100 credit=31 msn=101 bytes=8");
	pair_close(pair);
}

/* Only READ responses are many. An atomic's response is short, and a FLUSH takes time, which costs no rate. */
Test(rate, short_responses_do_not_wait)
{
	struct pair *pair = open_listening();
	struct wire_packet flush = write_packet(pair, OP_FLUSH, 0, 0, 60000, 0);
	bool more;

	RULE("N-3");
	flush.feth = UROCE_FLUSH_PERSISTENT;
	notify(pair, B);
	cr_assert_eq(pair_post(pair, B, (struct uroce_send_wr){ .opcode = UROCE_WR_RDMA_WRITE }, 0, 64 * MTU), 0);
	cr_assert_eq(leaves(pair, B), AT_ONCE);
	pair_forget(pair);
	pair_inject(pair, B, flush);
	do {
		more = pair_transmit_some(pair, B, OUTBOX_PACKETS);
	} while (more);
	expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=0 credit=31 msn=1 bytes=0");
	pair_close(pair);
}

Test(rate, paced_qp_without_work_has_no_deadline)
{
	struct pair *pair = open_listening();

	RULE("N-3");
	pair->step_ns = 0;
	notify(pair, A);
	cr_assert_eq(pair_write(pair, 1, 64), 0);
	pair_run(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	cr_assert_gt(peek_next_frame_ns(pair->side[A].qp), pair->now_ns);
	cr_assert_eq(rc_qp_deadline(pair->side[A].qp), RC_NEVER);
	pair_close(pair);
}

/* The waiting request is flushed, and no work remains that would check the rate. */
Test(rate, qp_in_error_ends_its_pacing_wait)
{
	struct pair *pair = open_listening();
	struct rc_qp *qp = pair->side[A].qp;

	RULE("N-3");
	notify(pair, A);
	cr_assert_eq(pair_write(pair, 1, 64 * MTU), 0);
	cr_assert_eq(leaves(pair, A), AT_ONCE);
	cr_assert_neq(rc_qp_deadline(qp), RC_NEVER);
	cr_assert_eq(rc_qp_modify(qp, &(struct uroce_qp_attr){ .qp_state = UROCE_QPS_ERR }, UROCE_QP_STATE, NULL), 0);
	pair->now_ns += 1000000000;
	rc_qp_timeout(qp, pair->now_ns);
	cr_assert_eq(rc_qp_deadline(qp), RC_NEVER);
	pair_run(pair);
	expect_completes(pair, A, "wr=1 WRITE WR_FLUSH_ERR");
	pair_close(pair);
}

Test(rate, rate_limit_ends_without_further_notifications)
{
	struct pair *pair = open_listening();

	RULE("N-2");
	notify(pair, A);
	pair->now_ns += 100000000;
	cr_assert_eq(pair_write(pair, 1, 150 * MTU), 0);
	cr_assert_eq(leaves(pair, A), 150);
	cr_assert(!peek_is_paced(pair->side[A].qp));
	pair_close(pair);
}

/* All that can be lost is lost as without a rate, and nothing waits for ever. */
static int lose_some(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	(void)pair;
	(void)from;
	(void)packet;
	return number % 7 != 3;
}

Test(rate, losses_are_repaired_at_the_rate)
{
	struct pair *pair = open_listening();

	RULE("N-3");
	pair->copies = lose_some;
	for (uint32_t round = 0; round < 20; round++) {
		notify(pair, A);
		notify(pair, B);
		cr_assert_eq(pair_write(pair, 1, 20 * MTU), 0);
		cr_assert_eq(pair_read(pair, 2, 20 * MTU), 0);
		cr_assert_eq(pair_send(pair, 3, 64), 0);
		cr_assert_eq(pair_recv(pair, B, 3, 0, 64), 0);
		cr_assert(pair_settle(pair, 60000000000));
		expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 READ SUCCESS len=20480", "wr=3 SEND SUCCESS");
	}
	cr_assert_eq(peek_state(pair->side[A].qp), UROCE_QPS_RTS);
	pair_close(pair);
}

Test(rate, notification_from_another_address_is_dropped)
{
	struct pair *pair = open_listening();
	struct uroce_path elsewhere = pair->side[B].qp->path;

	RULE("N-2");
	elsewhere.source.bytes[15] ^= 1;
	pair->inject_path = &elsewhere;
	notify(pair, A);
	cr_assert_eq(pair->side[A].drops[CNT_PORT_ADDRESS], 1);
	pair->inject_path = NULL;
	pair->inject_damage = true;
	if (!pair->side[A].checked) /* else the host would have dropped it */
		notify(pair, A);
	cr_assert_eq(pair->side[A].qp->counters[CNT_CNP_HANDLED], 0);
	cr_assert(!peek_is_paced(pair->side[A].qp));
	pair_close(pair);
}

/* TC-G-4: a CNP has no PSN: who knows the QPN can send one. */
Test(rate, surplus_notifications_are_ignored_and_raise_an_anomaly)
{
	struct pair *pair = open_listening();
	uint32_t mbps;

	RULE("N-2");
	RULE("V-1");
	cr_assert_eq(pair_write(pair, 1, 64 * MTU), 0);
	pair_run(pair);
	notify(pair, A);
	mbps = peek_rate_mbps(pair->side[A].qp);
	for (uint32_t i = 1; i < 1000; i++) {
		pair->now_ns += 900000;
		notify(pair, A);
	}
	cr_assert_eq(pair->side[A].drops[CNT_PORT_CNP_UNEXPECTED], 999);
	expect_counts(pair, A, CNT_CNP_HANDLED, 1);
	cr_assert_eq(peek_rate_mbps(pair->side[A].qp), mbps, "none of them lowered the rate");
	pair_transmit(pair, A);
	expect_events(pair, A, "ANOMALY");
	cr_assert_eq(pair_write(pair, 2, 3 * MTU), 0);
	cr_assert_eq(leaves(pair, A), 3);
	for (uint32_t i = 0; i < 5; i++) {
		pair->now_ns += 100000;
		notify(pair, A);
	}
	cr_assert_eq(pair->side[A].drops[CNT_PORT_CNP_UNEXPECTED], 1000,
		     "the first one limits the rate, and three packets were in flight then");
	pair_close(pair);
}

Test(rate, qp_without_dcqcn_ignores_notifications)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU });

	RULE("N-2");
	notify(pair, A);
	cr_assert_eq(pair->side[A].drops[CNT_PORT_CNP], 1);
	cr_assert(!peek_is_paced(pair->side[A].qp));
	pair_close(pair);
}

/* Anybody can send a marked packet. One of 2^15 PSNs lies within the window. */
Test(rate, ecn_mark_counts_only_near_the_expected_psn)
{
	static const struct {
		uint8_t opcode;
		uint16_t window;
		uint32_t ahead; /* of ePSN or snd_una */
		bool heeded;
	} rows[] = {
		{ OP_WRITE_ONLY, 0, 0, true },
		{ OP_WRITE_ONLY, 0, 255, true },
		{ OP_WRITE_ONLY, 0, 256, false },
		{ OP_WRITE_ONLY, 0, PSN_MASK - 255, true },
		{ OP_WRITE_ONLY, 0, PSN_MASK - 256, false },
		{ OP_WRITE_ONLY, 0, 1u << 23, false },
		{ OP_WRITE_ONLY, 128, 255, true },
		{ OP_SEND_LAST, 2048, 2047, true },
		{ OP_SEND_LAST, 2048, 2048, false },
		{ OP_READ_RESPONSE_MIDDLE, 0, 255, true },
		{ OP_READ_RESPONSE_MIDDLE, 0, 256, false },
		{ OP_ATOMIC_ACKNOWLEDGE, 0, 0, true },
		{ OP_ACKNOWLEDGE, 0, 0, false },
		{ OP_SACK, 2048, 0, false },
		{ OP_CNP, 0, 0, false },
	};
	struct pair *pair = pair_open(&(struct pair_options){ .psn_a = 5000000, .psn_b = 100 });
	struct rc_qp *qp = pair->side[A].qp;

	RULE("N-1");
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		psn_t base = wire_opcode(rows[i].opcode)->response ? qp->win.snd_una : qp->responder.epsn;
		struct wire_packet packet = { .opcode = rows[i].opcode, .psn = psn_add(base, rows[i].ahead).v };

		qp->kept.window = rows[i].window;
		cr_assert_eq(rc_qp_heeds_mark(qp, &packet), rows[i].heeded, "row %u", i);
	}
	pair_close(pair);
}
