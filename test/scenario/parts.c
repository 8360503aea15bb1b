/* parts.c - READs that are asked for again in parts: who answers them how, and who must not be asked (Q-10, S-9) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>

#include "draw.h"
#include "opened.h"
#include "packets.h"
#include "peek.h"
#include "rule.h"

#define MTU 256u
#define ROUND_TRIP_NS 10000ull

/* A has measured a round trip; PSN 0 is used then. */
static const struct pair_options options = { .mtu = MTU, .rd_atomic = 8, .no_boards = true };

/* A READ of 40 packets is restarted at packet 3, with a quota of eight packets. A part of it has been asked for. */
static struct pair *open_with_part(void)
{
	struct pair *pair = pair_open_measured(&options, ROUND_TRIP_NS);

	pair_cut(pair);
	poke_read_limit(pair->side[A].qp, 10); /* as after earlier losses */
	pair_read(pair, 1, 40 * MTU);
	pair_transmit(pair, A);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 1, MTU));
	pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, 2, MTU));
	pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, 3, MTU));
	pair_forget(pair);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, 5, MTU));
	expect_leaves(pair, A, "READ_REQUEST psn=4 ackreq va=0x300 len=2048");
	return pair;
}

/* each part is answered as a READ of its own; Linux goes on with MIDDLE, and ends each with LAST. */
Test(parts, answer_to_a_part_may_use_first_or_middle)
{
	static const uint8_t firsts[] = { OP_READ_RESPONSE_FIRST, OP_READ_RESPONSE_MIDDLE };
	char line[80];

	RULE("Q-10");
	for (uint32_t linux_way = 0; linux_way < 2; linux_way++) {
		struct pair *pair = open_with_part();
		uint32_t psn = 4;

		for (uint32_t left = 37; left > 0;) {
			uint32_t part = peek_next(pair->side[A].qp) - psn;

			cr_assert(part > 0 && part <= left);
			for (uint32_t i = 0; i < part; i++) {
				uint8_t opcode = i == 0 ? firsts[linux_way] : OP_READ_RESPONSE_MIDDLE;

				if (i + 1 == part)
					opcode =
						part == 1 && !linux_way ? OP_READ_RESPONSE_ONLY : OP_READ_RESPONSE_LAST;
				pair_forget(pair);
				pair->now_ns += 1000;
				pair_respond(pair, response_packet(opcode, psn++, MTU));
			}
			left -= part;
			snprintf(line, sizeof(line), "READ_REQUEST psn=%u ackreq va=%#x len=%u", psn, (psn - 1) * MTU,
				 (peek_next(pair->side[A].qp) - psn) * MTU);
			if (left > 0)
				expect_leaves(pair, A, line);
		}
		expect_completes(pair, A, "wr=1 READ SUCCESS len=10240");
		expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
		pair_close(pair);
	}
}

/* Only a response that fits no request is refused: a wrong end, or more than a packet. */
Test(parts, response_that_fits_no_part_is_refused)
{
	RULE("Q-10");
	RULE("Q-12");
	for (uint32_t row = 0; row < 3; row++) {
		static const uint8_t opcodes[] = { OP_READ_RESPONSE_ONLY, OP_READ_RESPONSE_LAST,
						   OP_READ_RESPONSE_FIRST };
		struct pair *pair = pair_open_measured(&options, ROUND_TRIP_NS);

		pair_cut(pair);
		pair_read(pair, 1, 40 * MTU);
		pair_transmit(pair, A);
		pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 1, MTU));
		pair_respond(pair, response_packet(opcodes[row], 2, MTU));
		expect_completes(pair, A, "wr=1 READ BAD_RESP_ERR");
		pair_close(pair);
	}
}

static uint32_t read_bytes;

/* B is about to be handed a READ that it has not seen: all of it, or it would take a part for a request of its own. */
static void refuse_new_parts(struct pair *pair, enum side_name at, enum side_name from,
			     const struct wire_packet *packet)
{
	if (at == B && from == A && packet->opcode == OP_READ_REQUEST && packet->psn == peek_expected(pair->side[B].qp))
		cr_assert_eq(packet->dma_length, read_bytes, "seed %lu: a part of %u bytes is new to B at PSN %u",
			     *(uint64_t *)pair->user, packet->dma_length, packet->psn);
}

static uint64_t fate;
static uint32_t lost_per_thousand;

static int lose_and_double(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	(void)pair;
	(void)from;
	(void)number;
	(void)packet;
	if (draw_chance(&fate, lost_per_thousand))
		return 0;
	return draw_chance(&fate, 50) ? 2 : 1;
}

/* S-9, Q-10: with losses of all kinds, and quotas that follow them. */
Test(parts, no_part_is_requested_before_the_peer_has_the_whole_read)
{
	RULE("S-9");
	RULE("Q-10");
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU, .rd_atomic = 4 });

		fate = draw_start(seed);
		lost_per_thousand = 20 + draw_below(&fate, 150);
		read_bytes = (1 + draw_below(&fate, 60)) * MTU - draw_below(&fate, MTU);
		poke_probes(pair->side[A].qp, seed % 3 != 0);
		pair->copies = lose_and_double;
		pair->tap = refuse_new_parts;
		pair->user = &seed;
		for (uint64_t i = 0; i < 24; i++) {
			uint32_t kind = draw_below(&fate, 4);

			cr_assert_eq(kind == 0 ? pair_write(pair, i, 8) : pair_read(pair, i, read_bytes), 0);
			if (draw_chance(&fate, 300))
				pair_run(pair);
		}
		cr_assert(pair_settle(pair, 100000000000ull));
		expect_done_count(pair, A, 24);
		for (uint32_t i = 0; i < 24; i++)
			cr_assert_eq(pair->side[A].wcs[i].status, UROCE_WC_SUCCESS, "seed %lu: request %u: %u", seed, i,
				     pair->side[A].wcs[i].status);
		cr_assert_arr_eq(pair->side[A].memory + 8, pair->side[B].memory + 8, read_bytes - 8);
		pair_close(pair);
	}
}

/* After the first loss in a long READ one window is requested, and the rest after it has arrived. */
Test(parts, loss_in_a_long_read_requests_a_part)
{
	struct pair *pair = pair_open_measured(&options, ROUND_TRIP_NS);

	RULE("Q-10");
	pair_cut(pair);
	pair_read(pair, 1, 600 * MTU);
	pair_transmit(pair, A);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 1, MTU));
	pair_forget(pair);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, 3, MTU));
	expect_leaves(pair, A, "READ_REQUEST psn=2 ackreq va=0x100 len=65536");
	for (uint32_t psn = 2; psn < 2 + 256; psn++) {
		expect_leaves(pair, A);
		pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, psn, MTU));
	}
	expect_leaves(pair, A, "READ_REQUEST psn=258 ackreq va=0x10100 len=87808");
	pair_close(pair);
}

/* An outbox ends within the answer to a part: its rest leaves next, followed by ACKs. */
Test(parts, answer_to_a_part_continues_after_a_full_outbox)
{
	RULE("S-9");
	RULE("S-14");
	for (uint32_t ack = 0; ack < 2; ack++) {
		struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU, .receives = 1 });

		pair_request(pair, read_packet(pair, 0, 0, 4 * MTU));
		pair_forget(pair);
		pair_inject(pair, B, read_packet(pair, 0, 0, 3 * MTU));
		if (ack)
			pair_inject(pair, B, send_packet(OP_SEND_ONLY, 4, 8));
		cr_assert(pair_transmit_some(pair, B, 0), "there is no room at all");
		cr_assert(pair_transmit_some(pair, B, 1), "two packets are left");
		cr_assert(pair_transmit_some(pair, B, 1), "one is left");
		pair_transmit_some(pair, B, 2);
		cr_assert_not(pair_transmit_some(pair, B, 1));
		expect_sent_count(pair, B, 3 + ack);
		expect_sent(pair, B, 0, "READ_RESPONSE_FIRST psn=0 credit=31 msn=1 bytes=256");
		expect_sent(pair, B, 1, "READ_RESPONSE_MIDDLE psn=1 bytes=256");
		expect_sent(pair, B, 2, "READ_RESPONSE_LAST psn=2 credit=31 msn=1 bytes=256");
		if (ack)
			expect_sent(pair, B, 3, "ACK psn=4 credit=31 msn=2");
		pair_close(pair);
	}
}

/* Asked for twice before it leaves, it leaves once, and the READ does not begin again. */
Test(parts, part_requested_twice_is_answered_once)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU });

	RULE("S-9");
	pair_request(pair, read_packet(pair, 0, 0, 4 * MTU));
	pair_forget(pair);
	for (uint32_t i = 0; i < 2; i++)
		pair_inject(pair, B, read_packet(pair, 1, MTU, 2 * MTU));
	pair_transmit(pair, B);
	expect_leaves(pair, B, "READ_RESPONSE_FIRST psn=1 credit=31 msn=1 bytes=256",
		      "READ_RESPONSE_LAST psn=2 credit=31 msn=1 bytes=256");
	pair_close(pair);
}

/* What there is no room to remember is answered all the same, as a READ that begins again there. */
Test(parts, more_parts_than_recorded_are_answered_too)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU });
	uint32_t before;

	RULE("S-9");
	pair_request(pair, read_packet(pair, 0, 0, 600 * MTU));
	for (uint32_t psn = 1; psn <= LIMIT_HOLES + 1; psn++)
		pair_inject(pair, B, read_packet(pair, psn, psn * MTU, MTU));
	before = pair->side[B].packets;
	pair_transmit(pair, B);
	cr_assert_eq(pair->side[B].packets - before, LIMIT_HOLES + 1);
	pair_close(pair);
}

/* Another QP has had the board before: what that owed is not ours. */
Test(parts, recycled_board_of_parts_is_empty)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU });
	const struct rc_stretch old = { .end_psn = psn_make(1), .end_bytes = MTU };

	RULE("S-9");
	for (uint32_t i = 0; i < 2; i++)
		pair->side[B].boards[i].parts = (struct rc_parts){ .count = 1, .parts = { old } };
	pair_request(pair, read_packet(pair, 0, 0, 4 * MTU));
	pair_forget(pair);
	pair_request(pair, read_packet(pair, 1, MTU, MTU));
	expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=1 credit=31 msn=1 bytes=256");
	pair_close(pair);
}

/* The last response of all shows that the peer has every request: also of the second READ a part can be asked for. */
Test(parts, last_response_shows_that_the_peer_has_all_requests)
{
	RULE("S-9");
	for (uint32_t newest = 0; newest < 2; newest++) {
		struct pair *pair = pair_open_measured(&options, ROUND_TRIP_NS);

		pair_cut(pair);
		pair_read(pair, 1, 4 * MTU);
		pair_read(pair, 2, 20 * MTU);
		pair_transmit(pair, A);
		poke_read_limit(pair->side[A].qp, 16);
		pair_forget(pair);
		pair_respond(pair, newest ? response_packet(OP_READ_RESPONSE_LAST, 24, MTU) :
					    response_packet(OP_READ_RESPONSE_MIDDLE, 3, MTU));
		if (newest)
			expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x0 len=1024");
		else /* of the second one nothing is known: all of it, or nothing */
			expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x0 len=1024",
				      "READ_REQUEST psn=5 ackreq va=0x0 len=5120");
		for (uint32_t psn = 1; newest && psn < 5; psn++)
			pair_respond(pair, response_packet(psn == 1 ? OP_READ_RESPONSE_FIRST :
							   psn < 4  ? OP_READ_RESPONSE_MIDDLE :
								      OP_READ_RESPONSE_LAST,
							   psn, MTU));
		if (newest)
			expect_leaves(pair, A, "READ_REQUEST psn=5 ackreq va=0x0 len=2048");
		pair_close(pair);
	}
}

/* The repeated part fits the quota exactly: the second READ does not wait for the first one. */
Test(parts, quota_holds_exactly_its_packets)
{
	RULE("Q-10");
	for (uint32_t more = 0; more < 2; more++) {
		struct pair *pair = pair_open_measured(&options, ROUND_TRIP_NS);

		pair_cut(pair);
		pair_read(pair, 1, 4 * MTU);
		pair_read(pair, 2, (6 + more) * MTU);
		pair_transmit(pair, A);
		poke_read_limit(pair->side[A].qp, 20); /* of which a loss leaves half */
		pair_forget(pair);
		pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, 7, MTU));
		if (more)
			expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x0 len=1024");
		else
			expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x0 len=1024",
				      "READ_REQUEST psn=5 ackreq va=0x0 len=1536");
		pair_close(pair);
	}
}

/* Sent again behind the first READ, the WRITE does not ask, for the second READ was to follow; but that has to wait. */
Test(parts, part_wait_solicits_an_ack_of_earlier_requests)
{
	struct pair *pair = pair_open_measured(&options, ROUND_TRIP_NS);
	struct uroce_send_wr wr = { .wr_id = 2, .opcode = UROCE_WR_RDMA_WRITE };

	RULE("Q-5");
	pair_cut(pair);
	pair_read(pair, 1, 2 * MTU);
	pair_post(pair, A, wr, 0, 8);
	pair_read(pair, 3, 40 * MTU);
	pair_transmit(pair, A);
	poke_read_limit(pair->side[A].qp, 16);
	pair_forget(pair);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, 6, MTU));
	expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x0 len=512", "WRITE_ONLY psn=3 va=0x0 len=8 bytes=8");
	pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 1, MTU));
	expect_leaves(pair, A);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_LAST, 2, MTU));
	expect_leaves(pair, A, "WRITE_ONLY psn=2 ackreq va=0x0 len=0 bytes=0");
	pair_close(pair);
}

/* The rest of a READ waits for an unanswered part, which is probed with or without a resend. */
Test(parts, unanswered_part_is_probed)
{
	struct pair *pair = open_with_part();
	struct rc_qp *qp = pair->side[A].qp;

	RULE("T-6");
	poke_probes(qp, true);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 4, MTU));
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A);
	pair_timeout_at(pair, qp, peek_ask_ns(qp));
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=4 ackreq va=0x0 len=0 bytes=0");
	pair_close(pair);
}

/*
 * Responses that an earlier READ request may still draw postpone the ACK timer, since the new answer follows them.
 * Their number is bounded: later responses are no sign of life.
 */
Test(parts, timer_waits_only_for_the_rest_of_the_old_answer)
{
	RULE("T-1");
	RULE("T-5");
	for (uint32_t old = 0; old < 2; old++) {
		struct pair *pair = open_with_part();
		const struct rc_loss *loss = &pair->side[A].qp->loss;
		uint64_t deadline_ns;

		for (uint32_t i = 0; i < 35; i++) { /* 6 to 40: before the restart 1, 2, 3 and 5 had come */
			pair->now_ns += ROUND_TRIP_NS;
			pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, old ? 2 : 6 + i, MTU));
			cr_assert_eq(loss->ack_deadline_ns, pair->now_ns + loss->timeout_ns, "%u", i);
		}
		deadline_ns = loss->ack_deadline_ns;
		pair->now_ns += ROUND_TRIP_NS;
		pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, old ? 2 : 20, MTU));
		cr_assert_eq(loss->ack_deadline_ns, deadline_ns);
		expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
		pair_close(pair);
	}
}

/* A part finds no room, then its region is removed: its credit is not lost. */
Test(parts, part_without_room_grants_no_credits)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU });
	uint32_t key = pair_region(pair, B, 1, 0, 4096, UROCE_ACCESS_REMOTE_READ);
	struct wire_packet read = read_packet(pair, 0, 0, 4 * MTU), part = read_packet(pair, 0, 0, 3 * MTU);

	RULE("F-4");
	RULE("S-9");
	qp_set_flow_control(pair->side[B].qp, true);
	read.rkey = part.rkey = key;
	pair_request(pair, read);
	pair_inject(pair, B, part);
	cr_assert_eq(pair_recv(pair, B, 1, 0, 64), 0);
	pair_transmit_some(pair, B, 0);
	cr_assert_eq(rc_mr_remove(&pair->side[B].mrs, key), 0);
	pair_forget(pair);
	pair_transmit(pair, B);
	expect_leaves(pair, B, "ACK psn=16777215 credit=1 msn=1");
	expect_counts(pair, B, CNT_REPLAY_KEY, 1);
	pair_close(pair);
}
