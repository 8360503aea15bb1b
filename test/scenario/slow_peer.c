/* slow_peer.c - a peer that answers late, all that it was ever asked, in any order: it costs time and no retries */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TC-E-5, TC-E-26. Written from T-1 to T-6, Q-8 to Q-12 and F-3 alone: what a peer with a long queue may send, and what
 * nobody may send to it.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "draw.h"
#include "opened.h"
#include "packets.h"
#include "peek.h"
#include "rule.h"

#define MTU 256u
#define ROUND_TRIP_NS 10000ull
#define TIMEOUT_NS 67108864ull /* code 14 */

/* A has measured a round trip; PSN 0 is used then. */
static struct pair *open_measured(bool asks_early)
{
	struct pair *pair =
		pair_open(&(struct pair_options){ .mtu = MTU, .rd_atomic = 8, .receives = 8, .no_boards = true });

	poke_probes(pair->side[A].qp, asks_early);
	pair_measure(pair, ROUND_TRIP_NS);
	return pair;
}

static uint32_t on_wire(const struct side *side)
{
	return side->wire_tail - side->wire_head;
}

static void lose_nth(struct side *side, uint32_t n)
{
	free(nth_on_wire(side, n)->frame);
	for (; n > 0; n--)
		*nth_on_wire(side, n) = *nth_on_wire(side, n - 1);
	side->wire_head++;
}

/* The oldest packet that B has sent arrives; what A says to it waits on the wire. */
static void deliver_one(struct pair *pair)
{
	struct side *b = &pair->side[B];
	uint32_t tail = b->wire_tail;

	b->wire_tail = b->wire_head + 1;
	pair_deliver(pair, A);
	b->wire_tail = tail;
	pair_transmit(pair, A);
}

/* Everything has arrived as it should. */
static void expect_read(const struct pair *pair, uint32_t bytes)
{
	cr_assert_arr_eq(pair->side[A].memory, pair->side[B].memory, bytes);
}

/* Four READs are answered by a peer that takes its time; one response is lost. A has asked again. */
static struct pair *lose_one_of_a_long_flight(void)
{
	struct pair *pair = open_measured(false);
	struct side *b = &pair->side[B];

	for (uint64_t i = 0; i < 4; i++)
		pair_read(pair, i, 64 * MTU);
	pair_transmit(pair, A);
	pair_deliver(pair, B);
	pair_transmit(pair, B);
	cr_assert_eq(on_wire(b), 256);
	lose_nth(b, 5);
	for (uint32_t i = 0; i < 6; i++)
		deliver_one(pair);
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
	return pair;
}

/* The whole old flight arrives, each packet too late to answer the repeated request. */
Test(slow_peer, old_flight_of_responses_costs_no_retry_and_no_request)
{
	struct pair *pair = lose_one_of_a_long_flight();
	struct side *b = &pair->side[B];

	RULE("T-5");
	RULE("Q-9");
	pair_forget(pair);
	while (on_wire(b)) {
		pair->now_ns += 10 * ROUND_TRIP_NS;
		deliver_one(pair);
	}
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
	cr_assert_eq(peek_retries_left(pair->side[A].qp), 6);
	expect_leaves(pair, A);
	pair_run(pair);
	expect_done_count(pair, A, 4);
	expect_read(pair, 64 * MTU);
	pair_close(pair);
}

/* The same out of order: it may look like further losses, but there is life in it, and no time-out has passed. */
Test(slow_peer, unordered_old_flight_does_not_end_the_connection)
{
	RULE("T-5");
	RULE("T-3");
	for (uint32_t seed = 1; seed <= 64; seed++) {
		struct pair *pair = lose_one_of_a_long_flight();
		struct side *b = &pair->side[B];
		uint64_t state = draw_start(seed);
		uint32_t count = on_wire(b), reach = 1u << seed % 9;

		for (uint32_t i = 0; i + reach < count; i++)
			swap_on_wire(b, i, i + draw_below(&state, reach));
		while (on_wire(b)) {
			pair->now_ns += 10 * ROUND_TRIP_NS;
			deliver_one(pair);
			cr_assert_eq(peek_state(pair->side[A].qp), UROCE_QPS_RTS,
				     "seed %u: %u responses are still to come", seed, on_wire(b));
		}
		pair_run(pair);
		expect_done_count(pair, A, 4);
		expect_read(pair, 64 * MTU);
		pair_close(pair);
	}
}

/* With no retry left the ACK timer decides whether the peer is gone; without a timer the next loss does. */
Test(slow_peer, the_last_retry_is_judged_by_the_ack_timer)
{
	uint64_t resent_ns;

	RULE("T-3");
	RULE("T-4");
	for (uint32_t timer = 0; timer < 2; timer++) {
		struct pair *pair = pair_open(&(struct pair_options){
			.mtu = MTU, .retry_cnt = 1, .timeout = timer ? 14 : 255, .no_boards = true });

		pair_cut(pair);
		pair_write(pair, 0, 8);
		pair_transmit(pair, A);
		pair->now_ns += ROUND_TRIP_NS;
		pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
		pair_fetch_add(pair, 1, 1);
		pair_fetch_add(pair, 2, 1);
		pair_transmit(pair, A);
		pair_forget(pair);
		pair_respond(pair, atomic_ack_packet(2, 0)); /* the one retry */
		resent_ns = pair->now_ns;
		pair->now_ns += 10 * ROUND_TRIP_NS;
		pair_respond(pair, atomic_ack_packet(2, 0));
		if (timer) {
			expect_completes(pair, A);
			cr_assert_eq(rc_qp_deadline(pair->side[A].qp), resent_ns + TIMEOUT_NS);
			pair->now_ns = resent_ns + TIMEOUT_NS;
			rc_qp_timeout(pair->side[A].qp, pair->now_ns);
		}
		pair_transmit(pair, A);
		expect_completes(pair, A, "wr=1 FADD RETRY_EXC_ERR", "wr=2 FADD WR_FLUSH_ERR");
		cr_assert_eq(pair->side[A].wcs[0].vendor_err, timer ? UROCE_CAUSE_TIMEOUT : UROCE_CAUSE_IMPLIED_NAK);
		pair_close(pair);
	}
}

/* A peer that NAKs each packet behind a gap, as it comes to look at it. */
Test(slow_peer, a_nak_for_each_packet_of_the_old_flight_is_an_echo)
{
	struct pair *pair = open_measured(false);
	const struct rc_qp *qp = pair->side[A].qp;
	uint64_t bound_ns;

	RULE("T-5");
	pair_cut(pair);
	for (uint64_t i = 0; i < 32; i++)
		pair_write(pair, i, 8);
	pair_transmit(pair, A);
	pair->now_ns += ROUND_TRIP_NS;
	pair_respond(pair, ack_packet(1, SYNDROME_SEQUENCE, 1));
	bound_ns = peek_round_trip_ns(qp) + 4 * peek_variation_ns(qp);
	pair_forget(pair);
	for (uint32_t i = 0; i < 31; i++) {
		pair->now_ns += bound_ns / 32;
		pair_respond(pair, ack_packet(1, SYNDROME_SEQUENCE, 1));
	}
	expect_leaves(pair, A);
	expect_counts(pair, A, CNT_PACKET_SEQ_ERR, 1);
	expect_counts(pair, A, CNT_REPEATED_NAK, 31);
	cr_assert_eq(peek_retries_left(qp), 6);
	pair_close(pair);
}

/* ---- early questions ---- */

/* What is unanswered when the question comes: up to two requests, and whether each is a READ. */
struct unanswered {
	uint32_t bytes[2];
	bool read[2];
};

static const struct unanswered unanswered[] = {
	{ { 8 } },
	{ { MTU } },
	{ { 3 * MTU } },
	{ { 8 }, { true } },
	{ { MTU }, { true } },
	{ { MTU + 1 }, { true } },
	{ { 40 * MTU }, { true } },
	{ { 8, 8 } },
	{ { MTU / 2, MTU / 2 } },
	{ { MTU / 2, MTU / 2 + 1 } },
	{ { 3 * MTU, 8 } },
	{ { 8, 3 * MTU } },
	{ { 3 * MTU - 8, 8 } },
	{ { 2 * MTU + 8, 8 } },
	{ { MTU, MTU } },
	{ { 8, 8 }, { true, false } },
	{ { 40 * MTU, 8 }, { true, false } },
	{ { 40 * MTU, 40 * MTU }, { true, true } },
	{ { 8, 40 * MTU }, { false, true } },
	{ { MTU, 40 * MTU }, { false, true } },
	{ { 8, 8 }, { true, true } },
};

static uint32_t asked_payload, asked_packets, asked_answers;

static void weigh(struct pair *pair, enum side_name at, enum side_name from, const struct wire_packet *packet)
{
	(void)pair;
	if (at != A || from != A)
		return;
	asked_packets++;
	asked_payload += packet->payload_bytes;
	if (packet->opcode == OP_READ_REQUEST)
		asked_answers += packet->dma_length / MTU + (packet->dma_length % MTU > 0);
	cr_assert(packet->flags & WIRE_ACKREQ, "who does not ask gets no answer");
}

/* T-6: for any unanswered request, however often it was repeated. */
Test(slow_peer, probe_is_small_and_the_only_one_in_flight)
{
	RULE("T-6");
	for (uint32_t i = 0; i < 2 * sizeof(unanswered) / sizeof(unanswered[0]); i++) {
		const struct unanswered *row = &unanswered[i / 2];
		bool measured = i % 2;
		struct pair *pair = measured ? open_measured(true) :
					       pair_open(&(struct pair_options){ .mtu = MTU, .rd_atomic = 8 });
		struct rc_qp *qp = pair->side[A].qp;
		uint64_t began = pair->now_ns, last = began, wait = measured ? 0 : TIMEOUT_NS / 2;

		poke_probes(qp, true);
		pair_cut(pair);
		for (uint32_t j = 0; j < 2 && row->bytes[j]; j++)
			(row->read[j] ? pair_read : pair_write)(pair, j, row->bytes[j]);
		pair_transmit(pair, A);
		pair->tap = weigh;
		while (peek_ask_ns(qp) != RC_NEVER) {
			asked_payload = asked_packets = asked_answers = 0;
			cr_assert_geq(peek_ask_ns(qp) - last, wait, "row %u: two under way", i / 2);
			wait = 2 * (peek_ask_ns(qp) - last);
			pair->now_ns = last = peek_ask_ns(qp);
			if (rc_qp_deadline(qp) < pair->now_ns)
				break; /* the ACK timer */
			rc_qp_timeout(qp, pair->now_ns);
			pair_transmit(pair, A);
			cr_assert(asked_packets == 1 || asked_packets == 2, "row %u: %u packets", i / 2, asked_packets);
			cr_assert_leq(asked_payload, MTU, "row %u: %u bytes", i / 2, asked_payload);
			cr_assert_leq(asked_answers, 1, "row %u: %u answers", i / 2, asked_answers);
		}
		cr_assert_gt(last, began, "row %u: nobody was asked", i / 2);
		cr_assert_eq(peek_retries_left(qp), 7);
		pair_close(pair);
	}
}

/* A response of any kind, and what lies in the window when it comes: WRITE 1, READ 2 to 4, WRITE 5, and all rewound. */
struct sign {
	const char *name;
	struct wire_packet packet;
};

Test(slow_peer, every_response_restarts_the_wait)
{
	const struct sign signs[] = {
		{ "an ACK of old", ack_packet(0, SYNDROME_PLAIN_ACK, 1) },
		{ "a response of old", response_packet(OP_READ_RESPONSE_ONLY, 0, 8) },
		{ "an ACK that goes on", ack_packet(1, SYNDROME_PLAIN_ACK, 2) },
		{ "an ACK behind the READ", ack_packet(5, SYNDROME_PLAIN_ACK, 4) },
		{ "a response that goes on", response_packet(OP_READ_RESPONSE_FIRST, 2, MTU) },
		{ "a response behind a gap", response_packet(OP_READ_RESPONSE_LAST, 4, MTU) },
		{ "a NAK that goes on", ack_packet(2, SYNDROME_SEQUENCE, 2) },
		{ "a NAK of the oldest", ack_packet(1, SYNDROME_SEQUENCE, 1) },
		{ "a NAK behind the READ", ack_packet(5, SYNDROME_SEQUENCE, 4) },
		{ "a reserved syndrome", ack_packet(1, 0x40, 1) },
		{ "a NAK with a reserved code", ack_packet(1, 0x70, 1) },
	};

	RULE("T-6");
	for (uint32_t i = 0; i < 2 * sizeof(signs) / sizeof(signs[0]); i++) {
		const struct sign *sign = &signs[i / 2];
		struct pair *pair = open_measured(true);
		struct rc_qp *qp = pair->side[A].qp;

		pair_cut(pair);
		pair_write(pair, 1, 8);
		pair_read(pair, 2, 3 * MTU);
		pair_write(pair, 3, 8);
		pair_transmit(pair, A);
		if (i % 2) { /* a restart; what comes is an echo */
			pair->now_ns += 1000;
			pair_respond(pair, ack_packet(1, SYNDROME_SEQUENCE, 1));
		}
		cr_assert_neq(peek_ask_ns(qp), RC_NEVER);
		pair->now_ns = peek_ask_ns(qp) - 10;
		pair_respond(pair, sign->packet);
		cr_assert_gt(peek_ask_ns(qp), pair->now_ns + 10, "%s%s", sign->name, i % 2 ? ", an echo" : "");
		pair_close(pair);
	}
}

/* The READ is the oldest request and was just restarted: the response is an echo without progress. */
Test(slow_peer, echo_restarts_the_wait)
{
	const struct wire_packet signs[] = {
		response_packet(OP_READ_RESPONSE_MIDDLE, 2, MTU),
		ack_packet(4, SYNDROME_PLAIN_ACK, 3),
		ack_packet(5, SYNDROME_SEQUENCE, 3),
	};

	RULE("T-6");
	for (uint32_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		struct pair *pair = open_measured(true);
		struct rc_qp *qp = pair->side[A].qp;

		pair_cut(pair);
		pair_read(pair, 1, 3 * MTU);
		pair_write(pair, 2, 8);
		pair_write(pair, 3, 8);
		pair_transmit(pair, A);
		pair_respond(pair, response_packet(OP_READ_RESPONSE_LAST, 3, MTU));
		expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
		poke_retries_left(qp, 0); /* as after further restarts: an echo for long */
		poke_answer_is_expected(qp, 1);
		pair->now_ns = peek_ask_ns(qp) - 10;
		pair_respond(pair, signs[i]);
		expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
		cr_assert_gt(peek_ask_ns(qp), pair->now_ns + 10, "%u", i);
		cr_assert_eq(peek_answer_is_expected(qp), i == 0, "an ACK may be the answer, a response is none");
		pair_close(pair);
	}
}

/* The answer to a question about a READ that has been restarted since: an echo, and a sign of life. */
Test(slow_peer, probe_answer_restarts_the_wait)
{
	struct pair *pair = open_measured(true);
	struct rc_qp *qp = pair->side[A].qp;

	RULE("T-6");
	pair_cut(pair);
	pair_read(pair, 1, 3 * MTU);
	pair_transmit(pair, A);
	for (uint32_t i = 0; i < 2; i++) { /* two questions are answered, the third is under way */
		pair_timeout_at(pair, qp, peek_ask_ns(qp));
		pair_transmit(pair, A);
		pair->now_ns += ROUND_TRIP_NS;
		pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
		if (i == 0) { /* nothing comes that says why; once a loss was seen nobody waits for that */
			expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 0);
			pair_timeout_at(pair, qp, peek_ask_ns(qp));
			pair_transmit(pair, A);
		}
		expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, i + 1);
	}
	poke_retries_left(qp, 0); /* what comes now is an echo for long */
	pair_timeout_at(pair, qp, peek_ask_ns(qp));
	pair_transmit(pair, A);
	pair->now_ns = peek_ask_ns(qp) - 10;
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 2);
	cr_assert_not(peek_answer_is_expected(qp), "that was the answer, and there is no other");
	pair_timeout_at(pair, qp, peek_ask_ns(qp));
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 2);
	cr_assert_gt(peek_ask_ns(qp), pair->now_ns + 10);
	pair_close(pair);
}

/* A repeated NAK while its resend is in flight restarts the wait, too. */
Test(slow_peer, echo_of_a_nak_restarts_the_wait)
{
	struct pair *pair = open_measured(true);
	const struct rc_qp *qp = pair->side[A].qp;
	uint64_t deadline_ns;

	RULE("T-6");
	pair_cut(pair);
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	pair_respond(pair, ack_packet(1, SYNDROME_SEQUENCE, 1));
	deadline_ns = peek_ask_ns(qp);
	pair->now_ns += 1000;
	pair_respond(pair, ack_packet(1, SYNDROME_SEQUENCE, 1));
	expect_counts(pair, A, CNT_REPEATED_NAK, 1);
	cr_assert_eq(peek_ask_ns(qp), deadline_ns + 1000);
	pair_close(pair);
}

/*
 * Nothing was ever sent before: the empty WRITE stands in the place of a packet that there never was. Where the peer's
 * first credits were lost with its answer they may still be on their way, and an ACK is not believed: the timer
 * decides.
 */
Test(slow_peer, first_request_of_a_connection_can_be_probed)
{
	RULE("T-6");
	RULE("S-8");
	for (uint32_t lost = 0; lost < 2; lost++) { /* the request, or its answer */
		struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU, .receives = 4 });
		struct rc_qp *a = pair->side[A].qp, *b = pair->side[B].qp;

		poke_probes(a, true);
		qp_set_flow_control(a, true);
		qp_set_flow_control(b, true);
		pair_read(pair, 1, 3 * MTU);
		if (lost == 0)
			pair_cut(pair);
		pair_transmit(pair, A);
		pair_mend(pair);
		if (lost == 1) {
			pair_deliver(pair, B);
			pair_cut(pair);
			pair_transmit(pair, B);
			pair_mend(pair);
		}
		pair_forget(pair);
		cr_assert_eq(peek_ask_ns(a), pair->now_ns + TIMEOUT_NS / 2);
		cr_assert(pair_settle(pair, 1000000000ull));
		expect_leaves(pair, A, "WRITE_ONLY psn=16777215 ackreq va=0x0 len=0 bytes=0",
			      "READ_REQUEST psn=0 ackreq va=0x0 len=768");
		expect_completes(pair, A, "wr=1 READ SUCCESS len=768");
		expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, lost);
		expect_counts(pair, B, CNT_DUPLICATE_REQUEST, 1 + lost);
		cr_assert_eq(peek_msn(b), 1);
		expect_read(pair, 3 * MTU);
		pair_close(pair);
	}
}

/* F-3: a question is no message. Neither side's count of messages, entries and credits learns of it. */
Test(slow_peer, probes_do_not_count_as_messages)
{
	uint32_t messages[2], msn[2], left[2];

	RULE("F-3");
	RULE("T-6");
	for (uint32_t asks = 0; asks < 2; asks++) {
		struct pair *pair = pair_open(&(struct pair_options){ .mtu = MTU, .receives = 3 });
		struct rc_qp *a = pair->side[A].qp, *b = pair->side[B].qp;

		poke_probes(a, true);
		qp_set_flow_control(a, true);
		qp_set_flow_control(b, true);
		pair_send(pair, 1, 8);
		pair_run(pair);
		pair_read(pair, 2, 3 * MTU);
		pair_transmit(pair, A);
		pair_deliver(pair, B);
		if (asks)
			pair_cut(pair);
		pair_transmit(pair, B);
		for (uint32_t i = 0; asks && i < 3; i++) {
			pair_timeout_at(pair, a, peek_ask_ns(a));
			pair_mend(pair);
			pair_transmit(pair, A);
			pair_deliver(pair, B);
			if (i < 2)
				pair_cut(pair);
			pair_transmit(pair, B);
		}
		pair_mend(pair);
		cr_assert(pair_settle(pair, 1000000000ull));
		pair_send(pair, 3, 8);
		pair_run(pair);
		expect_completes(pair, A, "wr=1 SEND SUCCESS", "wr=2 READ SUCCESS len=768", "wr=3 SEND SUCCESS");
		expect_completes(pair, B, "wr=1000 RECV SUCCESS len=8", "wr=1001 RECV SUCCESS len=8");
		expect_counts(pair, A, CNT_EARLY_PROBES, asks ? 3 : 0);
		expect_counts(pair, A, CNT_RNR_NAK_RETRY_ERR, 0);
		messages[asks] = a->credit.messages;
		msn[asks] = a->credit.msn;
		left[asks] = a->credit.allowed;
		pair_close(pair);
	}
	cr_assert_eq(messages[0], messages[1]);
	cr_assert_eq(msn[0], msn[1]);
	cr_assert_eq(left[0], left[1]);
}

/* The first question about what is unanswered, and whether there was room for it. */
static void expect_question(const struct unanswered *row, const char *first, const char *second)
{
	struct pair *pair = open_measured(true);
	struct rc_qp *qp = pair->side[A].qp;

	pair_cut(pair);
	for (uint32_t j = 0; j < 2 && row->bytes[j]; j++)
		(row->read[j] ? pair_read : pair_write)(pair, j, row->bytes[j]);
	pair_transmit(pair, A);
	pair_forget(pair);
	pair_timeout_at(pair, qp, peek_ask_ns(qp));
	cr_assert(pair_transmit_some(pair, A, 0), "there was no room, and there is more");
	cr_assert(peek_ask_is_due(qp) && peek_asks(qp) == 0, "nobody has been asked");
	cr_assert_not(pair_transmit_some(pair, A, 2));
	cr_assert(!peek_ask_is_due(qp) && peek_asks(qp) == 1);
	if (second)
		expect_leaves(pair, A, first, second);
	else
		expect_leaves(pair, A, first);
	pair_close(pair);
}

/*
 * Two packets that together are not larger than one; the newest alone; a packet that is not repeated: an empty WRITE.
 */
Test(slow_peer, first_probe_is_the_oldest_and_newest_packet_if_small)
{
	static const char *const empty = "WRITE_ONLY psn=0 ackreq va=0x0 len=0 bytes=0";

	RULE("T-6");
	expect_question(&(struct unanswered){ { MTU } }, "WRITE_ONLY psn=1 ackreq va=0x0 len=256 bytes=256", NULL);
	expect_question(&(struct unanswered){ { MTU / 2, MTU / 2 } },
			"WRITE_ONLY psn=1 ackreq va=0x0 len=128 bytes=128",
			"WRITE_ONLY psn=2 ackreq va=0x0 len=128 bytes=128");
	expect_question(&(struct unanswered){ { MTU / 2, MTU / 2 + 1 } },
			"WRITE_ONLY psn=2 ackreq va=0x0 len=129 bytes=129", empty);
	expect_question(&(struct unanswered){ { 8, 2 * MTU + 8 } }, "WRITE_ONLY psn=1 ackreq va=0x0 len=8 bytes=8",
			"WRITE_LAST psn=4 ackreq bytes=8");
	expect_question(&(struct unanswered){ { MTU, 8 }, { false, true } },
			"WRITE_ONLY psn=1 ackreq va=0x0 len=256 bytes=256", "READ_REQUEST psn=2 ackreq va=0x0 len=8");
	expect_question(&(struct unanswered){ { MTU }, { true } }, "READ_REQUEST psn=1 ackreq va=0x0 len=256", NULL);
	expect_question(&(struct unanswered){ { MTU + 1 }, { true } }, empty, NULL);
	expect_question(&(struct unanswered){ { MTU + 1, 8 }, { true, false } }, empty, NULL);
}

/* A packet without its source cannot be repeated: an empty WRITE is sent, and the fault is reported in order. */
Test(slow_peer, unrepeatable_packet_is_probed_by_an_empty_write)
{
	struct pair *pair = open_measured(true);
	uint32_t key = pair_region(pair, A, 1, 0, 4096, UROCE_ACCESS_LOCAL_WRITE);
	struct uroce_sge sge = { .addr = (uintptr_t)pair->side[A].memory, .length = 8, .lkey = key };

	RULE("T-6");
	pair_cut(pair);
	pair_post(pair, A, (struct uroce_send_wr){ .opcode = UROCE_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 }, 0,
		  0);
	pair_transmit(pair, A);
	cr_assert_eq(rc_mr_remove(&pair->side[A].mrs, key), 0);
	pair_forget(pair);
	pair_timeout_at(pair, pair->side[A].qp, peek_ask_ns(pair->side[A].qp));
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=0 bytes=0");
	pair_close(pair);
}
