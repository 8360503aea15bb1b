/* late_credits.c - credits that arrive late, or for messages that are no longer tracked (F-3) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "packets.h"
#include "places.h"
#include "rule.h"

/* Credits are counted, and A has sent the one SEND that may go before the first news. */
static struct pair *open_with_send(uint32_t flags)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	const struct uroce_send_wr wr = { .opcode = UROCE_WR_SEND, .send_flags = flags };

	for (int i = 0; i < 2; i++)
		qp_set_flow_control(pair->side[i].qp, true);
	pair_cut(pair);
	pair_post(pair, A, wr, 0, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "SEND_ONLY psn=0 ackreq bytes=8");
	return pair;
}

/* A window of A's, bound: its key. */
static uint32_t open_window(struct pair *pair)
{
	uint32_t key = rc_mr_insert_window(&pair->side[A].mrs, 1, MR_WINDOW_2);
	const struct rc_mr_bind bind = {
		.va = (uintptr_t)pair->side[A].memory,
		.bytes = 64,
		.region_key = pair->side[A].key,
		.access = UROCE_ACCESS_REMOTE_READ,
		.key = (key & ~0xFFu) | ((key + 1) & 0xFF),
	};

	cr_assert(rc_mr_bind(&pair->side[A].mrs, 1, pair->side[A].qp->qpn, &bind));
	return bind.key;
}

/* What comes next begins, and is done if it is local; but there is no room to tell of anything. */
static void start_untold(struct pair *pair)
{
	outbox_reset(&pair->out);
	places_give(&pair->out, OUTBOX_PACKETS);
	pair->out.completion_count = OUTBOX_COMPLETIONS;
	cr_assert(rc_qp_transmit(pair->side[A].qp, pair->now_ns, &pair->out), "there was room to tell of it");
}

/* Late credits count the later messages, but not a local operation among them. */
Test(late_credits, late_credits_skip_a_local_operation)
{
	struct pair *pair = open_with_send(UROCE_SEND_SIGNALED);
	const struct uroce_send_wr wr = {
		.wr_id = 9,
		.opcode = UROCE_WR_LOCAL_INV,
		.send_flags = UROCE_SEND_SIGNALED,
		.rkey = open_window(pair),
	};

	RULE("F-3");
	pair_respond(pair, ack_packet(0, 2, 0));
	pair_send(pair, 1, 8);
	pair_transmit(pair, A);
	pair_respond(pair, ack_packet(1, 4, 0)); /* two are used */
	expect_completes(pair, A, "wr=0 SEND SUCCESS", "wr=1 SEND SUCCESS");
	cr_assert_eq(pair_post(pair, A, wr, 0, 0), 0);
	for (uint64_t i = 2; i < 6; i++)
		pair_send(pair, i, 8);
	start_untold(pair); /* and two more */
	pair_forget(pair);
	pair_respond(pair, ack_packet(1, 4, 1)); /* three are used behind the first one */
	expect_completes(pair, A, "wr=9 LOCAL_INV SUCCESS");
	expect_leaves(pair, A, "SEND_ONLY psn=4 ackreq bytes=8");
	pair_close(pair);
}

/* It has used no entry, so the SEND before it has used all that were: the peer's entry is free for the next. */
Test(late_credits, write_after_the_message_uses_no_receive)
{
	struct pair *pair = open_with_send(0);

	RULE("F-3");
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=1 ackreq va=0x0 len=8 bytes=8");
	pair_send(pair, 2, 8);
	pair_respond(pair, ack_packet(0, 1, 1));
	expect_leaves(pair, A, "SEND_ONLY psn=2 ackreq bytes=8");
	pair_close(pair);
}

/* Untracked messages may have used receives; receives counted by earlier credits stay counted. */
Test(late_credits, late_credits_revoke_no_counted_entry)
{
	struct pair *pair = open_with_send(0);

	RULE("F-3");
	pair_respond(pair, ack_packet(0, 1, 1));
	pair_send(pair, 1, 8);
	pair_transmit(pair, A);
	pair_respond(pair, ack_packet(1, 0, 2));
	pair_write(pair, 2, 8);
	pair_write(pair, 3, 8);
	pair_transmit(pair, A);
	pair_respond(pair, ack_packet(3, 0, 2));
	expect_completes(pair, A, "wr=1 SEND SUCCESS", "wr=2 WRITE SUCCESS", "wr=3 WRITE SUCCESS");
	pair_forget(pair);
	pair_respond(pair, ack_packet(3, 1, 3));
	pair_send(pair, 4, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "SEND_ONLY psn=4 ackreq bytes=8");
	pair_close(pair);
}
