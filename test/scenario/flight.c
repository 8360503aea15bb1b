/* flight.c - one lost READ response, the rest of the flight out of order behind it: one restart, one retry */
/* SPDX-License-Identifier: BSD-3-Clause */
/* Found by uroce-perf with loss and reordering: each response that came late cost a retry, until none was left. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "opened.h"
#include "packets.h"
#include "peek.h"
#include "rule.h"

/* B has answered two READs of 8 packets; the first response is lost, the second shows it, A asks again. */
static struct pair *lose_the_first_response(struct flight *rest, uint32_t *count)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = 1024, .no_boards = true });
	struct side *b = &pair->side[B];

	pair_read(pair, 1, 8192);
	pair_read(pair, 2, 8192);
	pair_transmit(pair, A);
	pair_deliver(pair, B);
	pair_transmit(pair, B);
	free(nth_on_wire(b, 0)->frame);
	b->wire_head++;
	/* keep back all but the one that shows the gap */
	for (*count = 0; *count < 14; (*count)++)
		rest[*count] = *nth_on_wire(b, *count + 1);
	b->wire_tail = b->wire_head + 1;
	pair_deliver(pair, A);
	cr_assert_eq(pair->side[A].qp->counters[CNT_IMPLIED_NAK_SEQ_ERR], 1);
	pair_transmit(pair, A);   /* the repeated requests are on their way; B has not seen them */
	pair->now_ns += 10000000; /* longer than any round trip so far */
	for (uint32_t i = 0; i < *count; i++)
		*nth_on_wire(b, b->wire_tail++ - b->wire_head) = rest[i];
	return pair;
}

Test(flight, late_responses_of_the_old_flight_cost_no_retry)
{
	struct flight rest[16];
	uint32_t count;
	struct pair *pair = lose_the_first_response(rest, &count);

	RULE("Q-9");
	RULE("T-3");
	for (uint32_t i = 0; i + 1 < count; i += 2)
		swap_on_wire(&pair->side[B], i, i + 1);
	pair_deliver(pair, A);
	cr_assert_eq(pair->side[A].qp->counters[CNT_IMPLIED_NAK_SEQ_ERR], 1, "several triggers, one restart");
	cr_assert_eq(peek_retries_left(pair->side[A].qp), 6);
	pair_run(pair);
	expect_done_count(pair, A, 2);
	cr_assert_arr_eq(pair->side[A].memory, pair->side[B].memory, 8192);
	pair_close(pair);
}

Test(flight, second_loss_is_detected_by_repeated_responses)
{
	struct flight rest[16];
	uint32_t count;
	struct pair *pair = lose_the_first_response(rest, &count);
	struct side *b = &pair->side[B];

	RULE("Q-9");
	pair_deliver(pair, A);
	pair_deliver(pair, B);
	pair_transmit(pair, B);
	free(nth_on_wire(b, 0)->frame); /* lost again */
	b->wire_head++;
	pair->now_ns += peek_timeout_ns(pair->side[A].qp); /* no round trip is known */
	pair_deliver(pair, A);
	cr_assert_eq(pair->side[A].qp->counters[CNT_IMPLIED_NAK_SEQ_ERR], 2, "a new failure");
	pair_run(pair);
	expect_done_count(pair, A, 2);
	cr_assert_eq(pair->side[A].qp->counters[CNT_LOCAL_ACK_TIMEOUT_ERR], 0);
	pair_close(pair);
}

/* The port takes one packet of the resend; then an answer comes that is older than the one that showed the loss. */
Test(flight, unsent_resend_cannot_be_answered)
{
	struct pair *pair = pair_open(&(struct pair_options){ .rd_atomic = 4, .no_boards = true });
	struct side *b = &pair->side[B];
	struct flight late;

	RULE("Q-9");
	for (uint64_t i = 0; i < 4; i++)
		pair_fetch_add(pair, i, 1);
	pair_transmit(pair, A);
	pair_deliver(pair, B);
	pair_transmit(pair, B);
	free(nth_on_wire(b, 0)->frame); /* the first answer is lost, the second comes after the third */
	late = *nth_on_wire(b, 1);
	b->wire_head += 2;
	free(nth_on_wire(b, 1)->frame);
	b->wire_tail--;
	pair_deliver(pair, A);
	pair_forget(pair);
	cr_assert(pair_transmit_some(pair, A, 1));
	pair->now_ns += 10000000; /* longer than any round trip so far */
	*nth_on_wire(b, 0) = late;
	b->wire_tail++;
	pair_deliver(pair, A);
	pair_transmit(pair, A);
	cr_expect_eq(pair->side[A].qp->counters[CNT_IMPLIED_NAK_SEQ_ERR], 1);
	cr_assert_eq(pair->side[A].sent_count, 4);
	for (uint32_t i = 0; i < 4; i++)
		cr_expect(strstr(pair->side[A].sent[i], pair_text("FETCH_ADD psn=%u ", i)), "%s",
			  pair->side[A].sent[i]);
	pair_mend(pair);
	pair_run(pair);
	expect_done_count(pair, A, 4);
	pair_close(pair);
}

/* As above, but the late response makes progress: the resend of later requests is still in flight. */
Test(flight, progress_by_a_stale_response_keeps_the_others_stale)
{
	struct pair *pair = pair_open(&(struct pair_options){ .rd_atomic = 4 });
	struct side *b = &pair->side[B];
	struct flight late;

	RULE("Q-9");
	RULE("T-3");
	pair_read(pair, 1, 2048);
	pair_fetch_add(pair, 2, 1);
	pair_fetch_add(pair, 3, 1);
	pair_transmit(pair, A);
	pair_deliver(pair, B);
	pair_transmit(pair, B);
	late = *nth_on_wire(b, 2); /* the answers of the READ are overtaken, the second one is lost */
	free(nth_on_wire(b, 1)->frame);
	*nth_on_wire(b, 1) = *nth_on_wire(b, 0);
	*nth_on_wire(b, 0) = late;
	late = *nth_on_wire(b, 3);
	b->wire_tail -= 3;
	pair_deliver(pair, A);
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
	pair_forget(pair);
	cr_assert(pair_transmit_some(pair, A, 1));
	expect_sent(pair, A, 0, "READ_REQUEST psn=0 ackreq va=0x0 len=2048");
	pair->now_ns += 10000000; /* longer than any round trip so far */
	b->wire_tail++;           /* the first answer of the READ */
	*nth_on_wire(b, 1) = late;
	b->wire_tail++;
	pair_deliver(pair, A);
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
	cr_expect_eq(peek_retries_left(pair->side[A].qp), 7);
	pair_forget(pair);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "FETCH_ADD psn=2 ackreq va=0x0 add=0x1", "FETCH_ADD psn=3 ackreq va=0x0 add=0x1");
	pair_run(pair);
	expect_done_count(pair, A, 3);
	cr_assert_arr_eq(pair->side[A].memory + 8, pair->side[B].memory + 8, 2040); /* before it are the words */
	pair_close(pair);
}

/* The first packet sent determines the restart time; later packets do not (T-5). */
Test(flight, restart_time_is_that_of_its_first_packet)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	uint64_t began_ns;

	RULE("T-5");
	pair_cut(pair);
	for (uint64_t i = 0; i < 4; i++)
		pair_write(pair, i, 8);
	pair_transmit(pair, A);
	pair_inject(pair, A, ack_packet(0, SYNDROME_SEQUENCE, 0));
	began_ns = pair->now_ns;
	pair_transmit_some(pair, A, 1);
	pair->now_ns += 5000;
	pair_transmit(pair, A);
	cr_assert_eq(pair->side[A].qp->flight_past.resent_ns, began_ns);
	pair_close(pair);
}
