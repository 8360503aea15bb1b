/* full_port.c - the port has no room at the N-th call, or for one packet per call: all is sent later, once */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "packets.h"
#include "places.h"
#include "rule.h"

#define WORD_AT 65536u

/* What the N-th call of rc_qp_transmit() finds, and those behind it. */
struct room {
	uint32_t calls, nth;
	uint32_t then;  /* packets at the N-th call */
	uint32_t after; /* behind it */
};

static void transmit(struct pair *pair, enum side_name side, struct room *room)
{
	bool more;

	do {
		uint32_t call = ++room->calls;
		uint32_t packets = call < room->nth ? OUTBOX_PACKETS : call == room->nth ? room->then : room->after;

		more = pair_transmit_some(pair, side, packets);
	} while (more && room->calls < 100000);
}

static bool wire_is_empty(const struct pair *pair)
{
	return pair->side[A].wire_head == pair->side[A].wire_tail && pair->side[B].wire_head == pair->side[B].wire_tail;
}

static void run(struct pair *pair, struct room *room)
{
	do {
		for (int i = 0; i < 2; i++)
			transmit(pair, (enum side_name)i, room);
		pair->now_ns += pair->step_ns;
		for (int i = 0; i < 2; i++)
			pair_deliver(pair, (enum side_name)i);
		for (int i = 0; i < 2; i++)
			transmit(pair, (enum side_name)i, room);
	} while (!wire_is_empty(pair));
}

/* The fixed exchange. Returns how many calls it took. */
static uint32_t exchange(uint32_t nth, uint32_t then, uint32_t after)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256, .receives = 2 });
	struct room room = { .nth = nth, .then = then, .after = after };

	pair_set_word(pair, B, WORD_AT, 40);
	pair_write(pair, 1, 3000);
	pair_send(pair, 2, 1000);
	pair_post(pair, A,
		  (struct uroce_send_wr){ .wr_id = 3,
					  .opcode = UROCE_WR_ATOMIC_FETCH_AND_ADD,
					  .send_flags = UROCE_SEND_SIGNALED,
					  .compare_add = 2,
					  .remote_addr = (uintptr_t)pair->side[B].memory + WORD_AT },
		  WORD_AT, 8);
	pair_read(pair, 4, 9000);
	run(pair, &room);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 SEND SUCCESS", "wr=3 FADD SUCCESS",
			 "wr=4 READ SUCCESS len=9000");
	expect_completes(pair, B, "wr=1000 RECV SUCCESS len=1000");
	cr_assert_eq(pair_word(pair, A, WORD_AT), 40, "N = %u", nth);
	cr_assert_eq(pair_word(pair, B, WORD_AT), 42, "N = %u", nth);
	cr_assert_arr_eq(pair->side[A].memory, pair->side[B].memory, 9000);
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 0);
	expect_counts(pair, B, CNT_DUPLICATE_REQUEST, 0);
	pair_close(pair);
	return room.calls;
}

Test(full_port, full_port_at_any_call_costs_only_that_call)
{
	uint32_t nth = 1;

	RULE("S-15");
	while (exchange(nth, 0, OUTBOX_PACKETS) >= nth)
		nth++;
	cr_assert_gt(nth, 8, "the exchange takes some calls");
}

Test(full_port, room_for_one_packet_per_call_suffices)
{
	uint32_t nth = 1;

	RULE("S-15");
	while (exchange(nth, 1, 1) >= nth && nth < 40)
		nth++;
	cr_assert_gt(nth, 8);
}

/*
 * TC-E-25: ten seconds without any room, under timers of a millisecond. What never left costs no retry; of what had
 * left there is one timeout, since its resend does not leave either.
 */
Test(full_port, ten_seconds_without_room_lose_nothing)
{
	RULE("S-15");
	RULE("T-1");
	for (uint32_t sent = 0; sent < 3; sent += 2) {
		struct pair *pair = pair_open(&(struct pair_options){ .receives = 1, .timeout = 8, .retry_cnt = 1 });

		pair_write(pair, 1, 3000);
		pair_send(pair, 2, 100);
		pair_read(pair, 3, 3000);
		pair_transmit_some(pair, A, sent);
		pair_deliver(pair, B);
		for (uint32_t i = 0; i < 10000; i++) {
			cr_assert(pair_transmit_some(pair, A, 0));
			pair->now_ns += 1000000;
			if (rc_qp_deadline(pair->side[A].qp) <= pair->now_ns)
				rc_qp_timeout(pair->side[A].qp, pair->now_ns);
		}
		pair_run(pair);
		expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 SEND SUCCESS", "wr=3 READ SUCCESS len=3000");
		expect_completes(pair, B, "wr=1000 RECV SUCCESS len=100");
		expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, sent > 0);
		expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, sent);
		pair_close(pair);
	}
}

/* Each kind of answer that finds no room says that there is more to send; when it has left there is not. */
Test(full_port, answer_without_room_reports_pending_work)
{
	RULE("S-15");
	RULE("S-18");
	for (uint32_t kind = 0; kind < 4; kind++) {
		struct pair *pair = pair_open(&(struct pair_options){ .receives = kind == 2 ? 0 : 2 });

		if (kind == 0) /* an ACK */
			pair_inject(pair, B, send_packet(OP_SEND_ONLY, 0, 8));
		if (kind == 1) /* a sequence NAK */
			pair_inject(pair, B, send_packet(OP_SEND_ONLY, 1, 8));
		if (kind == 2) /* an RNR NAK */
			pair_inject(pair, B, send_packet(OP_SEND_ONLY, 0, 8));
		if (kind == 3) /* credits */
			qp_set_flow_control(pair->side[B].qp, true);
		cr_assert(pair_transmit_some(pair, B, 0), "kind %u", kind);
		cr_assert(pair_transmit_some(pair, B, 0), "kind %u is forgotten", kind);
		expect_sent_count(pair, B, 0);
		cr_assert_not(pair_transmit_some(pair, B, 1), "kind %u", kind);
		expect_sent_count(pair, B, 1);
		pair_close(pair);
	}
}

/* An event that the host has no room for is told when it has, once. */
Test(full_port, event_without_room_reports_pending_work)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct rc_qp *qp = pair->side[B].qp;

	RULE("V-1");
	pair_inject(pair, B, send_packet(OP_SEND_LAST, 0, 8)); /* fatal */
	outbox_reset(&pair->out);
	places_give(&pair->out, OUTBOX_PACKETS);
	pair->out.event_count = OUTBOX_EVENTS;
	cr_assert(rc_qp_transmit(qp, pair->now_ns, &pair->out));
	cr_assert_eq(pair->out.event_count, OUTBOX_EVENTS);
	cr_assert_not(pair_transmit_some(pair, B, OUTBOX_PACKETS));
	expect_events(pair, B, "QP_REQ_ERR");
	pair_close(pair);
}
