/* reordered_credits.c - an ACK overtaken by a NAK grants no credit twice */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "packets.h"
#include "peek.h"
#include "rule.h"

/* Six SENDs: a NAK reports the first four as done; then an ACK of the first comes, of when there were four entries. */
Test(reordered_credits, stale_ack_grants_only_its_old_credits)
{
	struct pair *pair = pair_open(&(struct pair_options){ .retry_cnt = 7 });
	struct rc_qp *qp = pair->side[A].qp;

	RULE("F-3");
	qp_set_flow_control(qp, true);
	pair_cut(pair);
	pair_respond(pair, ack_packet(0xFFFFFF, 5, 0)); /* six credits, to begin with */
	for (uint64_t i = 0; i < 10; i++)
		pair_send(pair, i, 8);
	pair_transmit(pair, A);
	cr_assert_eq(peek_sent(qp), 6);
	pair_respond(pair, ack_packet(4, SYNDROME_SEQUENCE, 4));
	expect_done_count(pair, A, 4);
	pair_forget(pair);
	pair_respond(pair, ack_packet(0, 4, 1)); /* MSN 1, and four credits: up to the fifth message */
	cr_assert_eq(peek_sent(qp), 6, "%u", peek_sent(qp));
	pair_respond(pair, ack_packet(5, 4, 6));
	cr_assert_eq(peek_sent(qp), 10, "news of now count");
	pair_close(pair);
}

/* As many as may have needed an entry are reckoned with, local operations left out. */
Test(reordered_credits, credits_of_unreported_messages_are_exact)
{
	struct pair *pair = pair_open(&(struct pair_options){ .retry_cnt = 7 });
	struct rc_qp *qp = pair->side[A].qp;

	RULE("F-3");
	qp_set_flow_control(qp, true);
	pair_cut(pair);
	pair_respond(pair, ack_packet(0xFFFFFF, 3, 0)); /* three credits */
	pair_write(pair, 0, 8);
	for (uint64_t i = 1; i < 8; i++)
		pair_send(pair, i, 8);
	pair_transmit(pair, A);
	cr_assert_eq(peek_sent(qp), 4, "a WRITE needs none");
	pair_respond(pair, ack_packet(1, 2, 2)); /* the WRITE and a SEND are done; two more */
	cr_assert_eq(peek_sent(qp), 4);
	pair_respond(pair, ack_packet(2, 2, 3));
	cr_assert_eq(peek_sent(qp), 5);
	pair_close(pair);
}
