/* kept_share.c - the store of kept requests: what each queue pair of an lcore may hold of it (S-21) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "agreed.h"
#include "packets.h"
#include "rule.h"
#include "shared_pool.h"

#define HOARDERS 1000u

/* What the QPs of an lcore share, and some QPs. */
struct lcore {
	struct pair *pair;
	struct rc_boards pool;
	struct rc_store store;
	struct rc_board *boards;
	struct rc_qp *qps[HOARDERS];
	uint32_t count;
};

/* ---- those that hoard ---- */

/* A QP of B's that has agreed, and of whose requests the first one, PSN 0, never comes. */
static struct rc_qp *open_hoarder(struct pair *pair, struct rc_boards *pool, uint32_t number, uint32_t peer)
{
	const struct rc_qp_config config = { .qpn = 0x100 + number,
					     .pd = 1,
					     .mrs = &pair->side[B].mrs,
					     .boards = pool,
					     .max_send_wr = 1,
					     .max_recv_wr = 1,
					     .max_send_sge = 1,
					     .max_recv_sge = 1,
					     .max_mtu_bytes = MTU };
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_INIT,
				      .access_flags = UROCE_ACCESS_REMOTE_WRITE,
				      .path_mtu = MTU,
				      .dest_qp_num = 0x11,
				      .path.dest.bytes = { [14] = (uint8_t)(peer >> 8), [15] = (uint8_t)peer },
				      .sack_window = WINDOW_PACKETS };
	struct rc_qp *qp = aligned_alloc(64, rc_qp_bytes(&config));
	uint32_t bad;

	memset(qp, 0, rc_qp_bytes(&config));
	rc_qp_init(qp, &config);
	cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_STATE | UROCE_QP_ACCESS_FLAGS, &bad), 0);
	attr.qp_state = UROCE_QPS_RTR;
	cr_assert_eq(rc_qp_modify(qp, &attr,
				  UROCE_QP_STATE | UROCE_QP_PATH | UROCE_QP_PATH_MTU | UROCE_QP_DEST_QPN |
					  UROCE_QP_RQ_PSN | UROCE_QP_MAX_DEST_RD_ATOMIC | UROCE_QP_MIN_RNR_TIMER |
					  UROCE_QP_SACK_WINDOW,
				  &bad),
		     0, "%#x", bad);
	rc_ports_expect(qp); /* as in RTS */
	return qp;
}

static void come_at(struct pair *pair, struct rc_qp *qp, uint32_t psn)
{
	const struct rc_origin checked = { .source_port = qp->peer_ports.first };
	struct wire_packet packet = write_packet(pair, OP_WRITE_ONLY, psn, 0, 8, 8);

	outbox_reset(&pair->out);
	rc_qp_receive(qp, &packet, &checked, pair->now_ns, &pair->out);
}

/* Packets 1 to `count` come, so that they would have to be kept. */
static void hoard(struct pair *pair, struct rc_qp *qp, uint32_t count)
{
	for (uint32_t i = 1; i <= count; i++)
		come_at(pair, qp, i);
}

static void open_lcore(struct lcore *lcore, uint32_t boards, uint32_t packets)
{
	lcore->pair = pair_open(&(struct pair_options){ 0 });
	lcore->boards = malloc(boards * sizeof(*lcore->boards));
	boards_init(&lcore->pool, lcore->boards, boards);
	rc_store_init(&lcore->store, malloc((packets ? packets : 1) * sizeof(struct rc_kept_packet)), packets);
	lcore->pool.store = &lcore->store;
	lcore->count = 0;
}

/* All boards and packets come back. */
static void close_lcore(struct lcore *lcore)
{
	for (uint32_t i = 0; i < lcore->count; i++) {
		rc_qp_return_boards(lcore->qps[i]);
		free(lcore->qps[i]);
	}
	cr_assert_eq(lcore->store.kept.pool.used, 0);
	cr_assert_eq(lcore->pool.boards.pool.used, 0);
	cr_assert_null(lcore->store.oldest);
	free(lcore->store.packets);
	free(lcore->boards);
	pair_close(lcore->pair);
}

/* One more QP of this peer. */
static struct rc_qp *add(struct lcore *lcore, uint32_t peer)
{
	struct rc_qp *qp = open_hoarder(lcore->pair, &lcore->pool, lcore->count, peer);

	lcore->qps[lcore->count++] = qp;
	return qp;
}

static uint32_t held_by(const struct rc_qp *qp)
{
	return qp_board(qp, BOARD_KEPT) ? qp_board(qp, BOARD_KEPT)->kept.count : 0;
}

/* ---- what a peer may have ---- */

static struct lcore lcore;

Test(kept_share, a_peer_has_at_most_as_much_as_is_free)
{
	struct rc_qp *one, *same, *other;

	RULE("S-21");
	open_lcore(&lcore, 64, 16);
	one = add(&lcore, 1);
	same = add(&lcore, 1);
	other = add(&lcore, 2);
	hoard(lcore.pair, one, 30);
	cr_assert_eq(held_by(one), 8);
	hoard(lcore.pair, same, 30);
	cr_assert_eq(held_by(same), 0, "it is of the same peer");
	hoard(lcore.pair, other, 30);
	cr_assert_eq(held_by(other), 4);
	hoard(lcore.pair, one, 30);
	cr_assert_eq(held_by(one), 8);
	close_lcore(&lcore);
}

/* One packet each takes little room, but a board: losses of other peers need boards, too. */
Test(kept_share, a_peer_has_at_most_as_many_boards_as_are_free)
{
	uint32_t held[2] = { 0 };

	RULE("S-21");
	open_lcore(&lcore, 8, 1000);
	for (uint32_t i = 0; i < 20; i++) {
		struct rc_qp *qp = add(&lcore, i / 10);

		hoard(lcore.pair, qp, 1);
		held[i / 10] += held_by(qp);
	}
	cr_assert_eq(held[0], 2);
	cr_assert_eq(held[1], 1);
	close_lcore(&lcore);
}

/* Even if others have made the share of the peer smaller meanwhile: it has no more than before. */
Test(kept_share, a_stalled_holder_makes_room_for_its_own_peer)
{
	RULE("S-21");
	for (uint32_t others = 0; others < 2; others++) {
		open_lcore(&lcore, 8, 1000);
		for (uint32_t i = 0; i < 3; i++)
			hoard(lcore.pair, add(&lcore, 0), 1);
		cr_assert_eq(lcore.pool.boards.pool.used, 2);
		for (uint32_t i = 0; i < others; i++)
			hoard(lcore.pair, add(&lcore, 1), 1);
		lcore.pair->now_ns += KEPT_PATIENCE_NS;
		hoard(lcore.pair, lcore.qps[2], 1);
		cr_assert_eq(held_by(lcore.qps[2]), 1);
		cr_assert_eq(held_by(lcore.qps[0]), 0);
		cr_assert_eq(lcore.pool.boards.pool.used, 2 + others);
		close_lcore(&lcore);
	}
}

static struct rc_qp *newest[2][HOARDERS];
static uint32_t newest_count[2];

/* One more QP of the peer keeps one packet. */
static bool take(void *context, uint32_t peer)
{
	struct rc_qp *qp = open_hoarder(lcore.pair, context, newest_count[peer], peer);

	newest[peer][newest_count[peer]] = qp;
	hoard(lcore.pair, qp, 1);
	newest_count[peer] += held_by(qp);
	if (held_by(qp) == 0)
		free(qp);
	return newest_count[peer] > 0 && newest[peer][newest_count[peer] - 1] == qp;
}

static void give(void *context, uint32_t peer)
{
	struct rc_qp *qp = newest[peer][--newest_count[peer]];

	(void)context;
	rc_qp_return_boards(qp);
	free(qp);
}

Test(kept_share, a_greedy_peer_leaves_another_one_its_part)
{
	RULE("S-21");
	open_lcore(&lcore, 64, 1000);
	shared_pool_check(&(struct shared_pool){ .context = &lcore.pool, .take = take, .give = give, .least = 8 });
	close_lcore(&lcore);
	open_lcore(&lcore, 1000, 64);
	shared_pool_check(&(struct shared_pool){ .context = &lcore.pool, .take = take, .give = give, .least = 8 });
	close_lcore(&lcore);
}

/* Two that keep as much as they can leave room for a third one, and for all that follow. */
Test(kept_share, third_peer_finds_room_next_to_two_greedy_ones)
{
	const uint32_t count = 512;

	RULE("S-21");
	open_lcore(&lcore, LCORE_BOARDS, count);
	for (uint32_t i = 0; i < 6; i++) {
		struct rc_qp *qp = add(&lcore, i);

		hoard(lcore.pair, qp, count);
		cr_expect_eq(held_by(qp), count >> (i + 1), "number %u has %u", i, held_by(qp));
	}
	close_lcore(&lcore);
}

/* ---- those whose missing packet does not come ---- */

Test(kept_share, stalled_holder_is_evicted_for_another)
{
	struct rc_qp *stalled, *other;

	RULE("S-21");
	open_lcore(&lcore, 64, 1);
	stalled = add(&lcore, 1);
	other = add(&lcore, 2);
	hoard(lcore.pair, stalled, 1);
	cr_assert_eq(held_by(stalled), 1);
	lcore.pair->now_ns += KEPT_PATIENCE_NS - 1;
	hoard(lcore.pair, other, 1);
	cr_assert_eq(held_by(other), 0);
	lcore.pair->now_ns++;
	hoard(lcore.pair, other, 1);
	cr_assert_eq(held_by(other), 1);
	cr_assert_eq(held_by(stalled), 0);
	close_lcore(&lcore);
}

/* Else a peer that never fills its hole would hold the room again with its next packet, for as long. */
Test(kept_share, evicted_holder_gets_no_room_until_its_gap_is_filled)
{
	struct rc_qp *stalled, *other;

	RULE("S-21");
	open_lcore(&lcore, 64, 1);
	stalled = add(&lcore, 1);
	other = add(&lcore, 2);
	hoard(lcore.pair, stalled, 1);
	lcore.pair->now_ns += KEPT_PATIENCE_NS;
	hoard(lcore.pair, other, 1);
	cr_assert_eq(held_by(stalled), 0);
	rc_qp_return_boards(other);
	hoard(lcore.pair, stalled, 8);
	cr_assert_eq(held_by(stalled), 0);
	come_at(lcore.pair, stalled, 0);
	come_at(lcore.pair, stalled, 2);
	cr_assert_eq(held_by(stalled), 1);
	close_lcore(&lcore);
}

/* The rule is one for peers: with many QPs nobody takes what honest peers have, one after the other. */
Test(kept_share, a_peer_takes_nothing_from_one_that_has_less)
{
	struct rc_qp *greedy, *more, *honest;

	RULE("S-21");
	open_lcore(&lcore, 64, 16);
	honest = add(&lcore, 1);
	greedy = add(&lcore, 2);
	more = add(&lcore, 2);
	hoard(lcore.pair, honest, 2);
	lcore.pair->now_ns++;
	hoard(lcore.pair, greedy, 30);
	cr_assert_eq(held_by(greedy), 7);
	lcore.pair->now_ns += KEPT_PATIENCE_NS;
	hoard(lcore.pair, more, 1);
	cr_assert_eq(held_by(more), 0);
	cr_assert_eq(held_by(honest), 2);
	close_lcore(&lcore);
}

/*
 * A thousand peers never fill their hole. They get no more memory than an lcore has, and an honest peer with a loss
 * continues: first without that memory, and with it after the timeout.
 */
Test(kept_share, thousand_hoarders_are_bounded_and_an_honest_peer_continues)
{
	uint64_t lost = 1 << 1;
	struct pair *pair = open_losing(&lost, 0);
	struct rc_store *of_b = pair->side[B].pool.store;

	RULE("S-21");
	open_lcore(&lcore, LCORE_BOARDS, LCORE_KEPT);
	pair->side[B].pool.store = &lcore.store;
	for (uint32_t i = 0; i < HOARDERS; i++) {
		hoard(lcore.pair, add(&lcore, i), 20);
		cr_assert_leq(lcore.store.touched, LCORE_KEPT);
	}
	cr_assert_eq(lcore.store.kept.pool.used, LCORE_KEPT);
	pair_write(pair, 1, 10 * MTU);
	cr_assert(pair_settle(pair, 1000000000));
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	expect_counts(pair, B, CNT_KEPT, 0);
	pair->now_ns += KEPT_PATIENCE_NS;
	lost = 1ull << (pair->side[A].packets + 1);
	pair_write(pair, 2, 10 * MTU);
	cr_assert(pair_settle(pair, 1000000000));
	expect_completes(pair, A, "wr=2 WRITE SUCCESS");
	expect_counts(pair, B, CNT_KEPT, 8);
	cr_assert_leq(lcore.store.touched, LCORE_KEPT);
	rc_qp_return_boards(pair->side[B].qp);
	close_lcore(&lcore);
	pair->side[B].pool.store = of_b;
	close_agreed(pair);
}

/*
 * The store is full and peers continue to send: those without room hold nothing, and a stalled holder gives up
 * exactly as much as others get.
 */
Test(kept_share, holder_without_room_holds_nothing_and_the_store_is_bounded)
{
	const uint32_t few = 5; /* packets that there is room for */

	RULE("S-21");
	open_lcore(&lcore, LCORE_BOARDS, few);
	for (uint32_t i = 0; i < 10; i++)
		hoard(lcore.pair, add(&lcore, i), 20);
	cr_assert_eq(lcore.store.kept.pool.used, few);
	cr_assert_leq(lcore.pool.boards.pool.used, few);
	for (uint32_t i = 0; i < 10; i++) {
		lcore.pair->now_ns += KEPT_PATIENCE_NS;
		hoard(lcore.pair, lcore.qps[9 - i], 20);
		cr_assert_leq(lcore.store.kept.pool.used, few);
		cr_assert_leq(lcore.store.touched, few);
	}
	close_lcore(&lcore);
}
