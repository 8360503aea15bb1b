/* arming.c - an alternate path: how it is loaded, what MigReq says of it, and how both sides get armed */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TC-I-4. What starts a migration: migration.c.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "rc/migration.h"
#include "rule.h"
#include "two_paths.h"

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* The bit in every line that a side has sent since the last look; each of the names must be among them. */
static void expect_bit(struct pair *pair, enum side_name side, bool bit, const char *const *names)
{
	struct side *from = &pair->side[side];

	for (uint32_t i = 0; i < from->sent_count; i++)
		cr_assert_eq(strstr(from->sent[i], " migreq") != NULL, bit, "%c: %s", "AB"[side], from -> sent[i]);
	for (; *names; names++) {
		bool seen = false;

		for (uint32_t i = 0; i < from->sent_count; i++)
			seen |= strncmp(from->sent[i], *names, strlen(*names)) == 0;
		cr_assert(seen, "%c sent no %s", "AB"[side], *names);
	}
	from->sent_count = 0;
}

/* Every request of A, and every answer of B but NAKs: 10 PSNs. */
static void exchange_each_kind(struct pair *pair)
{
	struct uroce_send_wr wr = { .opcode = UROCE_WR_FLUSH, .flush = UROCE_FLUSH_GLOBAL, .flush_bytes = 64 };

	pair_recv(pair, B, 1, 8192, 8192);
	pair_send(pair, 1, 3000);
	pair_write(pair, 2, 8);
	pair_run(pair);
	pair_read(pair, 3, 3000);
	pair_fetch_add(pair, 4, 1);
	cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0);
	wr.opcode = UROCE_WR_ATOMIC_WRITE;
	cr_assert_eq(pair_post(pair, A, wr, 0, 8), 0);
	pair_run(pair);
}

/* A gap, no receive entry, and a LAST without a FIRST, in packets with A's bit of the moment. */
static void draw_naks(struct pair *pair, uint32_t psn, bool bit)
{
	struct wire_packet packets[] = { write_packet(pair, OP_WRITE_ONLY, psn + 1, 0, 8, 8),
					 send_packet(OP_SEND_ONLY, psn, 8), send_packet(OP_SEND_LAST, psn, 8) };

	for (int i = 0; i < 3; i++) {
		packets[i].flags |= bit ? WIRE_MIGREQ : 0;
		pair_request(pair, packets[i]);
	}
}

enum setting { NONE_LOADED, A_LOADED, B_LOADED, BOTH_ARMED, BOTH_MIGRATED, SETTINGS };

static struct pair *open_in(struct two_paths *paths, enum setting setting)
{
	struct pair *pair = two_paths_open(paths, &(struct pair_options){ 0 });

	if (setting == A_LOADED)
		two_paths_load(pair, A);
	if (setting == B_LOADED)
		two_paths_load(pair, B);
	if (setting >= BOTH_ARMED)
		two_paths_arm(pair);
	if (setting == BOTH_MIGRATED) {
		two_paths_migrate(pair, A);
		two_paths_migrate(pair, B);
	}
	pair_forget(pair);
	return pair;
}

/* The bit is of the state at the moment of sending, whatever the packet: a peer judges by any of them. */
Test(arming, migreq_is_one_in_migrated_and_zero_in_rearm_and_armed)
{
	static const struct {
		bool a, b;
		enum uroce_path_mig_state state_a, state_b;
	} rows[SETTINGS] = {
		[NONE_LOADED] = { 1, 1, UROCE_PATH_MIGRATED, UROCE_PATH_MIGRATED },
		[A_LOADED] = { 0, 1, UROCE_PATH_REARM, UROCE_PATH_MIGRATED },
		[B_LOADED] = { 1, 0, UROCE_PATH_MIGRATED, UROCE_PATH_REARM },
		[BOTH_ARMED] = { 0, 0, UROCE_PATH_ARMED, UROCE_PATH_ARMED },
		[BOTH_MIGRATED] = { 1, 1, UROCE_PATH_MIGRATED, UROCE_PATH_MIGRATED },
	};

	RULE("A-1");
	for (uint32_t setting = 0; setting < SETTINGS; setting++) {
		struct two_paths paths = { 0 };
		struct pair *pair = open_in(&paths, (enum setting)setting);
		uint32_t path_index = setting == BOTH_MIGRATED;

		exchange_each_kind(pair);
		expect_bit(pair, A, rows[setting].a,
			   NAMES("SEND_FIRST", "SEND_MIDDLE", "SEND_LAST", "WRITE_ONLY", "READ_REQUEST", "FETCH_ADD",
				 "FLUSH", "ATOMIC_WRITE"));
		expect_bit(pair, B, rows[setting].b,
			   NAMES("ACK", "READ_RESPONSE_FIRST", "READ_RESPONSE_MIDDLE", "READ_RESPONSE_LAST",
				 "ATOMIC_ACKNOWLEDGE", "READ_RESPONSE_ONLY"));
		expect_done_count(pair, A, 4);
		draw_naks(pair, setting >= BOTH_ARMED ? 11 : 10, rows[setting].a);
		expect_bit(pair, B, rows[setting].b, NAMES("NAK_SEQUENCE", "RNR_NAK", "NAK_INVALID_REQUEST"));
		two_paths_expect(pair, A, rows[setting].state_a, path_index);
		two_paths_expect(pair, B, rows[setting].state_b, path_index);
		pair_close(pair);
	}
}

/* What is sent again carries the bit of now, not that of its first time: a peer in REARM waits for it. */
Test(arming, resend_carries_the_current_migreq)
{
	struct two_paths paths = { .dead[A][0] = true };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ 0 });

	RULE("A-1");
	RULE("Q-10");
	pair_write(pair, 1, 8);
	pair_run(pair);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 migreq ackreq va=0x0 len=8 bytes=8");
	two_paths_load(pair, A);
	pair_fire(pair);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=8 bytes=8");
	pair_close(pair);
}

/* With MigReq 1 the peer says that it has no alternate path: to arm on that would be to migrate alone. */
Test(arming, only_migreq_zero_arms)
{
	struct two_paths paths = { .dead[A][0] = true };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ 0 });
	struct uroce_path stranger = two_paths_path(&paths, B, 0);
	struct wire_packet ack = ack_packet(0, SYNDROME_PLAIN_ACK, 1);

	RULE("A-2");
	pair_write(pair, 1, 8);
	pair_write(pair, 2, 8);
	pair_run(pair);
	two_paths_load(pair, A);
	pair_fire(pair);
	two_paths_expect(pair, A, UROCE_PATH_REARM, 0);
	ack.flags = WIRE_MIGREQ;
	pair_respond(pair, ack);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	two_paths_expect(pair, A, UROCE_PATH_REARM, 0);
	/* Not admitted: from elsewhere, from the path that is only loaded, of another partition. */
	ack = ack_packet(1, SYNDROME_PLAIN_ACK, 2);
	stranger.source.bytes[15] = 7;
	pair->inject_path = &stranger;
	pair_respond(pair, ack);
	stranger = two_paths_path(&paths, B, 1);
	pair_respond(pair, ack);
	pair->inject_path = NULL;
	pair->side[A].qp->pkey = 0x8123;
	pair_respond(pair, ack);
	pair->side[A].qp->pkey = 0xFFFF;
	expect_completes(pair, A);
	two_paths_expect(pair, A, UROCE_PATH_REARM, 0);
	pair_respond(pair, ack);
	expect_completes(pair, A, "wr=2 WRITE SUCCESS");
	two_paths_expect(pair, A, UROCE_PATH_ARMED, 0);
	expect_events(pair, A);
	pair_close(pair);
}

/*
 * The peer is armed by our packet and migrates before we have received its own. It arrives on the loaded path with
 * MigReq 1, which shows that the peer has armed. A QP that waits for MigReq 0 would lose it.
 */
Test(arming, peer_migrating_at_once_is_followed_from_rearm)
{
	struct two_paths paths = { .dead[B][0] = true };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ 0 });

	RULE("A-2");
	RULE("A-6");
	two_paths_load(pair, A);
	two_paths_load(pair, B);
	pair_write(pair, 1, 8);
	pair_run(pair);
	two_paths_expect(pair, A, UROCE_PATH_REARM, 0);
	two_paths_expect(pair, B, UROCE_PATH_ARMED, 0);
	two_paths_migrate(pair, B);
	pair_post(
		pair, B,
		(struct uroce_send_wr){ .opcode = UROCE_WR_RDMA_WRITE, .wr_id = 2, .send_flags = UROCE_SEND_SIGNALED },
		0, 8);
	pair_run(pair);
	two_paths_expect(pair, B, UROCE_PATH_MIGRATED, 1);
	two_paths_expect(pair, A, UROCE_PATH_MIGRATED, 1);
	expect_events(pair, A, "PATH_MIG");
	pair_settle(pair, 1000000000);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	expect_completes(pair, B, "wr=2 WRITE SUCCESS");
	pair_close(pair);
}

/* Any packet arms: a request, a NAK or a duplicate may be all that the peer sends. */
Test(arming, any_packet_with_migreq_zero_arms)
{
	RULE("A-2");
	for (int row = 0; row < 6; row++) {
		struct two_paths paths = { 0 };
		struct pair *pair = two_paths_open(&paths, &(struct pair_options){ .psn_a = 5 });
		struct wire_packet packets[] = {
			write_packet(pair, OP_WRITE_ONLY, 5, 0, 8, 8), send_packet(OP_SEND_ONLY, 5, 8),
			write_packet(pair, OP_WRITE_ONLY, 6, 0, 8, 8), read_packet(pair, 5, 0, 8),
			write_packet(pair, OP_WRITE_ONLY, 4, 0, 8, 8), ack_packet(0xFFFFFF, SYNDROME_PLAIN_ACK, 0),
		};

		pair_request(pair, packets[row]);
		two_paths_expect(pair, B, UROCE_PATH_MIGRATED, 0);
		two_paths_load(pair, B);
		pair_request(pair, packets[row]);
		two_paths_expect(pair, B, UROCE_PATH_ARMED, 0);
		pair_request(pair, packets[row]);
		two_paths_expect(pair, B, UROCE_PATH_ARMED, 0);
		expect_events(pair, B);
		pair_close(pair);
	}
}

static uint32_t lost[2]; /* numbers of packets of lost_from */
static enum side_name lost_from;

static int lose_two(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	(void)pair;
	(void)packet;
	return from != lost_from || (number != lost[0] && number != lost[1]);
}

/* TC-I-4: it is the state of each packet that arms, not one message of a handshake, so none of them is missed. */
Test(arming, both_sides_arm_despite_losses)
{
	RULE("A-2");
	for (uint32_t round = 0; round < 2 * 7 * 7; round++) {
		struct two_paths paths = { 0 };
		struct pair *pair = two_paths_open(&paths, &(struct pair_options){ 0 });
		struct uroce_send_wr wr = { .opcode = UROCE_WR_RDMA_WRITE, .send_flags = UROCE_SEND_SIGNALED };

		lost_from = round / 49 ? B : A;
		lost[0] = round / 7 % 7;
		lost[1] = round % 7;
		pair->copies = lose_two;
		for (uint32_t step = 0; step < 3; step++) {
			if (step == 1)
				two_paths_load(pair, A);
			if (step == 2)
				two_paths_load(pair, B);
			pair_write(pair, step, 8);
			pair_post(pair, B, wr, 4096, 8);
			cr_assert(pair_settle(pair, 10000000000ull), "round %u", round);
		}
		two_paths_expect(pair, A, UROCE_PATH_ARMED, 0);
		two_paths_expect(pair, B, UROCE_PATH_ARMED, 0);
		expect_completes(pair, A, "wr=0 WRITE SUCCESS", "wr=1 WRITE SUCCESS", "wr=2 WRITE SUCCESS");
		expect_done_count(pair, B, 3);
		expect_events(pair, A);
		expect_events(pair, B);
		pair_close(pair);
	}
}

static void expect_refused(struct pair *pair, const struct uroce_qp_attr *attr, uint32_t mask, uint32_t expected_bad)
{
	struct uroce_qp_attr before, after;
	uint32_t bad = 0;

	rc_qp_query(pair->side[A].qp, &before);
	cr_assert_eq(rc_qp_modify(pair->side[A].qp, attr, mask, &bad), -EINVAL);
	cr_assert_eq(bad, expected_bad, "named %#x, not %#x", bad, expected_bad);
	rc_qp_query(pair->side[A].qp, &after);
	cr_assert_eq(memcmp(&before.alt_path, &after.alt_path, sizeof(before.alt_path)), 0);
	cr_assert_eq(before.alt_pkey, after.alt_pkey);
	cr_assert_eq(before.alt_timeout, after.alt_timeout);
	cr_assert_eq(before.path_mig_state, after.path_mig_state);
}

/* TC-I-6: ARMED is the peer's doing, not software's; a value that cannot work is refused when it is set, by name. */
Test(arming, invalid_migration_settings_are_refused)
{
	struct two_paths paths = { 0 };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ 0 });
	struct uroce_qp_attr good = two_paths_alternate(pair, A, 1), attr = good;

	RULE("A-1");
	RULE("X-1");
	expect_refused(pair, &attr, UROCE_QP_PATH_MIG_STATE, UROCE_QP_PATH_MIG_STATE); /* REARM with nothing loaded */
	for (uint32_t state = UROCE_PATH_ARMED; state < 5; state++) {
		attr.path_mig_state = (enum uroce_path_mig_state)state;
		expect_refused(pair, &attr, TWO_PATHS_LOAD, UROCE_QP_PATH_MIG_STATE);
	}
	attr = good;
	attr.alt_timeout = 32;
	expect_refused(pair, &attr, TWO_PATHS_LOAD, UROCE_QP_ALT_PATH);
	attr = good;
	attr.alt_pkey = 0x8000; /* invalid in every table of P_Keys */
	expect_refused(pair, &attr, TWO_PATHS_LOAD, UROCE_QP_ALT_PATH);
	two_paths_load(pair, A);
	attr.path_mig_state = UROCE_PATH_ARMED;
	expect_refused(pair, &attr, UROCE_QP_PATH_MIG_STATE, UROCE_QP_PATH_MIG_STATE);
	/* The peer may be armed already, and would refuse MigReq 1 on the path in use. */
	attr.path_mig_state = UROCE_PATH_MIGRATED;
	expect_refused(pair, &attr, UROCE_QP_PATH_MIG_STATE, UROCE_QP_PATH_MIG_STATE);
	two_paths_expect(pair, A, UROCE_PATH_REARM, 0);
	pair_close(pair);
}

/* Loading and arming are two steps, which may be taken one by one: a loaded path alone changes nothing. */
Test(arming, a_loaded_path_waits_for_rearm)
{
	struct two_paths paths = { 0 };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ 0 });
	struct uroce_qp_attr attr = two_paths_alternate(pair, A, 1);
	uint32_t bad;

	RULE("A-1");
	RULE("A-2");
	cr_assert_eq(rc_qp_modify(pair->side[A].qp, &attr, UROCE_QP_ALT_PATH, &bad), 0);
	two_paths_load(pair, B);
	pair_write(pair, 1, 8);
	pair_run(pair);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 migreq ackreq va=0x0 len=8 bytes=8");
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=1");
	two_paths_expect(pair, A, UROCE_PATH_MIGRATED, 0);
	cr_assert_eq(rc_qp_modify(pair->side[A].qp, &attr, UROCE_QP_PATH_MIG_STATE, &bad), 0);
	pair_write(pair, 2, 8);
	pair_run(pair);
	two_paths_expect(pair, A, UROCE_PATH_ARMED, 0);
	two_paths_expect(pair, B, UROCE_PATH_ARMED, 0);
	pair_close(pair);
}

/* What is in force, before and after: the alternate's values become the path's. */
Test(arming, query_returns_the_path_in_use)
{
	struct two_paths paths = { 0 };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ .timeout = 12 });
	struct uroce_qp_attr attr = two_paths_alternate(pair, A, 1), told;
	struct uroce_path old = two_paths_path(&paths, A, 0);
	uint32_t bad;

	RULE("A-1");
	RULE("A-4");
	attr.alt_pkey = 0x8123;
	attr.alt_timeout = 9;
	attr.alt_path.hop_limit = 3;
	cr_assert_eq(rc_qp_modify(pair->side[A].qp, &attr, TWO_PATHS_LOAD, &bad), 0);
	rc_qp_query(pair->side[A].qp, &told);
	cr_assert_eq(memcmp(&told.alt_path, &attr.alt_path, sizeof(attr.alt_path)), 0);
	cr_assert_eq(told.alt_pkey, 0x8123);
	cr_assert_eq(told.alt_timeout, 9);
	cr_assert_eq(memcmp(&told.path, &old, sizeof(old)), 0);
	cr_assert_eq(told.pkey, 0xFFFF);
	cr_assert_eq(told.timeout, 12);
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 0));
	two_paths_migrate(pair, A);
	rc_qp_query(pair->side[A].qp, &told);
	cr_assert_eq(told.path_mig_state, UROCE_PATH_MIGRATED);
	cr_assert_eq(memcmp(&told.path, &attr.alt_path, sizeof(attr.alt_path)), 0);
	cr_assert_eq(told.pkey, 0x8123);
	cr_assert_eq(told.timeout, 9);
	/* It is used up: to arm again needs another one. */
	expect_refused(pair, &attr, UROCE_QP_PATH_MIG_STATE, UROCE_QP_PATH_MIG_STATE);
	pair_close(pair);
}

/* The next connection has another peer, to which the alternate path does not lead. */
Test(arming, reset_forgets_the_alternate_path)
{
	RULE("A-1");
	RULE("X-1");
	RULE("E-4");
	for (int migrated = 0; migrated < 2; migrated++) {
		struct two_paths paths = { 0 };
		struct pair *pair = two_paths_open(&paths, &(struct pair_options){ .retry_cnt = 255 });
		struct rc_qp *qp = pair->side[A].qp;
		struct uroce_qp_attr attr;
		uint32_t bad;

		two_paths_arm(pair);
		if (migrated)
			two_paths_migrate(pair, A);
		rc_qp_query(qp, &attr);
		attr.path = two_paths_path(&paths, A, 0);
		attr.sq_psn = 0;
		attr.qp_state = UROCE_QPS_RESET;
		cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_STATE, &bad), 0);
		attr.qp_state = UROCE_QPS_INIT;
		cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_STATE | UROCE_QP_ACCESS_FLAGS, &bad), 0);
		attr.qp_state = UROCE_QPS_RTR;
		cr_assert_eq(rc_qp_modify(qp, &attr,
					  UROCE_QP_STATE | UROCE_QP_PATH | UROCE_QP_PATH_MTU | UROCE_QP_DEST_QPN |
						  UROCE_QP_RQ_PSN | UROCE_QP_MAX_DEST_RD_ATOMIC,
					  &bad),
			     0);
		attr.qp_state = UROCE_QPS_RTS;
		cr_assert_eq(rc_qp_modify(qp, &attr,
					  UROCE_QP_STATE | UROCE_QP_TIMEOUT | UROCE_QP_RETRY_CNT | UROCE_QP_RNR_RETRY |
						  UROCE_QP_MAX_RD_ATOMIC | UROCE_QP_SQ_PSN,
					  &bad),
			     0);
		poke_probes(qp, false); /* RESET has brought the default back */
		two_paths_expect(pair, A, UROCE_PATH_MIGRATED, 0);
		attr.path_mig_state = UROCE_PATH_REARM;
		expect_refused(pair, &attr, UROCE_QP_PATH_MIG_STATE, UROCE_QP_PATH_MIG_STATE);
		pair_forget(pair);
		paths.dead[A][0] = true;
		pair_write(pair, 1, 8);
		pair_run(pair);
		expect_leaves(pair, A, "WRITE_ONLY psn=0 migreq ackreq va=0x0 len=8 bytes=8");
		pair_fire(pair);
		cr_assert_eq(pair->side[A].wcs[0].path, 0, "path %u", pair->side[A].wcs[0].path);
		expect_completes(pair, A, "wr=1 WRITE RETRY_EXC_ERR");
		expect_events(pair, A, "QP_FATAL");
		pair_close(pair);
	}
}

/*
 * An idle peer has not received the migration, so MigReq 0 would not make it follow. Rearming is refused until a
 * packet of the peer has arrived over the new path, an ACK or a request; then both sides arm again.
 */
Test(arming, rearm_before_the_peer_has_followed_is_refused)
{
	RULE("A-8");
	RULE("A-6");
	for (int peer_asks = 0; peer_asks < 2; peer_asks++) {
		struct two_paths paths = { 0 };
		struct pair *pair = two_paths_open(&paths, &(struct pair_options){ 0 });
		struct uroce_qp_attr attr;
		uint32_t bad = 0;

		two_paths_arm(pair);
		two_paths_migrate(pair, A);
		attr = two_paths_alternate(pair, A, 0);
		cr_assert_eq(rc_qp_modify(pair->side[A].qp, &attr, TWO_PATHS_LOAD, &bad), -EAGAIN);
		cr_assert_eq(bad, UROCE_QP_PATH_MIG_STATE);
		two_paths_expect(pair, A, UROCE_PATH_MIGRATED, 1);
		two_paths_expect(pair, B, UROCE_PATH_ARMED, 0);
		if (peer_asks) {
			two_paths_migrate(pair, B);
			attr = two_paths_alternate(pair, B, 0);
			cr_assert_eq(rc_qp_modify(pair->side[B].qp, &attr, TWO_PATHS_LOAD, &bad), -EAGAIN);
			pair_post(pair, B, (struct uroce_send_wr){ .opcode = UROCE_WR_RDMA_WRITE }, 0, 8);
		} else {
			pair_write(pair, 1, 8);
		}
		pair_run(pair);
		for (int side = A; side <= B; side++) {
			attr = two_paths_alternate(pair, (enum side_name)side, 0);
			cr_assert_eq(rc_qp_modify(pair->side[side].qp, &attr, TWO_PATHS_LOAD, &bad), 0, "%c",
				     "AB"[side]);
		}
		pair_write(pair, 2, 8);
		pair_run(pair);
		two_paths_expect(pair, A, UROCE_PATH_ARMED, 1);
		two_paths_expect(pair, B, UROCE_PATH_ARMED, 1);
		pair_close(pair);
	}
}

/* Y-3: a stranger who knows addresses, QPN and P_Key still has to hit a PSN that a migrating peer might send. */
Test(arming, forged_migration_needs_a_valid_psn)
{
	static const struct {
		bool response, fits;
		uint32_t psn;
	} rows[] = {
		{ false, true, 1 },
		{ false, true, 0 },
		{ false, true, 1 + ANOMALY_DISTANCE },
		{ false, false, 0x800000 },
		{ false, false, 2 + ANOMALY_DISTANCE },
		{ true, true, 1 },
		{ true, false, 2 },
		{ true, false, 0 },
	};

	RULE("Y-3");
	RULE("A-6");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct two_paths paths = { 0 };
		struct pair *pair = two_paths_open(&paths, &(struct pair_options){ 0 });
		enum side_name at = rows[i].response ? A : B;
		struct uroce_path path = two_paths_path(&paths, at == A ? B : A, 1);
		struct wire_packet packet = rows[i].response ? ack_packet(rows[i].psn, SYNDROME_PLAIN_ACK, 1) :
							       write_packet(pair, OP_WRITE_ONLY, rows[i].psn, 0, 8, 8);

		two_paths_arm(pair); /* a WRITE of A, PSN 0 */
		pair_cut(pair);
		pair_write(pair, 1, 8);
		pair_transmit(pair, A);
		packet.flags |= WIRE_MIGREQ;
		pair->inject_path = &path;
		pair_inject(pair, at, packet);
		two_paths_expect(pair, at, rows[i].fits ? UROCE_PATH_MIGRATED : UROCE_PATH_ARMED, rows[i].fits);
		expect_counts(pair, at, CNT_MIGRATION_REFUSED, !rows[i].fits);
		if (!rows[i].fits)
			cr_assert_eq(pair->side[at].qp->responder.ack.due, 0, "row %zu: it is dropped", i);
		pair_close(pair);
	}
}

/* Far behind ePSN, but in the replay cache: a READ that was not answered is what a peer begins with. */
Test(arming, a_migration_may_begin_with_a_long_read)
{
	RULE("Y-3");
	RULE("A-6");
	for (uint32_t again = 0; again < 2; again++) {
		struct two_paths paths = { 0 };
		struct pair *pair = two_paths_open(&paths, &(struct pair_options){ 0 });
		struct uroce_path path = two_paths_path(&paths, A, 1);
		struct wire_packet packet = read_packet(pair, 1, 0, 8);

		two_paths_arm(pair);
		pair_request(pair, packet);
		poke_expected(pair->side[B].qp, 2 * ANOMALY_DISTANCE);
		packet.psn += !again;
		packet.flags |= WIRE_MIGREQ;
		pair->inject_path = &path;
		pair_inject(pair, B, packet);
		two_paths_expect(pair, B, again ? UROCE_PATH_MIGRATED : UROCE_PATH_ARMED, again);
		pair_close(pair);
	}
}

/* A follower need not wait for another packet of the peer; a leader has to, at each migration. */
Test(arming, follower_may_rearm_and_leader_waits)
{
	struct two_paths paths = { 0 };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ 0 });
	struct uroce_path path = two_paths_path(&paths, A, 1);
	struct wire_packet packet = write_packet(pair, OP_WRITE_ONLY, 0, 0, 8, 8);
	struct rc_qp *b = pair->side[B].qp;

	RULE("A-8");
	two_paths_arm(pair);
	packet.flags |= WIRE_MIGREQ;
	pair->inject_path = &path;
	pair_inject(pair, B, packet); /* once more: nothing moves */
	two_paths_expect(pair, B, UROCE_PATH_MIGRATED, 1);
	cr_assert(rc_migration_may_rearm(b));
	rc_migration_switch(b);
	cr_assert_not(rc_migration_may_rearm(b));
	pair_close(pair);
}
