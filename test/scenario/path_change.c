/* path_change.c - software changes the path: packets of two paths overtake each other, or an idle side has none */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "rule.h"
#include "two_paths.h"

/* ---- paths of different lengths ---- */

static int lose_nothing(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	(void)pair, (void)from, (void)number, (void)packet;
	return 1;
}

static void deliver_some(struct pair *pair, enum side_name to, uint32_t packets)
{
	struct side *from = &pair->side[!to];
	uint32_t tail = from->wire_tail, count = tail - from->wire_head;

	from->wire_tail = from->wire_head + (packets < count ? packets : count);
	pair_deliver(pair, to);
	from->wire_tail = tail;
}

/* What a side has sent over the new path overtakes what it has sent over the old one. */
static void overtake(struct side *from)
{
	struct flight sorted[64];
	uint32_t count = from->wire_tail - from->wire_head, n = 0;

	cr_assert_leq(count, 64);
	for (uint8_t path_index = 2; path_index-- > 0;) {
		for (uint32_t i = 0; i < count; i++) {
			struct flight *flight = &from->wire[(from->wire_head + i) % PAIR_IN_FLIGHT];

			if (flight->path.source.bytes[15] == path_index)
				sorted[n++] = *flight;
		}
	}
	for (uint32_t i = 0; i < count; i++)
		from->wire[(from->wire_head + i) % PAIR_IN_FLIGHT] = sorted[i];
}

struct moment {
	enum side_name mover;             /* the side whose software migrates */
	uint32_t to_b, room, to_a, after; /* packets that have moved before; bit n of `after`: few move in round n */
	bool ends_with_read;              /* A's requests: WRITE, READ, WRITE, and perhaps READ and a long WRITE */
};

static void expect_no_loss(struct moment m)
{
	struct two_paths paths = { 0 };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ .mtu = 256, .retry_cnt = 255 });

	two_paths_arm(pair);
	pair->copies = lose_nothing;
	pair_write(pair, 1, 8);
	pair_read(pair, 2, 512);
	pair_write(pair, 3, 8);
	if (m.ends_with_read) {
		pair_read(pair, 4, 256);
		pair_write(pair, 5, 300);
	}
	pair_transmit(pair, A);
	deliver_some(pair, B, m.to_b);
	pair_transmit_some(pair, B, m.room);
	deliver_some(pair, A, m.to_a);
	two_paths_migrate(pair, m.mover);
	for (uint32_t round = 0; round < 4; round++) {
		for (enum side_name side = A; side <= B; side++) {
			pair_transmit(pair, side);
			overtake(&pair->side[side]);
			deliver_some(pair, !side, m.after >> round & 1 ? 1 : 3);
			pair->now_ns += 1000;
		}
	}
	pair_settle(pair, 10000000000);
	cr_assert(peek_state(pair->side[A].qp) == UROCE_QPS_RTS &&
			  pair->side[A].qp->counters[CNT_IMPLIED_NAK_SEQ_ERR] == 0,
		  "%c migrates; %u to B, room for %u, %u to A, then %#x", "AB"[m.mover], m.to_b, m.room, m.to_a,
		  m.after);
	pair_close(pair);
}

/*
 * A READ was answered over the old path, whose packets are dropped since the migration, and an ACK over the new path
 * covers it: nothing was lost, and no retry is spent.
 */
Test(migrated, response_that_left_over_the_old_path_is_no_loss)
{
	RULE("A-4");
	RULE("Q-8");
	for (uint32_t i = 0; i < 2 * 4 * 3 * 3 * 4 * 2; i++)
		expect_no_loss((struct moment){
			.mover = i % 2 ? B : A,
			.to_b = 2 + i / 2 % 4,
			.room = 2 + i / 8 % 3,
			.to_a = i / 24 % 3,
			.after = 1 + i / 72 % 4,
			.ends_with_read = i / 288 % 2,
		});
}

/* ---- an idle side ---- */

/*
 * B has sent a request, and A's ACK was lost: A is armed, and B still in REARM, where it cannot migrate by itself. A
 * has nothing to send when its software migrates. lost: so many packets that show B the new path are lost as well.
 */
static struct pair *open_half_armed(struct two_paths *paths)
{
	struct pair *pair = two_paths_open(paths, &(struct pair_options){ .retry_cnt = 2 });

	two_paths_load(pair, A);
	two_paths_load(pair, B);
	paths->dead[A][0] = true;
	pair_post(
		pair, B,
		(struct uroce_send_wr){ .wr_id = 1, .opcode = UROCE_WR_RDMA_WRITE, .send_flags = UROCE_SEND_SIGNALED },
		0, 8);
	pair_run(pair);
	two_paths_expect(pair, A, UROCE_PATH_ARMED, 0);
	two_paths_expect(pair, B, UROCE_PATH_REARM, 0);
	pair_forget(pair);
	return pair;
}

Test(path_change, idle_side_that_migrates_takes_a_peer_in_rearm_along)
{
	RULE("A-3");
	RULE("A-6");
	for (uint32_t lost = 0; lost < 2; lost++) {
		struct two_paths paths = { .dead[A] = { false, lost } };
		struct pair *pair = open_half_armed(&paths);

		two_paths_migrate(pair, A);
		pair_transmit(pair, A);
		cr_expect(strncmp(pair->side[A].sent[pair->side[A].sent_count - 1], "WRITE_ONLY psn=16777215 migreq",
				  30) == 0);
		paths.dead[A][1] = false;
		cr_assert(pair_settle(pair, 60000000000));
		expect_completes(pair, B, "wr=1 WRITE SUCCESS");
		expect_completes(pair, A);
		two_paths_expect(pair, B, UROCE_PATH_MIGRATED, 1);
		cr_expect_eq(rc_qp_deadline(pair->side[A].qp), RC_NEVER);
		pair_close(pair);
	}
}

/* Nobody waits for an answer: the connection does not end, and a request that is posted then has all its retries. */
Test(path_change, idle_side_with_a_dead_new_path_stays_connected)
{
	struct two_paths paths = { 0 };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ .retry_cnt = 2 });

	RULE("A-3");
	RULE("T-3");
	two_paths_arm(pair);
	paths.dead[A][1] = true;
	two_paths_migrate(pair, A);
	cr_assert(pair_settle(pair, 60000000000));
	cr_expect_eq(peek_state(pair->side[A].qp), UROCE_QPS_RTS);
	expect_sent_count(pair, A, 3);
	expect_completes(pair, A);
	expect_events(pair, A, "PATH_MIG");
	paths.dead[A][1] = false;
	pair_write(pair, 2, 8);
	cr_assert(pair_settle(pair, 60000000000));
	expect_completes(pair, A, "wr=2 WRITE SUCCESS");
	pair_close(pair);
}

/* Without an ACK timer the packet leaves once. */
Test(path_change, idle_side_without_a_timer_sends_one_packet)
{
	struct two_paths paths = { 0 };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ 0 });
	struct uroce_qp_attr attr = two_paths_alternate(pair, A, 1);
	uint32_t bad = 0;

	attr.alt_timeout = 0;
	cr_assert_eq(rc_qp_modify(pair->side[A].qp, &attr, TWO_PATHS_LOAD, &bad), 0);
	two_paths_load(pair, B);
	pair_write(pair, 1, 8);
	pair_run(pair);
	pair_forget(pair);
	paths.dead[A][1] = true;
	two_paths_migrate(pair, A);
	cr_assert(pair_settle(pair, 60000000000));
	expect_sent_count(pair, A, 1);
	cr_expect_eq(peek_state(pair->side[A].qp), UROCE_QPS_RTS);
	pair_close(pair);
}
