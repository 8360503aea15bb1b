/* burst.c - after a loss less goes out at a time, for what follows a lost packet is sent in vain */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "packets.h"
#include "places.h"
#include "rc/loss.h"
#include "rule.h"

/* How many packets one call sends when there is room for all. */
static uint32_t one_call(struct pair *pair)
{
	uint32_t before = pair->side[A].packets;

	cr_assert(pair_transmit_some(pair, A, OUTBOX_PACKETS), "there is more to send");
	return pair->side[A].packets - before;
}

/* What follows a lost packet is sent in vain until its NAK is back: after a loss less is sent at a time for a while. */
Test(burst, loss_shortens_bursts_until_a_long_time_without_loss)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256 });
	uint32_t wr_id = 0, sent = 0;

	RULE("T-2");
	for (int i = 0; i < 8; i++)
		cr_assert_eq(pair_write(pair, ++wr_id, 65536), 0);
	cr_assert_eq(one_call(pair), OUTBOX_PACKETS);
	pair_cut(pair);
	one_call(pair);
	pair_mend(pair);
	one_call(pair);
	pair_deliver(pair, B); /* the gap shows */
	pair_transmit(pair, B);
	pair_deliver(pair, A);
	expect_counts(pair, A, CNT_PACKET_SEQ_ERR, 1);
	cr_assert_eq(one_call(pair), 8);
	for (sent = 8; sent < 256; sent += 8) {
		pair_deliver(pair, B);
		pair_transmit(pair, B);
		pair_deliver(pair, A);
		cr_assert_eq(one_call(pair), 8, "%u packets after the loss", sent);
	}
	pair_deliver(pair, B);
	pair_transmit(pair, B);
	pair_deliver(pair, A);
	cr_assert_eq(one_call(pair), 16);
	pair_run(pair);
	expect_done_count(pair, A, 8);
	pair_close(pair);
}

/* A write whose only packet is lost, until it is done all the same. */
static void lose_one(struct pair *pair, uint64_t wr_id)
{
	pair_cut(pair);
	pair_write(pair, wr_id, 8);
	pair_transmit(pair, A);
	pair_mend(pair);
	pair_fire(pair);
	cr_assert_eq(pair->side[A].done_count, wr_id);
}

/* Eight packets at a time after a loss; with each 256 that follow eight more. Another loss, and it begins anew. */
Test(burst, bursts_are_short_after_a_loss_and_grow_again)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256 });
	const struct rc_burst *burst = &pair->side[A].qp->cc.burst;

	cr_assert_eq(burst->packets, OUTBOX_PACKETS);
	lose_one(pair, 1); /* its resend is the first of them */
	cr_assert_eq(burst->packets, 8);
	pair_write(pair, 2, 253 * 256);
	pair_forget(pair);
	pair_transmit_some(pair, A, OUTBOX_PACKETS);
	expect_sent_count(pair, A, 8);
	pair_run(pair);
	cr_assert_eq(burst->packets, 8);
	pair->side[A].done_count = 2;
	lose_one(pair, 3); /* the 255th; its resend is the first of the next ones */
	cr_assert_eq(burst->packets, 8);
	pair_write(pair, 4, 254 * 256);
	pair_run(pair);
	cr_assert_eq(burst->packets, 8);
	pair_write(pair, 5, 8);
	pair_run(pair);
	cr_assert_eq(burst->packets, 16);
	pair_close(pair);
}

/* The answers that leave with them are none of the packets that make bursts longer again. */
Test(burst, answers_do_not_make_bursts_longer)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	const struct rc_burst *burst = &pair->side[A].qp->cc.burst;
	const struct uroce_send_wr wr = { .opcode = UROCE_WR_RDMA_WRITE, .send_flags = UROCE_SEND_SIGNALED };

	RULE("T-2");
	lose_one(pair, 1); /* its resend is the first of 256 */
	for (uint32_t sent = 1; sent < 256; sent++) {
		cr_assert_eq(burst->packets, 8, "after %u packets", sent);
		cr_assert_eq(pair_post(pair, B, wr, 0, 8), 0);
		pair_transmit(pair, B);
		pair_deliver(pair, A);
		pair_write(pair, 1 + sent, 8);
		pair_forget(pair);
		pair_transmit(pair, A);
		expect_sent_count(pair, A, 2); /* an ACK and the WRITE behind it */
		pair_run(pair);
	}
	cr_assert_eq(burst->packets, 16);
	pair_close(pair);
}

/* Responses of B that leave with one call when there is room for all. */
static uint32_t one_answer(struct pair *pair)
{
	uint32_t before = pair->side[B].packets;

	pair_transmit_some(pair, B, OUTBOX_PACKETS);
	return pair->side[B].packets - before;
}

/*
 * A repeated READ indicates a loss: eight responses at a time, and eight more with every 256. A repeated WRITE does
 * not, because only an ACK answers it.
 */
Test(burst, repeated_read_shortens_response_bursts)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256 });
	const uint32_t bytes = 2000 * 256;

	RULE("S-9");
	pair_cut(pair);
	pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 0, 0, 8, 8));
	pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 0, 0, 8, 8));
	pair_inject(pair, B, read_packet(pair, 1, 0, bytes));
	cr_assert_eq(one_answer(pair), OUTBOX_PACKETS);
	pair_inject(pair, B, read_packet(pair, 1 + 4, 4 * 256, bytes - 4 * 256));
	for (uint32_t sent = 0; sent < 256; sent += 8)
		cr_assert_eq(one_answer(pair), 8, "%u sent since", sent);
	for (uint32_t sent = 0; sent < 256; sent += 16)
		cr_assert_eq(one_answer(pair), 16, "%u sent since", sent);
	cr_assert_eq(one_answer(pair), 24);
	pair_inject(pair, B, read_packet(pair, 1 + 9, 9 * 256, bytes - 9 * 256));
	cr_assert_eq(one_answer(pair), 8);
	pair_close(pair);
}

/* Packets without room wait, whatever the burst size, and the ACK after the responses has its own room. */
Test(burst, responses_leave_room_for_the_following_ack)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256 });

	RULE("S-14");
	pair_cut(pair);
	pair_inject(pair, B, read_packet(pair, 0, 0, 8 * 256));
	pair_transmit(pair, B);
	pair_inject(pair, B, read_packet(pair, 0, 0, 8 * 256));
	pair_forget(pair);
	pair_transmit_some(pair, B, 3);
	expect_sent_count(pair, B, 3);
	pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 8, 0, 8, 8));
	pair_transmit_some(pair, B, 6);
	expect_sent_count(pair, B, 9);
	expect_sent(pair, B, 7, "READ_RESPONSE_LAST psn=7 credit=31 msn=1 bytes=256");
	expect_sent(pair, B, 8, "ACK psn=8 credit=31 msn=2");
	pair_close(pair);
}

/* Responses count, and what lies in the outbox before them does not. */
Test(burst, response_burst_grows_by_responses)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256 });
	struct rc_qp *qp = pair->side[B].qp;
	struct rc_outbox *out = malloc(sizeof(*out));

	RULE("S-9");
	burst_notice_loss(&qp->response_burst);
	outbox_reset(out);
	places_give(out, 8);
	pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 0, 0, 8, 8));
	rc_qp_transmit(qp, pair->now_ns, out);
	cr_assert_eq(out->packet_count, 1);
	pair_inject(pair, B, read_packet(pair, 1, 0, 2 * 256));
	rc_qp_transmit(qp, pair->now_ns, out);
	cr_assert_eq(out->packet_count, 3);
	cr_assert_eq(qp->response_burst.since_loss, 2);
	free(out);
	pair_close(pair);
}

/* A full burst needs no counting without losses. */
Test(burst, full_burst_stays_full)
{
	struct rc_burst burst;

	RULE("T-2");
	burst_reset(&burst);
	burst_grow(&burst, 100000);
	cr_assert(burst_is_full(&burst));
	cr_assert_eq(burst.packets, OUTBOX_PACKETS);
	cr_assert_eq(burst.since_loss, 0);
}

/* A long WRITE is lost from its first packet on, and once more: what may be in flight is halved. */
static struct pair *lose_twice(void)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256 });

	pair_cut(pair);
	pair_write(pair, 1, 1 << 20);
	for (uint32_t i = 0; i < 2; i++) {
		pair_transmit(pair, A);
		pair->now_ns += 200000000; /* no echo of the other one */
		pair_inject(pair, A, ack_packet(0, SYNDROME_SEQUENCE, 0));
	}
	expect_counts(pair, A, CNT_PACKET_SEQ_ERR, 2);
	pair_forget(pair);
	return pair;
}

Test(burst, losses_shrink_the_flight_and_acks_grow_it)
{
	struct pair *pair = lose_twice();

	RULE("P-4");
	pair_transmit(pair, A);
	expect_sent_count(pair, A, WINDOW_PACKETS / 2);
	pair_forget(pair);
	pair_inject(pair, A, ack_packet(WINDOW_PACKETS / 2 - 1, SYNDROME_PLAIN_ACK, 0));
	pair_transmit(pair, A);
	expect_sent_count(pair, A, WINDOW_PACKETS);
	pair_close(pair);
}

/* The losses of another path are unknown. */
Test(burst, new_path_has_the_full_window)
{
	struct pair *pair = lose_twice();

	RULE("A-4");
	rc_loss_path_changed(pair->side[A].qp);
	pair_transmit(pair, A);
	expect_sent_count(pair, A, WINDOW_PACKETS);
	pair_close(pair);
}
