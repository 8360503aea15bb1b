/* linux.c - what Soft-RoCE of Linux does otherwise than the book, where no other test has it (protocol.md) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "packets.h"
#include "rule.h"

#undef linux /* gcc defines it, and it is the name of the suite */

/* Linux has no credits and always advertises "no limit": a requester waiting for credits continues. */
Test(linux, a_peer_without_credits_ends_the_limit)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("F-3");
	qp_set_flow_control(pair->side[A].qp, true);
	pair_cut(pair);
	for (uint64_t i = 0; i < 4; i++)
		pair_send(pair, i, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "SEND_ONLY psn=0 ackreq bytes=8");
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	expect_leaves(pair, A, "SEND_ONLY psn=1 ackreq bytes=8", "SEND_ONLY psn=2 ackreq bytes=8",
		      "SEND_ONLY psn=3 ackreq bytes=8");
	pair_respond(pair, ack_packet(3, SYNDROME_PLAIN_ACK, 4));
	expect_done_count(pair, A, 4);
	pair_close(pair);
}

/* A's packets since `from` reach a peer that acknowledges those with AckReq and no others. Returns where they end. */
static uint32_t acknowledge_what_asks(struct pair *pair, uint32_t from, uint32_t *acks)
{
	uint32_t count = pair->side[A].sent_count;

	for (uint32_t i = from; i < count; i++) {
		const char *line = pair->side[A].sent[i];
		uint32_t psn;

		if (strstr(line, " ackreq") && sscanf(strstr(line, "psn="), "psn=%u", &psn) == 1)
			pair_respond(pair, ack_packet(psn, SYNDROME_PLAIN_ACK, ++*acks));
	}
	return count;
}

/* Half a megabyte in packets, requests of all kinds of length behind it: no timer is ever needed. */
Test(linux, peer_that_acks_only_on_request_causes_no_timeout)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = 1024, .depth = 64 });
	uint32_t seen = 0, before, acks = 0;

	RULE("Q-5");
	pair_cut(pair);
	pair_write(pair, 1, 512 * 1024);
	for (uint32_t i = 2; i < 40; i++) {
		struct uroce_send_wr wr = { .wr_id = i, .opcode = UROCE_WR_RDMA_WRITE };

		wr.send_flags = i % 4 == 2 ? UROCE_SEND_SIGNALED : 0;
		cr_assert_eq(pair_post(pair, A, wr, 0, i * 100), 0);
	}
	pair_transmit(pair, A);
	do {
		before = seen;
		seen = acknowledge_what_asks(pair, seen, &acks);
	} while (seen != before);
	/* The first one, and those with i = 2, 6, ... 38. */
	expect_done_count(pair, A, 11);
	cr_assert_eq(rc_qp_deadline(pair->side[A].qp), RC_NEVER, "something is still unacknowledged");
	cr_assert_lt(acks, 40, "%u packets asked for an acknowledge", acks);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	pair_close(pair);
}

/* TC-A-4: without an alternate path the bit means nothing, to either half. Linux sends 0, some hardware 1. */
Test(linux, either_value_of_migreq_is_taken)
{
	RULE("A-7");
	for (int bit = 0; bit < 2; bit++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		struct wire_packet request = write_packet(pair, OP_WRITE_ONLY, 0, 0, 8, 8);
		struct wire_packet answer = ack_packet(0, SYNDROME_PLAIN_ACK, 1);

		request.flags = WIRE_ACKREQ | (bit ? WIRE_MIGREQ : 0);
		pair_request(pair, request);
		expect_leaves(pair, B, "ACK psn=0 credit=31 msn=1");
		expect_events(pair, B);
		cr_assert_eq(pair->side[B].memory[7], PACKETS_DATA);
		pair_cut(pair);
		pair_write(pair, 1, 8);
		pair_transmit(pair, A);
		answer.flags = bit ? WIRE_MIGREQ : 0;
		pair_respond(pair, answer);
		expect_completes(pair, A, "wr=1 WRITE SUCCESS");
		expect_events(pair, A);
		pair_close(pair);
	}
}
