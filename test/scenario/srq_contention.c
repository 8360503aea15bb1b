/* srq_contention.c - sixty-four QPs on one shared receive queue that is empty most of the time */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TC-C-5. Smaller than a pair each: nothing is shown as lines, only counted.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "places.h"
#include "rule.h"

#define CROWD 64u

/* Connections one by one between the same two ends, all receives from one queue. */
struct crowd {
	struct rc_srq *srq;
	struct rc_qp *qps[2][CROWD]; /* requesters, responders */
	struct rc_mr_table mrs;
	struct rc_mr_entry entries[4];
	uint64_t now_ns;
	uint32_t sent[CROWD], received[CROWD], limit_events;
	struct rc_outbox out;
};

static struct rc_qp *make_qp(struct crowd *crowd, uint32_t side, uint32_t number)
{
	const struct rc_qp_config config = {
		.qpn = 0x100 + 2 * number + side,
		.pd = 1,
		.mrs = &crowd->mrs,
		.srq = side ? crowd->srq : NULL,
		.max_send_wr = 8,
		.max_recv_wr = 1,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_mtu_bytes = 1024,
	};
	struct uroce_qp_attr attr = {
		.path_mtu = 1024,
		.dest_qp_num = 0x100 + 2 * number + !side,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};
	static const uint32_t masks[] = { UROCE_QP_ACCESS_FLAGS,
					  UROCE_QP_PATH | UROCE_QP_PATH_MTU | UROCE_QP_DEST_QPN | UROCE_QP_RQ_PSN |
						  UROCE_QP_MAX_DEST_RD_ATOMIC | UROCE_QP_MIN_RNR_TIMER,
					  UROCE_QP_TIMEOUT | UROCE_QP_RETRY_CNT | UROCE_QP_RNR_RETRY |
						  UROCE_QP_MAX_RD_ATOMIC | UROCE_QP_SQ_PSN };
	uint64_t bytes = rc_qp_bytes(&config);
	struct rc_qp *qp = rc_qp_init(memset(aligned_alloc(64, bytes), 0, bytes), &config);
	uint32_t bad;

	for (uint32_t i = 0; i < 3; i++) {
		attr.qp_state = (enum uroce_qp_state)(UROCE_QPS_INIT + i);
		cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_STATE | masks[i], &bad), 0, "%#x", bad);
	}
	return qp;
}

static struct crowd *open_crowd(uint32_t depth)
{
	const struct rc_permute24 space = { .secret = { 1, 2, 3, 4 } };
	struct crowd *crowd = calloc(1, sizeof(*crowd));
	void *memory = memset(aligned_alloc(64, rc_srq_bytes(depth, 1)), 0, rc_srq_bytes(depth, 1));

	rc_mr_table_init(&crowd->mrs, crowd->entries, 4, &space);
	crowd->srq = rc_srq_init(memory, depth, 1, NULL);
	for (uint32_t i = 0; i < 2 * CROWD; i++)
		crowd->qps[i & 1][i / 2] = make_qp(crowd, i & 1, i / 2);
	return crowd;
}

static void close_crowd(struct crowd *crowd)
{
	for (uint32_t i = 0; i < 2 * CROWD; i++)
		free(crowd->qps[i & 1][i / 2]);
	free(crowd->srq);
	free(crowd);
}

/* What one end of a connection has to say goes to the other; completions and events are counted. */
static void move(struct crowd *crowd, uint32_t from, uint32_t number)
{
	static struct rc_outbox answers;
	const struct rc_origin origin = { .source = (const uint8_t[16]){ 0 }, .dest = (const uint8_t[16]){ 0 } };

	outbox_reset(&crowd->out);
	places_give(&crowd->out, OUTBOX_PACKETS);
	rc_qp_transmit(crowd->qps[from][number], crowd->now_ns, &crowd->out);
	outbox_reset(&answers);
	for (uint32_t i = 0; i < crowd->out.packet_count; i++) {
		const struct wire_packet packet = places_packet(&crowd->out, i);

		rc_qp_receive(crowd->qps[!from][number], &packet, &origin, crowd->now_ns, &answers);
	}
	for (uint32_t i = 0; i < crowd->out.completion_count + answers.completion_count; i++) {
		const struct uroce_wc *wc = i < crowd->out.completion_count ?
						    &crowd->out.completions[i] :
						    &answers.completions[i - crowd->out.completion_count];

		cr_assert_eq(wc->status, UROCE_WC_SUCCESS, "%s", uroce_wc_status_name(wc->status));
		(wc->opcode >= UROCE_WC_RECV ? crowd->received : crowd->sent)[number]++;
	}
	for (uint32_t i = 0; i < crowd->out.event_count; i++) {
		cr_assert_eq(crowd->out.events[i].type, UROCE_EVENT_SRQ_LIMIT_REACHED);
		crowd->limit_events++;
	}
}

/* One round of all of them, and on to the end of an RNR wait. */
static void poll_once(struct crowd *crowd)
{
	crowd->now_ns += 700000;
	for (uint32_t i = 0; i < CROWD; i++) {
		rc_qp_timeout(crowd->qps[0][i], crowd->now_ns);
		for (uint32_t j = 0; j < 4; j++)
			move(crowd, j & 1, i);
	}
}

static void refill(struct crowd *crowd, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		cr_assert_eq(rc_srq_post(crowd->srq, &(struct uroce_recv_wr){ .wr_id = i }), 0);
}

static uint32_t received(const struct crowd *crowd)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < CROWD; i++)
		sum += crowd->received[i];
	return sum;
}

/* TC-C-5: all wait; then there is one for each, then a few at a time. */
Test(srq_contention, all_recover_when_the_empty_queue_is_filled)
{
	struct crowd *crowd = open_crowd(CROWD);
	const struct uroce_send_wr wr = { .opcode = UROCE_WR_SEND, .send_flags = UROCE_SEND_SIGNALED };

	RULE("M-4");
	RULE("R-1");
	for (uint32_t i = 0; i < 4 * CROWD; i++)
		cr_assert_eq(rc_qp_post_send(crowd->qps[0][i % CROWD], &wr), 0);
	for (uint32_t i = 0; i < 3; i++)
		poll_once(crowd);
	cr_assert_eq(received(crowd), 0);
	for (uint32_t i = 0; i < CROWD; i++)
		cr_assert_eq(crowd->qps[1][i]->counters[CNT_OUT_OF_BUFFER], 3, "QP %u", i);
	rc_srq_arm(crowd->srq, 1);
	poll_once(crowd);
	cr_assert_eq(crowd->limit_events, 1, "an empty queue is below its limit");
	refill(crowd, CROWD);
	rc_srq_arm(crowd->srq, 10);
	poll_once(crowd);
	cr_assert_eq(received(crowd), CROWD);
	cr_assert_eq(crowd->limit_events, 2, "64 takers, one limit: %u events", crowd->limit_events);
	for (uint32_t round = 1; received(crowd) < 4 * CROWD; round++) {
		cr_assert_lt(round, 33, "%u of %u have arrived", received(crowd), 4 * CROWD);
		refill(crowd, 6);
		poll_once(crowd);
		cr_assert_eq(srq_count(crowd->srq), 0, "there were waiters for all");
	}
	poll_once(crowd);
	for (uint32_t i = 0; i < CROWD; i++) {
		cr_assert_eq(crowd->received[i], 4, "QP %u", i);
		cr_assert_eq(crowd->sent[i], 4, "QP %u", i);
	}
	close_crowd(crowd);
}
