/* kept_share.c - the store of kept requests: what each queue pair of an lcore may hold of it (S-21) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "agreed.h"
#include "packets.h"
#include "rule.h"

/* ---- memory ---- */

static struct rc_store *own; /* of the second connection, while it shares that of the first */

/* Two connections whose ends B share the store of the first one's, cut down to `count` packets. */
static void share(struct pair *pairs[2], uint32_t count)
{
	struct rc_store *store;

	for (uint32_t i = 0; i < 2; i++)
		pairs[i] = open_agreed(0);
	store = pairs[0]->side[B].pool.store;
	rc_store_init(store, store->packets, count);
	own = pairs[1]->side[B].pool.store;
	pairs[1]->side[B].pool.store = store;
}

static void close_sharing(struct pair *pairs[2])
{
	for (uint32_t i = 0; i < 2; i++)
		rc_qp_return_boards(pairs[i]->side[B].qp);
	cr_assert_eq(pairs[0]->side[B].pool.store->used + pairs[0]->side[B].pool.store->holders, 0);
	pairs[1]->side[B].pool.store = own;
	for (uint32_t i = 0; i < 2; i++)
		close_agreed(pairs[i]);
}

/* One packet from a peer that never fills its hole: what comes at psn 0xFFFFFD is missing. */
static void come_early(struct pair *pair, uint32_t number)
{
	pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 0xFFFFFD + number, 0, 8, 8));
}

static uint32_t held_by(const struct pair *pair)
{
	return pair->side[B].qp->kept.map ? pair->side[B].qp->kept.map->kept.count : 0;
}

Test(kept_share, a_holder_has_at_most_as_much_as_is_free)
{
	struct pair *pairs[2];

	RULE("S-21");
	share(pairs, 16);
	for (uint32_t i = 1; i < 30; i++)
		come_early(pairs[0], i);
	cr_assert_eq(held_by(pairs[0]), 8);
	for (uint32_t i = 1; i < 30; i++)
		come_early(pairs[1], i);
	cr_assert_eq(held_by(pairs[1]), 4);
	for (uint32_t i = 1; i < 30; i++)
		come_early(pairs[0], i);
	cr_assert_eq(held_by(pairs[0]), 8);
	close_sharing(pairs);
}

Test(kept_share, stalled_holder_is_evicted_for_another)
{
	struct pair *pairs[2];

	RULE("S-21");
	share(pairs, 1);
	come_early(pairs[0], 1);
	cr_assert_eq(held_by(pairs[0]), 1);
	pairs[1]->now_ns = pairs[0]->now_ns + KEPT_PATIENCE_NS - 1;
	come_early(pairs[1], 1);
	cr_assert_eq(held_by(pairs[1]), 0);
	pairs[1]->now_ns++;
	come_early(pairs[1], 2);
	cr_assert_eq(held_by(pairs[1]), 1);
	cr_assert_eq(held_by(pairs[0]), 0);
	close_sharing(pairs);
}

/* Else a peer that never fills its hole would hold the room again with its next packet, for as long. */
Test(kept_share, evicted_holder_gets_no_room_until_its_gap_is_filled)
{
	struct pair *pairs[2];

	RULE("S-21");
	share(pairs, 1);
	come_early(pairs[0], 1);
	pairs[1]->now_ns = pairs[0]->now_ns += KEPT_PATIENCE_NS;
	come_early(pairs[1], 1);
	cr_assert_eq(held_by(pairs[0]), 0);
	rc_kept_forget(pairs[1]->side[B].qp);
	for (uint32_t i = 1; i < 9; i++)
		come_early(pairs[0], i);
	cr_assert_eq(held_by(pairs[0]), 0);
	come_early(pairs[0], 0);
	come_early(pairs[0], 2);
	cr_assert_eq(held_by(pairs[0]), 1);
	close_sharing(pairs);
}

/* ---- very many that hoard ---- */

#define HOARDERS 1000u

/* A QP of B's that has agreed, and of whose requests the first one, PSN 0, never comes. */
static struct rc_qp *open_hoarder(struct pair *pair, struct rc_boards *pool, uint32_t number)
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

/* Packets 1 to `count` come, so that they would have to be kept. */
static void hoard(struct pair *pair, struct rc_qp *qp, uint32_t count)
{
	const struct rc_origin checked = { .source_port = qp->peer_ports.first };

	for (uint32_t i = 1; i <= count; i++) {
		struct wire_packet packet = write_packet(pair, OP_WRITE_ONLY, i, 0, 8, 8);

		outbox_reset(&pair->out);
		rc_qp_receive(qp, &packet, &checked, pair->now_ns, &pair->out);
	}
}

/* Two that keep as much as they can leave room for a third one, and for all that follow. */
Test(kept_share, third_holder_finds_room_next_to_two_greedy_ones)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct rc_board *boards = malloc(LCORE_BOARDS * sizeof(*boards));
	struct rc_qp *hoarders[6];
	struct rc_store store;
	struct rc_boards pool;
	uint32_t count = 512;

	RULE("S-21");
	boards_init(&pool, boards, LCORE_BOARDS);
	rc_store_init(&store, malloc(count * sizeof(struct rc_kept_packet)), count);
	pool.store = &store;
	for (uint32_t i = 0; i < 6; i++) {
		hoarders[i] = open_hoarder(pair, &pool, i);
		hoard(pair, hoarders[i], count);
		cr_expect_eq(hoarders[i]->kept.map->kept.count, count >> (i + 1), "number %u has %u", i,
			     hoarders[i]->kept.map->kept.count);
	}
	for (uint32_t i = 0; i < 6; i++) {
		rc_qp_return_boards(hoarders[i]);
		free(hoarders[i]);
	}
	free(store.packets);
	free(boards);
	pair_close(pair);
}

/*
 * A thousand peers never fill their hole. They get no more memory than an lcore has, and an honest peer with a loss
 * continues: first without that memory, and with it after the timeout.
 */
Test(kept_share, thousand_hoarders_are_bounded_and_an_honest_peer_continues)
{
	uint64_t lost = 1 << 1;
	struct pair *pair = open_losing(&lost, 0);
	struct rc_store store, *of_b = pair->side[B].pool.store;
	struct rc_board *boards = malloc(LCORE_BOARDS * sizeof(*boards));
	struct rc_qp *hoarders[HOARDERS];
	struct rc_boards pool;

	RULE("S-21");
	boards_init(&pool, boards, LCORE_BOARDS);
	rc_store_init(&store, malloc(LCORE_KEPT * sizeof(struct rc_kept_packet)), LCORE_KEPT);
	pool.store = pair->side[B].pool.store = &store;
	for (uint32_t i = 0; i < HOARDERS; i++) {
		hoarders[i] = open_hoarder(pair, &pool, i);
		hoard(pair, hoarders[i], 20);
		cr_assert_leq(store.used, LCORE_KEPT);
	}
	cr_assert_eq(store.used, LCORE_KEPT);
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
	cr_assert_leq(store.used, LCORE_KEPT);
	for (uint32_t i = 0; i < HOARDERS; i++) {
		rc_qp_return_boards(hoarders[i]);
		free(hoarders[i]);
	}
	cr_assert_eq(store.used + store.holders, 0);
	pair->side[B].pool.store = of_b;
	free(store.packets);
	free(boards);
	close_agreed(pair);
}

/*
 * The store is full and peers continue to send: those without room hold nothing, and a stalled holder gives up
 * exactly as much as others get.
 */
Test(kept_share, holder_without_room_holds_nothing_and_the_store_is_bounded)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct rc_board *boards = malloc(LCORE_BOARDS * sizeof(*boards));
	struct rc_qp *hoarders[HOARDERS];
	struct rc_store store;
	struct rc_boards pool;
	uint32_t few = 5; /* of packets that there is room for */

	RULE("S-21");
	boards_init(&pool, boards, LCORE_BOARDS);
	rc_store_init(&store, malloc(few * sizeof(struct rc_kept_packet)), few);
	pool.store = &store;
	for (uint32_t i = 0; i < 10; i++) {
		hoarders[i] = open_hoarder(pair, &pool, i);
		hoard(pair, hoarders[i], 20);
	}
	cr_assert_eq(store.used, few);
	cr_assert_leq(store.holders, few, "%u queue pairs hold %u packets", store.holders, store.used);
	for (uint32_t i = 0; i < 10; i++) {
		pair->now_ns += KEPT_PATIENCE_NS;
		hoard(pair, hoarders[9 - i], 20);
		cr_assert_leq(store.used, few);
		cr_assert_leq(store.touched, few);
	}
	for (uint32_t i = 0; i < 10; i++) {
		rc_qp_return_boards(hoarders[i]);
		free(hoarders[i]);
	}
	cr_assert_eq(store.used + store.holders, 0);
	free(store.packets);
	free(boards);
	pair_close(pair);
}

/* One packet each takes little room, but a board: READs and what is in flight need boards, too. */
Test(kept_share, half_of_the_boards_are_for_other_uses)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct rc_board *boards = malloc(8 * sizeof(*boards));
	struct rc_qp *hoarders[10];
	struct rc_store store;
	struct rc_boards pool;

	RULE("S-21");
	boards_init(&pool, boards, 8);
	rc_store_init(&store, malloc(LCORE_KEPT * sizeof(struct rc_kept_packet)), LCORE_KEPT);
	pool.store = &store;
	for (uint32_t i = 0; i < 10; i++) {
		hoarders[i] = open_hoarder(pair, &pool, i);
		hoard(pair, hoarders[i], 1);
	}
	cr_assert_eq(store.holders, 4);
	pair->now_ns += KEPT_PATIENCE_NS;
	hoard(pair, hoarders[9], 1);
	cr_assert_eq(hoarders[9]->kept.map->kept.count, 1);
	cr_assert_eq(store.holders, 4);
	for (uint32_t i = 0; i < 10; i++) {
		rc_qp_return_boards(hoarders[i]);
		free(hoarders[i]);
	}
	free(store.packets);
	free(boards);
	pair_close(pair);
}
