/* kept_execution.c - execution of kept requests: copies, removed keys, receives and credits */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "agreed.h"
#include "packets.h"
#include "peek.h"
#include "rc/srq.h"
#include "rule.h"

static uint64_t word_of_b(const struct pair *pair)
{
	uint64_t word;

	memcpy(&word, pair->side[B].memory, sizeof(word));
	return word;
}

/* A copy may arrive before its execution, and another one after it. */
Test(kept_execution, kept_atomic_is_executed_once)
{
	struct pair *pair = open_with((struct pair_options){ .receives = 0 });

	RULE("S-21");
	RULE("S-10");
	pair_set_word(pair, B, 0, 40);
	pair_inject(pair, B, fetch_add_packet(pair, 1, 0, 1));
	pair_inject(pair, B, fetch_add_packet(pair, 1, 0, 1));
	cr_assert_eq(kept_by_b(pair), 1);
	cr_assert_eq(word_of_b(pair), 40);
	pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 0, 64, 8, 8));
	cr_assert_eq(word_of_b(pair), 41);
	pair_run(pair);
	pair_forget(pair);
	pair_request(pair, fetch_add_packet(pair, 1, 0, 1));
	expect_leaves(pair, B, "ATOMIC_ACKNOWLEDGE psn=1 credit=31 msn=2 original=0x28");
	cr_assert_eq(word_of_b(pair), 41);
	close_agreed(pair);
}

/* The key was valid on arrival; validity counts when memory is written. */
Test(kept_execution, deregistered_key_refuses_a_kept_packet)
{
	struct pair *pair = open_with((struct pair_options){ .receives = 0 });
	uint32_t key = pair_region(pair, B, 1, 0, 64, UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE);
	struct wire_packet early = write_packet(pair, OP_WRITE_ONLY, 1, 0, 8, 8);

	RULE("S-21");
	RULE("M-2");
	early.rkey = key;
	pair_set_word(pair, B, 0, 40);
	pair_inject(pair, B, early);
	cr_assert_eq(kept_by_b(pair), 1);
	cr_assert_eq(rc_mr_remove(&pair->side[B].mrs, key), 0);
	pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 0, 64, 8, 8));
	pair_transmit(pair, B);
	expect_leaves(pair, B, "NAK_REMOTE_ACCESS psn=1 msn=1");
	cr_assert_eq(word_of_b(pair), 40);
	cr_assert_eq(kept_by_b(pair), 0);
	close_agreed(pair);
}

/* An out-of-order SEND counts as no message and takes no receive, so the credits are exact. */
Test(kept_execution, kept_messages_and_credits_are_counted_in_order)
{
	struct pair *pair = open_with((struct pair_options){ .receives = 4 });

	RULE("S-21");
	RULE("F-2");
	qp_set_flow_control(pair->side[B].qp, true);
	for (uint32_t psn = 1; psn < 3; psn++)
		pair_inject(pair, B, send_packet(OP_SEND_ONLY, psn, 4));
	cr_assert_eq(kept_by_b(pair), 2);
	cr_assert_eq(peek_msn(pair->side[B].qp), 0);
	pair_forget(pair);
	pair_request(pair, (struct wire_packet){ .opcode = OP_PROBE, .control_kind = WIRE_PROBE_KIND });
	cr_assert_eq(peek_msn(pair->side[B].qp), 0);
	pair_forget(pair);
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 4));
	expect_leaves(pair, B, "ACK psn=2 credit=1 msn=3"); /* one receive is left of four */
	expect_completes(pair, B, "wr=1000 RECV SUCCESS len=4", "wr=1001 RECV SUCCESS len=4",
			 "wr=1002 RECV SUCCESS len=4");
	close_agreed(pair);
}

/* The entries of a shared queue go to the messages in the order of their PSNs, whichever came first. */
Test(kept_execution, shared_receives_are_taken_in_psn_order)
{
	void *memory = aligned_alloc(64, rc_srq_bytes(8, 2));
	struct rc_srq *srq = rc_srq_init(memset(memory, 0, rc_srq_bytes(8, 2)), 8, 2, memory);
	struct pair *pair = open_with((struct pair_options){ .srq_b = srq });

	RULE("S-21");
	RULE("M-4");
	for (uint32_t n = 0; n < 3; n++) {
		struct uroce_sge sge = { (uintptr_t)pair->side[B].memory + 4096 + n * 256, 256, pair->side[B].key };

		cr_assert_eq(rc_srq_post(srq, &(struct uroce_recv_wr){ .wr_id = n, .sg_list = &sge, .num_sge = 1 }), 0);
	}
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 2, 12));
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 1, 8));
	expect_completes(pair, B);
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 0, 4));
	pair_run(pair);
	expect_completes(pair, B, "wr=0 RECV SUCCESS len=4", "wr=1 RECV SUCCESS len=8", "wr=2 RECV SUCCESS len=12");
	close_agreed(pair);
	free(srq);
}

/* ---- answers ---- */

/*
 * More SENDs are kept than the outbox has completions for, and behind them a request that needs a response of its own,
 * then a WRITE that asks for an ACK. The READ is executed by a later call than the one that took the missing packet.
 */
static void expect_response_before_ack(struct wire_packet answered, uint32_t psns, const char *response, uint32_t room)
{
	const char *ack = pair_text("ACK psn=%u credit=31 msn=303", 301 + psns),
		   *cack = pair_text("cack=%u", 301 + psns);
	struct pair *pair = open_with((struct pair_options){ .depth = 512, .receives = 400 });
	bool responded = false;

	for (uint32_t i = 1; i <= 300; i++)
		pair_inject(pair, B, send_packet(OP_SEND_ONLY, i, 4));
	answered.psn = 301;
	answered.va = (uintptr_t)pair->side[B].memory;
	answered.rkey = pair->side[B].key;
	pair_inject(pair, B, answered);
	pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 301 + psns, 0, 8, 8));
	pair_transmit(pair, B);
	pair_forget(pair);
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 0, 4));
	while (pair_transmit_some(pair, B, room))
		;
	for (uint32_t i = 0; i < pair->side[B].sent_count; i++) {
		const char *line = pair->side[B].sent[i];

		responded |= strncmp(line, response, strlen(response)) == 0;
		cr_expect(responded || (strcmp(line, ack) != 0 && strstr(line, cack) == NULL), "room for %u: %s", room,
			  line);
	}
	cr_expect(responded, "room for %u: the response leaves", room);
	cr_expect_str_eq(pair->side[B].sent[pair->side[B].sent_count - 1], ack);
	close_agreed(pair);
}

Test(kept_execution, ack_never_covers_a_kept_read_or_atomic_before_its_response)
{
	RULE("S-14");
	RULE("S-8");
	RULE("S-21");
	for (uint32_t room = 2; room <= 32; room *= 4) {
		expect_response_before_ack((struct wire_packet){ .opcode = OP_READ_REQUEST, .dma_length = 3 * MTU }, 3,
					   "READ_RESPONSE_FIRST psn=301", room);
		expect_response_before_ack((struct wire_packet){ .opcode = OP_FETCH_ADD, .swap_add = 1 }, 1,
					   "ATOMIC_ACKNOWLEDGE psn=301", room);
	}
}
