/* kept.c - requests that come before their turn: kept, executed in it, and bounded (S-21, S-22) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "agreed.h"
#include "packets.h"
#include "peek.h"
#include "rule.h"

/* ---- what is visible ---- */

Test(kept, out_of_order_packets_are_invisible_until_executed)
{
	uint64_t lost = 1 << 1;
	struct pair *pair = open_losing(&lost, 2);
	uint32_t msn;

	RULE("S-21");
	memset(pair->side[B].memory, 0xEE, 4 * MTU);
	msn = peek_msn(pair->side[B].qp);
	pair_write(pair, 1, 4 * MTU);
	pair_send(pair, 2, 10);
	pair_transmit(pair, A);
	pair_deliver(pair, B);
	cr_assert_eq(kept_by_b(pair), 3);
	for (uint32_t i = MTU; i < 4 * MTU; i++)
		cr_assert_eq(pair->side[B].memory[i], 0xEE, "byte %u", i);
	cr_assert_eq(peek_msn(pair->side[B].qp), msn);
	expect_completes(pair, B);
	pair_run(pair);
	cr_assert_eq(memcmp(pair->side[B].memory, pair->side[A].memory, 4 * MTU), 0);
	expect_completes(pair, B, "wr=1000 RECV SUCCESS len=10");
	expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 SEND SUCCESS");
	close_agreed(pair);
}

/* ---- who has not agreed, and who refuses ---- */

Test(kept, peer_without_the_agreement_receives_plain_rc)
{
	uint64_t lost = 1 << 1;
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU, .psn_a = 5 });

	RULE("S-22");
	RULE("K-SEQ");
	pair->copies = lose_of_a;
	pair->user = &lost;
	pair_write(pair, 1, 3 * MTU);
	pair_run(pair);
	expect_leaves(pair, B, "NAK_SEQUENCE psn=6 msn=0", "ACK psn=7 credit=31 msn=1");
	pair_request(pair, (struct wire_packet){ .opcode = OP_PROBE, .control_kind = WIRE_PROBE_KIND });
	pair_respond(pair, (struct wire_packet){ .opcode = OP_SACK, .cack_psn = 7 });
	expect_leaves(pair, B);
	cr_assert_eq(pair->side[A].drops[CNT_PORT_OTHER_CLASS], 1);
	cr_assert_eq(pair->side[B].drops[CNT_PORT_OTHER_CLASS], 1);
	pair_close(pair);
}

/* The peer resends all packets after an RNR NAK, so neither kept nor later packets are stored. */
Test(kept, rnr_nak_drops_kept_packets)
{
	uint64_t lost = 1 << 0;
	struct pair *pair = open_losing(&lost, 0);

	RULE("S-21");
	RULE("R-3");
	pair_write(pair, 1, 10);
	pair_send(pair, 2, 20);
	for (uint32_t i = 3; i < 6; i++)
		pair_write(pair, i, 10);
	pair_transmit(pair, A);
	pair_deliver(pair, B);
	cr_assert_eq(kept_by_b(pair), 4);
	pair_transmit(pair, B);
	pair_deliver(pair, A);
	pair_transmit(pair, A);
	pair_deliver(pair, B);
	cr_assert_eq(kept_by_b(pair), 0);
	expect_counts(pair, B, CNT_OUT_OF_BUFFER, 1);
	pair_recv(pair, B, 7, 0, 64);
	cr_assert(pair_settle(pair, 1000000000));
	expect_completes(pair, B, "wr=7 RECV SUCCESS len=20");
	expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 SEND SUCCESS", "wr=3 WRITE SUCCESS", "wr=4 WRITE SUCCESS",
			 "wr=5 WRITE SUCCESS");
	close_agreed(pair);
}

/* Packets after the refused one are not reported; the NAK leaves first. */
Test(kept, a_probe_behind_a_refused_packet_draws_the_nak_first)
{
	const struct wire_packet probe = { .opcode = OP_PROBE, .control_kind = WIRE_PROBE_KIND, .probe_id = 3 };
	struct pair *pair = open_agreed(0);

	RULE("S-22");
	RULE("R-3");
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 0xFFFFFD + 200, 4));
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 0xFFFFFD, 4));
	pair_inject(pair, B, probe);
	pair_transmit(pair, B);
	expect_leaves(pair, B, "RNR_NAK psn=16777213 timer=12 msn=0");
	pair_request(pair, send_packet(OP_SEND_ONLY, 0xFFFFFE, 4));
	expect_leaves(pair, B);
	cr_assert_eq(kept_by_b(pair), 0);
	pair_request(pair, probe);
	expect_leaves(pair, B,
		      "SACK psn=16777212 probe=3 entropy=0xface cack=16777212 mpr=0 map=-60:0x1fffffffffffffff kept=0",
		      "SACK psn=16777212 probe=3 entropy=0xface cack=16777212 mpr=0 map=+4:0x0000000000000000 kept=0",
		      "ACK psn=16777212 credit=31 msn=0");
	close_agreed(pair);
}

/* A packet with all fields but the ICRC correct fills no gap. */
Test(kept, a_packet_with_a_wrong_icrc_is_not_kept)
{
	struct pair *pair = open_agreed(0);

	RULE("S-21");
	RULE("W-3");
	pair->inject_damage = true;
	for (uint32_t i = 1; i < 100 && !pair->side[B].checked; i++) /* else it is refused before it gets here */
		pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 0xFFFFFD + i, 0, 8, 8));
	cr_assert_eq(kept_by_b(pair), 0);
	cr_assert_null(qp_board(pair->side[B].qp, BOARD_KEPT));
	close_agreed(pair);
}

/* Another gap lies behind the one that is filled: SACKs go on, and it is the same loss. */
Test(kept, sack_reports_a_second_gap_after_the_first_is_filled)
{
	struct pair *pair = open_with((struct pair_options){ .receives = 0 });

	RULE("S-21");
	RULE("S-22");
	pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 2, 0, 8, 8));
	pair_transmit(pair, B);
	pair_forget(pair);
	pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 0, 0, 8, 8));
	expect_leaves(pair, B, "SACK psn=0 ack=+2 entropy=0xface cack=0 mpr=0 map=+0:0x0000000000000005 kept=1",
		      "ACK psn=0 credit=31 msn=1");
	pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 3, 0, 8, 8));
	expect_counts(pair, B, CNT_OUT_OF_SEQUENCE, 1);
	cr_assert_eq(kept_by_b(pair), 2);
	close_agreed(pair);
}

/* How many boards of a side are lent. */
static uint32_t boards_lent(const struct pair *pair, enum side_name side)
{
	return pair->side[side].pool.boards.pool.used;
}

/* Software ends the connection while packets are kept, parts of a READ are owed and packets are spread. */
Test(kept, qp_that_software_moves_to_error_returns_its_boards)
{
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_ERR };
	struct pair *pair = open_spread(4, 0);
	uint32_t bad;

	RULE("S-21");
	pair_request(pair, read_packet(pair, 0xFFFFFD, 0, 4 * MTU));
	pair_inject(pair, B, read_packet(pair, 0xFFFFFE, MTU, MTU));
	pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 0xFFFFFD + 6, 0, 8, 8));
	cr_assert_eq(kept_by_b(pair), 1);
	cr_assert_eq(boards_lent(pair, B), 3);
	cr_assert_eq(rc_qp_modify(pair->side[B].qp, &attr, UROCE_QP_STATE, &bad), 0);
	cr_expect_eq(kept_by_b(pair), 0);
	cr_expect_eq(boards_lent(pair, B), 0);
	pair_forget(pair);
	pair_transmit(pair, B);
	expect_leaves(pair, B);
	close_agreed(pair);
}

/* The NAK ends the connection; a SACK beside it would describe packets that were dropped. */
Test(kept, fatal_nak_leaves_without_a_sack)
{
	struct pair *pair = open_with((struct pair_options){ .receives = 0 });
	struct wire_packet bad = write_packet(pair, OP_WRITE_ONLY, 0, 0, 8, 8);

	RULE("S-22");
	RULE("K-0");
	bad.rkey++;
	pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 200, 0, 8, 8));
	pair_inject(pair, B, bad);
	pair_transmit(pair, B);
	expect_leaves(pair, B, "NAK_REMOTE_ACCESS psn=0 msn=0");
	close_agreed(pair);
}

/* The missing packet arrives in the same burst: the ACK says it all. A PROBE is answered nevertheless. */
Test(kept, gap_closed_within_a_burst_draws_only_an_ack)
{
	const struct wire_packet probe = { .opcode = OP_PROBE, .control_kind = WIRE_PROBE_KIND, .probe_id = 3 };

	RULE("S-22");
	for (int probed = 0; probed < 2; probed++) {
		struct pair *pair = open_with((struct pair_options){ .receives = 0 });

		pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 2, 0, 8, 8));
		pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 1, 0, 8, 8));
		if (probed)
			pair_inject(pair, B, probe);
		pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 0, 0, 8, 8));
		pair_transmit(pair, B);
		if (!probed)
			expect_leaves(pair, B, "ACK psn=2 credit=31 msn=3");
		else
			cr_expect(strncmp(pair->side[B].sent[0], "SACK psn=2 probe=3", 18) == 0, "%s",
				  pair->side[B].sent[0]);
		close_agreed(pair);
	}
}

/* A QP in error keeps nothing. */
Test(kept, fatal_request_drops_kept_packets)
{
	struct pair *pair = open_with((struct pair_options){ .receives = 0 });
	struct wire_packet bad = write_packet(pair, OP_WRITE_ONLY, 0, 0, 8, 8);

	RULE("S-21");
	bad.rkey++;
	pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 1, 0, 8, 8));
	cr_assert_eq(kept_by_b(pair), 1);
	pair_inject(pair, B, bad);
	cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_ERR);
	cr_assert_eq(kept_by_b(pair), 0);
	close_agreed(pair);
}

/* More kept packets than completion entries: the rest is executed in the next call. */
Test(kept, long_run_of_kept_packets_is_executed_in_parts)
{
	struct pair *pair = open_with((struct pair_options){ .depth = 512, .receives = 400 });

	RULE("S-21");
	for (uint32_t i = 1; i < 400; i++)
		pair_inject(pair, B, send_packet(OP_SEND_ONLY, i, 4));
	cr_assert_eq(kept_by_b(pair), 399);
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 0, 4));
	cr_assert_eq(pair->side[B].done_count, OUTBOX_COMPLETIONS - OUTBOX_RECEIVE_COMPLETIONS + 1);
	pair_run(pair);
	cr_assert_eq(pair->side[B].done_count, 400);
	for (uint32_t i = 0; i < 400; i++)
		cr_assert_eq(pair->side[B].wcs[i].wr_id, 1000 + i);
	cr_assert_eq(kept_by_b(pair), 0);
	close_agreed(pair);
}

/* ---- what is told ---- */

/* A bit for each block of PSNs, counted from PSN 0, that B's SACKs have told of; then they are forgotten. */
static uint32_t take_told(struct pair *pair, uint32_t *count)
{
	uint32_t told = 0, cack;
	int offset;

	for (uint32_t i = 0; i < pair->side[B].sent_count; i++) {
		const char *line = pair->side[B].sent[i], *at = strstr(line, "cack=");

		if (!at)
			continue;
		cr_assert_eq(sscanf(at, "cack=%u mpr=0 map=%d:", &cack, &offset), 2, "%s", line);
		told |= 1u << ((cack + (uint32_t)offset) & 0xFFFFFF) / KEPT_BLOCK;
		*count += 1;
	}
	pair_forget(pair);
	return told;
}

/* From PSN 0 on nothing has come but the third packet of each block behind the first one. */
static struct pair *open_with_holes(uint32_t blocks)
{
	struct pair *pair = open_with((struct pair_options){ .receives = 0 });

	for (uint32_t i = 1; i < blocks; i++)
		pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, i * KEPT_BLOCK + 2, 0, 8, 8));
	return pair;
}

/* SACKs may be lost: blocks far from both ends are repeated though no new packet of them arrived. */
Test(kept, every_block_is_repeated_in_sacks_while_packets_arrive)
{
	struct pair *pair = open_with_holes(5);
	uint32_t told = 0, count = 0;

	RULE("S-22");
	pair_transmit(pair, B);
	cr_assert_eq(take_told(pair, &count), 0x1F);
	count = 0;
	for (uint32_t i = 0; i < 8; i++) {
		pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 4 * KEPT_BLOCK + 3 + i, 0, 8, 8));
		told |= take_told(pair, &count);
	}
	cr_assert_eq(told, 0x1F, "%#x", told);
	cr_assert_leq(count, 20, "each packet draws one of its block and of the first, and one more every other time");
	close_agreed(pair);
}

Test(kept, all_blocks_are_reported_with_room_for_one_frame_at_a_time)
{
	struct pair *pair = open_with_holes(5);
	uint32_t calls = 0, count = 0;

	RULE("S-22");
	while (pair_transmit_some(pair, B, 1))
		cr_assert_lt(++calls, 8);
	cr_assert_eq(take_told(pair, &count), 0x1F);
	cr_assert_eq(count, 5);
	close_agreed(pair);
}

/* ---- random losses ---- */

struct fate {
	uint64_t random;
	uint32_t permille;
};

/* SplitMix64 */
static uint64_t draw(struct fate *fate, uint64_t below)
{
	uint64_t z = fate->random += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return (z ^ z >> 31) % below;
}

static int random_fate(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	struct fate *fate = pair->user;
	uint64_t drawn = draw(fate, 1000);

	(void)from, (void)number, (void)packet;
	return drawn < fate->permille ? 0 : drawn > 980 ? 2 : 1;
}

static void post_some(struct pair *pair, struct fate *fate, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t kind = draw(fate, 8);
		uint32_t bytes = (uint32_t)draw(fate, 20 * MTU);

		if (kind < 3)
			pair_write(pair, i, bytes);
		else if (kind < 5)
			pair_send(pair, i, bytes);
		else if (kind < 7)
			pair_read(pair, i, bytes);
		else
			pair_fetch_add(pair, i, 1);
	}
}

Test(kept, random_losses_keep_completions_once_and_in_order)
{
	RULE("S-21");
	RULE("T-7");
	for (uint32_t seed = 1; seed <= 60; seed++) {
		struct fate fate = { .random = seed, .permille = 10u << seed % 5 };
		struct pair *pair = open_agreed(24);

		pair->crowd = seed % 2 ? OUTBOX_COMPLETIONS - 4 : 0;
		pair->copies = random_fate;
		pair->user = &fate;
		post_some(pair, &fate, 40);
		cr_assert(pair_settle(pair, 60000000000), "seed %u", seed);
		cr_assert_eq(pair->side[A].done_count, 40, "seed %u", seed);
		for (uint32_t i = 0; i < 40; i++) {
			cr_assert_eq(pair->side[A].wcs[i].wr_id, i, "seed %u", seed);
			cr_assert_eq(pair->side[A].wcs[i].status, UROCE_WC_SUCCESS, "seed %u: %s", seed,
				     pair->side[A].done[i]);
		}
		cr_assert_eq(kept_by_b(pair), 0, "seed %u", seed);
		close_agreed(pair);
	}
}
