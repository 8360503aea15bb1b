/* round_robin.c - responses and own requests of a QP leave round-robin, however much there is of either */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "packets.h"
#include "places.h"
#include "rc/cc.h"
#include "rule.h"

#define MTU 256u
#define LINE 8000u /* Mbit/s: a byte a ns */

/* B owes the response to a READ of as many bytes as it has to WRITE itself. */
static struct pair *open_both(uint32_t bytes)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU, .receives = 4 });
	struct rc_qp *qp = pair->side[B].qp;

	qp->line_mbps = LINE;
	rc_cc_choose(qp, UROCE_CC_DCQCN);
	cr_assert_eq(pair_post(pair, B, (struct uroce_send_wr){ .opcode = UROCE_WR_RDMA_WRITE }, 0, bytes), 0);
	pair_inject(pair, B, read_packet(pair, 0, 0, bytes));
	return pair;
}

static uint32_t requests_sent(const struct pair *pair)
{
	return psn_distance(pair->side[B].qp->win.snd_max, pair->side[B].qp->sq_psn);
}

/* After so many calls, each with room for so many frames, about as many of either have left. */
static void expect_halves(struct pair *pair, uint32_t calls, uint32_t room)
{
	uint32_t requests;

	for (uint32_t call = 0; call < calls; call++)
		cr_assert(pair_transmit_some(pair, B, room));
	cr_assert_eq(pair->side[B].packets, calls * room);
	requests = requests_sent(pair);
	cr_assert_geq(requests, calls * room / 2 - room, "%u calls of %u frames", calls, room);
	cr_assert_leq(requests, calls * room / 2 + room, "%u calls of %u frames", calls, room);
}

Test(round_robin, port_with_little_room_serves_requester_and_responder)
{
	RULE("S-15");
	for (uint32_t room = 1; room <= 16; room *= 2) {
		struct pair *pair = open_both(256 * MTU);

		expect_halves(pair, 128 / room, room);
		pair_close(pair);
	}
}

/* The peer acknowledges, so the window does not limit requests. */
Test(round_robin, low_rate_serves_requester_and_responder)
{
	struct pair *pair = open_both(256 * MTU);
	struct rc_qp *qp = pair->side[B].qp;
	struct wire_packet notification = { .opcode = OP_CNP, .flags = WIRE_BECN, .pkey = 0xFFFF, .dest_qpn = qp->qpn };
	uint32_t requests, packets;

	RULE("N-3");
	for (uint32_t i = 0; i < 5; i++) {
		pair->now_ns += 50000;
		pair_inject(pair, B, notification);
	}
	packets = pair->side[B].packets;
	requests = requests_sent(pair);
	for (uint32_t wait = 0; wait < 100; wait++) {
		pair_timeout_at(pair, qp, rc_qp_deadline(qp));
		pair_inject(pair, B, notification);
		pair_transmit(pair, B);
		pair_deliver(pair, A);
		pair_transmit(pair, A);
		pair_deliver(pair, B);
	}
	packets = pair->side[B].packets - packets;
	requests = requests_sent(pair) - requests;
	cr_assert_geq(packets, 50);
	cr_assert_geq(requests, packets * 4 / 10, "%u of %u", requests, packets);
	cr_assert_leq(requests, packets * 6 / 10, "%u of %u", requests, packets);
	pair_close(pair);
}

/* A turn ends without packets to send. */
Test(round_robin, single_role_uses_all_room)
{
	struct pair *pair = open_both(16 * MTU);

	RULE("S-15");
	for (uint32_t call = 0; call < 8; call++)
		pair_transmit_some(pair, B, 4);
	cr_assert_eq(pair->side[B].packets, 32);
	cr_assert_not(pair_transmit_some(pair, B, 4));
	pair_close(pair);
}
