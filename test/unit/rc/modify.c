/* modify.c - attributes: each one alone, the ends of its range, and what a state does with what was posted */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/limits.h"
#include "rc/outbox.h"
#include "rc/ports.h"
#include "rc/qp.h"
#include "places.h"
#include "rule.h"

#define TO_RTR (UROCE_QP_PATH | UROCE_QP_PATH_MTU | UROCE_QP_DEST_QPN | UROCE_QP_RQ_PSN | UROCE_QP_MAX_DEST_RD_ATOMIC)
#define TO_RTS (UROCE_QP_TIMEOUT | UROCE_QP_RETRY_CNT | UROCE_QP_RNR_RETRY | UROCE_QP_MAX_RD_ATOMIC)
#define IN_SQD                                                                                                    \
	(UROCE_QP_ACCESS_FLAGS | UROCE_QP_PKEY | UROCE_QP_MAX_DEST_RD_ATOMIC | UROCE_QP_MIN_RNR_TIMER | TO_RTS |  \
	 UROCE_QP_PATH | UROCE_QP_IMPRECISE_ERRORS | UROCE_QP_ALT_PATH | UROCE_QP_NO_PROBE | UROCE_QP_KEEPALIVE | \
	 UROCE_QP_READ_REPAIR)

#define DEST_RD_ATOMIC 16u /* that there is memory for */

/* Two values for everything. */
static const struct uroce_qp_attr one = {
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
	.path = { .hop_limit = 3, .flow_label = 0xFFFFF },
	.alt_path = { .hop_limit = 4, .flow_label = 0xFFFFF },
	.alt_pkey = 0x8002,
	.alt_timeout = 12,
};
static const struct uroce_qp_attr other = {
	.access_flags = UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_LOCAL_WRITE,
	.pkey = 0x8003,
	.path_mtu = 1024,
	.dest_qp_num = 0x78,
	.rq_psn = 0x1235,
	.sq_psn = 0x4322,
	.max_rd_atomic = 4,
	.max_dest_rd_atomic = 6,
	.min_rnr_timer = 10,
	.timeout = 12,
	.retry_cnt = 3,
	.rnr_retry = 5,
	.path = { .hop_limit = 5 },
	.flow_control = true,
	.imprecise_errors = true,
	.no_probe = true,
	.keepalive_ms = 7,
	.read_repair = UROCE_READ_REPAIR_ANY_ORDER,
	.sack_window = 512,
	.paths = 8,
	.alt_path = { .hop_limit = 6 },
	.alt_pkey = 0x8004,
	.alt_timeout = 13,
};

/* What the mask says of one in the place of what is in the other. */
static void put(struct uroce_qp_attr *to, const struct uroce_qp_attr *from, uint32_t mask)
{
	to->access_flags = mask & UROCE_QP_ACCESS_FLAGS ? from->access_flags : to->access_flags;
	to->pkey = mask & UROCE_QP_PKEY ? from->pkey : to->pkey;
	to->path_mtu = mask & UROCE_QP_PATH_MTU ? from->path_mtu : to->path_mtu;
	to->dest_qp_num = mask & UROCE_QP_DEST_QPN ? from->dest_qp_num : to->dest_qp_num;
	to->rq_psn = mask & UROCE_QP_RQ_PSN ? from->rq_psn : to->rq_psn;
	to->sq_psn = mask & UROCE_QP_SQ_PSN ? from->sq_psn : to->sq_psn;
	to->max_rd_atomic = mask & UROCE_QP_MAX_RD_ATOMIC ? from->max_rd_atomic : to->max_rd_atomic;
	to->max_dest_rd_atomic = mask & UROCE_QP_MAX_DEST_RD_ATOMIC ? from->max_dest_rd_atomic : to->max_dest_rd_atomic;
	to->min_rnr_timer = mask & UROCE_QP_MIN_RNR_TIMER ? from->min_rnr_timer : to->min_rnr_timer;
	to->timeout = mask & UROCE_QP_TIMEOUT ? from->timeout : to->timeout;
	to->retry_cnt = mask & UROCE_QP_RETRY_CNT ? from->retry_cnt : to->retry_cnt;
	to->rnr_retry = mask & UROCE_QP_RNR_RETRY ? from->rnr_retry : to->rnr_retry;
	to->path = mask & UROCE_QP_PATH ? from->path : to->path;
	to->flow_control = mask & UROCE_QP_FLOW_CONTROL ? from->flow_control : to->flow_control;
	to->imprecise_errors = mask & UROCE_QP_IMPRECISE_ERRORS ? from->imprecise_errors : to->imprecise_errors;
	to->no_probe = mask & UROCE_QP_NO_PROBE ? from->no_probe : to->no_probe;
	to->keepalive_ms = mask & UROCE_QP_KEEPALIVE ? from->keepalive_ms : to->keepalive_ms;
	to->sack_window = mask & UROCE_QP_SACK_WINDOW ? from->sack_window : to->sack_window;
	to->paths = mask & UROCE_QP_PATHS ? from->paths : to->paths;
	to->read_repair = mask & UROCE_QP_READ_REPAIR ? from->read_repair : to->read_repair;
	if (mask & UROCE_QP_ALT_PATH) {
		to->alt_path = from->alt_path;
		to->alt_pkey = from->alt_pkey;
		to->alt_timeout = from->alt_timeout;
	}
}

static void expect_told(const struct rc_qp *qp, const struct uroce_qp_attr *right, uint32_t after)
{
	struct uroce_qp_attr told;

	rc_qp_query(qp, &told);
	cr_assert_eq(told.access_flags, right->access_flags, "after %#x", after);
	cr_assert_eq(told.pkey, right->pkey, "after %#x", after);
	cr_assert_eq(told.path_mtu, right->path_mtu, "after %#x", after);
	cr_assert_eq(told.dest_qp_num, right->dest_qp_num, "after %#x", after);
	cr_assert_eq(told.rq_psn, right->rq_psn, "after %#x", after);
	cr_assert_eq(told.sq_psn, right->sq_psn, "after %#x", after);
	cr_assert_eq(told.max_rd_atomic, right->max_rd_atomic, "after %#x", after);
	cr_assert_eq(told.max_dest_rd_atomic, right->max_dest_rd_atomic, "after %#x", after);
	cr_assert_eq(told.min_rnr_timer, right->min_rnr_timer, "after %#x", after);
	cr_assert_eq(told.timeout, right->timeout, "after %#x", after);
	cr_assert_eq(told.retry_cnt, right->retry_cnt, "after %#x", after);
	cr_assert_eq(told.rnr_retry, right->rnr_retry, "after %#x", after);
	cr_assert_eq(told.path.hop_limit, right->path.hop_limit, "after %#x", after);
	cr_assert_eq(told.flow_control, right->flow_control, "after %#x", after);
	cr_assert_eq(told.imprecise_errors, right->imprecise_errors, "after %#x", after);
	cr_assert_eq(told.no_probe, right->no_probe, "after %#x", after);
	cr_assert_eq(told.keepalive_ms, right->keepalive_ms, "after %#x", after);
	cr_assert_eq(told.sack_window, right->sack_window, "after %#x", after);
	cr_assert_eq(told.paths, right->paths, "after %#x", after);
	cr_assert_eq(told.read_repair, right->read_repair, "after %#x", after);
	cr_assert_eq(told.alt_path.hop_limit, right->alt_path.hop_limit, "after %#x", after);
	cr_assert_eq(told.alt_pkey, right->alt_pkey, "after %#x", after);
	cr_assert_eq(told.alt_timeout, right->alt_timeout, "after %#x", after);
}

static struct rc_mr_table mrs;
static struct rc_mr_entry entries[1];
static struct rc_outbox out;

static struct rc_qp *open_qp(void)
{
	const struct rc_qp_config config = {
		.qpn = 7,
		.pd = 1,
		.mrs = &mrs,
		.max_send_wr = 4,
		.max_recv_wr = 4,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_dest_rd_atomic = DEST_RD_ATOMIC,
		.max_mtu_bytes = 1024,
	};
	const struct rc_permute24 space = { .secret = { 1, 2, 3, 4 } };
	uint64_t bytes = rc_qp_bytes(&config);

	rc_mr_table_init(&mrs, entries, 1, &space);
	return rc_qp_init(memset(aligned_alloc(64, bytes), 0, bytes), &config);
}

/* Returns the attribute at fault, 0: it was taken. */
static uint32_t change(struct rc_qp *qp, enum uroce_qp_state state, struct uroce_qp_attr attr, uint32_t mask)
{
	uint32_t bad = 0;
	int result;

	attr.qp_state = state;
	result = rc_qp_modify(qp, &attr, UROCE_QP_STATE | mask, &bad);
	cr_assert_eq(result, bad ? -EINVAL : 0);
	return bad;
}

static struct rc_qp *open_in(enum uroce_qp_state state)
{
	struct rc_qp *qp = open_qp();

	if (state >= UROCE_QPS_INIT)
		cr_assert_eq(change(qp, UROCE_QPS_INIT, one, UROCE_QP_ACCESS_FLAGS), 0);
	if (state >= UROCE_QPS_RTR)
		cr_assert_eq(change(qp, UROCE_QPS_RTR, one, TO_RTR), 0);
	if (state >= UROCE_QPS_RTS)
		cr_assert_eq(change(qp, UROCE_QPS_RTS, one, TO_RTS | UROCE_QP_SQ_PSN), 0);
	if (state > UROCE_QPS_RTS)
		cr_assert_eq(change(qp, state, one, 0), 0);
	return qp;
}

/* ---- source ports ---- */

/* With SACKs the ports of the peer follow from the QP's own start PSN. */
Test(modify, ports_of_the_peer_follow_from_the_start_psn)
{
	RULE("W-2");
	for (uint32_t early = 0; early < 2; early++) {
		struct uroce_qp_attr attr = one;
		struct rc_qp *qp = open_in(UROCE_QPS_INIT);

		attr.sack_window = 256;
		cr_assert_eq(change(qp, UROCE_QPS_RTR, attr,
				    TO_RTR | UROCE_QP_SACK_WINDOW | (early ? UROCE_QP_SQ_PSN : 0)),
			     0);
		cr_expect_eq(ports_are_known(qp), early);
		cr_assert_eq(change(qp, UROCE_QPS_RTS, attr, TO_RTS | (early ? 0 : UROCE_QP_SQ_PSN)), 0);
		cr_expect(ports_are_known(qp));
		free(qp);
	}
}

/* ---- values ---- */

/* Attributes outside the mask are unchanged. */
Test(modify, modify_changes_only_the_given_attributes)
{
	static const struct {
		enum uroce_qp_state to;
		uint32_t mask;
	} steps[] = {
		{ UROCE_QPS_INIT, UROCE_QP_ACCESS_FLAGS },
		{ UROCE_QPS_INIT, UROCE_QP_PKEY },
		{ UROCE_QPS_RTR, TO_RTR },
		{ UROCE_QPS_RTS, TO_RTS | UROCE_QP_SQ_PSN | UROCE_QP_FLOW_CONTROL },
		{ UROCE_QPS_SQD, 0 },
	};
	struct rc_qp *qp = open_qp();
	struct uroce_qp_attr right;

	RULE("X-1");
	rc_qp_query(qp, &right);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		cr_assert_eq(change(qp, steps[i].to, other, steps[i].mask), 0);
		put(&right, &other, steps[i].mask);
		expect_told(qp, &right, steps[i].mask);
	}
	for (int round = 0; round < 2; round++) {
		for (uint32_t bit = 1; bit <= IN_SQD; bit <<= 1) {
			if (!(bit & IN_SQD))
				continue;
			cr_assert_eq(change(qp, UROCE_QPS_SQD, round ? other : one, bit), 0);
			put(&right, round ? &other : &one, bit);
			expect_told(qp, &right, bit);
		}
	}
	free(qp);
}

/* The last value that there is, and the one behind it. */
Test(modify, ranges_match_the_documentation)
{
	static const struct {
		enum uroce_qp_state from, to;
		uint32_t bit;
		struct uroce_qp_attr last, behind;
	} rows[] = {
		{ UROCE_QPS_INIT, UROCE_QPS_RTR, UROCE_QP_RQ_PSN, { .rq_psn = 0xFFFFFF }, { .rq_psn = 0x1000000 } },
		{ UROCE_QPS_INIT,
		  UROCE_QPS_RTR,
		  UROCE_QP_MAX_DEST_RD_ATOMIC,
		  { .max_dest_rd_atomic = DEST_RD_ATOMIC },
		  { .max_dest_rd_atomic = DEST_RD_ATOMIC + 1 } },
		{ UROCE_QPS_INIT,
		  UROCE_QPS_RTR,
		  UROCE_QP_SACK_WINDOW,
		  { .sack_window = 2048 },
		  { .sack_window = 2049 } },
		{ UROCE_QPS_INIT, UROCE_QPS_RTR, UROCE_QP_SACK_WINDOW, { .sack_window = 256 }, { .sack_window = 255 } },
		/* without SACKs packets have to stay in order (W-10) */
		{ UROCE_QPS_INIT, UROCE_QPS_RTR, UROCE_QP_PATHS, { .paths = 1 }, { .paths = 2 } },
		{ UROCE_QPS_INIT, UROCE_QPS_RTR, UROCE_QP_PATH_MTU, { .path_mtu = 1024 }, { .path_mtu = 2048 } },
		{ UROCE_QPS_RTR, UROCE_QPS_RTS, UROCE_QP_SQ_PSN, { .sq_psn = 0xFFFFFF }, { .sq_psn = 0x1000000 } },
		{ UROCE_QPS_RTR,
		  UROCE_QPS_RTS,
		  UROCE_QP_MIN_RNR_TIMER,
		  { .min_rnr_timer = 31 },
		  { .min_rnr_timer = 32 } },
		{ UROCE_QPS_RTR,
		  UROCE_QPS_RTS,
		  UROCE_QP_READ_REPAIR,
		  { .read_repair = UROCE_READ_REPAIR_ANY_ORDER },
		  { .read_repair = UROCE_READ_REPAIR_ANY_ORDER + 1 } },
		{ UROCE_QPS_RTR, UROCE_QPS_RTS, UROCE_QP_TIMEOUT, { .timeout = 31 }, { .timeout = 32 } },
		{ UROCE_QPS_RTR, UROCE_QPS_RTS, UROCE_QP_RETRY_CNT, { .retry_cnt = 7 }, { .retry_cnt = 8 } },
		{ UROCE_QPS_RTR, UROCE_QPS_RTS, UROCE_QP_RNR_RETRY, { .rnr_retry = 7 }, { .rnr_retry = 8 } },
		{ UROCE_QPS_RTR,
		  UROCE_QPS_RTS,
		  UROCE_QP_MAX_RD_ATOMIC,
		  { .max_rd_atomic = 128 },
		  { .max_rd_atomic = 129 } },
	};

	RULE("X-1");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t mask = rows[i].bit | (rows[i].to == UROCE_QPS_RTR ? TO_RTR : TO_RTS);
		struct rc_qp *qp = open_in(rows[i].from);
		struct uroce_qp_attr attr = one;

		put(&attr, &rows[i].behind, rows[i].bit);
		cr_assert_eq(change(qp, rows[i].to, attr, mask), rows[i].bit, "row %zu", i);
		put(&attr, &rows[i].last, rows[i].bit);
		cr_assert_eq(change(qp, rows[i].to, attr, mask), 0, "row %zu", i);
		free(qp);
	}
}

/* an alternate path is a path, a P_Key that is not 0 without its membership, and a timeout. */
Test(modify, each_part_of_an_alternate_path_is_checked)
{
	static const struct {
		struct uroce_path path;
		uint16_t pkey;
		uint8_t timeout;
		bool good;
	} rows[] = {
		{ { .flow_label = 0xFFFFF }, 0x7FFE, 31, true },
		{ { .flow_label = 0x100000 }, 0x7FFF, 31, false },
		{ { .source = { { [10] = 0xFF, [11] = 0xFF } } }, 0x7FFF, 31, false },
		{ { .flow_label = 0 }, 0, 31, false },
		{ { .flow_label = 0 }, 0x8000, 31, false },
		{ { .flow_label = 0 }, 0x8001, 32, false },
	};
	struct rc_qp *qp = open_in(UROCE_QPS_RTS);

	RULE("A-1");
	RULE("X-1");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct uroce_qp_attr attr = {
			.alt_path = rows[i].path,
			.alt_pkey = rows[i].pkey,
			.alt_timeout = rows[i].timeout,
		};

		cr_assert_eq(change(qp, UROCE_QPS_RTS, attr, UROCE_QP_ALT_PATH), rows[i].good ? 0 : UROCE_QP_ALT_PATH,
			     "row %zu", i);
	}
	free(qp);
}

/* packets of both paths must differ in addresses, port, VLAN or P_Key. */
Test(modify, path_in_use_is_refused_as_alternate)
{
	static const struct {
		struct uroce_path path;
		uint16_t pkey;
		uint32_t bad;
	} rows[] = {
		{ { .hop_limit = 9 }, 0xFFFF, UROCE_QP_ALT_PATH },
		{ { .traffic_class = 1, .flow_label = 7 }, 0x7FFF, UROCE_QP_ALT_PATH },
		{ { .hop_limit = 9 }, 0xFFFE, 0 },
		{ { .vlan_id = 5 }, 0xFFFF, 0 },
		{ { .source = { { 1 } } }, 0xFFFF, 0 },
		{ { .dest = { { 1 } } }, 0xFFFF, 0 },
		{ { .device = (struct uroce_device *)(uintptr_t)&mrs }, 0xFFFF, 0 },
	};

	RULE("A-1");
	RULE("A-6");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rc_qp *qp = open_in(UROCE_QPS_SQD);
		struct uroce_qp_attr attr = one;

		attr.pkey = 0xFFFF;
		attr.alt_path = rows[i].path;
		attr.alt_pkey = rows[i].pkey;
		cr_assert_eq(change(qp, UROCE_QPS_SQD, attr, UROCE_QP_ALT_PATH), rows[i].bad, "row %zu", i);
		/* nor may the path become the one that is loaded, and along with it both are looked at */
		attr.path = rows[i].path;
		attr.pkey = rows[i].pkey;
		cr_assert_eq(change(qp, UROCE_QPS_SQD, attr, UROCE_QP_PATH | UROCE_QP_PKEY),
			     rows[i].bad ? 0 : UROCE_QP_PATH, "row %zu", i);
		attr.path = one.path;
		cr_assert_eq(change(qp, UROCE_QPS_SQD, attr, UROCE_QP_PKEY), i == 2 ? UROCE_QP_PKEY : 0, "row %zu", i);
		attr.path = rows[i].path;
		attr.alt_path = one.path;
		attr.alt_pkey = 0xFFFF;
		cr_assert_eq(change(qp, UROCE_QPS_SQD, attr, UROCE_QP_PATH | UROCE_QP_PKEY | UROCE_QP_ALT_PATH),
			     rows[i].bad, "row %zu", i);
		free(qp);
	}
}

/* REARM wants an alternate path, before or along with it; there is no way back from it; ARMED is up to the peer. */
Test(modify, software_may_set_only_rearm)
{
	struct uroce_qp_attr attr = one;
	struct rc_qp *qp = open_in(UROCE_QPS_RTS);

	RULE("A-1");
	RULE("A-2");
	attr.path_mig_state = UROCE_PATH_MIGRATED;
	cr_assert_eq(change(qp, UROCE_QPS_RTS, attr, UROCE_QP_PATH_MIG_STATE), 0, "it is that");
	attr.path_mig_state = UROCE_PATH_ARMED;
	cr_assert_eq(change(qp, UROCE_QPS_RTS, attr, UROCE_QP_PATH_MIG_STATE | UROCE_QP_ALT_PATH),
		     UROCE_QP_PATH_MIG_STATE);
	attr.path_mig_state = UROCE_PATH_REARM;
	cr_assert_eq(change(qp, UROCE_QPS_RTS, attr, UROCE_QP_PATH_MIG_STATE), UROCE_QP_PATH_MIG_STATE, "to where?");
	cr_assert_eq(change(qp, UROCE_QPS_RTS, attr, UROCE_QP_PATH_MIG_STATE | UROCE_QP_ALT_PATH), 0);
	attr.path_mig_state = UROCE_PATH_ARMED;
	cr_assert_eq(change(qp, UROCE_QPS_RTS, attr, UROCE_QP_PATH_MIG_STATE), UROCE_QP_PATH_MIG_STATE);
	attr.path_mig_state = UROCE_PATH_MIGRATED;
	cr_assert_eq(change(qp, UROCE_QPS_RTS, attr, UROCE_QP_PATH_MIG_STATE), UROCE_QP_PATH_MIG_STATE);
	free(qp);
}

/* ---- states ---- */

static int post(struct rc_qp *qp, uint64_t wr_id, enum uroce_wr_opcode opcode)
{
	const struct uroce_send_wr wr = { .wr_id = wr_id, .opcode = opcode };

	return rc_qp_post_send(qp, &wr);
}

/* Of the request of this number, from 0 on. */
static void receive_ack(struct rc_qp *qp, uint32_t number)
{
	const struct wire_packet ack = {
		.opcode = OP_ACKNOWLEDGE,
		.psn = one.sq_psn + number,
		.syndrome = 0x1F,
		.msn = number + 1,
	};
	const struct rc_origin origin = { 0 };

	outbox_reset(&out);
	rc_qp_receive(qp, &ack, &origin, 2000, &out);
}

/* E-6: also requests that could never be sent; in ERR the READ depth is not checked, and no timer runs. */
Test(modify, err_flushes_all_posted_requests_from_any_state)
{
	RULE("E-6");
	RULE("X-1");
	for (uint32_t from = UROCE_QPS_INIT; from <= UROCE_QPS_SQD; from++) {
		struct rc_qp *qp = open_in((enum uroce_qp_state)from);
		const struct uroce_qp_attr none = { .max_rd_atomic = 0, .keepalive_ms = 5 };

		if (from == UROCE_QPS_SQD)
			cr_assert_eq(change(qp, UROCE_QPS_SQD, none, UROCE_QP_MAX_RD_ATOMIC), 0);
		if (from >= UROCE_QPS_RTS) {
			cr_assert_eq(change(qp, (enum uroce_qp_state)from, none, UROCE_QP_KEEPALIVE), 0);
			cr_assert_neq(rc_qp_deadline(qp), RC_NEVER);
		}
		cr_assert_eq(change(qp, UROCE_QPS_ERR, one, 0), 0);
		cr_assert_eq(rc_qp_deadline(qp), RC_NEVER, "from %u", from);
		cr_assert_eq(rc_qp_post_recv(qp, &(const struct uroce_recv_wr){ .wr_id = 1 }), 0);
		cr_assert_eq(post(qp, 2, UROCE_WR_RDMA_READ), 0, "from %u", from);
		places_transmit(qp, 1000, &out);
		cr_assert_eq(out.packet_count, 0);
		cr_assert_eq(out.completion_count, 2, "from %u", from);
		for (uint32_t i = 0; i < 2; i++)
			cr_assert_eq(out.completions[i].status, UROCE_WC_WR_FLUSH_ERR, "from %u", from);
		free(qp);
	}
}

/* on each entry; requests posted meanwhile leave later with the next PSNs. */
Test(modify, each_sqd_raises_one_event_and_keeps_posted_requests)
{
	struct rc_qp *qp = open_in(UROCE_QPS_RTS);

	RULE("X-2");
	for (uint32_t round = 0; round < 3; round++) {
		cr_assert_eq(change(qp, UROCE_QPS_SQD, one, 0), 0);
		places_transmit(qp, 1000, &out);
		cr_assert_eq(out.event_count, 1, "round %u", round);
		cr_assert_eq(out.events[0].type, UROCE_EVENT_SQ_DRAINED);
		places_transmit(qp, 1000, &out);
		cr_assert_eq(out.event_count, 0, "once");
		cr_assert_eq(post(qp, round, UROCE_WR_SEND), 0);
		places_transmit(qp, 1000, &out);
		cr_assert_eq(out.packet_count, 0);
		cr_assert_eq(change(qp, UROCE_QPS_RTS, one, 0), 0);
		places_transmit(qp, 1000, &out);
		cr_assert_eq(out.packet_count, 1, "round %u", round);
		cr_assert_eq(places_packet(&out, 0).psn, one.sq_psn + round);
		receive_ack(qp, round);
	}
	free(qp);
}

/* without AckReq in flight the ACK would have been requested later, by a probe that is disabled now. */
Test(modify, disabling_probes_or_draining_solicits_an_ack)
{
	RULE("Q-5");
	RULE("X-2");
	for (int drains = 0; drains < 2; drains++) {
		struct rc_qp *qp = open_in(UROCE_QPS_RTS);

		cr_assert_eq(post(qp, 1, UROCE_WR_SEND), 0);
		places_transmit(qp, 1000, &out);
		cr_assert(places_packet(&out, 0).flags & WIRE_ACKREQ);
		receive_ack(qp, 0);
		cr_assert_eq(post(qp, 2, UROCE_WR_SEND), 0);
		places_transmit(qp, 1000, &out);
		cr_assert_eq(out.packet_count, 1);
		cr_assert_not(places_packet(&out, 0).flags & WIRE_ACKREQ, "put off");
		places_transmit(qp, 1000, &out);
		cr_assert_eq(out.packet_count, 0);
		if (drains)
			cr_assert_eq(change(qp, UROCE_QPS_SQD, other, 0), 0);
		else
			cr_assert_eq(change(qp, UROCE_QPS_RTS, other, UROCE_QP_NO_PROBE), 0);
		places_transmit(qp, 1000, &out);
		cr_assert_geq(out.packet_count, 1, "drains: %d", drains);
		cr_assert(places_packet(&out, 0).flags & WIRE_ACKREQ);
		free(qp);
	}
}
