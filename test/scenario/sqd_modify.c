/* sqd_modify.c - attributes changed in SQD apply to requests in flight and to waiting ones */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "packets.h"
#include "peek.h"
#include "rule.h"

#define TIMEOUT_NS 67108864ull /* code 14 */

static void change(struct pair *pair, const struct uroce_qp_attr *attr, uint32_t mask)
{
	uint32_t bad = 0;

	cr_assert_eq(rc_qp_modify(pair->side[A].qp, attr, mask, &bad), 0, "%#x", bad);
}

static void go_to(struct pair *pair, enum uroce_qp_state state)
{
	change(pair, &(struct uroce_qp_attr){ .qp_state = state }, UROCE_QP_STATE);
}

/* The timer starts with the next call, whenever the host makes it. */
Test(sqd_modify, enabled_timer_starts_for_packets_in_flight)
{
	struct pair *pair = pair_open(&(struct pair_options){ .timeout = 255 });
	struct rc_qp *qp = pair->side[A].qp;

	RULE("T-1");
	RULE("X-2");
	pair_cut(pair);
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	cr_assert_eq(rc_qp_deadline(qp), RC_NEVER);
	go_to(pair, UROCE_QPS_SQD);
	change(pair, &(struct uroce_qp_attr){ .timeout = 14 }, UROCE_QP_TIMEOUT);
	cr_assert_leq(rc_qp_deadline(qp), pair->now_ns, "the host looks at once");
	rc_qp_timeout(qp, pair->now_ns);
	cr_assert_eq(peek_resend_ns(qp), pair->now_ns + TIMEOUT_NS);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	pair_fire(pair);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 1);
	pair_close(pair);
}

Test(sqd_modify, disabled_timer_does_not_fire)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("T-1");
	RULE("X-2");
	poke_probes(pair->side[A].qp, true);
	pair_cut(pair);
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	go_to(pair, UROCE_QPS_SQD);
	change(pair, &(struct uroce_qp_attr){ .timeout = 0 }, UROCE_QP_TIMEOUT);
	cr_assert_eq(rc_qp_deadline(pair->side[A].qp), RC_NEVER);
	cr_assert_not(pair_fire(pair));
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	pair_close(pair);
}

/* With nothing in flight the timer does not start. */
Test(sqd_modify, enabled_timer_waits_for_a_packet_in_flight)
{
	struct pair *pair = pair_open(&(struct pair_options){ .timeout = 255 });

	RULE("T-1");
	go_to(pair, UROCE_QPS_SQD);
	change(pair, &(struct uroce_qp_attr){ .timeout = 14 }, UROCE_QP_TIMEOUT);
	cr_assert_eq(rc_qp_deadline(pair->side[A].qp), RC_NEVER);
	pair_close(pair);
}

/* It was posted when it might be sent; now it never can be, and says so instead of waiting. */
Test(sqd_modify, read_without_rd_atomic_fails_in_order)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("Q-3");
	RULE("Q-13");
	go_to(pair, UROCE_QPS_SQD);
	pair_write(pair, 1, 8);
	pair_read(pair, 2, 8);
	pair_write(pair, 3, 8);
	change(pair, &(struct uroce_qp_attr){ .max_rd_atomic = 0 }, UROCE_QP_MAX_RD_ATOMIC);
	pair_run(pair);
	expect_completes(pair, A);
	go_to(pair, UROCE_QPS_RTS);
	pair_run(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 READ LOC_QP_OP_ERR", "wr=3 WRITE WR_FLUSH_ERR");
	cr_assert_eq(pair->side[A].wcs[1].vendor_err, UROCE_CAUSE_DEPTH);
	pair_close(pair);
}

/* A fault of what waits is no business of SQD, which is reported drained. */
Test(sqd_modify, too_long_message_is_judged_when_it_may_start)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct uroce_sge sges[2] = { { .length = 1u << 31 }, { .length = 1 } };
	const struct uroce_send_wr wr = { .wr_id = 2,
					  .opcode = UROCE_WR_RDMA_WRITE,
					  .send_flags = UROCE_SEND_SIGNALED,
					  .sg_list = sges,
					  .num_sge = 2 };

	RULE("X-2");
	RULE("Q-14");
	pair_write(pair, 1, 8);
	pair_run(pair);
	go_to(pair, UROCE_QPS_SQD);
	cr_assert_eq(rc_qp_post_send(pair->side[A].qp, &wr), 0);
	pair_run(pair);
	expect_events(pair, A, "SQ_DRAINED");
	cr_assert_eq(peek_state(pair->side[A].qp), UROCE_QPS_SQD);
	go_to(pair, UROCE_QPS_RTS);
	pair_run(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 WRITE LOC_LEN_ERR");
	pair_close(pair);
}
