/* ackreq.c - an empty WRITE asks, when nothing in flight has asked for an ACK and what is next must wait */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A packet does not ask when more is to follow and something before it has asked; then what follows cannot, and the
 * answer to that question comes. The ACK timer would end the wait, but that
 * is slow and costs a retry: here there is none to spend.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "packets.h"
#include "rule.h"

static struct pair *open_pair(void)
{
	return pair_open(&(struct pair_options){ .retry_cnt = 255 });
}

static int post(struct pair *pair, uint64_t wr_id, enum uroce_wr_opcode opcode, uint32_t flags, uint32_t bytes)
{
	struct uroce_send_wr wr = { .wr_id = wr_id, .opcode = opcode, .send_flags = flags };

	return pair_post(pair, A, wr, 0, bytes);
}

static void modify(struct pair *pair, enum uroce_qp_state state)
{
	struct uroce_qp_attr attr = { .qp_state = state };
	uint32_t bad = 0;

	cr_assert_eq(rc_qp_modify(pair->side[A].qp, &attr, UROCE_QP_STATE, &bad), 0, "%#x", bad);
}

/* Nothing was waited for, nothing was lost, and the peer saw so many duplicates: empty WRITEs that ask. */
static void check_cost(struct pair *pair, uint64_t start_ns, uint32_t duplicates)
{
	cr_assert_lt(pair->now_ns - start_ns, 1000000, "it took %lu ns", pair->now_ns - start_ns);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	expect_counts(pair, B, CNT_DUPLICATE_REQUEST, duplicates);
}

/* More was posted, of which SQD lets nothing start. */
Test(ackreq, sqd_drains_unsignaled_requests_without_a_timeout)
{
	struct pair *pair = open_pair();
	uint64_t start_ns = pair->now_ns;

	RULE("X-2");
	RULE("Q-5");
	post(pair, 1, UROCE_WR_RDMA_WRITE, UROCE_SEND_SIGNALED, 8);
	post(pair, 2, UROCE_WR_RDMA_WRITE, 0, 2000);
	post(pair, 3, UROCE_WR_RDMA_WRITE, UROCE_SEND_SIGNALED, 8);
	pair_transmit_some(pair, A, 3);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=8 bytes=8",
		      "WRITE_FIRST psn=1 va=0x0 len=2000 bytes=1024", "WRITE_LAST psn=2 bytes=976");
	modify(pair, UROCE_QPS_SQD);
	pair_transmit(pair, A);
	expect_leaves(pair, A);
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	for (uint32_t i = 0; i < 3; i++)
		pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=0 bytes=0");
	pair_run(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	expect_events(pair, A, "SQ_DRAINED");
	check_cost(pair, start_ns, 1);
	modify(pair, UROCE_QPS_RTS);
	pair_run(pair);
	expect_completes(pair, A, "wr=3 WRITE SUCCESS");
	cr_assert_eq(memcmp(pair->side[B].memory, pair->side[A].memory, 2000), 0);
	pair_close(pair);
}

/* In mid-message SQD has to finish it first, and its last packet asks by itself or an empty WRITE does. */
Test(ackreq, sqd_in_mid_message_sends_one_empty_write)
{
	struct pair *pair = open_pair();
	uint64_t start_ns = pair->now_ns;

	RULE("X-2");
	RULE("Q-5");
	post(pair, 1, UROCE_WR_RDMA_WRITE, 0, 3000);
	post(pair, 2, UROCE_WR_RDMA_WRITE, 0, 8);
	pair_transmit_some(pair, A, 1);
	modify(pair, UROCE_QPS_SQD);
	pair_run(pair);
	expect_events(pair, A, "SQ_DRAINED");
	cr_assert_lt(pair->now_ns - start_ns, 1000000);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	pair_close(pair);
}

/* E-2: the fault waits for requests that carried no AckReq. */
Test(ackreq, a_local_fault_behind_unsignaled_requests_needs_no_timeout)
{
	RULE("E-2");
	RULE("Q-5");
	for (uint32_t i = 0; i < 3; i++) {
		struct pair *pair = open_pair();
		uint64_t start_ns = pair->now_ns;
		struct uroce_sge sge = { .addr = (uintptr_t)pair->side[A].memory, .length = 8, .lkey = 0x999 };
		struct uroce_send_wr wr = { .wr_id = 3, .opcode = UROCE_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };

		if (i == 1) {
			sge.length = UINT32_MAX;
			sge.lkey = pair->side[A].key;
		}
		if (i == 2)
			wr.opcode = UROCE_WR_RDMA_READ;
		post(pair, 1, UROCE_WR_RDMA_WRITE, 0, 8);
		post(pair, 2, UROCE_WR_RDMA_WRITE, 0, 1500);
		pair_post(pair, A, wr, 0, 0);
		pair_run(pair);
		expect_leaves(pair, A, "WRITE_ONLY psn=0 va=0x0 len=8 bytes=8",
			      "WRITE_FIRST psn=1 va=0x0 len=1500 bytes=1024", "WRITE_LAST psn=2 bytes=476",
			      "WRITE_ONLY psn=16777215 ackreq va=0x0 len=0 bytes=0");
		expect_completes(pair, A,
				 i == 0 ? "wr=3 WRITE LOC_PROT_ERR" :
				 i == 1 ? "wr=3 WRITE LOC_LEN_ERR" :
					  "wr=3 READ LOC_PROT_ERR");
		cr_assert_eq(pair->side[A].wcs[0].retries, 0);
		check_cost(pair, start_ns, 1);
		pair_close(pair);
	}
}

/* The fault lies behind the first packet of its message, which has left without asking. */
Test(ackreq, fault_in_mid_message_sends_an_empty_write)
{
	struct pair *pair = open_pair();
	struct uroce_sge sges[2] = {
		{ .addr = (uintptr_t)pair->side[A].memory, .length = 1024, .lkey = pair->side[A].key },
		{ .addr = (uintptr_t)pair->side[A].memory, .length = 100, .lkey = 0x999 }
	};
	struct uroce_send_wr wr = { .wr_id = 2, .opcode = UROCE_WR_RDMA_WRITE, .sg_list = sges, .num_sge = 2 };
	uint64_t start_ns = pair->now_ns;

	RULE("E-2");
	RULE("Q-5");
	post(pair, 1, UROCE_WR_RDMA_WRITE, 0, 8);
	pair_post(pair, A, wr, 0, 0);
	post(pair, 3, UROCE_WR_RDMA_WRITE, 0, 8);
	pair_run(pair);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 va=0x0 len=8 bytes=8", "WRITE_FIRST psn=1 va=0x0 len=1124 bytes=1024",
		      "WRITE_ONLY psn=16777215 ackreq va=0x0 len=0 bytes=0");
	expect_completes(pair, A, "wr=2 WRITE LOC_PROT_ERR", "wr=3 WRITE WR_FLUSH_ERR");
	check_cost(pair, start_ns, 1);
	pair_close(pair);
}

/* a fence waits for READs, which are answered without a question; the READ depth as well. Nobody repeats. */
Test(ackreq, no_empty_write_follows_a_read)
{
	RULE("Q-4");
	RULE("Q-3");
	RULE("Q-5");
	for (uint32_t fenced = 0; fenced < 2; fenced++) {
		struct pair *pair = pair_open(&(struct pair_options){ .retry_cnt = 255, .rd_atomic = 1 });
		uint64_t start_ns = pair->now_ns;

		post(pair, 1, UROCE_WR_RDMA_READ, 0, 8);
		post(pair, 2, UROCE_WR_RDMA_WRITE, 0, 8);
		if (fenced)
			post(pair, 3, UROCE_WR_RDMA_WRITE, UROCE_SEND_FENCE, 8);
		else
			post(pair, 3, UROCE_WR_RDMA_READ, 0, 8);
		pair_run(pair);
		expect_leaves(pair, A, "READ_REQUEST psn=0 ackreq va=0x0 len=8",
			      "WRITE_ONLY psn=1 va=0x0 len=8 bytes=8",
			      fenced ? "WRITE_ONLY psn=2 ackreq va=0x0 len=8 bytes=8" :
				       "READ_REQUEST psn=2 ackreq va=0x0 len=8");
		cr_assert_eq(pair->side[A].qp->win.acked, 3);
		check_cost(pair, start_ns, 0);
		pair_close(pair);
	}
}

/* A second empty WRITE is not sent while one is unanswered, however often the host polls. */
Test(ackreq, one_empty_write_at_a_time)
{
	struct pair *pair = open_pair();

	RULE("Q-5");
	pair_cut(pair);
	post(pair, 1, UROCE_WR_RDMA_WRITE, UROCE_SEND_SIGNALED, 8);
	post(pair, 2, UROCE_WR_LOCAL_INV, 0, 0);
	pair_transmit(pair, A);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=8 bytes=8");
	pair_close(pair);
	pair = open_pair();
	pair_cut(pair);
	post(pair, 1, UROCE_WR_RDMA_WRITE, UROCE_SEND_SIGNALED, 8);
	post(pair, 2, UROCE_WR_RDMA_WRITE, 0, 8);
	post(pair, 3, UROCE_WR_RDMA_WRITE, 0, 8);
	pair_transmit_some(pair, A, 2);
	modify(pair, UROCE_QPS_SQD);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=8 bytes=8", "WRITE_ONLY psn=1 va=0x0 len=8 bytes=8");
	/* The first answer covers the one that had asked; then nobody has asked about the other. */
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=0 bytes=0");
	expect_counts(pair, A, CNT_DEFERRED_ACKREQS, 1);
	pair_transmit(pair, A);
	expect_leaves(pair, A);
	pair_close(pair);
}

/*
 * All of it was on its way once and is sent again, up to a packet whose source is not registered any more. What is
 * before that does not ask, for more was to follow; with seven retries they were all spent like that.
 */
Test(ackreq, deregistered_key_before_a_resend_still_solicits_an_ack)
{
	RULE("E-2");
	RULE("Q-5");
	for (uint32_t row = 0; row < 2; row++) {
		struct pair *pair = pair_open(&(struct pair_options){ .retry_cnt = 1 });
		uint32_t key = pair_region(pair, A, 1, 0, 4096, UROCE_ACCESS_LOCAL_WRITE);
		struct uroce_sge sge = { .addr = (uintptr_t)pair->side[A].memory, .length = 8, .lkey = key };
		struct uroce_send_wr wr = { .wr_id = 3, .opcode = UROCE_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };

		pair_cut(pair);
		post(pair, 1, UROCE_WR_RDMA_WRITE, 0, 8);
		post(pair, 2, UROCE_WR_RDMA_WRITE, 0, row ? 2000 : 8);
		pair_post(pair, A, wr, 0, 0);
		post(pair, 4, UROCE_WR_RDMA_WRITE, UROCE_SEND_SIGNALED, 8);
		pair_transmit(pair, A);
		pair_forget(pair);
		pair_mend(pair);
		cr_assert_eq(rc_mr_remove(&pair->side[A].mrs, key), 0);
		pair_respond(pair, ack_packet(0, SYNDROME_SEQUENCE, 0));
		expect_sent_count(pair, A, row ? 4 : 3);
		expect_sent(pair, A, row ? 3 : 2, "WRITE_ONLY psn=16777215 ackreq va=0x0 len=0 bytes=0");
		pair_settle(pair, 1000000000);
		expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
		expect_completes(pair, A, "wr=3 WRITE LOC_PROT_ERR", "wr=4 WRITE WR_FLUSH_ERR");
		pair_close(pair);
	}
}

/*
 * The empty WRITE finds no room, then a key of a request in flight is removed: it leaves all the same, and its ACK
 * counts.
 */
Test(ackreq, delayed_empty_write_leaves_after_its_key_is_removed)
{
	struct pair *pair = open_pair();
	uint32_t key = pair_region(pair, A, 1, 0, 4096, UROCE_ACCESS_LOCAL_WRITE);
	struct uroce_sge sge = { .addr = (uintptr_t)pair->side[A].memory, .length = 8, .lkey = key };
	struct uroce_send_wr wr = { .wr_id = 2, .opcode = UROCE_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };

	RULE("Q-5");
	RULE("S-15");
	pair_cut(pair);
	post(pair, 0, UROCE_WR_RDMA_WRITE, UROCE_SEND_SIGNALED, 8);
	post(pair, 1, UROCE_WR_RDMA_WRITE, 0, 8);
	pair_post(pair, A, wr, 0, 0);
	post(pair, 3, UROCE_WR_RDMA_WRITE, 0, 8);
	pair_transmit_some(pair, A, 3);
	modify(pair, UROCE_QPS_SQD);
	pair_inject(pair, A, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	expect_completes(pair, A, "wr=0 WRITE SUCCESS");
	pair_forget(pair);
	cr_assert(pair_transmit_some(pair, A, 0), "no room, and yet nothing more to do");
	cr_assert_eq(rc_mr_remove(&pair->side[A].mrs, key), 0);
	pair_transmit(pair, A);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=0 bytes=0");
	expect_completes(pair, A);
	pair_respond(pair, ack_packet(2, SYNDROME_PLAIN_ACK, 3));
	expect_events(pair, A, "SQ_DRAINED");
	modify(pair, UROCE_QPS_RTS);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=3 ackreq va=0x0 len=8 bytes=8");
	pair_close(pair);
}

/* The next packet is not the one that had to carry the AckReq. */
Test(ackreq, packet_after_an_empty_write_has_no_ackreq)
{
	struct pair *pair = open_pair();

	RULE("Q-5");
	post(pair, 0, UROCE_WR_RDMA_WRITE, UROCE_SEND_SIGNALED, 8);
	post(pair, 1, UROCE_WR_RDMA_WRITE, 0, 8);
	post(pair, 2, UROCE_WR_RDMA_WRITE, 0, 8);
	post(pair, 3, UROCE_WR_RDMA_WRITE, 0, 2000);
	pair_transmit_some(pair, A, 2);
	modify(pair, UROCE_QPS_SQD);
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	pair_run(pair);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=8 bytes=8", "WRITE_ONLY psn=1 va=0x0 len=8 bytes=8",
		      "WRITE_ONLY psn=0 ackreq va=0x0 len=0 bytes=0");
	modify(pair, UROCE_QPS_RTS);
	pair_run(pair);
	expect_leaves(pair, A, "WRITE_ONLY psn=2 va=0x0 len=8 bytes=8", "WRITE_FIRST psn=3 va=0x0 len=2000 bytes=1024",
		      "WRITE_LAST psn=4 ackreq bytes=976");
	pair_close(pair);
}
