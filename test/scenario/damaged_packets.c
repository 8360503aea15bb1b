/* damaged_packets.c - damaged packets that are placed while the ICRC is checked have no other effect */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All scenarios hand over packets whose ICRC nobody has looked at; with UROCE_PAIR_CHECKED in the environment it is
 * known to be right, as with check_icrc_first, and they have to come out the same.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "rule.h"
#include "two_paths.h"

#define EMPTY 0x33

static void place_while_checking(void)
{
	unsetenv("UROCE_PAIR_CHECKED");
}

TestSuite(damaged_packets, .init = place_while_checking);

static bool is_filled(const struct pair *pair, enum side_name side, uint8_t value, uint64_t offset, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++) {
		if (pair->side[side].memory[offset + i] != value)
			return false;
	}
	return true;
}

static void inject_damaged(struct pair *pair, enum side_name to, struct wire_packet packet)
{
	pair->inject_damage = true;
	pair_inject(pair, to, packet);
	pair->inject_damage = false;
}

/* Every kind of request, damaged first and right afterwards: only the second one counts. */
Test(damaged_packets, damaged_request_has_no_effect)
{
	static const uint8_t kinds[] = { OP_SEND_ONLY, OP_SEND_FIRST,   OP_WRITE_ONLY,   OP_WRITE_FIRST,
					 OP_FETCH_ADD, OP_READ_REQUEST, OP_SEND_ONLY_IMM };

	RULE("W-3");
	RULE("S-1");
	for (size_t i = 0; i < sizeof(kinds); i++) {
		struct pair *pair = pair_open(&(struct pair_options){ .receives = 1 });
		bool payload = wire_opcode(kinds[i])->payload, last = wire_opcode(kinds[i])->last;
		struct wire_packet packet = write_packet(pair, kinds[i], 0, 0, last ? 1024 : 3000, payload ? 1024 : 0);

		if (kinds[i] == OP_SEND_ONLY || kinds[i] == OP_SEND_FIRST || kinds[i] == OP_SEND_ONLY_IMM)
			packet.va = 0;
		inject_damaged(pair, B, packet);
		pair_transmit(pair, B);
		expect_leaves(pair, B);
		expect_completes(pair, B);
		cr_assert_eq(pair->side[B].drops[CNT_PORT_RX_ICRC], 1, "%s", wire_opcode(kinds[i])->name);
		cr_assert_eq(peek_expected(pair->side[B].qp), 0);
		cr_assert_eq(pair->side[B].qp->responder.in_progress, WIRE_KIND_RESERVED);
		pair_request(pair, packet);
		cr_assert_eq(peek_expected(pair->side[B].qp), 1, "%s", wire_opcode(kinds[i])->name);
		expect_counts(pair, B, CNT_DUPLICATE_REQUEST, 0);
		pair_close(pair);
	}
}

/* Into a receive of several pieces it is placed piece by piece, and checked on the way, too. */
Test(damaged_packets, damaged_send_into_several_pieces_has_no_effect)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	const struct side *side = &pair->side[B];
	struct uroce_sge sges[2] = { { .addr = (uintptr_t)side->memory, .length = 100, .lkey = side->key },
				     { .addr = (uintptr_t)side->memory + 200, .length = 1000, .lkey = side->key } };
	const struct uroce_recv_wr wr = { .wr_id = 1, .sg_list = sges, .num_sge = 2 };

	RULE("W-3");
	pair_fill(pair, B, 0, EMPTY, 2048);
	cr_assert_eq(rc_qp_post_recv(side->qp, &wr), 0);
	inject_damaged(pair, B, send_packet(OP_SEND_ONLY, 0, 1024));
	pair_transmit(pair, B);
	expect_leaves(pair, B);
	expect_completes(pair, B);
	cr_assert_eq(side->drops[CNT_PORT_RX_ICRC], 1);
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 1024));
	expect_completes(pair, B, "wr=1 RECV SUCCESS len=1024");
	cr_assert(is_filled(pair, B, PACKETS_DATA, 200, 924));
	cr_assert(is_filled(pair, B, EMPTY, 100, 100));
	cr_assert_eq(side->drops[CNT_PORT_RX_ICRC], 1);
	pair_close(pair);
}

/* WRITE FIRST, LAST and ONLY carry the address or end what an application may poll: checked before a byte lands. */
Test(damaged_packets, damaged_write_places_no_first_or_last_byte)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("W-3");
	RULE("S-5");
	pair_fill(pair, B, 0, EMPTY, 8192);
	inject_damaged(pair, B, write_packet(pair, OP_WRITE_ONLY, 0, 0, 1024, 1024));
	inject_damaged(pair, B, write_packet(pair, OP_WRITE_FIRST, 0, 0, 3000, 1024));
	cr_assert(is_filled(pair, B, EMPTY, 0, 8192));
	pair_request(pair, write_packet(pair, OP_WRITE_FIRST, 0, 0, 3000, 1024));
	cr_assert(is_filled(pair, B, PACKETS_DATA, 0, 1024));
	/* The middle may be written early, inside the message and nowhere else, and is written again. */
	inject_damaged(pair, B, write_packet(pair, OP_WRITE_MIDDLE, 1, 0, 0, 1024));
	cr_assert(is_filled(pair, B, EMPTY, 2048, 8192 - 2048));
	cr_assert_eq(peek_expected(pair->side[B].qp), 1);
	pair_request(pair, write_packet(pair, OP_WRITE_MIDDLE, 1, 0, 0, 1024));
	inject_damaged(pair, B, write_packet(pair, OP_WRITE_LAST, 2, 0, 0, 952));
	cr_assert(is_filled(pair, B, EMPTY, 2048, 8192 - 2048));
	pair_request(pair, write_packet(pair, OP_WRITE_LAST, 2, 0, 0, 952));
	cr_assert(is_filled(pair, B, PACKETS_DATA, 0, 3000));
	cr_assert(is_filled(pair, B, EMPTY, 3000, 8192 - 3000));
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=0", "ACK psn=1 credit=31 msn=0", "ACK psn=2 credit=31 msn=1");
	cr_assert_eq(pair->side[B].drops[CNT_PORT_RX_ICRC], 4);
	pair_close(pair);
}

/* An earlier READ is still being answered: it must not return damaged data (S-17). */
Test(damaged_packets, damaged_write_middle_is_never_read_back)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("W-3");
	RULE("S-17");
	pair_cut(pair);
	pair_fill(pair, B, 0, EMPTY, 8192);
	pair_inject(pair, B, read_packet(pair, 0, 1024, 1024));
	pair_inject(pair, B, write_packet(pair, OP_WRITE_FIRST, 1, 0, 3000, 1024));
	inject_damaged(pair, B, write_packet(pair, OP_WRITE_MIDDLE, 2, 0, 0, 1024));
	cr_assert(is_filled(pair, B, EMPTY, 1024, 1024), "the READ has not been answered yet");
	pair_transmit(pair, B);
	pair_inject(pair, B, write_packet(pair, OP_WRITE_MIDDLE, 2, 0, 0, 1024));
	cr_assert(is_filled(pair, B, PACKETS_DATA, 0, 2048));
	pair_close(pair);
}

/* A damaged response neither completes nor restarts anything; the right one behind it does. */
Test(damaged_packets, damaged_response_has_no_effect)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("W-3");
	RULE("Q-11");
	pair_cut(pair);
	pair_fill(pair, A, 0, EMPTY, 8192);
	pair_read(pair, 1, 2000);
	pair_transmit(pair, A);
	inject_damaged(pair, A, response_packet(OP_READ_RESPONSE_FIRST, 0, 1024));
	cr_assert(is_filled(pair, A, EMPTY, 1024, 8192 - 1024), "outside the packet's place");
	cr_assert_eq(peek_acked(pair->side[A].qp), 0);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 0, 1024));
	inject_damaged(pair, A, response_packet(OP_READ_RESPONSE_LAST, 1, 976));
	pair_transmit(pair, A);
	expect_completes(pair, A);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_LAST, 1, 976));
	expect_completes(pair, A, "wr=1 READ SUCCESS len=2000");
	cr_assert(is_filled(pair, A, PACKETS_DATA, 0, 2000));
	cr_assert(is_filled(pair, A, EMPTY, 2000, 8192 - 2000));
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 0);
	cr_assert_eq(pair->side[A].drops[CNT_PORT_RX_ICRC], 2);
	pair_close(pair);
}

/* A damaged packet ahead of a gap, or refused if it were right, draws no answer: it is checked first. */
Test(damaged_packets, damaged_packet_draws_no_nak)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 1 });

	RULE("W-3");
	RULE("K-RULE");
	inject_damaged(pair, B, send_packet(OP_SEND_ONLY, 5, 64));
	inject_damaged(pair, B, send_packet(OP_SEND_MIDDLE, 0, 1024));
	inject_damaged(pair, B, send_packet(0x1F, 0, 8));
	inject_damaged(pair, B, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	pair_transmit(pair, B);
	expect_leaves(pair, B);
	expect_events(pair, B);
	cr_assert_eq(pair->side[B].drops[CNT_PORT_RX_ICRC], 4);
	cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_RTS);
	pair_close(pair);
}

/* Only an intact packet counts as the first in RTR, arms or migrates. */
Test(damaged_packets, damaged_packet_changes_no_peer_state)
{
	struct two_paths paths = { 0 };
	struct pair *pair = two_paths_open(&paths, &(struct pair_options){ 0 });
	struct rc_qp *qp = pair->side[B].qp;
	struct uroce_path second = two_paths_path(&paths, A, 1);
	struct wire_packet packet = write_packet(pair, OP_WRITE_ONLY, 0, 0, 8, 8);

	RULE("W-3");
	RULE("A-2");
	RULE("A-6");
	poke_state(qp, UROCE_QPS_RTR); /* as it was before its move to RTS */
	inject_damaged(pair, B, packet);
	pair_transmit(pair, B);
	expect_events(pair, B);
	poke_state(qp, UROCE_QPS_RTS);
	two_paths_load(pair, B);
	inject_damaged(pair, B, packet);
	two_paths_expect(pair, B, UROCE_PATH_REARM, 0);
	pair_request(pair, packet);
	two_paths_expect(pair, B, UROCE_PATH_ARMED, 0);
	packet = write_packet(pair, OP_WRITE_ONLY, 1, 0, 8, 8);
	packet.flags |= WIRE_MIGREQ;
	pair->inject_path = &second;
	inject_damaged(pair, B, packet);
	two_paths_expect(pair, B, UROCE_PATH_ARMED, 0);
	cr_assert_eq(pair->side[B].drops[CNT_PORT_RX_ICRC], 3);
	pair_request(pair, packet);
	two_paths_expect(pair, B, UROCE_PATH_MIGRATED, 1);
	expect_events(pair, B, "PATH_MIG");
	pair_close(pair);
}

/* The damaged packet has no known owner: the entry stays for the next message. */
Test(damaged_packets, a_damaged_send_takes_no_entry_of_a_shared_queue)
{
	void *memory = aligned_alloc(64, rc_srq_bytes(4, 2));
	struct rc_srq *srq = rc_srq_init(memset(memory, 0, rc_srq_bytes(4, 2)), 4, 2, memory);
	struct pair *pair = pair_open(&(struct pair_options){ .srq_b = srq });
	struct uroce_sge sge = { .addr = (uintptr_t)pair->side[B].memory, .length = 64, .lkey = pair->side[B].key };

	RULE("W-3");
	cr_assert_eq(rc_srq_post(srq, &(struct uroce_recv_wr){ .wr_id = 5, .sg_list = &sge, .num_sge = 1 }), 0);
	inject_damaged(pair, B, send_packet(OP_SEND_ONLY, 0, 64));
	cr_assert_eq(srq_count(srq), 1);
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 64));
	expect_completes(pair, B, "wr=5 RECV SUCCESS len=64");
	pair_close(pair);
	free(memory);
}
