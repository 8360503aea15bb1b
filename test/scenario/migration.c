/* migration.c - what starts a migration, when the budget is spent, and what follows at once */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TC-I-1, I-5. What a migration changes, and how the peer follows: migrated.c.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "packets.h"
#include "rule.h"
#include "ways.h"

/* N means N resends on the old path, then the same PSN at once on the new one, where it is executed once. */
static void check_timeouts(uint8_t option, uint32_t retries, bool by_port)
{
	struct ways ways = { .by_port = by_port };
	struct pair *pair = ways_open(&ways, &(struct pair_options){ .retry_cnt = option });

	ways_arm(pair);
	pair_set_word(pair, B, 0, 40);
	ways.dead[A][0] = true;
	pair_fetch_add(pair, 1, 2);
	pair_run(pair);
	for (uint32_t i = 0; i < retries; i++) {
		ways_expect(pair, A, UROCE_PATH_ARMED, 0);
		pair_fire(pair);
	}
	ways_expect(pair, A, UROCE_PATH_ARMED, 0);
	cr_assert_eq(ways.sent[A][0], retries + 1, "%u on the old path", ways.sent[A][0]);
	expect_completes(pair, A);
	expect_events(pair, A);
	pair_forget(pair);
	pair_fire(pair);
	expect_leaves(pair, A, "FETCH_ADD psn=1 migreq ackreq va=0x0 add=0x2");
	expect_leaves(pair, B, "ATOMIC_ACKNOWLEDGE psn=1 migreq credit=31 msn=2 original=0x28");
	cr_assert_eq(ways.sent[A][0], retries + 1);
	cr_assert_eq(ways.sent[A][1], 1);
	expect_completes(pair, A, "wr=1 FADD SUCCESS");
	cr_assert_eq(pair_word(pair, B, 0), 42);
	expect_events(pair, A, "PATH_MIG");
	expect_events(pair, B, "PATH_MIG");
	expect_counts(pair, A, CNT_PATH_MIGRATIONS, 1);
	ways_expect(pair, A, UROCE_PATH_MIGRATED, 1);
	ways_expect(pair, B, UROCE_PATH_MIGRATED, 1);
	pair_close(pair);
}

/* TC-I-1 */
Test(migration, timeouts_migrate_when_retry_cnt_is_spent)
{
	RULE("A-3");
	RULE("A-4");
	RULE("T-4");
	for (int by_port = 0; by_port < 2; by_port++) {
		check_timeouts(255, 0, by_port);
		check_timeouts(1, 1, by_port);
		check_timeouts(7, 7, by_port);
	}
}

/* TC-I-5: the new path has the whole budget, and no more; then it is T-4, and the completion tells which path. */
static void check_second_exhaustion(uint8_t option, uint32_t retries)
{
	struct ways ways = { 0 };
	struct pair *pair = ways_open(&ways, &(struct pair_options){ .retry_cnt = option });
	const struct uroce_wc *wc = &pair->side[A].wcs[0];
	struct uroce_qp_error error;

	ways_arm(pair);
	ways.dead[A][0] = ways.dead[A][1] = true;
	pair_write(pair, 1, 8);
	pair_write(pair, 2, 8);
	pair_run(pair);
	for (uint32_t i = 0; i < 2 * retries + 1; i++)
		pair_fire(pair);
	expect_events(pair, A, "PATH_MIG");
	expect_completes(pair, A);
	pair_fire(pair);
	cr_assert_eq(ways.sent[A][0], 2 * (retries + 1), "%u on the old path", ways.sent[A][0]);
	cr_assert_eq(ways.sent[A][1], 2 * (retries + 1), "%u on the new path", ways.sent[A][1]);
	cr_assert_eq(wc->path, 1, "path %u", wc->path);
	cr_assert_eq(wc->retries, retries, "%u retries", wc->retries);
	cr_assert_eq(wc->psn, 1);
	cr_assert_eq(wc->vendor_err, UROCE_CAUSE_TIMEOUT);
	expect_completes(pair, A, "wr=1 WRITE RETRY_EXC_ERR", "wr=2 WRITE WR_FLUSH_ERR");
	expect_events(pair, A, "QP_FATAL");
	rc_qp_last_error(pair->side[A].qp, &error);
	cr_assert_eq(error.path_index, 1);
	cr_assert_eq(error.path.source.bytes[15], 1, "the path in use then");
	cr_assert_eq(rc_qp_deadline(pair->side[A].qp), RC_NEVER);
	pair_close(pair);
}

/* TC-I-5 */
Test(migration, a_second_exhaustion_is_the_end)
{
	RULE("A-4");
	RULE("T-4");
	RULE("E-4");
	check_second_exhaustion(255, 0);
	check_second_exhaustion(1, 1);
	check_second_exhaustion(7, 7);
}

/* The same answer of the peer over A's path of the moment, each after a pause that no round trip explains. */
static void respond_until(struct pair *pair, struct wire_packet sign, enum rc_counter counter, uint64_t count)
{
	struct rc_qp *qp = pair->side[A].qp;

	for (uint32_t i = 0; i < 10 && qp->counters[counter] < count; i++) {
		struct uroce_path path = ways_path(pair->user, B, ways_now(pair, A));

		sign.flags = ways_now(pair, A) ? WIRE_MIGREQ : 0;
		pair->inject_path = &path;
		pair->now_ns += 1000000;
		pair_respond(pair, sign);
		pair->inject_path = NULL;
	}
	cr_assert_eq(qp->counters[counter], count, "%lu", qp->counters[counter]);
}

/* The three triggers spend one budget: the last of them migrates, and the new path has a budget of its own. */
Test(migration, sequence_naks_and_implied_naks_migrate_alike)
{
	RULE("A-3");
	RULE("A-4");
	RULE("T-3");
	for (int implied = 0; implied < 2; implied++) {
		struct ways ways = { .dead[A] = { true, true } };
		struct pair *pair = ways_open(&ways, &(struct pair_options){ .retry_cnt = 1 });
		enum rc_counter counter = implied ? CNT_IMPLIED_NAK_SEQ_ERR : CNT_PACKET_SEQ_ERR;
		struct wire_packet sign =
			implied ? ack_packet(2, SYNDROME_PLAIN_ACK, 3) : ack_packet(1, SYNDROME_SEQUENCE, 1);

		ways.dead[A][0] = false;
		ways_arm(pair);
		ways.dead[A][0] = true;
		pair_read(pair, 1, 8);
		pair_write(pair, 2, 8);
		pair_run(pair);
		pair_forget(pair);
		respond_until(pair, sign, counter, 1);
		expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x0 len=8",
			      "WRITE_ONLY psn=2 ackreq va=0x0 len=8 bytes=8");
		expect_events(pair, A);
		for (uint64_t count = 2; count < 4; count++) {
			respond_until(pair, sign, counter, count);
			ways_expect(pair, A, UROCE_PATH_MIGRATED, 1);
			expect_leaves(pair, A, "READ_REQUEST psn=1 migreq ackreq va=0x0 len=8",
				      "WRITE_ONLY psn=2 migreq ackreq va=0x0 len=8 bytes=8");
		}
		expect_events(pair, A, "PATH_MIG");
		expect_completes(pair, A);
		respond_until(pair, sign, counter, 4);
		cr_assert_eq(pair->side[A].wcs[0].vendor_err,
			     implied ? UROCE_CAUSE_IMPLIED_NAK : UROCE_CAUSE_SEQUENCE_NAK);
		cr_assert_eq(pair->side[A].wcs[0].path, 1);
		expect_completes(pair, A, "wr=1 READ RETRY_EXC_ERR", "wr=2 WRITE WR_FLUSH_ERR");
		expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
		pair_close(pair);
	}
}

/* T-5 with the new path's round trips: what would have been too soon on the old one is news here. */
Test(migration, the_old_round_trip_says_nothing_of_the_new_path)
{
	struct ways ways = { 0 };
	struct pair *pair = ways_open(&ways, &(struct pair_options){ 0 });
	struct uroce_path path = ways_path(&ways, B, 1);
	struct wire_packet nak = ack_packet(1, SYNDROME_SEQUENCE, 1);

	RULE("A-4");
	RULE("T-5");
	pair->step_ns = 1000000;
	ways_arm(pair);
	ways.dead[A][1] = true;
	ways_migrate(pair, A);
	pair_write(pair, 1, 8);
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	pair->inject_path = &path;
	nak.flags = WIRE_MIGREQ;
	for (uint64_t i = 1; i <= 3; i++) {
		pair->now_ns += 20000;
		pair_respond(pair, nak);
		expect_counts(pair, A, CNT_PACKET_SEQ_ERR, i);
	}
	expect_counts(pair, A, CNT_REPEATED_NAK, 0);
	pair_close(pair);
}

/* One budget for all three, also for the one that migrates: here a timeout after two NAKs. */
Test(migration, a_spent_budget_is_spent_for_all_triggers)
{
	struct ways ways = { 0 };
	struct pair *pair = ways_open(&ways, &(struct pair_options){ .retry_cnt = 2 });

	RULE("A-3");
	RULE("T-3");
	ways_arm(pair);
	ways.dead[A][0] = true;
	pair_read(pair, 1, 8);
	pair_write(pair, 2, 8);
	pair_run(pair);
	respond_until(pair, ack_packet(2, SYNDROME_PLAIN_ACK, 3), CNT_IMPLIED_NAK_SEQ_ERR, 1);
	respond_until(pair, ack_packet(1, SYNDROME_SEQUENCE, 1), CNT_PACKET_SEQ_ERR, 1);
	ways_expect(pair, A, UROCE_PATH_ARMED, 0);
	pair_fire(pair);
	ways_expect(pair, A, UROCE_PATH_MIGRATED, 1);
	expect_completes(pair, A, "wr=1 READ SUCCESS len=8", "wr=2 WRITE SUCCESS");
	pair_close(pair);
}

/* Software need not wait for a failure; what is under way may be lost with the old path, so it goes out again. */
Test(migration, software_migrates_an_armed_qp_at_once)
{
	struct ways ways = { 0 };
	struct pair *pair = ways_open(&ways, &(struct pair_options){ .receives = 1 });

	RULE("A-3");
	RULE("A-4");
	ways_arm(pair);
	ways.dead[A][0] = true;
	pair_send(pair, 1, 3000);
	pair_read(pair, 2, 8);
	pair_transmit(pair, A);
	pair_respond(pair, ack_packet(1, SYNDROME_PLAIN_ACK, 1));
	pair_forget(pair);
	ways_migrate(pair, A);
	ways_expect(pair, A, UROCE_PATH_MIGRATED, 1);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "SEND_MIDDLE psn=2 migreq bytes=1024", "SEND_LAST psn=3 migreq ackreq bytes=952",
		      "READ_REQUEST psn=4 migreq ackreq va=0x0 len=8");
	expect_events(pair, A, "PATH_MIG");
	ways_migrate(pair, A); /* it has */
	pair_transmit(pair, A);
	expect_leaves(pair, A);
	expect_events(pair, A);
	expect_counts(pair, A, CNT_PATH_MIGRATIONS, 1);
	pair_close(pair);
}

/* In REARM the peer may have no alternate path, in MIGRATED we have none: exhaustion is the end at once. */
Test(migration, nothing_but_armed_migrates)
{
	RULE("A-3");
	RULE("A-5");
	RULE("T-4");
	for (int rearm = 0; rearm < 2; rearm++) {
		struct ways ways = { .dead[A][0] = true };
		struct pair *pair = ways_open(&ways, &(struct pair_options){ .retry_cnt = 1 });
		struct uroce_qp_attr attr = { .path_mig_state = UROCE_PATH_MIGRATED };
		uint32_t bad;

		if (rearm)
			ways_load(pair, A);
		pair_write(pair, 1, 8);
		pair_run(pair);
		cr_assert_not(rc_qp_port_failed(pair->side[A].qp));
		ways_expect(pair, A, rearm ? UROCE_PATH_REARM : UROCE_PATH_MIGRATED, 0);
		pair_fire(pair);
		pair_fire(pair);
		cr_assert_eq(ways.sent[A][0], 2);
		cr_assert_eq(ways.sent[A][1], 0);
		cr_assert_eq(pair->side[A].wcs[0].path, 0);
		expect_completes(pair, A, "wr=1 WRITE RETRY_EXC_ERR");
		expect_events(pair, A, "QP_FATAL");
		pair_close(pair);
		/* Nor does software. */
		pair = ways_open(&ways, &(struct pair_options){ 0 });
		if (rearm)
			ways_load(pair, A);
		rc_qp_modify(pair->side[A].qp, &attr, UROCE_QP_PATH_MIG_STATE, &bad);
		pair_run(pair);
		cr_assert_eq(ways_now(pair, A), 0);
		expect_events(pair, A);
		expect_counts(pair, A, CNT_PATH_MIGRATIONS, 0);
		pair_close(pair);
	}
}

/* A failure that no other path would mend is reported, armed or not. */
Test(migration, what_is_no_fault_of_the_path_does_not_migrate)
{
	static const struct {
		uint8_t syndrome;
		const char *line;
	} rows[] = {
		{ SYNDROME_RNR + 1, "wr=1 WRITE RNR_RETRY_EXC_ERR" },
		{ SYNDROME_INVALID, "wr=1 WRITE REM_INV_REQ_ERR" },
		{ SYNDROME_ACCESS, "wr=1 WRITE REM_ACCESS_ERR" },
		{ SYNDROME_OPERATIONAL, "wr=1 WRITE REM_OP_ERR" },
	};

	RULE("A-3");
	RULE("R-6");
	for (int i = 0; i < 4; i++) {
		struct ways ways = { 0 };
		struct pair *pair = ways_open(&ways, &(struct pair_options){ .rnr_retry = 255 });

		ways_arm(pair);
		ways.dead[A][0] = true;
		pair_write(pair, 1, 8);
		pair_run(pair);
		pair_respond(pair, ack_packet(1, rows[i].syndrome, 1));
		expect_completes(pair, A, rows[i].line);
		expect_events(pair, A, "QP_FATAL");
		ways_expect(pair, A, UROCE_PATH_ARMED, 0);
		/* And a QP in ERR has nothing left to migrate. */
		cr_assert_not(rc_qp_port_failed(pair->side[A].qp));
		pair_transmit(pair, A);
		expect_events(pair, A);
		pair_close(pair);
	}
}

/* A port that is down, or a neighbour that nobody answers for, will not come back within the retries. */
Test(migration, a_failed_port_and_an_unreachable_peer_migrate_at_once)
{
	RULE("A-5");
	RULE("A-4");
	for (int unreachable = 0; unreachable < 2; unreachable++) {
		struct ways ways = { .by_port = true };
		struct pair *pair = ways_open(&ways, &(struct pair_options){ 0 });

		ways_arm(pair);
		ways.dead[A][0] = ways.dead[B][0] = true;
		pair_write(pair, 1, 8);
		pair_run(pair);
		pair_forget(pair);
		if (unreachable)
			rc_qp_unreachable(pair->side[A].qp);
		else
			cr_assert(rc_qp_port_failed(pair->side[A].qp));
		pair_run(pair);
		expect_leaves(pair, A, "WRITE_ONLY psn=1 migreq ackreq va=0x0 len=8 bytes=8");
		expect_leaves(pair, B, "ACK psn=1 migreq credit=31 msn=2");
		expect_completes(pair, A, "wr=1 WRITE SUCCESS");
		expect_events(pair, A, "PATH_MIG");
		expect_events(pair, B, "PATH_MIG");
		expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
		cr_assert_not(rc_qp_port_failed(pair->side[A].qp), "there is no third path");
		ways_expect(pair, A, UROCE_PATH_MIGRATED, 1);
		pair_close(pair);
	}
}

/* In SQD what was begun is finished, over another path if need be. */
Test(migration, a_draining_qp_migrates_too)
{
	struct ways ways = { 0 };
	struct pair *pair = ways_open(&ways, &(struct pair_options){ .retry_cnt = 1 });
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_SQD };
	uint32_t bad;

	RULE("A-3");
	RULE("X-2");
	ways_arm(pair);
	ways.dead[A][0] = true;
	pair_write(pair, 1, 8);
	pair_run(pair);
	cr_assert_eq(rc_qp_modify(pair->side[A].qp, &attr, UROCE_QP_STATE, &bad), 0);
	pair_write(pair, 2, 8);
	cr_assert(pair_settle(pair, 10000000000ull));
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	ways_expect(pair, A, UROCE_PATH_MIGRATED, 1);
	cr_assert_str_eq(pair->side[A].events[0], "PATH_MIG");
	cr_assert_str_eq(pair->side[A].events[1], "SQ_DRAINED");
	pair_close(pair);
}

/* how long an answer took on the old path and how much got lost there says nothing of the new one. */
Test(migration, the_new_path_is_asked_and_filled_as_if_it_were_the_first)
{
	struct ways ways = { 0 };
	struct pair *pair = ways_open(&ways, &(struct pair_options){ .retry_cnt = 1, .mtu = 256 });
	struct rc_qp *qp = pair->side[A].qp;

	RULE("A-4");
	qp->probe.enabled = true;
	ways_arm(pair);
	cr_assert_neq(qp->round_trip.mean_ns, 0);
	ways.dead[A][0] = true;
	pair_write(pair, 1, 100 * 256);
	pair_run(pair);
	while (qp->retry.retries_left > 0)
		cr_assert(pair_fire(pair));
	cr_assert_lt(qp->requester.burst.packets, OUTBOX_PACKETS);
	while (qp->probe.tries < 2)
		cr_assert(pair_fire(pair));
	ways_expect(pair, A, UROCE_PATH_ARMED, 0);
	ways_migrate(pair, A);
	pair_forget(pair);
	pair_transmit_some(pair, A, OUTBOX_PACKETS);
	expect_sent_count(pair, A, OUTBOX_PACKETS);
	cr_assert_eq(qp->probe.deadline_ns - pair->now_ns, qp->retry.timeout_ns / 32, "as long as none is measured");
	pair_close(pair);
}
