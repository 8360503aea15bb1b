/* migrated.c - what a migration changes and what it leaves alone, and how the peer follows or refuses */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TC-I-2, I-3.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "rule.h"
#include "two_paths.h"

/* The packet by which a side without requests shows a new path, behind PSN 0. */
#define SHOWS_PATH "WRITE_ONLY psn=0 migreq ackreq va=0x0 rkey=0x00000000 len=0 bytes=0"

/* The alternate path brings its own P_Key and timeout; those of the old one are no longer taken. */
Test(migrated, the_new_path_has_its_own_pkey_and_timeout)
{
	struct two_paths paths = { 0 };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ .timeout = 14 });
	uint64_t wait = 4096ull << 9;

	RULE("A-4");
	RULE("W-5");
	for (int i = 0; i < 2; i++) {
		struct uroce_qp_attr attr = two_paths_alternate(pair, (enum side_name)i, 1);
		uint32_t bad;

		attr.alt_pkey = i == A ? 0x8123 : 0x0123;
		attr.alt_timeout = 9;
		cr_assert_eq(rc_qp_modify(pair->side[i].qp, &attr, TWO_PATHS_LOAD, &bad), 0);
	}
	pair_write(pair, 1, 8);
	pair_run(pair);
	two_paths_expect(pair, A, UROCE_PATH_ARMED, 0);
	cr_assert_eq(paths.pkey[A], 0xFFFF);
	paths.dead[A][1] = true;
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	cr_assert_geq(rc_qp_deadline(pair->side[A].qp), pair->now_ns + (4096ull << 14), "armed is not migrated");
	two_paths_migrate(pair, A);
	pair_transmit(pair, A);
	cr_assert_eq(paths.pkey[A], 0x8123, "%#x", paths.pkey[A]);
	cr_assert_geq(rc_qp_deadline(pair->side[A].qp), pair->now_ns + wait);
	cr_assert_leq(rc_qp_deadline(pair->side[A].qp), pair->now_ns + wait * 11 / 10);
	paths.dead[A][1] = false;
	pair_fire(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 WRITE SUCCESS");
	cr_assert_eq(paths.pkey[B], 0x0123, "%#x", paths.pkey[B]);
	pair_forget(pair);
	pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 3, 0, 8, 8)); /* of partition 0xFFFF */
	expect_leaves(pair, B);
	cr_assert_eq(pair->side[B].drops[CNT_PORT_PKEY], 1);
	pair_close(pair);
}

/* With nothing in flight nothing is resent, and the first packet of the new path is timed (T-5). */
Test(migrated, a_new_path_is_timed_from_its_first_packet_on)
{
	struct two_paths paths = { 0 };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ 0 });
	const struct rc_qp *qp = pair->side[A].qp;

	RULE("A-4");
	RULE("T-5");
	two_paths_arm(pair);
	two_paths_migrate(pair, A);
	cr_assert_eq(peek_round_trip_ns(qp), 0, "that of the old path is forgotten");
	pair_write(pair, 1, 8);
	pair_run(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	cr_assert_neq(peek_round_trip_ns(qp), 0);
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 0);
	pair_close(pair);
}

/* The requests had been executed and only the answers were lost: a counter, a READ and a receive show it. */
Test(migrated, executed_requests_are_not_executed_again)
{
	struct two_paths paths = { 0 };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ .retry_cnt = 1, .receives = 2 });

	RULE("A-4");
	two_paths_arm(pair);
	pair_set_word(pair, B, 0, 40);
	paths.dead[B][0] = true;
	pair_fetch_add(pair, 1, 2);
	pair_send(pair, 2, 1500);
	pair_run(pair);
	pair_fire(pair);
	expect_completes(pair, A);
	two_paths_expect(pair, B, UROCE_PATH_ARMED, 0);
	pair_forget(pair);
	pair_fire(pair);
	expect_leaves(pair, A, "FETCH_ADD psn=1 migreq ackreq va=0x0 add=0x2", "SEND_FIRST psn=2 migreq bytes=1024",
		      "SEND_LAST psn=3 migreq ackreq bytes=476");
	expect_leaves(pair, B, "ATOMIC_ACKNOWLEDGE psn=1 migreq credit=31 msn=2 original=0x28",
		      "ACK psn=3 migreq credit=31 msn=3");
	expect_completes(pair, A, "wr=1 FADD SUCCESS", "wr=2 SEND SUCCESS");
	expect_completes(pair, B);
	cr_assert_eq(pair_word(pair, B, 0), 42, "%lu", pair_word(pair, B, 0));
	cr_assert_eq(pair_word(pair, A, 0), 40, "%lu", pair_word(pair, A, 0));
	pair_close(pair);
}

/* Two of five responses had come over the old path: the new one carries the other three. */
Test(migrated, read_continues_with_the_first_missing_response)
{
	struct two_paths paths = { 0 };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ .retry_cnt = 255 });

	RULE("A-4");
	RULE("Q-10");
	two_paths_arm(pair);
	pair_read(pair, 1, 5000);
	pair_transmit(pair, A);
	pair_deliver(pair, B);
	pair_transmit_some(pair, B, 2);
	pair_deliver(pair, A);
	paths.dead[B][0] = true;
	pair_run(pair);
	pair_forget(pair);
	pair_fire(pair);
	expect_leaves(pair, A, "READ_REQUEST psn=3 migreq ackreq va=0x800 len=2952");
	expect_leaves(pair, B, "READ_RESPONSE_FIRST psn=3 migreq credit=31 msn=2 bytes=1024",
		      "READ_RESPONSE_MIDDLE psn=4 migreq bytes=1024",
		      "READ_RESPONSE_LAST psn=5 migreq credit=31 msn=2 bytes=904");
	expect_completes(pair, A, "wr=1 READ SUCCESS len=5000");
	cr_assert_eq(memcmp(pair->side[A].memory, pair->side[B].memory, 5000), 0);
	pair_close(pair);
}

/* The peer requested the pause on some path: the wait and the RNR count continue. */
Test(migrated, migration_keeps_the_rnr_wait_and_its_budget)
{
	struct two_paths paths = { .dead[A][1] = true };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ .rnr_retry = 1 });
	struct uroce_path path = two_paths_path(&paths, B, 1);
	struct wire_packet rnr = ack_packet(1, SYNDROME_RNR + 14, 1);
	uint64_t deadline;

	RULE("A-4");
	RULE("R-4");
	RULE("R-5");
	two_paths_arm(pair);
	paths.dead[A][0] = true;
	pair_send(pair, 1, 8);
	pair_transmit(pair, A);
	pair_respond(pair, rnr);
	deadline = rc_qp_deadline(pair->side[A].qp);
	pair_forget(pair);
	pair->now_ns += 100000;
	two_paths_migrate(pair, A);
	pair_transmit(pair, A);
	expect_leaves(pair, A);
	expect_events(pair, A, "PATH_MIG");
	cr_assert_eq(rc_qp_deadline(pair->side[A].qp), deadline);
	pair->now_ns = deadline;
	rc_qp_timeout(pair->side[A].qp, pair->now_ns);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "SEND_ONLY psn=1 migreq ackreq bytes=8");
	rnr.flags = WIRE_MIGREQ;
	pair->inject_path = &path;
	pair->now_ns += 1000000;
	pair_respond(pair, rnr);
	expect_completes(pair, A, "wr=1 SEND RNR_RETRY_EXC_ERR");
	pair_close(pair);
}

/* The peer learns of it from an empty WRITE. */
Test(migrated, migrating_idle_qp_shows_its_peer_the_new_path)
{
	struct two_paths paths = { 0 };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ 0 });

	RULE("A-4");
	RULE("A-6");
	two_paths_arm(pair);
	two_paths_migrate(pair, A);
	cr_assert(pair_settle(pair, 10000000000ull));
	expect_leaves(pair, A, SHOWS_PATH);
	expect_leaves(pair, B, "ACK psn=0 migreq credit=31 msn=1");
	expect_events(pair, A, "PATH_MIG");
	expect_events(pair, B, "PATH_MIG");
	two_paths_expect(pair, B, UROCE_PATH_MIGRATED, 1);
	pair_write(pair, 1, 8);
	pair_run(pair);
	expect_leaves(pair, A, "WRITE_ONLY psn=1 migreq ackreq va=0x0 len=8 bytes=8");
	expect_leaves(pair, B, "ACK psn=1 migreq credit=31 msn=2");
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	expect_events(pair, A);
	expect_events(pair, B);
	pair_close(pair);
}

/* A WRITE of B is lost on the old path, and its budget is spent but for nothing; then A migrates. */
static struct pair *open_before_following(struct two_paths *paths)
{
	struct pair *pair = two_paths_open(paths, &(struct pair_options){ .retry_cnt = 1 });
	struct uroce_send_wr wr = { .wr_id = 7, .opcode = UROCE_WR_RDMA_WRITE, .send_flags = UROCE_SEND_SIGNALED };

	two_paths_arm(pair);
	paths->dead[B][0] = true;
	cr_assert_eq(pair_post(pair, B, wr, 4096, 8), 0);
	pair_run(pair);
	pair_fire(pair);
	two_paths_migrate(pair, A);
	pair_forget(pair);
	return pair;
}

/* TC-I-2: the peer has given the old path up, so what is unanswered there is as good as lost: no wait for a timer. */
Test(migrated, follower_resends_unanswered_requests)
{
	struct two_paths paths = { 0 };
	struct pair *pair = open_before_following(&paths);

	RULE("A-6");
	RULE("A-4");
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	two_paths_expect(pair, B, UROCE_PATH_ARMED, 0);
	pair_deliver(pair, B);
	two_paths_expect(pair, B, UROCE_PATH_MIGRATED, 1);
	pair_transmit(pair, B);
	expect_leaves(pair, B, "ACK psn=1 migreq credit=31 msn=2",
		      "WRITE_ONLY psn=0 migreq ackreq va=0x0 len=8 bytes=8");
	pair_run(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	expect_completes(pair, B, "wr=7 WRITE SUCCESS");
	expect_events(pair, A, "PATH_MIG");
	expect_events(pair, B, "PATH_MIG");
	expect_counts(pair, B, CNT_PATH_MIGRATIONS, 1);
	pair_close(pair);
}

/* It has migrated, whoever began: the whole budget for the new path, and no third path after it. */
Test(migrated, follower_has_a_full_budget_too)
{
	struct two_paths paths = { .dead[B][1] = true };
	struct pair *pair = open_before_following(&paths);

	RULE("A-6");
	RULE("A-4");
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	pair_deliver(pair, B);
	paths.sent[B][1] = 0;
	pair_transmit(pair, B);
	cr_assert_eq(paths.sent[B][1], 2, "an ACK and the WRITE");
	while (peek_state(pair->side[B].qp) == UROCE_QPS_RTS) {
		pair_timeout_at(pair, pair->side[B].qp, rc_qp_deadline(pair->side[B].qp));
		pair_transmit(pair, B);
	}
	cr_assert_eq(paths.sent[B][1], 3, "one resend of the WRITE, but %u", paths.sent[B][1] - 2);
	cr_assert_eq(pair->side[B].wcs[0].path, 1);
	expect_completes(pair, B, "wr=7 WRITE RETRY_EXC_ERR");
	expect_events(pair, B, "PATH_MIG", "QP_FATAL");
	pair_close(pair);
}

/* An ACK over the new path says both: follow, and that this request has been answered. */
Test(migrated, answer_over_the_new_path_counts)
{
	struct two_paths paths = { 0 };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ 0 });
	struct uroce_send_wr wr = { .wr_id = 7, .opcode = UROCE_WR_RDMA_WRITE, .send_flags = UROCE_SEND_SIGNALED };

	RULE("A-6");
	two_paths_arm(pair);
	cr_assert_eq(pair_post(pair, B, wr, 4096, 8), 0);
	pair_transmit(pair, B);
	pair_deliver(pair, A);
	two_paths_migrate(pair, A);
	pair_forget(pair);
	pair_run(pair);
	expect_leaves(pair, A, "ACK psn=0 migreq credit=31 msn=1", SHOWS_PATH);
	expect_leaves(pair, B, "ACK psn=0 migreq credit=31 msn=1");
	expect_completes(pair, B, "wr=7 WRITE SUCCESS");
	expect_events(pair, B, "PATH_MIG");
	two_paths_expect(pair, B, UROCE_PATH_MIGRATED, 1);
	pair_close(pair);
}

/* A stream of responses that changes over in its middle arrives whole. */
Test(migrated, read_survives_the_migration_of_its_responder)
{
	RULE("A-6");
	RULE("A-4");
	for (uint32_t old = 0; old <= 5; old++) {
		struct two_paths paths = { 0 };
		struct pair *pair = two_paths_open(&paths, &(struct pair_options){ 0 });

		two_paths_arm(pair);
		pair_read(pair, 1, 5000);
		pair_transmit(pair, A);
		pair_deliver(pair, B);
		if (old > 0)
			pair_transmit_some(pair, B, old);
		two_paths_migrate(pair, B);
		cr_assert(pair_settle(pair, 10000000000ull));
		expect_completes(pair, A, "wr=1 READ SUCCESS len=5000");
		cr_assert_eq(memcmp(pair->side[A].memory, pair->side[B].memory, 5000), 0);
		expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
		pair_close(pair);
	}
}

/* Any packet is followed: new, repeated or ahead of the expected PSN. */
Test(migrated, any_packet_over_the_alternate_path_is_followed)
{
	static const char *const answers[] = {
		"ACK psn=1 migreq credit=31 msn=2",
		"ACK psn=0 migreq credit=31 msn=1",
		"NAK_SEQUENCE psn=1 migreq msn=1",
		"RNR_NAK psn=1 migreq timer=12 msn=1",
		"READ_RESPONSE_ONLY psn=1 migreq credit=31 msn=2 bytes=8",
	};

	RULE("A-6");
	for (int row = 0; row < 5; row++) {
		struct two_paths paths = { .by_port = row & 1 };
		struct pair *pair = two_paths_open(&paths, &(struct pair_options){ 0 });
		struct uroce_path path = two_paths_path(&paths, A, 1);
		struct wire_packet packets[] = {
			write_packet(pair, OP_WRITE_ONLY, 1, 0, 8, 8),
			write_packet(pair, OP_WRITE_ONLY, 0, 0, 8, 8),
			write_packet(pair, OP_WRITE_ONLY, 2, 0, 8, 8),
			send_packet(OP_SEND_ONLY, 1, 8),
			read_packet(pair, 1, 0, 8),
		};

		two_paths_arm(pair);
		packets[row].flags |= WIRE_MIGREQ;
		pair->inject_path = &path;
		pair_request(pair, packets[row]);
		expect_leaves(pair, B, answers[row]);
		cr_assert_eq(paths.sent[B][1], 1, "answered over the new path");
		expect_events(pair, B, "PATH_MIG");
		two_paths_expect(pair, B, UROCE_PATH_MIGRATED, 1);
		pair_close(pair);
	}
}

/* Addresses, port and P_Key all have to be those of the alternate path. */
Test(migrated, a_wrong_pkey_is_not_followed)
{
	static const struct {
		uint16_t a, b;
		bool follows;
	} rows[] = {
		{ 0xFFFF, 0xFFFF, true },  { 0x8123, 0x8123, true },  { 0x0123, 0x8123, true },
		{ 0x8123, 0x0123, true },  { 0x0123, 0x0123, false }, { 0x8123, 0x8124, false },
		{ 0xFFFF, 0x8123, false }, { 0x8123, 0xFFFF, false },
	};

	RULE("A-6");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct two_paths paths = { 0 };
		struct pair *pair = two_paths_open(&paths, &(struct pair_options){ .retry_cnt = 7 });
		struct uroce_qp_attr attr[] = { two_paths_alternate(pair, A, 1), two_paths_alternate(pair, B, 1) };
		uint32_t bad;

		two_paths_arm(pair);
		attr[A].alt_pkey = rows[i].a;
		attr[B].alt_pkey = rows[i].b;
		for (int side = 0; side < 2; side++)
			cr_assert_eq(rc_qp_modify(pair->side[side].qp, &attr[side], TWO_PATHS_LOAD, &bad), 0);
		pair_write(pair, 1, 8);
		pair_run(pair);
		two_paths_migrate(pair, A);
		pair_forget(pair);
		pair_write(pair, 2, 8);
		pair_run(pair);
		two_paths_expect(pair, B, rows[i].follows ? UROCE_PATH_MIGRATED : UROCE_PATH_ARMED, rows[i].follows);
		expect_events(pair, B, rows[i].follows ? "PATH_MIG" : "PATH_MIG_ERR");
		expect_sent_count(pair, B, rows[i].follows);
		expect_done_count(pair, A, rows[i].follows);
		pair_close(pair);
	}
}

/* Two WRITEs of A and an ACK of B with MigReq 1 over the path in use: B has been asked twice, and has told once. */
static void ask_on_the_primary_path(struct pair *pair, uint32_t psn)
{
	struct wire_packet write = write_packet(pair, OP_WRITE_ONLY, psn, 128, 8, 8);

	write.flags |= WIRE_MIGREQ;
	pair_request(pair, write);
	pair_request(pair, write);
	expect_leaves(pair, B);
	expect_events(pair, B, "PATH_MIG_ERR");
	two_paths_expect(pair, B, UROCE_PATH_ARMED, 0);
	cr_assert_neq(pair->side[B].memory[128], PACKETS_DATA, "executed");
}

/* Both are armed, so MigReq 1 asks to migrate; to a path that is not the alternate one there is no going. */
Test(migrated, unexpected_migreq_is_refused_once_per_arming)
{
	struct two_paths paths = { 0 };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ 0 });
	struct uroce_path path = two_paths_path(&paths, A, 1);
	struct wire_packet write = write_packet(pair, OP_WRITE_ONLY, 1, 128, 8, 8);

	RULE("A-6");
	RULE("V-1");
	two_paths_arm(pair);
	ask_on_the_primary_path(pair, 1);
	expect_counts(pair, B, CNT_MIGRATION_REFUSED, 2);
	/* Nothing has changed: the same PSN without the bit is executed. */
	pair_request(pair, write);
	expect_leaves(pair, B, "ACK psn=1 credit=31 msn=2");
	cr_assert_eq(pair->side[B].memory[128], PACKETS_DATA);
	pair_fill(pair, B, 128, 0, 8);
	two_paths_load(pair, B);
	two_paths_expect(pair, B, UROCE_PATH_REARM, 0);
	pair_request(pair, write);
	two_paths_expect(pair, B, UROCE_PATH_ARMED, 0);
	pair_forget(pair);
	ask_on_the_primary_path(pair, 2);
	expect_counts(pair, B, CNT_MIGRATION_REFUSED, 4);
	/* And what comes over the right path is followed as ever. */
	write.psn = 2;
	write.flags |= WIRE_MIGREQ;
	pair->inject_path = &path;
	pair_request(pair, write);
	expect_leaves(pair, B, "ACK psn=2 migreq credit=31 msn=3");
	expect_events(pair, B, "PATH_MIG");
	pair_close(pair);
}

/* The same for a requester: the answer does not count, and its request is tried again. */
Test(migrated, a_refused_answer_completes_nothing)
{
	struct two_paths paths = { 0 };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ 0 });
	struct wire_packet ack = ack_packet(1, SYNDROME_PLAIN_ACK, 2);

	RULE("A-6");
	two_paths_arm(pair);
	paths.dead[A][0] = true;
	pair_write(pair, 1, 8);
	pair_run(pair);
	ack.flags = WIRE_MIGREQ;
	pair_respond(pair, ack);
	expect_completes(pair, A);
	expect_events(pair, A, "PATH_MIG_ERR");
	two_paths_expect(pair, A, UROCE_PATH_ARMED, 0);
	ack.flags = 0;
	pair_respond(pair, ack);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	expect_events(pair, A);
	pair_close(pair);
}

/* Which path a packet comes over, and what becomes of it in a state of B. */
enum origin { PRIMARY, ALTERNATE, THIRD_SOURCE, THIRD_DEST, THIRD_PORT, THIRD_VLAN, OTHER_VLAN, ORIGINS };

static struct uroce_path path_from(struct two_paths *paths, const struct pair *pair, enum origin origin)
{
	bool now = origin == PRIMARY || origin == OTHER_VLAN;
	struct uroce_path path = two_paths_path(paths, A, now ? two_paths_now(pair, A) : !two_paths_now(pair, A));

	if (origin == THIRD_SOURCE)
		path.source.bytes[7] = 9;
	if (origin == THIRD_DEST)
		path.dest.bytes[7] = 9;
	if (origin == THIRD_PORT)
		path.device = (struct uroce_device *)paths;
	if (origin == THIRD_VLAN || origin == OTHER_VLAN)
		path.vlan_id = 9;
	return path;
}

static struct pair *open_state(struct two_paths *paths, enum uroce_path_mig_state state, bool migrated)
{
	struct pair *pair = two_paths_open(paths, &(struct pair_options){ 0 });

	if (state == UROCE_PATH_REARM)
		two_paths_load(pair, B);
	if (state == UROCE_PATH_ARMED || migrated)
		two_paths_arm(pair);
	if (migrated) {
		two_paths_migrate(pair, A);
		two_paths_migrate(pair, B);
		pair_run(pair);
		pair_forget(pair);
	}
	return pair;
}

static void check_origin(enum uroce_path_mig_state state, bool migrated, enum origin origin, bool bit)
{
	struct two_paths paths = { 0 };
	struct pair *pair = open_state(&paths, state, migrated);
	bool refused = state == UROCE_PATH_ARMED && bit, taken = origin == PRIMARY && !refused;
	struct uroce_path path = path_from(&paths, pair, origin);
	struct wire_packet write = write_packet(pair, OP_WRITE_ONLY, migrated || state == UROCE_PATH_ARMED, 128, 8, 8);

	pair->inject_path = &path;
	write.flags |= bit ? WIRE_MIGREQ : 0;
	pair_request(pair, write);
	expect_sent_count(pair, B, taken);
	cr_assert_eq(pair->side[B].memory[128] == PACKETS_DATA, taken, "state %d, origin %d, bit %d", state, origin,
		     bit);
	cr_assert_eq(pair->side[B].drops[origin == OTHER_VLAN ? CNT_PORT_VLAN : CNT_PORT_ADDRESS], !taken && !refused,
		     "state %d, origin %d, bit %d", state, origin, bit);
	expect_counts(pair, B, CNT_MIGRATION_REFUSED, refused);
	if (refused)
		expect_events(pair, B, "PATH_MIG_ERR");
	else
		expect_events(pair, B);
	if (state != UROCE_PATH_REARM || bit || !taken)
		two_paths_expect(pair, B, state, migrated);
	pair_close(pair);
}

/* TC-I-3: MigReq 1 has no effect without a loaded path, and no state accepts another path. */
Test(migrated, origin_and_migreq_are_judged_in_every_state)
{
	RULE("A-6");
	RULE("W-5");
	for (int origin = 0; origin < ORIGINS; origin++) {
		for (int bit = 0; bit < 2; bit++) {
			check_origin(UROCE_PATH_MIGRATED, false, (enum origin)origin, bit);
			check_origin(UROCE_PATH_MIGRATED, true, (enum origin)origin, bit);
			if (origin == ALTERNATE && bit)
				continue; /* that one is followed */
			check_origin(UROCE_PATH_REARM, false, (enum origin)origin, bit);
			check_origin(UROCE_PATH_ARMED, false, (enum origin)origin, bit);
		}
	}
}

/* Polls in which B's packets get another peer's idea of MigReq on their way: bit 6 of the second byte. */
static void run_with_stranger(struct pair *pair, bool bit)
{
	struct side *b = &pair->side[B];

	for (int poll = 0; poll < 20; poll++) {
		pair_transmit(pair, A);
		pair_deliver(pair, B);
		pair_transmit(pair, B);
		for (uint32_t i = b->wire_head; i != b->wire_tail; i++) {
			uint8_t *second = &b->wire[i % PAIR_IN_FLIGHT].bytes[1];

			*second = (uint8_t)(bit ? *second | 0x40 : *second & ~0x40);
		}
		pair->now_ns += pair->step_ns;
		pair_deliver(pair, A);
	}
}

/* TC-A-4: all works with a peer that knows no migration, whatever it writes; but there is nowhere to go with it. */
Test(migrated, peer_without_an_alternate_path_may_send_either_migreq)
{
	RULE("A-7");
	for (int row = 0; row < 4; row++) {
		bool bit = row & 1, loaded = row & 2;
		struct two_paths paths = { 0 };
		struct pair *pair = two_paths_open(&paths, &(struct pair_options){ .retry_cnt = 1 });
		struct uroce_send_wr wr = { .wr_id = 9,
					    .opcode = UROCE_WR_RDMA_READ,
					    .send_flags = UROCE_SEND_SIGNALED };

		if (loaded)
			two_paths_load(pair, A);
		pair_set_word(pair, B, 0, 40);
		for (int i = 0; i < 3; i++) {
			pair_write(pair, 1, 3000);
			pair_read(pair, 2, 3000);
			pair_post(pair, B, wr, 8192, 3000);
			run_with_stranger(pair, bit);
			expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 READ SUCCESS len=3000");
			expect_completes(pair, B, "wr=9 READ SUCCESS len=3000");
		}
		expect_counts(pair, A, CNT_MIGRATION_REFUSED, 0);
		expect_events(pair, A);
		two_paths_expect(pair, A, !loaded ? UROCE_PATH_MIGRATED : bit ? UROCE_PATH_REARM : UROCE_PATH_ARMED, 0);
		/* The path fails: armed by a peer that always writes 0, we migrate, but it does not follow. */
		paths.dead[A][0] = true;
		pair_write(pair, 3, 8);
		pair_settle(pair, 10000000000ull);
		cr_assert_eq(pair->side[A].wcs[0].path, loaded && !bit);
		expect_completes(pair, A, "wr=3 WRITE RETRY_EXC_ERR");
		two_paths_expect(pair, B, UROCE_PATH_MIGRATED, 0);
		cr_assert_eq(pair->side[B].drops[CNT_PORT_ADDRESS], loaded && !bit ? 2 : 0);
		pair_close(pair);
	}
}
