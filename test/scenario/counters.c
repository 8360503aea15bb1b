/* counters.c - so many causes, so many counts: each counter of a QP, and no other with it */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each story causes one thing N times and then reads all counters of that side: those named have their number, the
 * rest are zero.
 */
#include <criterion/criterion.h>

#include "packets.h"
#include "rule.h"

#define N 5

struct expected {
	enum rc_counter counter;
	uint64_t count;
};

/* The list ends with a count of 0. */
static void expect_all(struct pair *pair, enum side_name side, const struct expected *list)
{
	uint64_t want[CNT_QP_COUNTERS] = { 0 };

	for (; list->count; list++)
		want[list->counter] = list->count;
	for (uint32_t i = 0; i < CNT_QP_COUNTERS; i++)
		cr_assert_eq(pair->side[side].qp->counters[i], want[i], "%c: %s is %lu, should be %lu", "AB"[side],
			     rc_counters[i].name, pair->side[side].qp->counters[i], want[i]);
}

#define EXPECT_ALL(pair, side, ...) expect_all(pair, side, (const struct expected[]){ __VA_ARGS__, { 0, 0 } })

Test(counters, executed_requests)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 2 * N });

	RULE("O-1");
	for (uint32_t i = 0; i < N; i++) {
		pair_request(pair, send_packet(OP_SEND_FIRST, 6 * i, 1024));
		pair_request(pair, send_packet(OP_SEND_LAST, 6 * i + 1, 8));
		pair_request(pair, write_packet(pair, OP_WRITE_ONLY_IMM, 6 * i + 2, 0, 8, 8));
		pair_request(pair, read_packet(pair, 6 * i + 3, 0, 2000));
		pair_request(pair, fetch_add_packet(pair, 6 * i + 5, 0, 1));
	}
	EXPECT_ALL(pair, B, { CNT_RX_SEND_REQUESTS, N }, { CNT_RX_WRITE_REQUESTS, N }, { CNT_RX_READ_REQUESTS, N },
		   { CNT_RX_ATOMIC_REQUESTS, N });
	pair_close(pair);
}

Test(counters, gaps_duplicates_and_missing_receives)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("O-1");
	for (uint32_t i = 0; i < N; i++) {
		pair_request(pair, write_packet(pair, OP_WRITE_ONLY, i + 1, 0, 8, 8)); /* a gap */
		pair_request(pair, write_packet(pair, OP_WRITE_ONLY, i + 2, 0, 8, 8)); /* dropped behind it */
		pair_request(pair, write_packet(pair, OP_WRITE_ONLY, i, 0, 8, 8));
		pair_request(pair, write_packet(pair, OP_WRITE_ONLY, i, 0, 8, 8)); /* again */
	}
	EXPECT_ALL(pair, B, { CNT_OUT_OF_SEQUENCE, N }, { CNT_AFTER_NAK, N }, { CNT_DUPLICATE_REQUEST, N },
		   { CNT_RX_WRITE_REQUESTS, N });
	for (uint32_t i = 0; i < N; i++)
		pair_request(pair, send_packet(OP_SEND_ONLY, N, 8));
	expect_counts(pair, B, CNT_OUT_OF_BUFFER, N);
	pair_close(pair);
}

Test(counters, duplicates_that_are_dropped)
{
	struct pair *pair = pair_open(&(struct pair_options){ .rd_atomic = 1 });

	RULE("O-1");
	pair_request(pair, fetch_add_packet(pair, 0, 0, 1));
	pair_request(pair, fetch_add_packet(pair, 1, 0, 1));
	for (uint32_t i = 0; i < N; i++) {
		pair_request(pair, fetch_add_packet(pair, 0, 0, 1)); /* forgotten */
		pair_request(pair, fetch_add_packet(pair, 1, 0, 2)); /* another operand */
	}
	expect_counts(pair, B, CNT_REPLAY_MISS, N);
	expect_counts(pair, B, CNT_REPLAY_MISMATCH, N);
	expect_counts(pair, B, CNT_RX_ATOMIC_REQUESTS, 2);
	expect_counts(pair, B, CNT_OUT_OF_SEQUENCE, 0);
	pair_close(pair);
}

Test(counters, requester_retries)
{
	struct pair *pair = pair_open(&(struct pair_options){ .rnr_retry = 7 });

	RULE("O-1");
	pair_cut(pair);
	pair_read(pair, 1, 8);
	pair_transmit(pair, A);
	for (uint32_t i = 0; i < N; i++)
		pair_fire(pair);
	EXPECT_ALL(pair, A, { CNT_LOCAL_ACK_TIMEOUT_ERR, N }, { CNT_RETRANSMITTED_PACKETS, N });
	pair_respond(pair, response_packet(OP_READ_RESPONSE_ONLY, 0, 8));
	for (uint32_t i = 0; i < N; i++) {
		pair_write(pair, 2, 8);
		pair_transmit(pair, A);
		pair_respond(pair, ack_packet(1 + i, SYNDROME_SEQUENCE, 1));
		pair_respond(pair, ack_packet(1 + i, SYNDROME_RNR + 1, 1));
		pair_fire(pair);
		pair_respond(pair, ack_packet(1 + i, SYNDROME_PLAIN_ACK, 1));
		pair_respond(pair, ack_packet(1 + i, SYNDROME_PLAIN_ACK, 1));  /* stale */
		pair_respond(pair, ack_packet(10 + i, SYNDROME_PLAIN_ACK, 1)); /* a ghost */
	}
	EXPECT_ALL(pair, A, { CNT_LOCAL_ACK_TIMEOUT_ERR, N }, { CNT_RETRANSMITTED_PACKETS, 2 * N },
		   { CNT_RNR_RESENT_PACKETS, N }, { CNT_PACKET_SEQ_ERR, N }, { CNT_RNR_NAK_RETRY_ERR, N },
		   { CNT_STALE_RESPONSE, N }, { CNT_GHOST_RESPONSE, N });
	pair_close(pair);
}

/* Each packet after a gap is dropped. */
Test(counters, responses_behind_a_gap)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256, .no_boards = true });

	RULE("O-1");
	pair_cut(pair);
	pair_read(pair, 1, (N + 2) * 256);
	pair_transmit(pair, A);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 0, 256));
	for (uint32_t i = 0; i < N; i++)
		pair_respond(pair,
			     response_packet(i + 1 < N ? OP_READ_RESPONSE_MIDDLE : OP_READ_RESPONSE_LAST, 2 + i, 256));
	expect_counts(pair, A, CNT_RESPONSE_AHEAD, N);
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
	pair_close(pair);
}

Test(counters, errors_and_flushes_on_both_sides)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 3 });
	struct uroce_send_wr wr = { .wr_id = 2, .opcode = UROCE_WR_RDMA_WRITE_WITH_IMM, .rkey = 0x999 };

	RULE("O-1");
	pair_write(pair, 1, 8);
	pair_post(pair, A, wr, 0, 8);
	pair_write(pair, 3, 8);
	pair_write(pair, 4, 8);
	pair_run(pair);
	EXPECT_ALL(pair, A, { CNT_REQ_REMOTE_ACCESS_ERRORS, 1 }, { CNT_REQ_CQE_ERROR, 1 },
		   { CNT_REQ_CQE_FLUSH_ERROR, 2 });
	EXPECT_ALL(pair, B, { CNT_RX_WRITE_REQUESTS, 1 }, { CNT_RESP_REMOTE_ACCESS_ERRORS, 1 },
		   { CNT_RESP_CQE_ERROR, 1 }, { CNT_RESP_CQE_FLUSH_ERROR, 2 });
	pair_close(pair);
}

Test(counters, each_counter_has_a_name_and_description)
{
	RULE("O-1");
	for (uint32_t i = 0; i < CNT_COUNTERS; i++) {
		cr_assert(rc_counters[i].name && *rc_counters[i].name);
		cr_assert(rc_counters[i].sentence && *rc_counters[i].sentence);
		for (uint32_t j = 0; j < i; j++)
			cr_assert_str_neq(rc_counters[i].name, rc_counters[j].name);
	}
}
