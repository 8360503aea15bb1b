/* flushed.c - what a flushed request does not say: whether the peer has executed it */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "packets.h"
#include "rule.h"

static void to_error(struct pair *pair, enum side_name side)
{
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_ERR };

	cr_assert_eq(rc_qp_modify(pair->side[side].qp, &attr, UROCE_QP_STATE, NULL), 0);
}

/* Everything arrives, and then no answer comes back; or nothing arrives. */
static int lose(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	(void)number;
	(void)packet;
	return from != (enum side_name)(uintptr_t)pair->user;
}

/* E-8: the completions are the same whether all or no requests were executed. */
Test(flushed, flushed_request_may_have_been_executed)
{
	RULE("E-8");
	for (int executed = 0; executed < 2; executed++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		uint64_t counter = 7, found;

		pair->copies = lose;
		pair->user = (void *)(uintptr_t)(executed ? B : A);
		memcpy(pair->side[B].memory, &counter, 8);
		pair_recv(pair, B, 100, 1024, 64);
		pair_fetch_add(pair, 1, 5);
		pair_send(pair, 2, 64);
		pair_transmit(pair, A);
		pair_deliver(pair, B);
		pair_transmit(pair, B);
		pair_deliver(pair, A);
		expect_done_count(pair, A, 0);
		to_error(pair, A);
		pair_transmit(pair, A);
		expect_completes(pair, A, "wr=1 FADD WR_FLUSH_ERR", "wr=2 SEND WR_FLUSH_ERR");
		memcpy(&found, pair->side[B].memory, 8);
		cr_assert_eq(found, executed ? 12 : 7);
		cr_assert_eq(pair->side[B].done_count, executed ? 1 : 0);
		if (executed)
			expect_done(pair, B, 0, "wr=100 RECV SUCCESS len=64");
		pair_close(pair);
	}
}
