/* qp.c - which packets reach a QP, and a path that leads nowhere */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/limits.h"
#include "rc/ack.h"
#include "rc/outbox.h"
#include "rc/qp.h"
#include "ack_packet.h"
#include "places.h"
#include "rule.h"

static const struct uroce_device *const port = (const void *)0x1000, *const other_port = (const void *)0x2000;
static const struct uroce_addr here = { { 1, 2 } }, there = { { 3, 4 } }, elsewhere = { { 3, 5 } };
static struct rc_mr_table mrs;
static struct rc_mr_entry entries[1];
static struct rc_outbox out;

static void modify(struct rc_qp *qp, enum uroce_qp_state state, uint32_t mask)
{
	const struct uroce_qp_attr attr = {
		.qp_state = state,
		.pkey = 0x1234, /* a limited member */
		.path_mtu = 1024,
		.dest_qp_num = 5,
		.timeout = 14,
		.path = { .source = here, .dest = there, .device = (struct uroce_device *)(uintptr_t)port },
		.alt_path = { .source = here, .dest = elsewhere, .device = (struct uroce_device *)(uintptr_t)port },
		.alt_pkey = 0x9234,
		.path_mig_state = UROCE_PATH_REARM,
	};
	uint32_t bad = 0;

	cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_STATE | mask, &bad), 0, "%#x", bad);
}

static void lead_to_rts(struct rc_qp *qp)
{
	modify(qp, UROCE_QPS_INIT, UROCE_QP_ACCESS_FLAGS | UROCE_QP_PKEY);
	modify(qp, UROCE_QPS_RTR,
	       UROCE_QP_PATH | UROCE_QP_PATH_MTU | UROCE_QP_DEST_QPN | UROCE_QP_RQ_PSN | UROCE_QP_MAX_DEST_RD_ATOMIC);
	modify(qp, UROCE_QPS_RTS, UROCE_QP_TIMEOUT | UROCE_QP_RETRY_CNT | UROCE_QP_RNR_RETRY | UROCE_QP_MAX_RD_ATOMIC);
}

static const struct rc_qp_config usual_config = {
	.qpn = 7,
	.pd = 1,
	.mrs = &mrs,
	.max_send_wr = 4,
	.max_recv_wr = 4,
	.max_send_sge = 1,
	.max_recv_sge = 1,
	.max_mtu_bytes = 1024,
};

static const enum uroce_qp_state states[] = { UROCE_QPS_RESET, UROCE_QPS_INIT, UROCE_QPS_RTR,
					      UROCE_QPS_RTS,   UROCE_QPS_SQD,  UROCE_QPS_ERR };

/* A QP in this state, by the legal way. */
static struct rc_qp *open_qp(enum uroce_qp_state state)
{
	const struct rc_qp_config config = usual_config;
	const struct rc_permute24 space = { .secret = { 1, 2, 3, 4 } };
	uint64_t bytes = rc_qp_bytes(&config);
	struct rc_qp *qp = rc_qp_init(memset(aligned_alloc(64, bytes), 0, bytes), &config);

	rc_mr_table_init(&mrs, entries, 1, &space);
	if (state == UROCE_QPS_RESET)
		return qp;
	modify(qp, UROCE_QPS_INIT, UROCE_QP_ACCESS_FLAGS | UROCE_QP_PKEY);
	if (state == UROCE_QPS_INIT)
		return qp;
	modify(qp, UROCE_QPS_RTR,
	       UROCE_QP_PATH | UROCE_QP_PATH_MTU | UROCE_QP_DEST_QPN | UROCE_QP_RQ_PSN | UROCE_QP_MAX_DEST_RD_ATOMIC);
	if (state == UROCE_QPS_RTR)
		return qp;
	modify(qp, UROCE_QPS_RTS,
	       UROCE_QP_TIMEOUT | UROCE_QP_RETRY_CNT | UROCE_QP_RNR_RETRY | UROCE_QP_MAX_RD_ATOMIC | UROCE_QP_SQ_PSN);
	if (state != UROCE_QPS_RTS)
		modify(qp, state, 0);
	return qp;
}

static enum rc_counter admit(const struct rc_qp *qp, uint8_t opcode, uint16_t pkey, const struct uroce_addr *source,
			     const struct uroce_addr *dest, const struct uroce_device *device)
{
	const struct wire_packet packet = { .opcode = opcode, .pkey = pkey };
	const struct rc_origin origin = { .source = source->bytes, .dest = dest->bytes, .device = device };

	return rc_qp_admit(qp, &packet, &origin);
}

/* Everything is wrong; then one thing after the other is put right. */
Test(qp, first_of_several_faults_is_counted)
{
	struct rc_qp *qp = open_qp(UROCE_QPS_INIT);

	RULE("W-5");
	cr_assert_eq(admit(qp, OP_UD_SEND_ONLY, 0xFFFF, &elsewhere, &elsewhere, other_port), CNT_PORT_OTHER_CLASS);
	cr_assert_eq(admit(qp, OP_CNP, 0xFFFF, &elsewhere, &elsewhere, other_port), CNT_PORT_CNP);
	cr_assert_eq(admit(qp, OP_ACKNOWLEDGE, 0xFFFF, &elsewhere, &elsewhere, other_port), CNT_PORT_QP_STATE);
	free(qp);
	qp = open_qp(UROCE_QPS_RTR);
	cr_assert_eq(admit(qp, OP_UD_SEND_ONLY, 0xFFFF, &elsewhere, &elsewhere, other_port), CNT_PORT_OTHER_CLASS);
	cr_assert_eq(admit(qp, OP_ACKNOWLEDGE, 0xFFFF, &elsewhere, &elsewhere, other_port), CNT_PORT_EARLY_RESPONSE);
	cr_assert_eq(admit(qp, OP_SEND_ONLY, 0xFFFF, &elsewhere, &elsewhere, other_port), CNT_PORT_ADDRESS);
	cr_assert_eq(admit(qp, OP_SEND_ONLY, 0xFFFF, &there, &elsewhere, other_port), CNT_PORT_ADDRESS);
	cr_assert_eq(admit(qp, OP_SEND_ONLY, 0xFFFF, &there, &here, other_port), CNT_PORT_ADDRESS);
	cr_assert_eq(admit(qp, OP_SEND_ONLY, 0xFFFF, &there, &here, port), CNT_PORT_PKEY);
	cr_assert_eq(admit(qp, OP_SEND_ONLY, 0x9234, &there, &here, port), CNT_COUNTERS);
	free(qp);
}

/* TC-A-13: the sender's address is the path's other end, the receiver's this end; each byte of both counts. */
Test(qp, packet_off_the_path_is_dropped)
{
	struct rc_qp *qp = open_qp(UROCE_QPS_RTS);

	RULE("W-5");
	cr_assert_eq(admit(qp, OP_SEND_ONLY, 0x9234, &here, &there, port), CNT_PORT_ADDRESS, "the other way around");
	cr_assert_eq(admit(qp, OP_SEND_ONLY, 0x9234, &there, &here, NULL), CNT_PORT_ADDRESS);
	for (uint32_t i = 0; i < 16; i++) {
		struct uroce_addr source = there, dest = here;

		source.bytes[i] ^= 0x80;
		cr_assert_eq(admit(qp, OP_SEND_ONLY, 0x9234, &source, &here, port), CNT_PORT_ADDRESS, "byte %u", i);
		dest.bytes[i] ^= 1;
		cr_assert_eq(admit(qp, OP_SEND_ONLY, 0x9234, &there, &dest, port), CNT_PORT_ADDRESS, "byte %u", i);
	}
	cr_assert_eq(admit(qp, OP_ACKNOWLEDGE, 0x9234, &there, &here, port), CNT_COUNTERS);
	free(qp);
}

/* TC-A-11 */
Test(qp, fifteen_pkey_bits_match_and_one_side_is_a_full_member)
{
	struct rc_qp *qp = open_qp(UROCE_QPS_RTS);

	RULE("W-5");
	cr_assert_eq(admit(qp, OP_SEND_ONLY, 0x1234, &there, &here, port), CNT_PORT_PKEY, "both are limited");
	for (uint32_t bit = 0; bit < 15; bit++)
		cr_assert_eq(admit(qp, OP_SEND_ONLY, (uint16_t)(0x9234 ^ 1u << bit), &there, &here, port),
			     CNT_PORT_PKEY, "bit %u", bit);
	qp->pkey = 0x9234;
	cr_assert_eq(admit(qp, OP_SEND_ONLY, 0x1234, &there, &here, port), CNT_COUNTERS);
	cr_assert_eq(admit(qp, OP_SEND_ONLY, 0x9234, &there, &here, port), CNT_COUNTERS);
	free(qp);
}

Test(qp, state_decides_which_packets_are_accepted)
{
	static const enum rc_counter requests[UROCE_QP_STATES] = {
		[UROCE_QPS_RESET] = CNT_PORT_QP_STATE, [UROCE_QPS_INIT] = CNT_PORT_QP_STATE,
		[UROCE_QPS_RTR] = CNT_COUNTERS,        [UROCE_QPS_RTS] = CNT_COUNTERS,
		[UROCE_QPS_SQD] = CNT_COUNTERS,        [UROCE_QPS_ERR] = CNT_PORT_QP_STATE,
	};

	RULE("W-5");
	RULE("X-3");
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		enum uroce_qp_state state = states[i];
		struct rc_qp *qp = open_qp(state);

		cr_assert_eq(admit(qp, OP_SEND_ONLY, 0x9234, &there, &here, port), requests[state], "state %u", state);
		for (uint32_t opcode = OP_READ_RESPONSE_FIRST; opcode <= OP_ATOMIC_ACKNOWLEDGE; opcode++)
			cr_assert_eq(admit(qp, (uint8_t)opcode, 0x9234, &there, &here, port),
				     state == UROCE_QPS_RTR ? CNT_PORT_EARLY_RESPONSE : requests[state], "state %u",
				     state);
		free(qp);
	}
}

/* ---- a path that leads nowhere ---- */

static void post(struct rc_qp *qp, uint64_t wr_id)
{
	const struct uroce_send_wr wr = { .wr_id = wr_id, .opcode = UROCE_WR_SEND };

	cr_assert_eq(rc_qp_post_send(qp, &wr), 0);
}

/* Posted and not yet sent counts, for it is what wants the address. */
Test(qp, unreachable_address_fails_the_oldest_request)
{
	RULE("T-4");
	RULE("W-8");
	for (uint32_t sent = 0; sent < 2; sent++) {
		struct rc_qp *qp = open_qp(UROCE_QPS_RTS);

		cr_assert(!rc_qp_has_requests(qp));
		rc_qp_unreachable(qp);
		cr_assert_eq(qp->state, UROCE_QPS_RTS, "there was nothing to send");
		post(qp, 1);
		post(qp, 2);
		cr_assert(rc_qp_has_requests(qp));
		if (sent)
			places_transmit(qp, 1000, &out);
		rc_qp_unreachable(qp);
		cr_assert_eq(qp->state, UROCE_QPS_ERR);
		cr_assert(!rc_qp_has_requests(qp));
		places_transmit(qp, 1000, &out);
		cr_assert_eq(out.packet_count, 0);
		cr_assert_eq(out.completion_count, 2);
		cr_assert_eq(out.completions[0].wr_id, 1);
		cr_assert_eq(out.completions[0].status, UROCE_WC_RETRY_EXC_ERR);
		cr_assert_eq(out.completions[0].vendor_err, UROCE_CAUSE_UNRESOLVED);
		cr_assert_eq(out.completions[1].status, UROCE_WC_WR_FLUSH_ERR);
		cr_assert_eq(out.event_count, 1);
		cr_assert_eq(out.events[0].type, UROCE_EVENT_QP_FATAL);
		post(qp, 3);
		rc_qp_unreachable(qp); /* in ERR: nobody is asked for */
		places_transmit(qp, 1000, &out);
		cr_assert_eq(out.completion_count, 1);
		cr_assert_eq(out.completions[0].status, UROCE_WC_WR_FLUSH_ERR);
		cr_assert_eq(out.event_count, 0);
		free(qp);
	}
}

/* What was sent before SQD has yet to be finished. */
Test(qp, sqd_waits_for_requests_in_flight)
{
	struct rc_qp *qp = open_qp(UROCE_QPS_RTS);

	RULE("T-4");
	RULE("X-2");
	post(qp, 1);
	places_transmit(qp, 1000, &out);
	modify(qp, UROCE_QPS_SQD, 0);
	cr_assert(rc_qp_has_requests(qp));
	rc_qp_unreachable(qp);
	places_transmit(qp, 1000, &out);
	cr_assert_eq(out.completion_count, 1);
	cr_assert_eq(out.completions[0].vendor_err, UROCE_CAUSE_UNRESOLVED);
	free(qp);
}

static enum rc_counter receive_ack(struct rc_qp *qp, uint8_t flags)
{
	const struct rc_origin origin = { .source = there.bytes, .dest = here.bytes, .device = port };
	const struct wire_packet packet = { .opcode = OP_ACKNOWLEDGE, .flags = flags, .pkey = 0x9234, .psn = 0xFFFFFF };

	outbox_reset(&out);
	return rc_qp_receive(qp, &packet, &origin, 0, &out);
}

/* Any packet without MigReq arms it. */
static struct rc_qp *open_armed(void)
{
	struct rc_qp *qp = open_qp(UROCE_QPS_RTS);

	modify(qp, UROCE_QPS_RTS, UROCE_QP_ALT_PATH | UROCE_QP_PATH_MIG_STATE);
	cr_assert_eq(receive_ack(qp, 0), CNT_COUNTERS);
	cr_assert_eq(qp->migration.state, UROCE_PATH_ARMED);
	return qp;
}

/* With another path there is another address to ask for. */
Test(qp, unreachable_address_migrates_an_armed_qp)
{
	struct rc_qp *qp = open_armed();

	RULE("T-4");
	RULE("A-3");
	post(qp, 1);
	rc_qp_unreachable(qp);
	cr_assert_eq(qp->state, UROCE_QPS_RTS);
	cr_assert_eq(memcmp(&qp->path.dest, &elsewhere, sizeof(elsewhere)), 0);
	places_transmit(qp, 1000, &out);
	cr_assert_eq(out.packet_count, 1);
	cr_assert_eq(out.completion_count, 0);
	rc_qp_unreachable(qp); /* nor there */
	cr_assert_eq(qp->state, UROCE_QPS_ERR);
	free(qp);
}

/* ---- attributes that cannot be ---- */

Test(qp, invalid_path_is_refused)
{
	static const struct uroce_addr v4 = { { [10] = 0xff, [11] = 0xff, [15] = 1 } };
	struct uroce_qp_attr attr = {
		.qp_state = UROCE_QPS_RTR,
		.path_mtu = 1024,
		.dest_qp_num = 5,
		.path = { .source = here, .dest = there },
	};
	const uint32_t mask = UROCE_QP_STATE | UROCE_QP_PATH | UROCE_QP_PATH_MTU | UROCE_QP_DEST_QPN | UROCE_QP_RQ_PSN |
			      UROCE_QP_MAX_DEST_RD_ATOMIC;
	struct rc_qp *qp = open_qp(UROCE_QPS_INIT);
	uint32_t bad = 0;

	RULE("X-1");
	attr.path.flow_label = 0x100000;
	cr_assert_eq(rc_qp_modify(qp, &attr, mask, &bad), -EINVAL);
	cr_assert_eq(bad, UROCE_QP_PATH);
	attr.path.flow_label = 0xFFFFF;
	for (uint32_t i = 0; i < 2; i++) {
		attr.path.source = i ? v4 : here;
		attr.path.dest = i ? there : v4;
		cr_assert_eq(rc_qp_modify(qp, &attr, mask, &bad), -EINVAL, "two kinds of addresses");
		cr_assert_eq(bad, UROCE_QP_PATH);
	}
	attr.path.dest = v4;
	attr.path_mtu = 2048;
	cr_assert_eq(rc_qp_modify(qp, &attr, mask, &bad), -EINVAL, "more than the port has");
	cr_assert_eq(bad, UROCE_QP_PATH_MTU);
	cr_assert_eq(rc_qp_modify(qp, &attr, mask, NULL), -EINVAL, "nobody asks which");
	attr.path_mtu = 1024;
	cr_assert_eq(rc_qp_modify(qp, &attr, mask, NULL), 0);
	free(qp);
}

/* only a QP that runs has a path to lose. */
Test(qp, failed_port_concerns_only_running_armed_qps)
{
	RULE("A-5");
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		enum uroce_qp_state state = states[i];
		struct rc_qp *qp = open_qp(state);

		cr_assert(!rc_qp_port_failed(qp), "state %u", state);
		qp->migration.state = UROCE_PATH_ARMED;
		cr_assert_eq(rc_qp_port_failed(qp), state >= UROCE_QPS_RTR && state <= UROCE_QPS_SQD, "state %u",
			     state);
		free(qp);
	}
}

/* ---- what it is made of ---- */

/* P-2: without a start PSN of the user's the QP keeps its own. */
Test(qp, new_qp_has_the_configured_values)
{
	struct rc_qp_config config = {
		.qpn = 7,
		.pd = 1,
		.mrs = &mrs,
		.send_cq = (void *)&config,
		.recv_cq = (void *)&mrs,
		.context = 99,
		.start_psn = 0x777777,
		.max_send_wr = 4,
		.max_recv_wr = 4,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_mtu_bytes = 1024,
	};
	uint64_t bytes = rc_qp_bytes(&config);
	struct rc_qp *qp = rc_qp_init(memset(aligned_alloc(64, bytes), 0, bytes), &config);
	struct uroce_qp_attr attr;

	RULE("P-2");
	cr_assert_eq((const void *)qp->send_cq, &config);
	cr_assert_eq((const void *)qp->recv_cq, &mrs);
	cr_assert_eq(qp->context, 99);
	lead_to_rts(qp);
	rc_qp_query(qp, &attr);
	cr_assert_eq(attr.sq_psn, 0x777777);
	free(qp);
}

/* QPNs 0 and 1 are those of management; 2 is the first of others, and they have 24 bits. */
Test(qp, peer_qpn_excludes_management_qpns)
{
	static const struct {
		uint32_t qpn;
		bool good;
	} rows[] = { { 0, false }, { 1, false }, { 2, true }, { 0xFFFFFF, true }, { 0x1000000, false } };
	const uint32_t mask = UROCE_QP_STATE | UROCE_QP_PATH | UROCE_QP_PATH_MTU | UROCE_QP_DEST_QPN | UROCE_QP_RQ_PSN |
			      UROCE_QP_MAX_DEST_RD_ATOMIC;

	RULE("X-1");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rc_qp *qp = open_qp(UROCE_QPS_INIT);
		struct uroce_qp_attr attr = {
			.qp_state = UROCE_QPS_RTR,
			.path_mtu = 1024,
			.dest_qp_num = rows[i].qpn,
			.path = { .source = here, .dest = there },
		};
		uint32_t bad = 0;

		cr_assert_eq(rc_qp_modify(qp, &attr, mask, &bad), rows[i].good ? 0 : -EINVAL, "QPN %u", rows[i].qpn);
		cr_assert_eq(bad, rows[i].good ? 0 : UROCE_QP_DEST_QPN);
		free(qp);
	}
}

/* An accepted packet is not counted as dropped, whatever follows. */
Test(qp, accepted_packet_is_not_counted_as_drop)
{
	struct rc_qp *qp = open_qp(UROCE_QPS_RTS);
	const struct rc_origin origin = { .source = there.bytes, .dest = here.bytes, .device = port };

	RULE("W-5");
	for (uint32_t opcode = 0; opcode < 32; opcode++) {
		const struct wire_packet packet = { .opcode = (uint8_t)opcode, .pkey = 0x9234, .psn = 0x123456 };

		outbox_reset(&out);
		cr_assert_eq(rc_qp_receive(qp, &packet, &origin, 0, &out), CNT_COUNTERS, "opcode %#x", opcode);
	}
	free(qp);
}

/* T-3, R-5: a connection begins with full budgets, those of its own attributes. */
Test(qp, budgets_are_full_on_entering_rts)
{
	const uint32_t mask =
		UROCE_QP_STATE | UROCE_QP_TIMEOUT | UROCE_QP_RETRY_CNT | UROCE_QP_RNR_RETRY | UROCE_QP_MAX_RD_ATOMIC;

	RULE("T-3");
	RULE("R-5");
	for (uint8_t count = 1; count < 7; count++) {
		struct rc_qp *qp = open_qp(UROCE_QPS_RTR);
		struct uroce_qp_attr attr = {
			.qp_state = UROCE_QPS_RTS,
			.timeout = 14,
			.retry_cnt = count,
			.rnr_retry = (uint8_t)(7 - count),
			.max_rd_atomic = LIMIT_RD_ATOMIC, /* the most there may be */
		};

		cr_assert_eq(rc_qp_modify(qp, &attr, mask, &(uint32_t){ 0 }), 0);
		cr_assert_eq(qp->loss.retries_left, count);
		cr_assert_eq(qp->loss.rnr_left, 7 - count);
		free(qp);
	}
}

/* T-1, X-1: nothing has been sent. */
Test(qp, new_qp_has_no_deadline_and_probes_enabled)
{
	struct rc_qp *qp = open_qp(UROCE_QPS_RESET);
	struct uroce_qp_attr attr;

	RULE("T-1");
	cr_assert_eq(rc_qp_deadline(qp), RC_NEVER);
	rc_qp_query(qp, &attr);
	cr_assert_not(attr.no_probe);
	free(qp);
}

/* P-2: after RESET, with what is above 24 bits left out; its first packet has it. */
Test(qp, renewed_psn_applies_to_the_next_connection)
{
	struct rc_qp *qp = open_qp(UROCE_QPS_RTS);
	struct uroce_qp_attr attr;

	RULE("P-2");
	modify(qp, UROCE_QPS_RESET, 0);
	rc_qp_renew_psn(qp, 0x1ABCDEF);
	rc_qp_query(qp, &attr);
	cr_assert_eq(attr.sq_psn, 0xABCDEF);
	lead_to_rts(qp);
	post(qp, 1);
	places_transmit(qp, 1000, &out);
	cr_assert_eq(out.packet_count, 1);
	cr_assert_eq(places_packet(&out, 0).psn, 0xABCDEF);
	free(qp);
}

/* of a QP that signals all, a request that asks for no completion has one. */
Test(qp, signal_all_completes_every_request)
{
	RULE("Q-6");
	for (uint32_t all = 0; all < 2; all++) {
		struct rc_qp_config config = usual_config;
		uint64_t bytes = rc_qp_bytes(&config);
		const struct wire_packet ack = { .opcode = OP_ACKNOWLEDGE, .psn = 1, .syndrome = 0x1F };
		const struct rc_origin origin = { .source = there.bytes, .dest = here.bytes, .device = port };
		struct rc_qp *qp;

		config.sq_sig_all = all;
		qp = rc_qp_init(memset(aligned_alloc(64, bytes), 0, bytes), &config);
		lead_to_rts(qp);
		post(qp, 1);
		post(qp, 2);
		places_transmit(qp, 1000, &out);
		outbox_reset(&out);
		rc_qp_receive(qp, &ack, &origin, 2000, &out);
		cr_assert_eq(out.completion_count, all ? 2 : 0, "all: %u", all);
		free(qp);
	}
}

/* A request to migrate to no path that is known is dropped by the QP itself, and told by its own counter. */
Test(qp, refused_migration_is_not_counted_as_port_drop)
{
	struct rc_qp *qp = open_armed();

	RULE("A-6");
	RULE("O-1");
	cr_assert_eq(receive_ack(qp, WIRE_MIGREQ), CNT_COUNTERS);
	cr_assert_eq(qp->counters[CNT_MIGRATION_REFUSED], 1);
	cr_assert_eq(qp->migration.state, UROCE_PATH_ARMED);
	free(qp);
}

/* S-15: answers without room, and work of rc_qp_transmit(), are reported as pending. */
Test(qp, respond_reports_pending_answers)
{
	struct rc_qp *qp = open_qp(UROCE_QPS_RTS);
	const struct rc_origin origin = { .source = there.bytes, .dest = here.bytes, .device = port };
	const struct wire_packet gap = { .opcode = OP_SEND_ONLY, .pkey = 0x9234, .psn = 1 };

	RULE("S-15");
	outbox_reset(&out);
	rc_qp_receive(qp, &gap, &origin, 0, &out);
	cr_assert(rc_qp_respond(qp, &out), "there was no room");
	cr_assert_eq(out.packet_count, 0);
	outbox_reset(&out);
	places_give(&out, OUTBOX_PACKETS);
	cr_assert_not(rc_qp_respond(qp, &out), "that was all");
	cr_assert_eq(out.packet_count, 1);
	qp->report.events = 1u << UROCE_EVENT_COMM_EST;
	cr_assert(rc_qp_respond(qp, &out), "an event is to be told");
	cr_assert_eq(out.event_count, 0);
	free(qp);
}

/* A single request leaves out neither the room nor what else there is. */
Test(qp, single_request_without_room_keeps_pending_events)
{
	struct uroce_sge nothing = { 0 };
	const struct uroce_send_wr wr = { .opcode = UROCE_WR_SEND, .sg_list = &nothing, .num_sge = 1 };
	struct rc_qp *qp = open_qp(UROCE_QPS_RTS);

	RULE("S-15");
	cr_assert_eq(rc_qp_post_send(qp, &wr), 0);
	outbox_reset(&out);
	cr_assert(rc_qp_transmit(qp, 1000, &out), "there was no room");
	cr_assert_eq(out.packet_count, 0);
	qp->report.events = 1u << UROCE_EVENT_COMM_EST;
	places_transmit(qp, 1000, &out);
	cr_assert_eq(out.packet_count, 1);
	cr_assert_eq(out.event_count, 1);
	free(qp);
}

/* An ACK or NAK in the short form equals the packet of rc_qp_respond(), and leaves the same QP state. */
Test(qp, short_ack_form_equals_the_full_packet)
{
	struct rc_qp *qp = open_qp(UROCE_QPS_RTS);
	uint64_t bytes = sizeof(*qp);
	struct rc_qp *copy = aligned_alloc(64, bytes);
	uint32_t taken = 0;

	RULE("S-14");
	for (uint32_t bits = 0; bits < 1u << 7; bits++) {
		struct wire_packet packet, sent;
		struct wire_ack ack;
		bool more;

		qp->responder.epsn = psn_make(0xFFFFFF + bits);
		qp->responder.msn = 0xABCDEF - bits;
		qp->responder.ack.due = (uint8_t)(bits & (WORK_ACK | WORK_NAK | WORK_REPEAT_ACK));
		qp->responder.ack.nak_psn = psn_make(77);
		qp->responder.ack.nak_syndrome = 0x60;
		qp->shares_receives = bits & 16;
		qp_set_flow_control(qp, bits & 8);
		qp->report.events = bits & 32 ? 1u << UROCE_EVENT_COMM_EST : 0;
		qp->migration.state = bits & 64 ? UROCE_PATH_MIGRATED : UROCE_PATH_ARMED;
		qp_note_bth(qp);
		memcpy(copy, qp, bytes);
		if (!work_is_an_ack(qp_work(qp, WORK_RESPONDER | WORK_EVENT)))
			continue;
		ack = qp_take_ack(qp);
		taken++;
		outbox_reset(&out);
		places_give(&out, OUTBOX_PACKETS);
		more = rc_qp_respond(copy, &out);
		cr_assert_not(more, "%#x", bits);
		cr_assert_arr_eq(copy, qp, bytes, "%#x", bits);
		cr_assert_eq(out.packet_count, 1, "%#x", bits);
		packet_of_ack(&ack, &packet);
		sent = places_packet(&out, 0);
		cr_assert_eq(packet.opcode, OP_ACKNOWLEDGE);
		cr_assert_eq(sent.opcode, OP_ACKNOWLEDGE);
		cr_assert_eq(packet.psn, sent.psn, "%#x", bits);
		cr_assert_eq(packet.flags, sent.flags, "%#x", bits);
		cr_assert_eq(packet.pkey, sent.pkey);
		cr_assert_eq(packet.dest_qpn, sent.dest_qpn);
		cr_assert_eq(packet.syndrome, sent.syndrome, "%#x", bits);
		cr_assert_eq(packet.msn, sent.msn, "%#x", bits);
	}
	cr_assert_eq(taken, 6, "an ACK, a NAK, both; with MigReq and without");
	free(copy);
	free(qp);
}
