/* probe.c - progress stops and nothing tells why: the peer is asked some round trips later, not after a timeout */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "packets.h"
#include "peek.h"
#include "rc/loss.h"
#include "rule.h"

#define SHORTEST_NS 100000ull
#define TIMEOUT_NS 67108864ull /* code 14 */

/* Both sides ask early, and A has measured a round trip. */
static struct pair *open_asking(uint32_t receives)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = receives });

	for (int i = 0; i < 2; i++)
		poke_probes(pair->side[i].qp, true);
	pair_write(pair, 100, 8);
	pair_run(pair);
	expect_completes(pair, A, "wr=100 WRITE SUCCESS");
	pair_forget(pair);
	return pair;
}

static uint32_t lose_from[2], lose_count[2]; /* which packets of each side are lost, counted from now */
static uint32_t base[2];

static int lose_some(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	uint32_t index = number - base[from];

	(void)pair;
	(void)packet;
	return index < lose_from[from] || index >= lose_from[from] + lose_count[from];
}

static void lose(struct pair *pair, enum side_name side, uint32_t first, uint32_t count)
{
	for (int i = 0; i < 2; i++) {
		base[i] = pair->side[i].packets;
		lose_count[i] = 0;
	}
	lose_from[side] = first;
	lose_count[side] = count;
	pair->copies = lose_some;
}

/* The time it takes to get over a loss, with everything done right and no retry spent. */
static uint64_t settle(struct pair *pair)
{
	uint64_t began = pair->now_ns;

	cr_assert(pair_settle(pair, 10000000000ull));
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	return pair->now_ns - began;
}

/* The answer may belong to either copy, so it measures no round trip (Karn). */
Test(probe, probed_packet_measures_no_round_trip)
{
	struct pair *pair = open_asking(0);
	const struct rc_qp *qp = pair->side[A].qp;
	uint64_t round_trip = peek_round_trip_ns(qp);

	RULE("T-5");
	cr_assert_gt(round_trip, 0);
	lose(pair, A, 0, 1);
	pair_write(pair, 1, 8);
	settle(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	expect_counts(pair, A, CNT_EARLY_PROBES, 1);
	cr_assert_eq(peek_round_trip_ns(qp), round_trip);
	pair_close(pair);
}

/* The newest packet is a READ's: sent again it would be answered again. The oldest goes out alone. */
Test(probe, a_read_at_the_end_is_not_repeated)
{
	struct pair *pair = open_asking(0);
	struct rc_qp *qp = pair->side[A].qp;

	pair_cut(pair);
	pair_write(pair, 1, 8);
	pair_read(pair, 2, 3000);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=1 ackreq va=0x0 len=8 bytes=8",
		      "READ_REQUEST psn=2 ackreq va=0x0 len=3000");
	cr_assert_lt(peek_ask_ns(qp), peek_resend_ns(qp));
	pair_timeout_at(pair, qp, peek_ask_ns(qp));
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=1 ackreq va=0x0 len=8 bytes=8");
	expect_counts(pair, A, CNT_EARLY_PROBES, 1);
	pair_close(pair);
}

/* The last packet of all: nothing behind it shows the gap. */
Test(probe, lost_tail_is_probed_early)
{
	struct pair *pair = open_asking(0);

	RULE("Q-5");
	RULE("T-6");
	lose(pair, A, 2, 1);
	pair_write(pair, 1, 3000);
	cr_assert_lt(settle(pair), 10 * SHORTEST_NS);
	/* Nobody had the last one, which goes with nothing: with the oldest it would be more than a packet's worth. */
	expect_leaves(pair, A, "WRITE_FIRST psn=1 va=0x0 len=3000 bytes=1024", "WRITE_MIDDLE psn=2 bytes=1024",
		      "WRITE_LAST psn=3 ackreq bytes=952", "WRITE_LAST psn=3 ackreq bytes=952",
		      "WRITE_ONLY psn=0 ackreq va=0x0 len=0 bytes=0");
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	expect_counts(pair, A, CNT_EARLY_PROBES, 2);
	cr_assert_eq(peek_retries_left(pair->side[A].qp), 7);
	pair_close(pair);
}

/* The ACK: the peer has everything, and says so once more. */
Test(probe, lost_ack_is_probed_early)
{
	struct pair *pair = open_asking(1);

	RULE("Q-5");
	lose(pair, B, 0, 1);
	pair_send(pair, 1, 64);
	cr_assert_lt(settle(pair), 10 * SHORTEST_NS);
	expect_leaves(pair, A, "SEND_ONLY psn=1 ackreq bytes=64", "SEND_ONLY psn=1 ackreq bytes=64");
	expect_completes(pair, A, "wr=1 SEND SUCCESS");
	expect_completes(pair, B, "wr=1000 RECV SUCCESS len=64");
	expect_counts(pair, B, CNT_DUPLICATE_REQUEST, 1);
	pair_close(pair);
}

/*
 * The NAK is lost: the peer is silent until the missing packet arrives (K-SEQ), but answers an empty duplicate, first
 * with its progress, then again without any.
 */
Test(probe, lost_nak_is_recovered_by_a_probe)
{
	struct pair *pair = open_asking(0);

	RULE("K-SEQ");
	RULE("T-6");
	lose(pair, A, 1, 1);
	lose_from[B] = 0;
	lose_count[B] = 1; /* the NAK for it */
	pair_write(pair, 1, 5000);
	cr_assert_lt(settle(pair), 10 * SHORTEST_NS);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	expect_counts(pair, A, CNT_EARLY_PROBES, 4);
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
	cr_assert_arr_eq(pair->side[B].memory, pair->side[A].memory, 5000);
	pair_close(pair);
}

/* The READ response is lost: an empty duplicate draws an ACK after it, and the missing part is requested. */
Test(probe, lost_read_response_at_the_end_is_probed_early)
{
	struct pair *pair = open_asking(0);

	RULE("Q-10");
	lose(pair, B, 2, 1);
	pair_read(pair, 1, 3000);
	cr_assert_lt(settle(pair), 10 * SHORTEST_NS);
	expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x0 len=3000",
		      "WRITE_ONLY psn=2 ackreq va=0x0 len=0 bytes=0", "READ_REQUEST psn=3 ackreq va=0x800 len=952");
	expect_completes(pair, A, "wr=1 READ SUCCESS len=3000");
	pair_close(pair);
}

/* Each try waits twice as long, none is made when the ACK timer is nearer, and only that one spends retries (T-3). */
Test(probe, a_dead_peer_is_found_by_the_ack_timer_alone)
{
	struct pair *pair = open_asking(0);
	uint64_t began, probes;

	RULE("T-1");
	RULE("T-3");
	pair_cut(pair);
	pair_write(pair, 1, 64);
	pair_run(pair);
	began = pair->now_ns;
	while (pair->side[A].qp->counters[CNT_LOCAL_ACK_TIMEOUT_ERR] == 0)
		cr_assert(pair_fire(pair));
	cr_assert_geq(pair->now_ns - began, TIMEOUT_NS - 2000);
	cr_assert_leq(pair->now_ns - began, TIMEOUT_NS + 20000);
	probes = pair->side[A].qp->counters[CNT_EARLY_PROBES];
	cr_assert(probes >= 8 && probes <= 10, "%lu probes of 100 us, 200 us ... below 67 ms", probes);
	cr_assert_eq(peek_retries_left(pair->side[A].qp), 6);
	cr_assert(pair_settle(pair, 10000000000ull));
	expect_completes(pair, A, "wr=1 WRITE RETRY_EXC_ERR");
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 8);
	pair_close(pair);
}

/* Progress, an RNR wait and an empty window end it; without an ACK timer there is none. */
Test(probe, no_probe_runs_without_unanswered_packets)
{
	struct pair *pair = open_asking(0);

	RULE("R-4");
	pair_write(pair, 1, 3000);
	pair_run(pair);
	cr_assert_eq(peek_ask_ns(pair->side[A].qp), RC_NEVER, "all is acknowledged");
	pair_send(pair, 2, 64);
	pair_run(pair); /* RNR NAK, timer 12 */
	cr_assert(loss_waits_for_receiver(pair->side[A].qp));
	cr_assert_eq(peek_ask_ns(pair->side[A].qp), RC_NEVER, "the wait decides when to send");
	pair_close(pair);
	pair = pair_open(&(struct pair_options){ .timeout = 255 });
	poke_probes(pair->side[A].qp, true);
	pair_cut(pair);
	pair_write(pair, 1, 64);
	pair_run(pair);
	cr_assert_not(pair_fire(pair), "TC-E-12: no timer at all");
	pair_close(pair);
}

/* A slow answer costs a packet, and one without data, and nothing else. */
Test(probe, late_answer_is_accepted)
{
	struct pair *pair = open_asking(0);

	RULE("S-8");
	pair_write(pair, 1, 3000);
	pair_transmit(pair, A);
	pair_timeout_at(pair, pair->side[A].qp, peek_ask_ns(pair->side[A].qp));
	pair_transmit(pair, A);
	expect_sent_count(pair, A, 5);
	pair_run(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	expect_counts(pair, B, CNT_DUPLICATE_REQUEST, 2);
	expect_counts(pair, A, CNT_PACKET_SEQ_ERR, 0);
	pair_close(pair);
}

/* A request of A whose local key is unknown: it is reported in its turn, and waits until then (E-2). */
static void post_faulty(struct pair *pair, enum uroce_wr_opcode opcode, uint64_t wr_id)
{
	struct uroce_sge sge = { .addr = (uintptr_t)pair->side[A].memory, .length = 100, .lkey = 0xDEADBE00 };
	struct uroce_send_wr wr = {
		.wr_id = wr_id,
		.opcode = opcode,
		.send_flags = UROCE_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
	};

	cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0);
}

/* A faulty READ waits for two lost ACKs: the probe repeats sent packets, and no later request starts. */
Test(probe, request_with_a_fault_is_not_skipped)
{
	struct pair *pair = open_asking(4);

	RULE("E-2");
	lose(pair, B, 0, 2);
	pair_write(pair, 1, 100);
	pair_write(pair, 2, 100);
	post_faulty(pair, UROCE_WR_RDMA_READ, 3);
	pair_send(pair, 4, 100);
	settle(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 WRITE SUCCESS", "wr=3 READ LOC_PROT_ERR",
			 "wr=4 SEND WR_FLUSH_ERR");
	expect_completes(pair, B);
	pair_close(pair);
}

/*
 * The last packet to repeat has lost its source: the fault is reported in order, and each probe requests an ACK
 * (E-2).
 */
Test(probe, deregistered_key_does_not_silence_a_probe)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	uint32_t key = pair_region(pair, A, 1, 0, 4096, UROCE_ACCESS_LOCAL_WRITE);
	struct uroce_sge sge = { .addr = (uintptr_t)pair->side[A].memory, .length = 8, .lkey = key };
	struct uroce_send_wr wr = { .wr_id = 4, .opcode = UROCE_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };
	const struct uroce_send_wr unsignaled = { .wr_id = 3, .opcode = UROCE_WR_RDMA_WRITE };

	RULE("E-2");
	RULE("T-1");
	poke_probes(pair->side[A].qp, true);
	pair_write(pair, 1, 8);
	pair_run(pair);
	pair_cut(pair);
	pair_write(pair, 2, 8);
	pair_post(pair, A, unsignaled, 0, 8);
	pair_post(pair, A, unsignaled, 0, 8);
	pair_post(pair, A, wr, 0, 0);
	pair_write(pair, 5, 8);
	pair_transmit_some(pair, A, 4);
	pair_mend(pair);
	cr_assert_eq(rc_mr_remove(&pair->side[A].mrs, key), 0);
	pair_fire(pair); /* the last one has not left: nothing shows the loss */
	cr_assert_lt(settle(pair), 50 * SHORTEST_NS);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 WRITE SUCCESS", "wr=4 WRITE LOC_PROT_ERR",
			 "wr=5 WRITE WR_FLUSH_ERR");
	pair_close(pair);
}

/* A faulty SEND waits for a READ: the newest that was sent is the READ, which is not asked for from within its end. */
Test(probe, newest_packet_is_the_newest_sent)
{
	struct pair *pair = open_asking(4);

	RULE("Q-10");
	lose(pair, B, 3, 20);
	pair_read(pair, 1, 8192);
	pair_read(pair, 2, 5000);
	post_faulty(pair, UROCE_WR_SEND, 3);
	pair_run(pair);
	pair_mend(pair);
	settle(pair);
	expect_completes(pair, A, "wr=1 READ SUCCESS len=8192", "wr=2 READ SUCCESS len=5000", "wr=3 SEND LOC_PROT_ERR");
	pair_close(pair);
}

/* A probe that found no room is over when something else rewinds: then everything goes out again, in order. */
Test(probe, rewind_cancels_a_probe_without_room)
{
	struct pair *pair = pair_open(&(struct pair_options){ .retry_cnt = 255 });

	RULE("R-5");
	poke_probes(pair->side[A].qp, true);
	pair_cut(pair);
	for (uint64_t i = 0; i < 6; i++)
		pair_write(pair, i, 100);
	pair_transmit(pair, A);
	pair_timeout_at(pair, pair->side[A].qp, rc_qp_deadline(pair->side[A].qp));
	pair_transmit_some(pair, A, 0);
	pair_inject(pair, A, ack_packet(0, SYNDROME_RNR | 1, 0));
	pair_mend(pair);
	pair_forget(pair);
	cr_assert(pair_settle(pair, 1000000000ull));
	expect_sent_count(pair, A, 6);
	expect_done_count(pair, A, 6);
	expect_done(pair, A, 5, "wr=5 WRITE SUCCESS");
	expect_counts(pair, A, CNT_PACKET_SEQ_ERR, 0);
	pair_close(pair);
}

/* What shows a loss meanwhile does so for all that is behind it: a probe repeats two packets, a restart all. */
Test(probe, missing_answer_replaces_a_probe_by_a_restart)
{
	RULE("Q-8");
	for (uint32_t out = 0; out < 2; out++) { /* packets of the probe that have left: nothing, or the oldest */
		struct pair *pair = open_asking(0);

		pair_write(pair, 0, 8);
		pair_transmit(pair, A);
		pair_inject(pair, A, ack_packet(1, SYNDROME_SEQUENCE, 1));
		pair_run(pair); /* a resend, long over */
		pair_cut(pair);
		pair_read(pair, 1, 8);
		pair_write(pair, 2, 8);
		pair_write(pair, 3, 8);
		pair_transmit(pair, A);
		pair_timeout_at(pair, pair->side[A].qp, peek_ask_ns(pair->side[A].qp));
		pair_transmit_some(pair, A, out);
		expect_counts(pair, A, CNT_EARLY_PROBES, out);
		pair_forget(pair);
		pair_inject(pair, A, ack_packet(4, SYNDROME_PLAIN_ACK, 5));
		expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
		pair_transmit(pair, A);
		expect_leaves(pair, A, "READ_REQUEST psn=2 ackreq va=0x0 len=8",
			      "WRITE_ONLY psn=3 ackreq va=0x0 len=8 bytes=8",
			      "WRITE_ONLY psn=4 ackreq va=0x0 len=8 bytes=8");
		pair_close(pair);
	}
}

/* When it would be asked next. */
static uint64_t asks_in(const struct pair *pair)
{
	return peek_ask_ns(pair->side[A].qp) - pair->now_ns;
}

/* The peer is there after all: the wait begins anew, and where packets are lost is as short as at first. */
Test(probe, progress_starts_a_new_wait)
{
	struct pair *pair = open_asking(0);
	struct rc_qp *qp = pair->side[A].qp;
	uint64_t first;

	RULE("T-1");
	pair_cut(pair);
	pair_write(pair, 1, 3000);
	pair_transmit(pair, A);
	first = asks_in(pair);
	for (uint32_t i = 1; i < 4; i++) {
		pair_timeout_at(pair, qp, peek_ask_ns(qp));
		pair_transmit(pair, A);
		cr_assert_eq(asks_in(pair), first << i, "after %u tries %lu, not %lu", i, asks_in(pair), first << i);
	}
	pair->now_ns += 1000;
	pair_respond(pair, ack_packet(1, SYNDROME_PLAIN_ACK, 1)); /* the first of its three packets */
	cr_assert_eq(asks_in(pair), first << 3, "Karn: whether that was the answer nobody knows");
	poke_timed_out(qp);
	pair->now_ns += 1000;
	pair_respond(pair, ack_packet(2, SYNDROME_PLAIN_ACK, 1));
	cr_assert_eq(asks_in(pair), first);
	pair_close(pair);
}

/* In ERR no probe runs. */
Test(probe, a_failure_ends_the_wait)
{
	struct pair *pair = open_asking(0);

	RULE("E-6");
	pair_cut(pair);
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	cr_assert_neq(peek_ask_ns(pair->side[A].qp), RC_NEVER);
	pair_respond(pair, ack_packet(1, SYNDROME_ACCESS, 1));
	expect_completes(pair, A, "wr=1 WRITE REM_ACCESS_ERR");
	cr_assert_eq(rc_qp_deadline(pair->side[A].qp), RC_NEVER);
	pair_close(pair);
}

/* The next packet is no part of the probe and carries AckReq only where it would anyway. */
Test(probe, packet_after_a_probe_has_no_extra_ackreq)
{
	struct pair *pair = open_asking(0);
	const struct uroce_send_wr unsignaled = { .opcode = UROCE_WR_RDMA_WRITE };

	RULE("Q-5");
	pair_cut(pair);
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	pair_timeout_at(pair, pair->side[A].qp, peek_ask_ns(pair->side[A].qp));
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=1 ackreq va=0x0 len=8 bytes=8",
		      "WRITE_ONLY psn=1 ackreq va=0x0 len=8 bytes=8");
	pair_post(pair, A, unsignaled, 0, 8);
	pair_post(pair, A, unsignaled, 0, 2000);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=2 va=0x0 len=8 bytes=8", "WRITE_FIRST psn=3 va=0x0 len=2000 bytes=1024",
		      "WRITE_LAST psn=4 bytes=976");
	pair_close(pair);
}

/* Turned on while something is in flight: the next packet that asks starts the wait. */
Test(probe, enabled_probes_start_with_the_next_ackreq)
{
	for (uint32_t bytes = 8; bytes <= 2000; bytes += 1992) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		struct rc_qp *qp = pair->side[A].qp;
		const struct uroce_send_wr unsignaled = { .opcode = UROCE_WR_RDMA_WRITE };
		uint32_t bad = 0;

		pair_cut(pair);
		pair_write(pair, 1, 8);
		pair_transmit(pair, A);
		cr_assert_eq(rc_qp_modify(qp, &(struct uroce_qp_attr){ 0 }, UROCE_QP_NO_PROBE, &bad), 0, "%#x", bad);
		cr_assert_eq(rc_qp_deadline(qp), peek_resend_ns(qp));
		pair_post(pair, A, unsignaled, 0, bytes);
		pair_post(pair, A, unsignaled, 0, 8);
		pair->now_ns += 1000;
		pair_transmit_some(pair, A, 1);
		cr_assert_eq(peek_ask_ns(qp), RC_NEVER);
		pair->now_ns += 1000;
		pair_transmit(pair, A);
		cr_assert_gt(peek_ask_ns(qp), pair->now_ns);
		cr_assert_lt(peek_ask_ns(qp), peek_resend_ns(qp));
		pair_close(pair);
	}
}

static void fire_probe(struct pair *pair)
{
	struct rc_qp *qp = pair->side[A].qp;

	pair_timeout_at(pair, qp, peek_ask_ns(qp));
}

/* New requests do not replace a probe, neither before nor after a resend. */
Test(probe, new_requests_follow_a_probe_without_replacing_it)
{
	RULE("T-6");
	for (uint32_t again = 0; again < 2; again++) {
		struct pair *pair = open_asking(0);

		pair_cut(pair);
		pair_write(pair, 1, 8);
		pair_transmit(pair, A);
		if (again)
			pair_respond(pair, ack_packet(1, SYNDROME_SEQUENCE, 1));
		pair_forget(pair);
		fire_probe(pair);
		pair_write(pair, 2, 8);
		pair_transmit(pair, A);
		expect_leaves(pair, A, "WRITE_ONLY psn=1 ackreq va=0x0 len=8 bytes=8",
			      "WRITE_ONLY psn=2 ackreq va=0x0 len=8 bytes=8");
		pair_close(pair);
	}
}

/* It has two packets, and there is room for one: the oldest goes. */
Test(probe, room_for_one_packet_probes_the_oldest)
{
	struct pair *pair = open_asking(0);

	RULE("T-6");
	pair_cut(pair);
	pair_write(pair, 1, 8);
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	pair_forget(pair);
	fire_probe(pair);
	pair_transmit_some(pair, A, 1);
	expect_leaves(pair, A, "WRITE_ONLY psn=1 ackreq va=0x0 len=8 bytes=8");
	expect_counts(pair, A, CNT_EARLY_PROBES, 1);
	pair_close(pair);
}

/* The buffer of its answer may not be written any more: an empty WRITE asks in its stead. */
Test(probe, atomic_with_a_deregistered_key_is_not_repeated)
{
	struct pair *pair = open_asking(0);
	uint32_t key = pair_region(pair, A, 1, 0, 4096, UROCE_ACCESS_LOCAL_WRITE);
	struct uroce_sge sge = { .addr = (uintptr_t)pair->side[A].memory, .length = 8, .lkey = key };
	struct uroce_send_wr wr = {
		.wr_id = 1, .opcode = UROCE_WR_ATOMIC_FETCH_AND_ADD, .compare_add = 1, .sg_list = &sge, .num_sge = 1
	};

	RULE("Q-13");
	RULE("T-6");
	pair_cut(pair);
	pair_post(pair, A, wr, 0, 0);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "FETCH_ADD psn=1 ackreq va=0x0 add=0x1");
	cr_assert_eq(rc_mr_remove(&pair->side[A].mrs, key), 0);
	fire_probe(pair);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=0 bytes=0");
	expect_counts(pair, A, CNT_EARLY_PROBES, 1);
	pair_close(pair);
}

/* Its bytes lie in the request itself, and there is no key. */
Test(probe, inline_message_is_repeated_with_its_data)
{
	static const char bytes[] = "inline by itself";
	struct pair *pair = open_asking(0);
	struct uroce_sge sge = { .addr = (uintptr_t)bytes, .length = 16 };
	struct uroce_send_wr wr = {
		.wr_id = 1,
		.opcode = UROCE_WR_RDMA_WRITE,
		.send_flags = UROCE_SEND_INLINE | UROCE_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
	};

	RULE("T-6");
	lose(pair, A, 0, 1);
	cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0);
	pair_run(pair);
	settle(pair);
	expect_leaves(pair, A, "WRITE_ONLY psn=1 ackreq va=0x0 len=16 bytes=16",
		      "WRITE_ONLY psn=1 ackreq va=0x0 len=16 bytes=16");
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	cr_assert_arr_eq(pair->side[B].memory, bytes, 16);
	pair_close(pair);
}

Test(probe, an_empty_message_is_repeated_empty)
{
	struct pair *pair = open_asking(0);
	struct uroce_sge none[2] = { { .lkey = 0xBAD }, { .lkey = 0xBAD } };
	struct uroce_send_wr wr = {
		.wr_id = 1,
		.opcode = UROCE_WR_RDMA_WRITE,
		.send_flags = UROCE_SEND_SIGNALED,
		.sg_list = none,
		.num_sge = 2,
	};

	RULE("T-6");
	pair_cut(pair);
	pair_post(pair, A, wr, 0, 0);
	pair_transmit(pair, A);
	pair_forget(pair);
	fire_probe(pair);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=1 ackreq va=0x0 len=0 bytes=0");
	pair_close(pair);
}
