/* states.c - the states of a QP: which way they go, with what, and what works in each */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TC-F-1 to F-5.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "rule.h"

#define ATTRIBUTES 26 /* without READ_REPAIR, CC, SACK_WINDOW and PATHS; some bits are of no attribute */
#define ALL_BITS ((1u << ATTRIBUTES) - 1)

struct legal {
	bool yes;
	uint32_t required, optional;
};

#define FIRST_RUN (UROCE_QP_ACCESS_FLAGS | UROCE_QP_MIN_RNR_TIMER | UROCE_QP_ALT_PATH)
#define RUN (FIRST_RUN | UROCE_QP_PATH_MIG_STATE | UROCE_QP_IMPRECISE_ERRORS | UROCE_QP_NO_PROBE | UROCE_QP_KEEPALIVE)
#define TO_RTR (UROCE_QP_PATH | UROCE_QP_PATH_MTU | UROCE_QP_DEST_QPN | UROCE_QP_RQ_PSN | UROCE_QP_MAX_DEST_RD_ATOMIC)
#define TO_RTS (UROCE_QP_TIMEOUT | UROCE_QP_RETRY_CNT | UROCE_QP_RNR_RETRY | UROCE_QP_MAX_RD_ATOMIC)
#define IN_SQD (UROCE_QP_PATH | UROCE_QP_PKEY | TO_RTS | UROCE_QP_MAX_DEST_RD_ATOMIC)

/* Verbs, but what has a default need not be given: P_Key, start PSN (P-2), RNR timer. */
static const struct legal table[UROCE_QP_STATES][UROCE_QP_STATES] = {
	[UROCE_QPS_RESET][UROCE_QPS_INIT] = { true, UROCE_QP_ACCESS_FLAGS, UROCE_QP_PKEY },
	[UROCE_QPS_INIT][UROCE_QPS_INIT] = { true, 0, UROCE_QP_ACCESS_FLAGS | UROCE_QP_PKEY },
	[UROCE_QPS_INIT][UROCE_QPS_RTR] = { true, TO_RTR,
					    FIRST_RUN | UROCE_QP_PKEY | UROCE_QP_FLOW_CONTROL | UROCE_QP_SQ_PSN },
	[UROCE_QPS_RTR][UROCE_QPS_RTS] = { true, TO_RTS, RUN | UROCE_QP_SQ_PSN | UROCE_QP_FLOW_CONTROL },
	[UROCE_QPS_RTS][UROCE_QPS_RTS] = { true, 0, RUN },
	[UROCE_QPS_RTS][UROCE_QPS_SQD] = { true, 0, 0 },
	[UROCE_QPS_SQD][UROCE_QPS_RTS] = { true, 0, RUN },
	[UROCE_QPS_SQD][UROCE_QPS_SQD] = { true, 0, RUN | IN_SQD },
};

static struct legal legal_way(uint32_t from, uint32_t to)
{
	if (to == UROCE_QPS_RESET || (to == UROCE_QPS_ERR && from != UROCE_QPS_RESET))
		return (struct legal){ .yes = true };
	return table[from][to];
}

static const struct uroce_qp_attr good = {
	.access_flags = UROCE_ACCESS_REMOTE_READ,
	.pkey = 0x8001,
	.path_mtu = 512,
	.dest_qp_num = 0x77,
	.rq_psn = 0x1234,
	.sq_psn = 0x4321,
	.max_rd_atomic = 3,
	.max_dest_rd_atomic = 5,
	.min_rnr_timer = 9,
	.timeout = 11,
	.retry_cnt = 2,
	.rnr_retry = 4,
	.path = { .hop_limit = 3 },
	.flow_control = true,
	.imprecise_errors = true,
	.alt_path = { .hop_limit = 4 },
	.alt_pkey = 0x8002,
	.alt_timeout = 12,
	.path_mig_state = UROCE_PATH_MIGRATED,
};

static int change(struct pair *pair, enum side_name side, enum uroce_qp_state state, uint32_t mask, uint32_t *bad)
{
	struct uroce_qp_attr attr = good;

	attr.qp_state = state;
	*bad = 0;
	return rc_qp_modify(pair->side[side].qp, &attr, mask | UROCE_QP_STATE, bad);
}

/* A's QP in a state, by the legal way. */
static struct pair *open_in(uint32_t state)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	uint32_t bad;

	if (state == UROCE_QPS_SQD || state == UROCE_QPS_ERR)
		cr_assert_eq(change(pair, A, (enum uroce_qp_state)state, 0, &bad), 0);
	if (state < UROCE_QPS_RTS)
		cr_assert_eq(change(pair, A, UROCE_QPS_RESET, 0, &bad), 0);
	if (state == UROCE_QPS_INIT || state == UROCE_QPS_RTR)
		cr_assert_eq(change(pair, A, UROCE_QPS_INIT, UROCE_QP_ACCESS_FLAGS, &bad), 0);
	if (state == UROCE_QPS_RTR)
		cr_assert_eq(change(pair, A, UROCE_QPS_RTR, TO_RTR, &bad), 0);
	cr_assert_eq(peek_state(pair->side[A].qp), state);
	return pair;
}

/* Field by field: what lies between fields is nobody's. */
static bool same(const struct uroce_qp_attr *a, const struct uroce_qp_attr *b)
{
	return a->qp_state == b->qp_state && a->access_flags == b->access_flags && a->pkey == b->pkey &&
	       a->path_mtu == b->path_mtu && a->dest_qp_num == b->dest_qp_num && a->rq_psn == b->rq_psn &&
	       a->sq_psn == b->sq_psn && a->max_rd_atomic == b->max_rd_atomic &&
	       a->max_dest_rd_atomic == b->max_dest_rd_atomic && a->min_rnr_timer == b->min_rnr_timer &&
	       a->timeout == b->timeout && a->retry_cnt == b->retry_cnt && a->rnr_retry == b->rnr_retry &&
	       a->flow_control == b->flow_control && a->imprecise_errors == b->imprecise_errors &&
	       a->no_probe == b->no_probe && a->keepalive_ms == b->keepalive_ms && a->read_repair == b->read_repair &&
	       a->alt_pkey == b->alt_pkey && a->alt_timeout == b->alt_timeout &&
	       a->path_mig_state == b->path_mig_state && memcmp(&a->path, &b->path, sizeof(a->path)) == 0 &&
	       memcmp(&a->alt_path, &b->alt_path, sizeof(a->alt_path)) == 0;
}

static void check_refused(uint32_t from, uint32_t to, uint32_t mask, uint32_t expected_bad)
{
	struct pair *pair = open_in(from);
	struct uroce_qp_attr before, after;
	uint32_t bad;

	rc_qp_query(pair->side[A].qp, &before);
	cr_assert_eq(change(pair, A, (enum uroce_qp_state)to, mask, &bad), -EINVAL, "%u to %u with %#x", from, to,
		     mask);
	cr_assert_eq(bad, expected_bad, "%u to %u with %#x: named %#x, not %#x", from, to, mask, bad, expected_bad);
	rc_qp_query(pair->side[A].qp, &after);
	cr_assert(same(&before, &after), "%u to %u with %#x changed something", from, to, mask);
	pair_close(pair);
}

static void check_taken(uint32_t from, uint32_t to, uint32_t mask)
{
	struct pair *pair = open_in(from);
	struct uroce_qp_attr after;
	uint32_t bad;

	cr_assert_eq(change(pair, A, (enum uroce_qp_state)to, mask, &bad), 0, "%u to %u with %#x: %#x", from, to, mask,
		     bad);
	rc_qp_query(pair->side[A].qp, &after);
	cr_assert_eq(after.qp_state, to);
	if (mask & UROCE_QP_ACCESS_FLAGS)
		cr_assert_eq(after.access_flags, good.access_flags);
	if (mask & UROCE_QP_PKEY)
		cr_assert_eq(after.pkey, good.pkey);
	if (mask & UROCE_QP_PATH_MTU)
		cr_assert_eq(after.path_mtu, good.path_mtu);
	if (mask & UROCE_QP_DEST_QPN)
		cr_assert_eq(after.dest_qp_num, good.dest_qp_num);
	if (mask & UROCE_QP_RQ_PSN)
		cr_assert_eq(after.rq_psn, good.rq_psn);
	if (mask & UROCE_QP_SQ_PSN)
		cr_assert_eq(after.sq_psn, good.sq_psn);
	if (mask & UROCE_QP_MAX_RD_ATOMIC)
		cr_assert_eq(after.max_rd_atomic, good.max_rd_atomic);
	if (mask & UROCE_QP_MAX_DEST_RD_ATOMIC)
		cr_assert_eq(after.max_dest_rd_atomic, good.max_dest_rd_atomic);
	if (mask & UROCE_QP_MIN_RNR_TIMER)
		cr_assert_eq(after.min_rnr_timer, good.min_rnr_timer);
	if (mask & UROCE_QP_TIMEOUT)
		cr_assert_eq(after.timeout, good.timeout);
	if (mask & UROCE_QP_RETRY_CNT)
		cr_assert_eq(after.retry_cnt, good.retry_cnt);
	if (mask & UROCE_QP_RNR_RETRY)
		cr_assert_eq(after.rnr_retry, good.rnr_retry);
	if (mask & UROCE_QP_PATH)
		cr_assert_eq(after.path.hop_limit, good.path.hop_limit);
	if (mask & UROCE_QP_FLOW_CONTROL)
		cr_assert_eq(after.flow_control, good.flow_control);
	if (mask & UROCE_QP_IMPRECISE_ERRORS)
		cr_assert_eq(after.imprecise_errors, good.imprecise_errors);
	if (mask & UROCE_QP_NO_PROBE)
		cr_assert_eq(after.no_probe, good.no_probe);
	if (mask & UROCE_QP_KEEPALIVE)
		cr_assert_eq(after.keepalive_ms, good.keepalive_ms);
	if (mask & UROCE_QP_ALT_PATH) {
		cr_assert_eq(after.alt_path.hop_limit, good.alt_path.hop_limit);
		cr_assert_eq(after.alt_pkey, good.alt_pkey);
		cr_assert_eq(after.alt_timeout, good.alt_timeout);
	}
	pair_close(pair);
}

/* One way with exactly what it needs, with all it may have, without each that it needs, with each it may not have. */
static void check_way(uint32_t from, uint32_t to)
{
	struct legal way = legal_way(from, to);
	uint32_t allowed = way.required | way.optional | UROCE_QP_STATE;

	if (!way.yes) {
		check_refused(from, to, 0, UROCE_QP_STATE);
		check_refused(from, to, ALL_BITS, UROCE_QP_STATE);
		return;
	}
	check_taken(from, to, way.required);
	check_taken(from, to, way.required | way.optional);
	for (uint32_t bit = 1; bit <= ALL_BITS; bit <<= 1) {
		if (way.required & bit)
			check_refused(from, to, way.required & ~bit, bit);
		if (way.optional & bit)
			check_taken(from, to, way.required | bit);
		if (!(allowed & bit))
			check_refused(from, to, way.required | bit, bit);
	}
}

/* TC-F-1 */
Test(states, each_of_the_36_transitions_follows_the_table)
{
	RULE("X-1");
	for (uint32_t from = 0; from <= UROCE_QPS_ERR; from += from == UROCE_QPS_SQD ? 2 : 1) /* 5 is SQE, of verbs */
		for (uint32_t to = 0; to < UROCE_QP_STATES; to++)
			check_way(from, to);
}

Test(states, unknown_state_is_refused)
{
	RULE("X-1");
	check_refused(UROCE_QPS_RTS, UROCE_QP_STATES, 0, UROCE_QP_STATE);
	check_refused(UROCE_QPS_RTS, 1000, 0, UROCE_QP_STATE);
}

Test(states, value_out_of_range_is_refused_by_name)
{
	static const struct {
		uint32_t bit;
		struct uroce_qp_attr attr;
	} rows[] = {
		{ UROCE_QP_PATH_MTU, { .path_mtu = 0 } },
		{ UROCE_QP_PATH_MTU, { .path_mtu = 1000 } },
		{ UROCE_QP_PATH_MTU, { .path_mtu = 128 } },
		{ UROCE_QP_PATH_MTU, { .path_mtu = 8192 } },
		{ UROCE_QP_RQ_PSN, { .rq_psn = 1 << 24 } },
		{ UROCE_QP_DEST_QPN, { .dest_qp_num = 1 << 24 } },
		{ UROCE_QP_MIN_RNR_TIMER, { .min_rnr_timer = 32 } },
		{ UROCE_QP_MAX_DEST_RD_ATOMIC, { .max_dest_rd_atomic = 129 } },
	};

	RULE("X-1");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pair *pair = open_in(UROCE_QPS_INIT);
		struct uroce_qp_attr attr = good;
		uint32_t bad = 0;

		attr.qp_state = UROCE_QPS_RTR;
		if (rows[i].bit == UROCE_QP_PATH_MTU)
			attr.path_mtu = rows[i].attr.path_mtu;
		if (rows[i].bit == UROCE_QP_RQ_PSN)
			attr.rq_psn = rows[i].attr.rq_psn;
		if (rows[i].bit == UROCE_QP_DEST_QPN)
			attr.dest_qp_num = rows[i].attr.dest_qp_num;
		if (rows[i].bit == UROCE_QP_MIN_RNR_TIMER)
			attr.min_rnr_timer = rows[i].attr.min_rnr_timer;
		if (rows[i].bit == UROCE_QP_MAX_DEST_RD_ATOMIC)
			attr.max_dest_rd_atomic = rows[i].attr.max_dest_rd_atomic;
		cr_assert_eq(rc_qp_modify(pair->side[A].qp, &attr, UROCE_QP_STATE | TO_RTR | UROCE_QP_MIN_RNR_TIMER,
					  &bad),
			     -EINVAL, "row %zu", i);
		cr_assert_eq(bad, rows[i].bit, "row %zu: %#x", i, bad);
		cr_assert_eq(peek_state(pair->side[A].qp), UROCE_QPS_INIT);
		pair_close(pair);
	}
}

Test(states, reset_drops_everything_silently)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 2 });
	uint32_t bad;

	RULE("X-1");
	pair_cut(pair);
	pair_write(pair, 1, 3000);
	pair_read(pair, 2, 8);
	pair_transmit(pair, A);
	pair_request(pair, send_packet(OP_SEND_FIRST, 0, 1024));
	pair_request(pair, send_packet(OP_SEND_MIDDLE, 2, 1024));
	pair_forget(pair);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(change(pair, (enum side_name)i, UROCE_QPS_RESET, 0, &bad), 0);
		pair_transmit(pair, (enum side_name)i);
		cr_assert_eq(rc_qp_deadline(pair->side[i].qp), RC_NEVER);
		rc_qp_timeout(pair->side[i].qp, UINT64_MAX - 1);
		pair_transmit(pair, (enum side_name)i);
		expect_leaves(pair, (enum side_name)i);
		expect_completes(pair, (enum side_name)i);
		expect_events(pair, (enum side_name)i);
	}
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 8));
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	expect_leaves(pair, B);
	expect_completes(pair, A);
	pair_close(pair);
}

/* TC-F-7: after RESET the QP is as new: fresh PSNs, message number, replay cache, counters of retries. */
Test(states, reset_qp_starts_from_initial_state)
{
	struct pair *pair = pair_open(&(struct pair_options){ .psn_a = 100 });
	const struct uroce_path path = pair->side[B].qp->path;
	uint32_t bad;

	RULE("X-1");
	pair_set_word(pair, B, 0, 1);
	pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 100, 64, 8, 8));
	pair_request(pair, fetch_add_packet(pair, 101, 0, 1));
	pair_request(pair, write_packet(pair, OP_WRITE_FIRST, 102, 64, 2000, 1024));
	pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 110, 64, 8, 8));
	pair_forget(pair);
	cr_assert_eq(change(pair, B, UROCE_QPS_RESET, 0, &bad), 0);
	cr_assert_eq(change(pair, B, UROCE_QPS_INIT, UROCE_QP_ACCESS_FLAGS, &bad), 0);
	cr_assert_eq(change(pair, B, UROCE_QPS_RTR, TO_RTR, &bad), 0);
	pair->side[B].qp->path = path;
	pair_aim(pair, B);
	pair_request(pair, read_packet(pair, 0x1234, 0, 8));
	expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=4660 credit=31 msn=1 bytes=8");
	pair_request(pair, fetch_add_packet(pair, 101, 0, 1)); /* of the earlier life: unknown */
	expect_leaves(pair, B);
	pair_request(pair, read_packet(pair, 0x1236, 0, 8));
	expect_leaves(pair, B, "NAK_SEQUENCE psn=4661 msn=1");
	expect_events(pair, B, "COMM_EST");
	pair_close(pair);
}

/* Owed answers and pending events are dropped; the peer's first packet raises an event after each reset. */
Test(states, reset_qp_drops_owed_answers_and_events)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 2 });
	struct rc_qp *qp = pair->side[B].qp;
	const struct uroce_path path = qp->path;
	uint32_t bad;

	RULE("X-1");
	RULE("V-1");
	pair_inject(pair, B, send_packet(OP_SEND_FIRST, 0, 1024));
	pair_inject(pair, B, read_packet(pair, 1, 0, 8)); /* fatal: inside the SEND */
	cr_assert_eq(peek_state(qp), UROCE_QPS_ERR);
	for (int life = 0; life < 2; life++) {
		cr_assert_eq(change(pair, B, UROCE_QPS_RESET, 0, &bad), 0);
		cr_assert_eq(change(pair, B, UROCE_QPS_INIT, UROCE_QP_ACCESS_FLAGS, &bad), 0);
		cr_assert_eq(change(pair, B, UROCE_QPS_RTR, TO_RTR, &bad), 0);
		qp->path = path;
		pair_aim(pair, B);
		pair_transmit(pair, B);
		expect_leaves(pair, B);
		expect_completes(pair, B);
		expect_events(pair, B);
		pair_request(pair, read_packet(pair, good.rq_psn, 0, 8));
		expect_sent_count(pair, B, 1);
		pair->side[B].sent_count = 0;
		expect_events(pair, B, "COMM_EST");
	}
	pair_close(pair);
}

/*
 * TC-F-7: the same number is reused at once. Packets in flight from before are ghosts for both halves, and the timer
 * is stopped.
 */
Test(states, stale_packets_after_a_reset_have_no_effect)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 1 });
	struct rc_qp *qp = pair->side[A].qp;
	const struct uroce_path path = qp->path;
	uint64_t deadline;
	uint32_t bad;

	RULE("X-1");
	RULE("P-5");
	RULE("P-6");
	pair_cut(pair);
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	deadline = rc_qp_deadline(qp);
	cr_assert_eq(change(pair, A, UROCE_QPS_RESET, 0, &bad), 0);
	cr_assert_eq(change(pair, A, UROCE_QPS_INIT, UROCE_QP_ACCESS_FLAGS, &bad), 0);
	cr_assert_eq(change(pair, A, UROCE_QPS_RTR, TO_RTR, &bad), 0);
	cr_assert_eq(change(pair, A, UROCE_QPS_RTS, TO_RTS | UROCE_QP_SQ_PSN, &bad), 0);
	qp->path = path;
	pair_aim(pair, A);
	pair_forget(pair);
	cr_assert_eq(rc_qp_deadline(qp), RC_NEVER);
	pair->now_ns = deadline + 1;
	rc_qp_timeout(qp, pair->now_ns);
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	pair_respond(pair, ack_packet(0, SYNDROME_ACCESS, 1));
	expect_leaves(pair, A);
	expect_counts(pair, A, CNT_GHOST_RESPONSE, 2);
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=17185 ackreq va=0x0 len=8 bytes=8");
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	expect_completes(pair, A);
	pair_respond(pair, ack_packet(good.sq_psn, SYNDROME_PLAIN_ACK, 1));
	expect_completes(pair, A, "wr=2 WRITE SUCCESS");
	/* A WRITE of the first life that has a key and an address: its PSN is not expected. */
	pair_forget(pair);
	pair_fill(pair, A, 0, 0x11, 8);
	pair_inject(pair, A,
		    (struct wire_packet){ .opcode = OP_WRITE_ONLY,
					  .psn = 7,
					  .va = (uintptr_t)pair->side[A].memory,
					  .rkey = pair->side[A].key,
					  .dma_length = 8,
					  .payload = packets_data(),
					  .payload_bytes = 8 });
	cr_assert_eq(pair->side[A].memory[0], 0x11);
	cr_assert_eq(peek_state(qp), UROCE_QPS_RTS);
	pair_close(pair);
}

Test(states, reset_restarts_the_count_of_outstanding_reads)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct uroce_send_wr wr = { .wr_id = 9, .opcode = UROCE_WR_RDMA_WRITE, .send_flags = UROCE_SEND_FENCE };
	uint32_t bad;

	RULE("X-1");
	RULE("Q-3");
	pair_cut(pair);
	for (uint64_t i = 0; i < 4; i++)
		pair_read(pair, i, 8);
	pair_transmit(pair, A);
	cr_assert_eq(change(pair, A, UROCE_QPS_RESET, 0, &bad), 0);
	cr_assert_eq(change(pair, A, UROCE_QPS_INIT, UROCE_QP_ACCESS_FLAGS, &bad), 0);
	cr_assert_eq(change(pair, A, UROCE_QPS_RTR, TO_RTR, &bad), 0);
	cr_assert_eq(change(pair, A, UROCE_QPS_RTS, TO_RTS | UROCE_QP_SQ_PSN, &bad), 0);
	pair_aim(pair, A);
	pair_forget(pair);
	pair_post(pair, A, wr, 0, 8);
	pair_read(pair, 10, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=17185 va=0x0 len=8 bytes=8",
		      "READ_REQUEST psn=17186 ackreq va=0x0 len=8");
	pair_close(pair);
}

/* A responder works in RTR, RTS and SQD: in ERR no request is answered, even if executed before. */
Test(states, qp_in_err_sends_no_answers)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 1 });
	uint32_t bad;

	RULE("X-3");
	RULE("E-6");
	pair_inject(pair, B, read_packet(pair, 0, 0, 3000));
	pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 3, 64, 8, 8));
	pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 5, 64, 8, 8));
	cr_assert_eq(change(pair, B, UROCE_QPS_ERR, 0, &bad), 0);
	pair_transmit(pair, B);
	expect_leaves(pair, B);
	expect_completes(pair, B, "wr=1000 RECV WR_FLUSH_ERR");
	pair_close(pair);
}

/* TC-F-3 */
Test(states, responder_in_rtr_answers_and_raises_comm_est_once)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 2 });
	struct rc_qp *qp = pair->side[B].qp;

	RULE("X-3");
	RULE("V-1");
	RULE("Q-14");
	poke_state(qp, UROCE_QPS_RTR); /* as before its last step */
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 0));
	cr_assert_eq(pair_post(pair, B, (struct uroce_send_wr){ .opcode = UROCE_WR_SEND }, 0, 8), -EINVAL);
	pair_request(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 0)); /* a response is no first packet here */
	expect_events(pair, B);
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 8));
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=1");
	expect_events(pair, B, "COMM_EST");
	pair_request(pair, send_packet(OP_SEND_ONLY, 1, 8));
	expect_events(pair, B);
	expect_completes(pair, B, "wr=1000 RECV SUCCESS len=8", "wr=1001 RECV SUCCESS len=8");
	pair_close(pair);
}

/* TC-F-4 */
Test(states, sqd_finishes_started_messages_and_rts_resumes)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	uint32_t bad;

	RULE("X-2");
	RULE("V-1");
	pair_cut(pair);
	pair_write(pair, 1, 3000);
	pair_write(pair, 2, 8);
	pair_transmit_some(pair, A, 2);
	expect_leaves(pair, A, "WRITE_FIRST psn=0 va=0x0 len=3000 bytes=1024", "WRITE_MIDDLE psn=1 ackreq bytes=1024");
	cr_assert_eq(change(pair, A, UROCE_QPS_SQD, 0, &bad), 0);
	/* All that was sent is acknowledged, but the message is not at its end: not drained. */
	pair_inject(pair, A, ack_packet(1, SYNDROME_PLAIN_ACK, 0));
	pair_transmit_some(pair, A, 0);
	expect_events(pair, A);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_LAST psn=2 ackreq bytes=952");
	expect_events(pair, A);
	pair_fire(pair);
	expect_leaves(pair, A, "WRITE_LAST psn=2 ackreq bytes=952");
	pair_respond(pair, ack_packet(2, SYNDROME_PLAIN_ACK, 1));
	expect_leaves(pair, A);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	expect_events(pair, A, "SQ_DRAINED");
	pair_transmit(pair, A);
	expect_events(pair, A);
	cr_assert_eq(change(pair, A, UROCE_QPS_SQD, UROCE_QP_TIMEOUT, &bad), 0);
	cr_assert_eq(change(pair, A, UROCE_QPS_RTS, 0, &bad), 0);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=3 ackreq va=0x0 len=8 bytes=8");
	cr_assert_geq(rc_qp_deadline(pair->side[A].qp), pair->now_ns + (4096ull << good.timeout));
	cr_assert_leq(rc_qp_deadline(pair->side[A].qp), pair->now_ns + (4096ull << good.timeout) * 11 / 10);
	pair_respond(pair, ack_packet(3, SYNDROME_PLAIN_ACK, 2));
	expect_completes(pair, A, "wr=2 WRITE SUCCESS");
	expect_events(pair, A);
	/* Each way into SQD drains once. */
	cr_assert_eq(change(pair, A, UROCE_QPS_SQD, 0, &bad), 0);
	pair_transmit(pair, A);
	expect_events(pair, A, "SQ_DRAINED");
	pair_close(pair);
}

Test(states, in_sqd_a_read_completes_and_a_responder_answers)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	uint32_t bad;

	RULE("X-2");
	RULE("X-3");
	pair_cut(pair);
	pair_read(pair, 1, 8);
	pair_transmit(pair, A);
	cr_assert_eq(change(pair, A, UROCE_QPS_SQD, 0, &bad), 0);
	cr_assert_eq(change(pair, B, UROCE_QPS_SQD, 0, &bad), 0);
	pair_transmit(pair, A);
	expect_events(pair, A);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_ONLY, 0, 8));
	expect_completes(pair, A, "wr=1 READ SUCCESS len=8");
	expect_events(pair, A, "SQ_DRAINED");
	pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 0, 0, 8, 8));
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=1");
	pair_close(pair);
}

/* TC-F-5: at every step of an exchange, on either side; one completion for each request. */
Test(states, err_at_any_moment_flushes_each_request_once)
{
	RULE("E-6");
	RULE("E-1");
	RULE("V-1");
	for (uint32_t step = 0; step < 24; step++) {
		struct pair *pair = pair_open(&(struct pair_options){ .receives = 3 });
		enum side_name victim = step & 1 ? A : B;
		uint32_t bad;

		pair_recv(pair, A, 50, 0, 8);
		pair_send(pair, 1, 2500);
		pair_read(pair, 2, 2500);
		pair_send(pair, 3, 10);
		for (uint32_t i = 0; i < step / 2; i++) {
			pair_transmit_some(pair, i & 1 ? B : A, 1);
			pair_deliver(pair, i & 1 ? A : B);
		}
		cr_assert_eq(change(pair, victim, UROCE_QPS_ERR, 0, &bad), 0);
		pair_settle(pair, 100000000000ull);
		cr_assert_eq(pair->side[A].done_count, 4, "step %u: %u", step, pair->side[A].done_count);
		for (uint32_t i = 0; i < 3; i++)
			cr_assert_eq(pair->side[A].wcs[i].wr_id, i + 1, "step %u", step);
		if (victim == B)
			expect_done_count(pair, B, 3);
		for (uint32_t i = 0; i < pair->side[B].done_count; i++)
			cr_assert_eq(pair->side[B].wcs[i].wr_id, 1000 + i, "step %u", step);
		cr_assert_eq(pair->side[victim].event_count, 0, "ERR by modify raises no event");
		pair_close(pair);
	}
}

/* Timers, owed answers and cached results survive SQD. */
Test(states, leaving_sqd_keeps_timers_and_answers)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	uint64_t deadline;
	uint32_t bad;

	RULE("X-2");
	RULE("S-10");
	pair_cut(pair);
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	deadline = rc_qp_deadline(pair->side[A].qp);
	pair_set_word(pair, B, 0, 40);
	pair_inject(pair, B, fetch_add_packet(pair, 0, 0, 2));
	pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 1, 64, 8, 8));
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(change(pair, (enum side_name)i, UROCE_QPS_SQD, 0, &bad), 0);
		cr_assert_eq(change(pair, (enum side_name)i, UROCE_QPS_RTS, 0, &bad), 0);
	}
	cr_assert_eq(rc_qp_deadline(pair->side[A].qp), deadline);
	pair_transmit(pair, B);
	expect_leaves(pair, B, "ATOMIC_ACKNOWLEDGE psn=0 credit=31 msn=1 original=0x28", "ACK psn=1 credit=31 msn=2");
	pair_request(pair, fetch_add_packet(pair, 0, 0, 2));
	expect_leaves(pair, B, "ATOMIC_ACKNOWLEDGE psn=0 credit=31 msn=1 original=0x28");
	cr_assert_eq(pair_word(pair, B, 0), 42);
	pair_close(pair);
}
