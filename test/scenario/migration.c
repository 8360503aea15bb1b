/* migration.c - what starts a migration, when the budget is spent, and what follows at once */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TC-I-1, I-5. What a migration changes, and how the peer follows: migrated.c.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "rule.h"
#include "two_paths.h"

/* N means N resends on the old path, then the same PSN at once on the new one, where it is executed once. */
static void check_timeouts(uint8_t option, uint32_t retries, bool by_port)
{
	struct two_paths paths = { .by_port = by_port };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ .retry_cnt = option });

	two_paths_arm(pair);
	pair_set_word(pair, B, 0, 40);
	paths.dead[A][0] = true;
	pair_fetch_add(pair, 1, 2);
	pair_run(pair);
	for (uint32_t i = 0; i < retries; i++) {
		two_paths_expect(pair, A, UROCE_PATH_ARMED, 0);
		pair_fire(pair);
	}
	two_paths_expect(pair, A, UROCE_PATH_ARMED, 0);
	cr_assert_eq(paths.sent[A][0], retries + 1, "%u on the old path", paths.sent[A][0]);
	expect_completes(pair, A);
	expect_events(pair, A);
	pair_forget(pair);
	pair_fire(pair);
	expect_leaves(pair, A, "FETCH_ADD psn=1 migreq ackreq va=0x0 add=0x2");
	expect_leaves(pair, B, "ATOMIC_ACKNOWLEDGE psn=1 migreq credit=31 msn=2 original=0x28");
	cr_assert_eq(paths.sent[A][0], retries + 1);
	cr_assert_eq(paths.sent[A][1], 1);
	expect_completes(pair, A, "wr=1 FADD SUCCESS");
	cr_assert_eq(pair_word(pair, B, 0), 42);
	expect_events(pair, A, "PATH_MIG");
	expect_events(pair, B, "PATH_MIG");
	expect_counts(pair, A, CNT_PATH_MIGRATIONS, 1);
	two_paths_expect(pair, A, UROCE_PATH_MIGRATED, 1);
	two_paths_expect(pair, B, UROCE_PATH_MIGRATED, 1);
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
	struct two_paths paths = { 0 };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ .retry_cnt = option });
	const struct uroce_wc *wc = &pair->side[A].wcs[0];
	struct uroce_qp_error error;

	two_paths_arm(pair);
	paths.dead[A][0] = paths.dead[A][1] = true;
	pair_write(pair, 1, 8);
	pair_write(pair, 2, 8);
	pair_run(pair);
	for (uint32_t i = 0; i < 2 * retries + 1; i++)
		pair_fire(pair);
	expect_events(pair, A, "PATH_MIG");
	expect_completes(pair, A);
	pair_fire(pair);
	cr_assert_eq(paths.sent[A][0], 2 * (retries + 1), "%u on the old path", paths.sent[A][0]);
	cr_assert_eq(paths.sent[A][1], 2 * (retries + 1), "%u on the new path", paths.sent[A][1]);
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
Test(migration, second_exhaustion_fails_the_qp)
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
		struct uroce_path path = two_paths_path(pair->user, B, two_paths_now(pair, A));

		sign.flags = two_paths_now(pair, A) ? WIRE_MIGREQ : 0;
		pair->inject_path = &path;
		pair->now_ns += 200000000;
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
		struct two_paths paths = { .dead[A] = { true, true } };
		struct pair *pair = two_paths_open(&paths, &(struct pair_options){ .retry_cnt = 1 });
		enum rc_counter counter = implied ? CNT_IMPLIED_NAK_SEQ_ERR : CNT_PACKET_SEQ_ERR;
		struct wire_packet sign =
			implied ? ack_packet(2, SYNDROME_PLAIN_ACK, 3) : ack_packet(1, SYNDROME_SEQUENCE, 1);

		paths.dead[A][0] = false;
		two_paths_arm(pair);
		paths.dead[A][0] = true;
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
			two_paths_expect(pair, A, UROCE_PATH_MIGRATED, 1);
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

/* T-5 with the new path's round trips: none is known, so a NAK that counts on the old path is an echo here. */
Test(migration, old_round_trip_does_not_apply_to_the_new_path)
{
	struct two_paths paths = { 0 };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ 0 });
	struct rc_qp *qp = pair->side[A].qp;
	struct uroce_path path = two_paths_path(&paths, B, 1);
	struct wire_packet nak = ack_packet(1, SYNDROME_SEQUENCE, 1);

	RULE("A-4");
	RULE("T-5");
	two_paths_arm(pair);
	cr_assert_lt(rtt_bound_ns(&qp->rtt, peek_timeout_ns(qp)), 1000000);
	paths.dead[A][1] = true;
	two_paths_migrate(pair, A);
	pair_write(pair, 1, 8);
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	pair->inject_path = &path;
	nak.flags = WIRE_MIGREQ;
	pair_respond(pair, nak);
	expect_counts(pair, A, CNT_PACKET_SEQ_ERR, 1);
	pair->now_ns += 1000000;
	pair_respond(pair, nak);
	expect_counts(pair, A, CNT_PACKET_SEQ_ERR, 1);
	expect_counts(pair, A, CNT_REPEATED_NAK, 1);
	pair->now_ns += peek_timeout_ns(qp) - 1000000;
	pair_respond(pair, nak);
	expect_counts(pair, A, CNT_PACKET_SEQ_ERR, 2);
	pair_close(pair);
}

/* round trips and losses of the old path do not apply to the new one. */
Test(migration, new_path_has_initial_probe_and_window_state)
{
	struct two_paths paths = { 0 };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ .retry_cnt = 1, .mtu = 256 });
	struct rc_qp *qp = pair->side[A].qp;

	RULE("A-4");
	poke_probes(qp, true);
	two_paths_arm(pair);
	cr_assert_neq(peek_round_trip_ns(qp), 0);
	paths.dead[A][0] = true;
	pair_write(pair, 1, 100 * 256);
	pair_run(pair);
	while (peek_retries_left(qp) > 0)
		cr_assert(pair_fire(pair));
	cr_assert_lt(qp->cc.burst.packets, OUTBOX_PACKETS);
	while (peek_asks(qp) < 2)
		cr_assert(pair_fire(pair));
	two_paths_expect(pair, A, UROCE_PATH_ARMED, 0);
	two_paths_migrate(pair, A);
	pair_forget(pair);
	pair_transmit_some(pair, A, OUTBOX_PACKETS);
	expect_sent_count(pair, A, OUTBOX_PACKETS);
	cr_assert_eq(peek_ask_ns(qp) - pair->now_ns, peek_timeout_ns(qp) / 2, "as long as none is measured");
	pair_close(pair);
}
