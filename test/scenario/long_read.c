/* long_read.c - READs that own a good part of all PSNs are answered to their end, whatever comes behind them */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Their data is not what this is about: B's region is as large as it says, but only its address space is.
 */
#include <criterion/criterion.h>
#include <sys/mman.h>

#include "packets.h"
#include "peek.h"
#include "places.h"
#include "rule.h"

#define MTU 256u
#define LONGEST (1u << 31)

static uint8_t *space;
static uint32_t space_key;

static struct pair *open_large(void)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU, .rd_atomic = 16, .receives = 4 });
	int error;

	space = mmap(NULL, LONGEST, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	cr_assert_neq(space, MAP_FAILED);
	space_key = rc_mr_insert(&pair->side[B].mrs, 1, space, LONGEST, UROCE_ACCESS_REMOTE_READ, &error);
	cr_assert_neq(space_key, 0, "%d", error);
	return pair;
}

static void close_large(struct pair *pair)
{
	pair_close(pair);
	munmap(space, LONGEST);
}

static void request(struct pair *pair, uint32_t psn, uint64_t offset, uint32_t bytes)
{
	struct wire_packet packet = read_packet(pair, psn & 0xFFFFFF, 0, bytes);

	packet.va = (uintptr_t)space + offset;
	packet.rkey = space_key;
	pair_inject(pair, B, packet);
}

/* B sends all that it owes; nobody listens. Returns how many packets. */
static uint32_t drain(struct pair *pair)
{
	uint32_t count = 0;

	while (rc_qp_transmit(pair->side[B].qp, pair->now_ns, &pair->out) || pair->out.packet_count) {
		count += pair->out.packet_count;
		outbox_reset(&pair->out);
		places_give(&pair->out, OUTBOX_PACKETS);
	}
	return count;
}

/* Without any loss: the first READ is still being answered when those behind it have moved ePSN far away. */
Test(long_read, unfinished_read_is_not_evicted)
{
	struct pair *pair = open_large();
	uint32_t half = LONGEST / 2 / MTU;

	RULE("S-14");
	RULE("P-4");
	RULE("S-9");
	request(pair, 0, 0, LONGEST / 2);
	request(pair, half, LONGEST / 2, LONGEST / 2);
	request(pair, 2 * half, 0, 16 * MTU);
	cr_assert_eq(pair->side[B].qp->replay.unfinished, 3);
	outbox_reset(&pair->out);
	places_give(&pair->out, OUTBOX_PACKETS);
	cr_assert_eq(drain(pair), 2 * half + 16);
	/* and each can be asked for again, the last response of the first one, too */
	request(pair, half - 1, LONGEST / 2 - MTU, MTU);
	cr_assert_eq(pair->side[B].qp->counters[CNT_REPLAY_MISS], 0);
	outbox_reset(&pair->out);
	places_give(&pair->out, OUTBOX_PACKETS);
	cr_assert_eq(drain(pair), 1);
	close_large(pair);
}

/* A READ of 2^23 PSNs, a SEND behind it, and the last response is lost. */
Test(long_read, last_response_of_the_longest_read_survives_a_send)
{
	struct pair *pair = open_large();
	uint32_t packets = LONGEST / MTU;

	RULE("S-11");
	RULE("P-6");
	RULE("S-8");
	request(pair, 0, 0, LONGEST);
	outbox_reset(&pair->out);
	places_give(&pair->out, OUTBOX_PACKETS);
	cr_assert_eq(drain(pair), packets);
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, packets, 8));
	request(pair, packets - 1, LONGEST - MTU, MTU);
	cr_assert_eq(pair->side[B].qp->counters[CNT_REPLAY_MISS], 0);
	/* The SEND again: its ACK is not held back by the old READ, which lies before it. */
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, packets, 8));
	pair_forget(pair);
	pair_transmit(pair, B);
	expect_sent_count(pair, B, 2);
	expect_sent(pair, B, 1, "ACK psn=8388608 credit=31 msn=2");
	close_large(pair);
}

/* A part of unsent responses arrives in order anyway; the next request's answer does not overtake it. */
Test(long_read, without_read_repair_a_part_does_not_end_a_running_answer)
{
	struct pair *pair = open_large();

	poke_read_repair(pair->side[B].qp, UROCE_READ_REPAIR_OFF);
	RULE("S-9");
	RULE("S-14");
	request(pair, 0, 0, 8 * MTU);
	request(pair, 8, 0, MTU);
	pair_transmit_some(pair, B, 3);
	request(pair, 5, 5 * MTU, MTU); /* to come */
	request(pair, 1, MTU, 2 * MTU); /* has left */
	pair_forget(pair);
	pair_transmit(pair, B);
	expect_leaves(pair, B, "READ_RESPONSE_FIRST psn=1 credit=31 msn=1 bytes=256",
		      "READ_RESPONSE_MIDDLE psn=2 bytes=256", "READ_RESPONSE_MIDDLE psn=3 bytes=256",
		      "READ_RESPONSE_MIDDLE psn=4 bytes=256", "READ_RESPONSE_MIDDLE psn=5 bytes=256",
		      "READ_RESPONSE_MIDDLE psn=6 bytes=256", "READ_RESPONSE_LAST psn=7 credit=31 msn=1 bytes=256",
		      "READ_RESPONSE_ONLY psn=8 credit=31 msn=2 bytes=256");
	/* All of it has left: now a part is answered as such. */
	request(pair, 2, 2 * MTU, 2 * MTU);
	pair_transmit(pair, B);
	expect_leaves(pair, B, "READ_RESPONSE_FIRST psn=2 credit=31 msn=1 bytes=256",
		      "READ_RESPONSE_LAST psn=3 credit=31 msn=1 bytes=256");
	close_large(pair);
}

/* It takes longer than an ACK timeout, and brings credits: a message before may find no entry. */
Test(long_read, owed_read_answer_suppresses_credit_probes)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 1 });
	struct rc_qp *qp = pair->side[A].qp;

	RULE("F-3");
	for (int i = 0; i < 2; i++)
		qp_set_flow_control(pair->side[i].qp, true);
	pair_send(pair, 1, 64);
	pair_run(pair);
	pair_cut(pair);
	pair_read(pair, 2, 3 * 1024);
	pair_send(pair, 3, 64);
	pair_transmit(pair, A);
	pair_forget(pair);
	for (uint32_t i = 0; i < 3; i++) {
		pair->now_ns += rc_codes_timeout_ns(14) * 3 / 4;
		rc_qp_timeout(qp, pair->now_ns);
		pair_transmit(pair, A);
		expect_leaves(pair, A);
		pair_respond(pair, (struct wire_packet){
					   .opcode = i == 0 ? OP_READ_RESPONSE_FIRST :
						     i == 1 ? OP_READ_RESPONSE_MIDDLE :
							      OP_READ_RESPONSE_LAST,
					   .psn = 1 + i,
					   .msn = 2,
					   .payload_bytes = 1024,
					   .payload = pair->side[B].memory,
				   });
	}
	cr_assert_eq(rc_qp_deadline(qp), pair->now_ns + rc_codes_timeout_ns(14), "now nothing is owed");
	pair_close(pair);
}
