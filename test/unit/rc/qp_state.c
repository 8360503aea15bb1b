/* qp_state.c - what a QP knows of itself: PSNs that it counts, keys that it remembers, which path and timers it has */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "places.h"
#include "rc/outbox.h"
#include "rc/qp.h"
#include "rc/requester.h"
#include "rule.h"
#include "operations.h"

#define SLOTS 7u /* no power of two: some keys are of no slot */

static uint8_t memory[SLOTS * 64];
static struct rc_mr_table mrs;
static struct rc_mr_entry entries[SLOTS];
static struct rc_outbox out;

/* In INIT. */
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
		.max_mtu_bytes = 4096,
	};
	const struct rc_permute24 space = { .secret = { 1, 2, 3, 4 } };
	const struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_INIT };
	uint64_t bytes = rc_qp_bytes(&config);
	struct rc_qp *qp = rc_qp_init(memset(aligned_alloc(64, bytes), 0, bytes), &config);

	memset(entries, 0, sizeof(entries));
	rc_mr_table_init(&mrs, entries, SLOTS, &space);
	cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_STATE | UROCE_QP_ACCESS_FLAGS, NULL), 0);
	return qp;
}

/* From INIT. */
static void lead_to_rts(struct rc_qp *qp, uint32_t mtu_bytes, const struct uroce_path *path)
{
	struct uroce_qp_attr attr = {
		.qp_state = UROCE_QPS_RTR,
		.path_mtu = mtu_bytes,
		.dest_qp_num = 0x123456,
		.path = *path,
		.timeout = 14,
	};

	cr_assert_eq(rc_qp_modify(qp, &attr,
				  UROCE_QP_STATE | UROCE_QP_PATH | UROCE_QP_PATH_MTU | UROCE_QP_DEST_QPN |
					  UROCE_QP_RQ_PSN | UROCE_QP_MAX_DEST_RD_ATOMIC,
				  NULL),
		     0);
	attr.qp_state = UROCE_QPS_RTS;
	cr_assert_eq(rc_qp_modify(qp, &attr,
				  UROCE_QP_STATE | UROCE_QP_TIMEOUT | UROCE_QP_RETRY_CNT | UROCE_QP_RNR_RETRY |
					  UROCE_QP_MAX_RD_ATOMIC | UROCE_QP_SQ_PSN,
				  NULL),
		     0);
}

/* ---- PSNs ---- */

/* P-3: one PSN per packet of the path MTU, one for an empty message and one for a non-message. */
Test(qp_state, request_owns_a_psn_per_packet)
{
	RULE("P-3");
	for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2) {
		struct rc_qp *qp = open_qp();
		const uint32_t bytes[] = { 0, 1, mtu - 1, mtu, mtu + 1, 2 * mtu, 2 * mtu + 1, 1u << 31 };

		lead_to_rts(qp, mtu, &(const struct uroce_path){ 0 });
		for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
			uint32_t packets = bytes[i] ? bytes[i] / mtu + (bytes[i] % mtu != 0) : 1;

			cr_assert_eq(qp_packets(qp, bytes[i]), packets, "%u of %u", bytes[i], mtu);
			for (uint32_t op = 0; op < OPERATIONS; op++) {
				const struct rc_send_wqe wqe = { .opcode = operations[op], .length_bytes = bytes[i] };

				cr_assert_eq(qp_psns(qp, &wqe), op < 6 ? packets : 1, "opcode %u, %u bytes of %u",
					     operations[op], bytes[i], mtu);
			}
		}
		free(qp);
	}
}

/* from the oldest packet to where the furthest READ ends that was asked for again, across the wrap, too. */
Test(qp_state, restarted_range_ends_at_the_furthest_restart)
{
	static struct rc_qp qp;
	const psn_t begin = psn_make(0xFFFFFC);

	RULE("Q-10");
	qp.win.snd_una = begin;
	qp.win.snd_max = psn_add(begin, 10);
	cr_assert_not(qp_una_was_restarted(&qp));
	qp_note_read_restart(&qp, psn_add(begin, 6));
	qp_note_read_restart(&qp, psn_add(begin, 3)); /* is there already */
	for (uint32_t i = 0; i < 10; i++) {
		qp.win.snd_una = psn_add(begin, i);
		cr_assert_eq(qp_una_was_restarted(&qp), i < 6, "%u", i);
	}
	qp_note_read_restart(&qp, psn_add(begin, 10)); /* up to the newest of all */
	qp.win.snd_una = psn_add(begin, 7);
	cr_assert(qp_una_was_restarted(&qp));
	qp.win.snd_una = psn_add(begin, 9);
	cr_assert(qp_una_was_restarted(&qp));
	/* What was noted longer ago than anything in flight does not count, even if it looks further. */
	qp.win.snd_una = psn_add(begin, 12);
	qp.win.snd_max = psn_add(begin, 20);
	cr_assert_not(qp_una_was_restarted(&qp));
	qp_note_read_restart(&qp, psn_add(begin, 14));
	qp.win.snd_una = psn_add(begin, 13);
	cr_assert(qp_una_was_restarted(&qp));
	qp.win.snd_una = psn_add(begin, 14);
	cr_assert_not(qp_una_was_restarted(&qp));
}

/* ---- keys ---- */

static void expect_as_the_table_says(struct rc_qp *qp, uint32_t key)
{
	uint8_t *host = NULL, *right_host = NULL;
	uint64_t va = (uintptr_t)memory;
	enum rc_mr_verdict right = MR_BAD_KEY, found;

	for (uint32_t i = 0; i < SLOTS; i++, va += 64) {
		right = rc_mr_check(&mrs, key, qp->pd, qp->qpn, va, 64, UROCE_ACCESS_LOCAL_WRITE, &right_host);
		found = qp_check_memory(qp, key, va, 64, UROCE_ACCESS_LOCAL_WRITE, &host);
		cr_assert_eq(found, right, "key %#x at %u: %u, not %u", key, i, found, right);
		if (right == MR_OK)
			cr_assert_eq(host, right_host, "key %#x", key);
	}
}

/* For any history: keys in use, removed ones and unused ones, in any order. */
Test(qp_state, key_cache_matches_the_table)
{
	struct rc_qp *qp = open_qp();
	uint32_t keys[SLOTS];
	uint8_t *host;
	int error;

	RULE("M-1");
	RULE("M-3");
	expect_as_the_table_says(qp, 0);
	for (uint32_t i = 0; i < SLOTS; i++) {
		keys[i] = rc_mr_insert(&mrs, 1, memory + i * 64, 64, UROCE_ACCESS_LOCAL_WRITE, &error);
		cr_assert_neq(keys[i], 0);
	}
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < SLOTS; i++) {
			expect_as_the_table_says(qp, keys[i]);
			expect_as_the_table_says(qp, keys[i * 3 % SLOTS]);
			cr_assert_eq(qp_check_memory(qp, keys[i], (uintptr_t)memory + i * 64, 64,
						     UROCE_ACCESS_LOCAL_WRITE, &host),
				     MR_OK);
			cr_assert_eq(host, memory + i * 64);
		}
	}
	for (uint32_t key = 0; key < 1u << 14; key++)
		cr_assert_neq(qp_check_memory(qp, key, 0, 1, UROCE_ACCESS_LOCAL_WRITE, &host), MR_OK, "key %#x", key);
	for (uint32_t i = 0; i < SLOTS; i++) {
		cr_assert_eq(rc_mr_remove(&mrs, keys[i]), 0);
		expect_as_the_table_says(qp, keys[i]);
		cr_assert_neq(rc_mr_insert(&mrs, 1, memory + i * 64, 64, UROCE_ACCESS_LOCAL_WRITE, &error), 0);
		expect_as_the_table_says(qp, keys[i]);
	}
	free(qp);
}

/* ---- what packets say, and where they come from ---- */

/* MigReq until software has it wait for the peer. */
Test(qp_state, each_packet_carries_the_migration_state)
{
	const struct uroce_send_wr wr = { .opcode = UROCE_WR_SEND };
	struct uroce_qp_attr attr = { .alt_pkey = 0x8001, .path_mig_state = UROCE_PATH_REARM };
	struct rc_qp *qp = open_qp();

	RULE("A-1");
	lead_to_rts(qp, 1024, &(const struct uroce_path){ 0 });
	for (uint32_t rearmed = 0; rearmed < 2; rearmed++) {
		struct wire_packet packet;

		cr_assert_eq(rc_qp_post_send(qp, &wr), 0);
		outbox_reset(&out);
		places_give(&out, OUTBOX_PACKETS);
		rc_qp_transmit(qp, 1000, &out);
		cr_assert_eq(out.packet_count, 1);
		packet = places_packet(&out, 0);
		cr_assert_eq(packet.flags & WIRE_MIGREQ, rearmed ? 0 : WIRE_MIGREQ);
		cr_assert_eq(packet.dest_qpn, 0x123456);
		cr_assert_eq(packet.pkey, 0xFFFF);
		cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_ALT_PATH | UROCE_QP_PATH_MIG_STATE, NULL), 0);
	}
	free(qp);
}

/* W-5: the fast path admits IPv4 packets of the path without a VLAN only. */
Test(qp_state, fast_path_admits_only_plain_ipv4_of_the_path)
{
	static const struct uroce_device *const port = (const void *)0x1000, *const other_port = (const void *)0x2000;
	struct uroce_path path = {
		.source = { { [10] = 0xFF, [11] = 0xFF, [12] = 10, [15] = 9 } },
		.dest = { { [10] = 0xFF, [11] = 0xFF, [12] = 10, [15] = 8 } },
		.device = (struct uroce_device *)(uintptr_t)port,
	};
	const struct rc_origin origin = { .device = port, .ipv4 = path_ipv4(&path) };
	struct rc_origin elsewhere = origin;

	RULE("W-1");
	RULE("W-5");
	for (uint16_t vlan_id = 0; vlan_id < 2; vlan_id++) {
		struct rc_qp *qp = open_qp();

		path.vlan_id = vlan_id;
		lead_to_rts(qp, 1024, &path);
		cr_assert_eq(qp_admits_plainly(qp, &origin, 0xFFFF), vlan_id == 0, "VLAN %u", vlan_id);
		elsewhere.device = other_port;
		cr_assert_not(qp_admits_plainly(qp, &elsewhere, 0xFFFF));
		elsewhere.device = port;
		elsewhere.ipv4 = origin.ipv4 ^ 1;
		cr_assert_not(qp_admits_plainly(qp, &elsewhere, 0xFFFF));
		free(qp);
	}
}

/* ---- timers that few have ---- */

/* C-33, F-3: each timer counts, independently of the other; none when both are disabled. */
Test(qp_state, credit_and_keepalive_timers_set_the_deadline_when_enabled)
{
	RULE("F-3");
	RULE("C-33");
	for (uint32_t bits = 0; bits < 4; bits++) {
		struct rc_qp *qp = open_qp();
		struct uroce_qp_attr attr = { .keepalive_ms = bits & 2 ? 10 : 0 };

		lead_to_rts(qp, 1024, &(const struct uroce_path){ 0 });
		cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_KEEPALIVE, NULL), 0);
		qp_set_flow_control(qp, bits & 1);
		if (bits & 1)
			qp->credit.probe_deadline_ns = 1000;
		if (bits & 2)
			ask_wait(&qp->ask, ASK_IDLE, 2000);
		cr_assert_eq(rc_qp_deadline(qp), bits & 1 ? 1000 : bits & 2 ? 2000 : RC_NEVER, "%u", bits);
		qp_set_flow_control(qp, false);
		qp->credit.probe_deadline_ns = RC_NEVER;
		cr_assert_eq(rc_qp_deadline(qp), bits & 2 ? 2000 : RC_NEVER, "%u", bits);
		free(qp);
	}
}
