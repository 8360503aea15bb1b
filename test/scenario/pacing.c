/* pacing.c - what the requester sends when: PSNs, AckReq, windows, depth and fences */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TC-E-20, E-21.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "opened.h"
#include "packets.h"
#include "peek.h"
#include "places.h"
#include "rule.h"

static void post(struct pair *pair, uint64_t wr_id, enum uroce_wr_opcode opcode, uint32_t flags, uint32_t bytes)
{
	struct uroce_send_wr wr = { .wr_id = wr_id, .opcode = opcode, .send_flags = flags };

	cr_assert_eq(pair_post(pair, A, wr, 0, bytes), 0);
}

/* A READ owns as many PSNs as its answer has packets, at least one. */
Test(pacing, each_packet_owns_a_psn_and_a_read_one_per_response)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .psn_a = 0xFFFFFC, .mtu = 256, .rd_atomic = 8 });

	RULE("P-3");
	RULE("P-1");
	pair_send(pair, 1, 257);
	pair_read(pair, 2, 769);
	pair_read(pair, 3, 0);
	pair_read(pair, 4, 256);
	pair_fetch_add(pair, 5, 1);
	pair_write(pair, 6, 0);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "SEND_FIRST psn=16777212 bytes=256", "SEND_LAST psn=16777213 ackreq bytes=1",
		      "READ_REQUEST psn=16777214 ackreq va=0x0 len=769", "READ_REQUEST psn=2 ackreq va=0x0 len=0",
		      "READ_REQUEST psn=3 ackreq va=0x0 len=256", "FETCH_ADD psn=4 ackreq va=0x0 add=0x1",
		      "WRITE_ONLY psn=5 ackreq va=0x0 len=0 bytes=0");
	pair_close(pair);
}

Test(pacing, the_start_psn_is_random_unless_the_user_sets_it)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .psn_a = 0xABCDEF });
	struct uroce_qp_attr attr;

	RULE("P-2");
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=11259375 ackreq va=0x0 len=8 bytes=8");
	rc_qp_query(pair->side[A].qp, &attr);
	cr_assert_eq(attr.sq_psn, 0xABCDEF);
	pair_close(pair);
}

/* TC-E-21: the third READ waits, and what is behind it too, until the first is answered. */
Test(pacing, outstanding_reads_and_atomics_are_limited_by_the_depth)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .rd_atomic = 2 });

	RULE("Q-3");
	pair_read(pair, 1, 2000);
	pair_fetch_add(pair, 2, 1);
	pair_read(pair, 3, 8);
	pair_write(pair, 4, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "READ_REQUEST psn=0 ackreq va=0x0 len=2000", "FETCH_ADD psn=2 ackreq va=0x0 add=0x1");
	pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 0, 1024));
	expect_leaves(pair, A);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_LAST, 1, 976));
	expect_leaves(pair, A, "READ_REQUEST psn=3 ackreq va=0x0 len=8",
		      "WRITE_ONLY psn=4 ackreq va=0x0 len=8 bytes=8");
	pair_close(pair);
}

Test(pacing, with_depth_zero_a_read_or_atomic_is_refused_at_the_post)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .rd_atomic = 255 });

	RULE("Q-3");
	cr_assert_eq(pair_read(pair, 1, 8), -EINVAL);
	cr_assert_eq(pair_fetch_add(pair, 1, 8), -EINVAL);
	cr_assert_eq(pair_write(pair, 1, 8), 0);
	pair_close(pair);
}

/* TC-E-20 */
Test(pacing, a_fenced_request_waits_for_earlier_reads_and_atomics)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ 0 });

	RULE("Q-4");
	pair_read(pair, 1, 8);
	pair_fetch_add(pair, 2, 1);
	post(pair, 3, UROCE_WR_RDMA_WRITE, UROCE_SEND_SIGNALED, 8);
	post(pair, 4, UROCE_WR_RDMA_WRITE, UROCE_SEND_SIGNALED | UROCE_SEND_FENCE, 8);
	post(pair, 5, UROCE_WR_RDMA_WRITE, UROCE_SEND_SIGNALED, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "READ_REQUEST psn=0 ackreq va=0x0 len=8", "FETCH_ADD psn=1 ackreq va=0x0 add=0x1",
		      "WRITE_ONLY psn=2 ackreq va=0x0 len=8 bytes=8");
	pair_respond(pair, response_packet(OP_READ_RESPONSE_ONLY, 0, 8));
	expect_leaves(pair, A);
	pair_respond(pair, atomic_ack_packet(1, 0));
	/* The WRITE before it need not be acknowledged. */
	expect_leaves(pair, A, "WRITE_ONLY psn=3 ackreq va=0x0 len=8 bytes=8",
		      "WRITE_ONLY psn=4 ackreq va=0x0 len=8 bytes=8");
	pair_close(pair);
}

Test(pacing, ackreq_is_set_where_needed)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ 0 });

	RULE("Q-5");
	post(pair, 1, UROCE_WR_RDMA_WRITE, 0, 8);
	post(pair, 2, UROCE_WR_SEND, 0, 2000);
	post(pair, 3, UROCE_WR_RDMA_WRITE, UROCE_SEND_SIGNALED, 2000);
	post(pair, 4, UROCE_WR_RDMA_WRITE, 0, 8);
	post(pair, 5, UROCE_WR_RDMA_WRITE, 0, 2000);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 va=0x0 len=8 bytes=8", "SEND_FIRST psn=1 bytes=1024",
		      "SEND_LAST psn=2 bytes=976", "WRITE_FIRST psn=3 va=0x0 len=2000 bytes=1024",
		      "WRITE_LAST psn=4 ackreq bytes=976", "WRITE_ONLY psn=5 va=0x0 len=8 bytes=8",
		      "WRITE_FIRST psn=6 va=0x0 len=2000 bytes=1024", "WRITE_LAST psn=7 ackreq bytes=976");
	/* A resend ends with it, wherever its end was the first time. */
	post(pair, 6, UROCE_WR_RDMA_WRITE, 0, 8);
	post(pair, 7, UROCE_WR_RDMA_WRITE, 0, 8);
	pair_transmit_some(pair, A, 1);
	expect_leaves(pair, A, "WRITE_ONLY psn=8 va=0x0 len=8 bytes=8");
	pair_inject(pair, A, ack_packet(7, SYNDROME_PLAIN_ACK, 5));
	pair_timeout_at(pair, pair->side[A].qp, rc_qp_deadline(pair->side[A].qp));
	pair_transmit_some(pair, A, 1);
	expect_leaves(pair, A, "WRITE_ONLY psn=8 ackreq va=0x0 len=8 bytes=8");
	pair_close(pair);
}

/*
 * Small unsignaled requests: the last of the first outbox carries AckReq, since none in flight does; then one half a
 * window later, and the last of the window.
 */
Test(pacing, few_unsignaled_requests_carry_ackreq)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .depth = 512 });

	RULE("Q-5");
	for (uint32_t i = 0; i < WINDOW_PACKETS + 10; i++)
		post(pair, i, UROCE_WR_RDMA_WRITE, 0, 8);
	pair_transmit(pair, A);
	expect_sent_count(pair, A, WINDOW_PACKETS);
	for (uint32_t i = 0; i < WINDOW_PACKETS; i++) {
		bool asks = strstr(pair->side[A].sent[i], "ackreq") != NULL;

		bool should = i + 1 == OUTBOX_PACKETS || i + 1 == OUTBOX_PACKETS + WINDOW_PACKETS / 2 ||
			      i + 1 == WINDOW_PACKETS;

		cr_assert_eq(asks, should, "packet %u: %s", i, pair->side[A].sent[i]);
	}
	pair_close(pair);
}

static bool asks(const struct pair *pair, uint32_t line)
{
	return strstr(pair->side[A].sent[line], "ackreq") != NULL;
}

/* Room for three packets at a time: without an AckReq in flight the last packet carries one. */
Test(pacing, last_packet_with_room_carries_ackreq_if_none_in_flight_does)
{
	RULE("Q-5");
	for (uint32_t row = 0; row < 3; row++) {
		struct pair *pair = pair_open_cut(&(struct pair_options){ 0 });
		struct uroce_sge halves[2] = {
			{ .addr = (uintptr_t)pair->side[A].memory, .length = 4, .lkey = pair->side[A].key },
			{ .addr = (uintptr_t)pair->side[A].memory, .length = 4, .lkey = pair->side[A].key }
		};
		struct uroce_send_wr wr = { .opcode = UROCE_WR_RDMA_WRITE, .sg_list = halves, .num_sge = 2 };

		/* of one packet each; all of one message; of two pieces, which is gathered */
		for (uint32_t i = 0; i < 12 && row == 0; i++)
			post(pair, i, UROCE_WR_RDMA_WRITE, 0, 8);
		for (uint32_t i = 0; i < 12 && row == 2; i++)
			cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0);
		if (row == 1)
			post(pair, 1, UROCE_WR_RDMA_WRITE, 0, 12 * 1024);
		pair_transmit_some(pair, A, 3);
		pair_transmit_some(pair, A, 3); /* an answer is on its way: there is no need to ask */
		pair_inject(pair, A, ack_packet(2, SYNDROME_PLAIN_ACK, 0));
		pair_transmit_some(pair, A, 3); /* three have not asked: now there is */
		pair_transmit_some(pair, A, 3);
		expect_sent_count(pair, A, 12);
		for (uint32_t i = 0; i < 12; i++)
			cr_assert_eq(asks(pair, i), i == 2 || i == 8 || i == 11, "row %u, packet %u: %s", row, i,
				     pair->side[A].sent[i]);
		pair_close(pair);
	}
}

/* More is posted, but there is no more room: the last packet asks, of many pieces as of one. */
Test(pacing, pause_without_room_sets_ackreq)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .depth = 16 });
	struct uroce_sge sges[LIMIT_SGE];
	struct uroce_send_wr wr = { .opcode = UROCE_WR_RDMA_WRITE, .sg_list = sges, .num_sge = LIMIT_SGE };
	struct rc_outbox *out = &pair->out;

	RULE("Q-5");
	RULE("Q-2");
	for (uint32_t i = 0; i < LIMIT_SGE; i++)
		sges[i] = (struct uroce_sge){ .addr = (uintptr_t)pair->side[A].memory,
					      .length = 8,
					      .lkey = pair->side[A].key };
	for (uint32_t i = 0; i < 10; i++)
		cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0);
	outbox_reset(out);
	places_give(out, 4);
	cr_assert(rc_qp_transmit(pair->side[A].qp, pair->now_ns, out));
	cr_assert_eq(out->packet_count, 4);
	for (uint32_t i = 0; i < out->packet_count; i++)
		cr_assert_eq((places_packet(out, i).flags & WIRE_ACKREQ) != 0, i + 1 == out->packet_count, "packet %u",
			     i);
	pair_close(pair);
}

/* Each ACK makes room for one packet, with which the window ends again: not every one of them asks. */
Test(pacing, ackreqs_do_not_multiply_in_a_full_window)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .mtu = 256 });
	uint32_t asked = 0;

	RULE("P-4");
	RULE("Q-5");
	pair_write(pair, 1, 1 << 20);
	pair_transmit(pair, A);
	pair_forget(pair);
	for (uint32_t acked = 0; acked < 640; acked++)
		pair_respond(pair, ack_packet(acked, SYNDROME_PLAIN_ACK, 0));
	expect_sent_count(pair, A, 640);
	for (uint32_t i = 0; i < 640; i++)
		asked += asks(pair, i);
	cr_assert(asked >= 5 && asked <= 20, "%u of 640 ask", asked);
	pair_close(pair);
}

Test(pacing, a_single_packet_waits_for_the_window_too)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .mtu = 256 });

	RULE("P-4");
	pair_write(pair, 1, WINDOW_PACKETS * 256);
	pair_transmit(pair, A);
	expect_sent_count(pair, A, WINDOW_PACKETS);
	pair_forget(pair);
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	expect_sent_count(pair, A, 0);
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 0));
	expect_sent_count(pair, A, 1);
	pair_close(pair);
}

/* Also one whose payload lies in several pieces. */
Test(pacing, a_packet_of_pieces_waits_for_the_window_too)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .mtu = 256 });
	struct uroce_sge halves[2] = {
		{ .addr = (uintptr_t)pair->side[A].memory, .length = 4, .lkey = pair->side[A].key },
		{ .addr = (uintptr_t)pair->side[A].memory, .length = 4, .lkey = pair->side[A].key }
	};
	struct uroce_send_wr wr = { .opcode = UROCE_WR_RDMA_WRITE, .sg_list = halves, .num_sge = 2 };

	RULE("P-4");
	pair_write(pair, 1, (WINDOW_PACKETS - 1) * 256);
	cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0);
	cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0);
	pair_transmit(pair, A);
	expect_sent_count(pair, A, WINDOW_PACKETS);
	pair_forget(pair);
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 0));
	expect_leaves(pair, A, "WRITE_ONLY psn=256 ackreq va=0x0 len=8 bytes=8");
	pair_close(pair);
}

/*
 * Wherever the rooms of the outbox end: half a window behind one that asks another does, though its outbox has room for
 * more, and so does the one that the window ends with.
 */
Test(pacing, long_message_sets_ackreq_by_window_not_by_outbox)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .mtu = 256 });

	RULE("Q-5");
	pair_write(pair, 1, 1 << 20);
	pair_transmit_some(pair, A, 20);
	pair_transmit_some(pair, A, 10);
	pair_transmit(pair, A);
	expect_sent_count(pair, A, WINDOW_PACKETS);
	for (uint32_t i = 0; i < WINDOW_PACKETS; i++)
		cr_assert_eq(asks(pair, i), i == 19 || i == 19 + WINDOW_PACKETS / 2 || i == WINDOW_PACKETS - 1,
			     "packet %u", i);
	pair_close(pair);
}

/* P-4 as practised: a window of packets, at least two AckReqs in it, and on with the ACKs. */
Test(pacing, long_message_stalls_at_the_window_and_continues)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .mtu = 256, .psn_a = 0xFFFFF0 });
	uint32_t asked = 0, since = 0;

	RULE("P-4");
	RULE("Q-5");
	pair_write(pair, 1, 1 << 20);
	pair_transmit(pair, A);
	expect_sent_count(pair, A, WINDOW_PACKETS);
	for (uint32_t i = 0; i < WINDOW_PACKETS; i++) {
		bool ackreq = strstr(pair->side[A].sent[i], "ackreq") != NULL;

		asked += ackreq;
		since = ackreq ? 0 : since + 1;
		cr_assert_leq(since, WINDOW_PACKETS / 2);
	}
	cr_assert_geq(asked, 2);
	cr_assert_eq(since, 0, "the last packet before the stall asks");
	pair_forget(pair);
	pair_respond(pair, ack_packet(0xFFFFF0 + 9, SYNDROME_PLAIN_ACK, 0));
	expect_sent_count(pair, A, 10);
	for (uint32_t acked = 9; acked < 4095; acked += 100)
		pair_respond(pair, ack_packet(0xFFFFF0 + acked, SYNDROME_PLAIN_ACK, 0));
	expect_completes(pair, A);
	pair_respond(pair, ack_packet(0xFFFFF0 + 4095, SYNDROME_PLAIN_ACK, 0));
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 0);
	pair_close(pair);
}

/* P-4 with READs: no more than 2^23 PSNs of answers are outstanding. Nothing of the 2 GiB is ever touched. */
Test(pacing, reads_stall_at_half_of_the_psn_space)
{
	const uint64_t bytes = 1ull << 31;
	struct pair *pair = pair_open_cut(&(struct pair_options){ .mtu = 256, .psn_a = 0xFFFFF0, .rd_atomic = 8 });
	uint8_t *huge = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct uroce_sge sge = { .addr = (uintptr_t)huge, .length = 1u << 30 };
	struct uroce_send_wr wr = { .opcode = UROCE_WR_RDMA_READ, .sg_list = &sge, .num_sge = 1 };
	int error;

	RULE("P-4");
	RULE("P-3");
	cr_assert_neq(huge, MAP_FAILED);
	sge.lkey = rc_mr_insert(&pair->side[A].mrs, 1, huge, bytes, UROCE_ACCESS_LOCAL_WRITE, &error);
	for (wr.wr_id = 1; wr.wr_id < 3; wr.wr_id++)
		cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0);
	pair_read(pair, 3, 256);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "READ_REQUEST psn=16777200 ackreq va=0x0 len=1073741824",
		      "READ_REQUEST psn=4194288 ackreq va=0x0 len=1073741824");
	/* One more PSN is free when the first answer has come, and the READ of one packet takes it. */
	pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 0xFFFFF0, 256));
	expect_leaves(pair, A, "READ_REQUEST psn=8388592 ackreq va=0x0 len=256");
	pair_read(pair, 4, 256);
	pair_transmit(pair, A);
	expect_leaves(pair, A);
	munmap(huge, bytes);
	pair_close(pair);
}

/* Such a READ waits until no request is outstanding, and is one packet. */
Test(pacing, read_of_the_largest_psn_range_waits_for_earlier_ones)
{
	const uint64_t bytes = 1ull << 31;
	struct pair *pair = pair_open_cut(&(struct pair_options){ .mtu = 256 });
	uint8_t *huge = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct uroce_sge sge = { .addr = (uintptr_t)huge, .length = 1u << 31 };
	struct uroce_send_wr wr = { .wr_id = 2, .opcode = UROCE_WR_RDMA_READ, .sg_list = &sge, .num_sge = 1 };
	int error;

	RULE("P-4");
	RULE("P-3");
	cr_assert_neq(huge, MAP_FAILED);
	sge.lkey = rc_mr_insert(&pair->side[A].mrs, 1, huge, bytes, UROCE_ACCESS_LOCAL_WRITE, &error);
	pair_read(pair, 1, 8);
	cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "READ_REQUEST psn=0 ackreq va=0x0 len=8");
	pair_respond(pair, response_packet(OP_READ_RESPONSE_ONLY, 0, 8));
	expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x0 len=2147483648");
	munmap(huge, bytes);
	pair_close(pair);
}

/* A message of 2^31 bytes is right, one byte more is not. */
Test(pacing, a_message_of_two_gibibytes_starts)
{
	const uint64_t bytes = 1ull << 31;
	uint8_t *huge = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	RULE("P-4");
	RULE("Q-13");
	for (int more = 0; more < 2; more++) {
		struct pair *pair = pair_open_cut(&(struct pair_options){ .mtu = 256 });
		struct uroce_sge sges[3] = { { .addr = (uintptr_t)huge, .length = 1u << 30 },
					     { .addr = (uintptr_t)huge + (1u << 30), .length = 1u << 30 },
					     { .addr = (uintptr_t)huge, .length = 1 } };
		struct uroce_send_wr wr = { .wr_id = 1, .opcode = UROCE_WR_RDMA_READ, .sg_list = sges, .num_sge = 2 };
		int error;

		wr.num_sge += (uint32_t)more;
		sges[0].lkey = sges[1].lkey = sges[2].lkey =
			rc_mr_insert(&pair->side[A].mrs, 1, huge, bytes, UROCE_ACCESS_LOCAL_WRITE, &error);
		cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0);
		pair_transmit(pair, A);
		if (more) {
			expect_leaves(pair, A);
			cr_assert_eq(pair->side[A].wcs[0].vendor_err, UROCE_CAUSE_LENGTH);
			expect_completes(pair, A, "wr=1 READ LOC_LEN_ERR");
		} else {
			expect_leaves(pair, A, "READ_REQUEST psn=0 ackreq va=0x0 len=2147483648");
			expect_completes(pair, A);
		}
		pair_close(pair);
	}
	munmap(huge, bytes);
}

/* With less than an eighth of the window between the last AckReq and its end no other AckReq is set. */
Test(pacing, window_end_sets_ackreq_unless_a_recent_packet_has)
{
	RULE("Q-5");
	for (uint32_t between = 31; between < 33; between++) {
		struct pair *pair = pair_open_cut(&(struct pair_options){ .mtu = 256 });

		post(pair, 1, UROCE_WR_RDMA_WRITE, UROCE_SEND_SIGNALED, (WINDOW_PACKETS - between) * 256);
		post(pair, 2, UROCE_WR_RDMA_WRITE, UROCE_SEND_SIGNALED, 1 << 20);
		pair_transmit(pair, A);
		expect_sent_count(pair, A, WINDOW_PACKETS);
		cr_assert(asks(pair, WINDOW_PACKETS - between - 1));
		cr_assert_eq(asks(pair, WINDOW_PACKETS - 1), between == 32, "%u behind one that asks", between);
		pair_close(pair);
	}
}

/* After losses only as many PSNs of READs are in flight as the quota says. */
Test(pacing, losses_make_another_read_wait_for_the_quota)
{
	RULE("Q-10");
	for (uint32_t more = 0; more < 2; more++) {
		struct pair *pair = pair_open_cut(&(struct pair_options){ .mtu = 256, .rd_atomic = 8 });

		poke_read_limit(pair->side[A].qp, 10);
		pair_read(pair, 1, 8 * 256);
		pair_read(pair, 2, (2 + more) * 256);
		pair_transmit(pair, A);
		if (more)
			expect_leaves(pair, A, "READ_REQUEST psn=0 ackreq va=0x0 len=2048");
		else
			expect_leaves(pair, A, "READ_REQUEST psn=0 ackreq va=0x0 len=2048",
				      "READ_REQUEST psn=8 ackreq va=0x0 len=512");
		pair_close(pair);
	}
}

/* The quota is for READs, and holds one at least. */
Test(pacing, read_above_the_quota_leaves_alone_followed_by_an_atomic)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .mtu = 256, .rd_atomic = 8 });

	RULE("Q-10");
	poke_read_limit(pair->side[A].qp, 10);
	pair_read(pair, 1, 12 * 256);
	pair_fetch_add(pair, 2, 1);
	pair_read(pair, 3, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "READ_REQUEST psn=0 ackreq va=0x0 len=3072", "FETCH_ADD psn=12 ackreq va=0x0 add=0x1");
	pair_close(pair);
}

/* Nothing was lost while a whole quota was answered: the next READ finds twice as much. */
Test(pacing, read_quota_grows_without_losses)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .mtu = 256, .rd_atomic = 8 });

	RULE("Q-10");
	poke_read_limit(pair->side[A].qp, 8);
	pair_read(pair, 1, 8 * 256);
	pair_transmit(pair, A);
	for (uint32_t psn = 0; psn < 8; psn++)
		pair_respond(pair, response_packet(psn == 0 ? OP_READ_RESPONSE_FIRST :
						   psn < 7  ? OP_READ_RESPONSE_MIDDLE :
							      OP_READ_RESPONSE_LAST,
						   psn, 256));
	expect_completes(pair, A, "wr=1 READ SUCCESS len=2048");
	pair_forget(pair);
	pair_read(pair, 2, 10 * 256);
	pair_read(pair, 3, 6 * 256);
	pair_read(pair, 4, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "READ_REQUEST psn=8 ackreq va=0x0 len=2560",
		      "READ_REQUEST psn=18 ackreq va=0x0 len=1536");
	pair_close(pair);
}

/* Of its last packets no more is asked of the region than they have bytes, whatever goes out with them. */
Test(pacing, a_message_may_end_where_its_region_does)
{
	RULE("Q-13");
	for (uint32_t first = 0; first < 3; first++) {
		struct pair *pair = pair_open_cut(&(struct pair_options){ .mtu = 256 });
		struct uroce_sge sge = { .addr = (uintptr_t)pair->side[A].memory + 100, .length = 1000 };
		struct uroce_send_wr wr = { .wr_id = 1, .opcode = UROCE_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };

		sge.lkey = pair_region(pair, A, 1, 100, 1000, UROCE_ACCESS_LOCAL_WRITE);
		cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0);
		for (uint32_t i = 0; i < first; i++)
			pair_transmit_some(pair, A, 1);
		pair_transmit(pair, A);
		expect_sent_count(pair, A, 4);
		expect_completes(pair, A);
		pair_close(pair);
	}
}

/* The memory of all that goes out together is judged before any of it does. */
Test(pacing, message_with_an_unreadable_end_sends_nothing)
{
	struct pair *pair = pair_open_cut(&(struct pair_options){ .mtu = 256 });
	struct uroce_sge sge = { .addr = (uintptr_t)pair->side[A].memory, .length = 5 * 256 };
	struct uroce_send_wr wr = { .wr_id = 1, .opcode = UROCE_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };

	RULE("Q-13");
	sge.lkey = pair_region(pair, A, 1, 0, 5 * 256 - 1, UROCE_ACCESS_LOCAL_WRITE);
	cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0);
	pair_transmit(pair, A);
	expect_leaves(pair, A);
	expect_completes(pair, A, "wr=1 WRITE LOC_PROT_ERR");
	pair_close(pair);
}
