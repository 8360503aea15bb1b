/* moves.c - queue pairs that their users make and move themselves: RESPONSE, and the RTU when the user says so */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "meet.h"
#include "rule.h"

#define S 1000000000ull
#define PORT 7174

static struct cm *cm_of(struct meet *meet, enum meet_name name)
{
	return meet->end[name].cm;
}

/* A asks, B's user says yes, A's user is told. */
static void respond(struct meet *meet, uint32_t *a, uint32_t *b)
{
	struct cm_connect connect = meet_request(PORT, 17);
	struct cm_accept accept = { .context = 18, .user_moves = true, .side = { .qpn = 18, .psn = 99 } };

	connect.user_moves = true;
	meet_listen(meet, MEET_B, PORT, 1);
	cr_assert_eq(cm_connect(cm_of(meet, MEET_A), &connect, meet->now_ns, a), 0);
	meet_drain(meet, MEET_A);
	meet_run(meet);
	*b = meet_last(meet, MEET_B)->connection;
	cr_assert_eq(cm_accept(cm_of(meet, MEET_B), *b, &accept, meet->now_ns), 0);
	meet_drain(meet, MEET_B);
	meet_run(meet);
	meet_expect(meet, "A REQ, B event REQUEST, B REP, A event RESPONSE");
}

static void establish(struct meet *meet, uint32_t a)
{
	cr_assert_eq(cm_establish(cm_of(meet, MEET_A), a), 0);
	meet_drain(meet, MEET_A);
	meet_run(meet);
}

static void expect_nothing_left(struct meet *meet, uint32_t a, uint32_t b)
{
	struct cm_usage usage;

	cm_forget(cm_of(meet, MEET_A), a, meet->now_ns);
	meet_drain(meet, MEET_A);
	cm_forget(cm_of(meet, MEET_B), b, meet->now_ns);
	meet_drain(meet, MEET_B);
	meet_settle(meet, meet->now_ns + 120 * S);
	for (int i = 0; i < 2; i++) {
		cm_usage(meet->end[i].cm, &usage, meet->now_ns);
		cr_expect_eq(usage.connections, 0);
		cr_expect_eq(usage.half_open, 0);
		cr_expect_eq(usage.timers, 0);
	}
	meet_close(meet);
}

/* C-9: the RTU leaves when the user says that the QP is in RTS. No QP is moved by a manager, not even at the end. */
Test(moves, rtu_waits_for_the_user_and_no_qp_is_moved)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a, b;

	RULE("C-9");
	respond(meet, &a, &b);
	cr_expect_eq(meet_last(meet, MEET_A)->message.psn, 99);
	cr_expect_eq(cm_peer(cm_of(meet, MEET_A), a)->qpn, 18);
	establish(meet, a);
	meet_expect(meet, "A RTU, B event ESTABLISHED");
	cr_expect_eq(cm_disconnect(cm_of(meet, MEET_A), a, NULL, meet->now_ns), 0);
	meet_drain(meet, MEET_A);
	meet_run(meet);
	meet_expect(meet, "A DREQ, B DREP, B event DISCONNECTED, A event DISCONNECTED");
	cr_expect_eq(meet->end[MEET_A].moves + meet->end[MEET_B].moves, 0);
	expect_nothing_left(meet, a, b);
}

/* C-12: the peer repeats its REP meanwhile, and is told to wait; without that it would give up after 21 s. */
Test(moves, slow_user_move_is_bridged_by_an_mra)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a, b;

	RULE("C-11");
	RULE("C-12");
	respond(meet, &a, &b);
	meet_settle(meet, meet->now_ns + 50 * S);
	meet_expect(meet, "B REP, A MRA");
	establish(meet, a);
	meet_expect(meet, "A RTU, B event ESTABLISHED");
	cr_expect_eq(cm_count(cm_of(meet, MEET_A), CM_CNT_DUPLICATE_REP), 1);
	expect_nothing_left(meet, a, b);
}

/* Nothing waits without a bound. */
Test(moves, silent_user_loses_the_connection)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a, b;

	RULE("C-10");
	respond(meet, &a, &b);
	meet_settle(meet, meet->now_ns + 70 * S);
	meet_expect(meet, "B REP, A MRA, A REJ 4, A event UNREACHABLE -110, B event REJECTED -111");
	cr_expect_eq(meet_last(meet, MEET_B)->message.reason, CM_REJ_TIMEOUT);
	cr_expect_eq(meet_last(meet, MEET_B)->message.answered, CM_ANSWERED_REP);
	cr_expect_eq(cm_establish(cm_of(meet, MEET_A), a), -ENOTCONN);
	expect_nothing_left(meet, a, b);
}

Test(moves, a_response_may_be_rejected_or_forgotten)
{
	for (int forgotten = 0; forgotten < 2; forgotten++) {
		struct meet *meet = meet_open(NULL);
		struct cm_private words = { "no", 3 };
		uint32_t a, b;

		RULE("C-14");
		RULE("C-17");
		respond(meet, &a, &b);
		if (forgotten)
			cm_forget(cm_of(meet, MEET_A), a, meet->now_ns);
		else
			cr_assert_eq(cm_reject(cm_of(meet, MEET_A), a, CM_REJ_CONSUMER, &words, meet->now_ns), 0);
		meet_drain(meet, MEET_A);
		meet_run(meet);
		meet_expect(meet, "A REJ 28, B event REJECTED -111");
		cr_expect_eq(meet_last(meet, MEET_B)->message.answered, CM_ANSWERED_REP);
		cr_expect_str_eq((const char *)meet_last(meet, MEET_B)->message.private_data, forgotten ? "" : "no");
		expect_nothing_left(meet, a, b);
	}
}

/* The peer may say no while our user moves his QP. */
Test(moves, peer_that_closes_during_the_move_is_reported)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a, b;

	RULE("C-17");
	respond(meet, &a, &b);
	cm_forget(cm_of(meet, MEET_B), b, meet->now_ns);
	meet_drain(meet, MEET_B);
	meet_run(meet);
	meet_expect(meet, "B DREQ, B REJ 28, A event REJECTED -111");
	cr_expect_eq(cm_establish(cm_of(meet, MEET_A), a), -ENOTCONN);
	expect_nothing_left(meet, a, b);
}

/* C-9: the first packet is as good as the RTU, if the user tells of it. */
Test(moves, the_first_packet_establishes)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a, b;

	RULE("C-9");
	respond(meet, &a, &b);
	cm_packet_came(cm_of(meet, MEET_B), b, meet->now_ns);
	meet_drain(meet, MEET_B);
	meet_expect(meet, "B event ESTABLISHED");
	establish(meet, a);
	meet_expect(meet, "A RTU");
	expect_nothing_left(meet, a, b);
}

/* C-20: a user who moves its QP would have to load the alternate path, too, and is not requested to. */
Test(moves, user_moved_queue_pair_loads_no_alternate_path)
{
	struct meet *meet = meet_open(NULL);
	struct cm_path way = { .local_gid = { 1 }, .remote_gid = { 2 }, .ack_timeout = 15 };
	struct cm_message lap = { .kind = CM_LAP, .transaction_id = 7, .qpn = 17 };
	struct cm_route route;
	uint32_t a, b;

	RULE("C-20");
	respond(meet, &a, &b);
	establish(meet, a);
	meet_forget_notes(meet);
	cr_expect_eq(cm_load_alternate(cm_of(meet, MEET_B), b, &way, meet->now_ns), -EOPNOTSUPP);
	lap.local_id = meet_last(meet, MEET_A)->message.local_id;
	lap.remote_id = meet_last(meet, MEET_B)->message.local_id;
	meet_give(meet, MEET_A, &lap, cm_route_of(cm_of(meet, MEET_A), a));
	meet_drain(meet, MEET_A);
	cr_expect_eq(meet_take(meet, MEET_A, &route).status, 2, "not supported");
	expect_nothing_left(meet, a, b);
}

/* Only a RESPONSE can be established, and only once. */
Test(moves, only_a_response_can_be_established)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a, b;

	meet_listen(meet, MEET_B, PORT + 1, 1);
	a = meet_connect(meet, PORT + 1, 19);
	cr_expect_eq(cm_establish(cm_of(meet, MEET_A), a), -ENOTCONN, "no REP");
	cm_forget(cm_of(meet, MEET_A), a, meet->now_ns);
	meet_drain(meet, MEET_A);
	meet_run(meet);
	cm_forget(cm_of(meet, MEET_B), meet_last(meet, MEET_B)->connection, meet->now_ns);
	meet_forget_notes(meet);
	respond(meet, &a, &b);
	cr_expect_eq(cm_establish(cm_of(meet, MEET_B), b), -ENOTCONN, "the passive side");
	establish(meet, a);
	cr_expect_eq(cm_establish(cm_of(meet, MEET_A), a), -ENOTCONN, "twice");
	cr_expect_eq(cm_establish(cm_of(meet, MEET_A), 4711), -ENOTCONN, "none");
	meet_settle(meet, meet->now_ns + 120 * S);
	expect_nothing_left(meet, a, b);
}
