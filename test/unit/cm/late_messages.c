/* late_messages.c - CM messages that arrive late, twice or out of order */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "meet.h"
#include "rule.h"

#define S 1000000000ull

/*
 * Two copies of a REQ: the first arrives without a listener, the second with one. The reject of the first one is
 * overtaken by later messages, and belongs to no connection.
 */
Test(late_messages, overtaken_reject_ends_no_connection)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message req, rej, rep, rtu;
	struct cm_route to_b, to_a, route;
	uint32_t a;

	RULE("C-23");
	a = meet_connect(meet, 7174, 17);
	req = meet_take(meet, MEET_A, &to_b);
	meet_give(meet, MEET_B, &req, &to_b);
	rej = meet_take(meet, MEET_B, &to_a);
	cr_assert_eq(rej.kind, CM_REJ);
	meet_listen(meet, MEET_B, 7174, 8);
	meet_give(meet, MEET_B, &req, &to_b);
	meet_accept(meet, meet_last(meet, MEET_B)->connection, 18);
	rep = meet_take(meet, MEET_B, &route);
	meet_give(meet, MEET_A, &rep, &to_a);
	rtu = meet_take(meet, MEET_A, &route);
	meet_give(meet, MEET_B, &rtu, &to_b);
	meet_forget_notes(meet);
	meet_give(meet, MEET_A, &rej, &to_a);
	meet_expect(meet, "");
	cr_assert_eq(cm_count(meet->end[MEET_A].cm, CM_CNT_DROP_STRANGER), 1);
	/* one that knows both ids does */
	rej.local_id = rep.local_id;
	meet_give(meet, MEET_A, &rej, &to_a);
	meet_expect(meet, "A QP to ERR, A DREQ, A event DISCONNECTED -104");
	cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
	meet_close(meet);
}

/* The peer gives up while the user decides: no answer was sent that could be repeated. */
Test(late_messages, a_request_of_a_peer_that_gave_up_is_not_answered)
{
	struct meet *meet = meet_open(NULL);
	struct cm_route to_b;
	struct cm_message req;
	uint32_t a;

	RULE("C-11");
	meet_listen(meet, MEET_B, 7174, 8);
	a = meet_connect(meet, 7174, 17);
	req = meet_take(meet, MEET_A, &to_b);
	meet_give(meet, MEET_B, &req, &to_b);
	cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
	meet_run(meet);
	meet_expect(meet, "A REQ, B event REQUEST, A REJ 4, B QP to ERR, B event REJECTED -111");
	meet_give(meet, MEET_B, &req, &to_b);
	meet_expect(meet, "");
	cr_assert_eq(cm_count(meet->end[MEET_B].cm, CM_CNT_DUPLICATE_REQ), 1);
	meet_close(meet);
}

/* No transaction id is special: 0 is not the one of a LAP that never was. */
Test(late_messages, first_lap_may_have_any_transaction_id)
{
	struct meet *meet = meet_open(NULL);
	struct cm_path way = { .local_gid = { 1 }, .remote_gid = { 2 }, .ack_timeout = 14 };
	struct cm_message lap, apr;
	struct cm_route to_b, to_a;
	uint32_t a, b;

	RULE("C-20");
	meet_listen(meet, MEET_B, 7174, 8);
	meet_establish(meet, &a, &b);
	meet_forget_notes(meet);
	cr_assert_eq(cm_load_alternate(meet->end[MEET_A].cm, a, &way, meet->now_ns), 0);
	meet_drain(meet, MEET_A);
	lap = meet_take(meet, MEET_A, &to_b);
	lap.transaction_id = 0;
	meet_give(meet, MEET_B, &lap, &to_b);
	meet_expect(meet, "A LAP, B QP to ALTERNATE, B APR, B event ALTERNATE");
	apr = meet_take(meet, MEET_B, &to_a);
	cr_assert_eq(apr.transaction_id, 0);
	meet_give(meet, MEET_B, &lap, &to_b);
	meet_expect(meet, "B APR");
	meet_close(meet);
}

/* A peer sends the GUID and QPN of another one: it cannot end the connection of that one. */
Test(late_messages, reply_with_a_foreign_guid_ends_no_other_connection)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message req, rep;
	struct cm_connect other = meet_request(7174, 50);
	struct cm_route to_c, to_a;
	uint32_t a, b, c;

	RULE("C-13");
	RULE("C-23");
	meet_listen(meet, MEET_B, 7174, 8);
	meet_establish(meet, &a, &b);
	other.route.dest[15] = 9;
	cr_assert_eq(cm_connect(meet->end[MEET_A].cm, &other, meet->now_ns, &c), 0);
	meet_drain(meet, MEET_A);
	req = meet_take(meet, MEET_A, &to_c);
	to_a = meet_back(&to_c);
	rep = (struct cm_message){
		.kind = CM_REP,
		.transaction_id = req.transaction_id,
		.local_id = 5,
		.remote_id = req.local_id,
		.qpn = cm_peer(meet->end[MEET_A].cm, a)->qpn,
		.ca_guid = 0x101,
	};
	meet_forget_notes(meet);
	meet_give(meet, MEET_A, &rep, &to_a);
	meet_expect(meet, "A QP to RTS, A RTU, A event ESTABLISHED");
	cr_assert_eq(cm_disconnect(meet->end[MEET_A].cm, a, NULL, meet->now_ns), 0, "it goes on");
	meet_close(meet);
}

static int lose_replies(struct meet *meet, enum meet_name from, const struct cm_message *message)
{
	(void)meet;
	(void)from;
	return message->kind != CM_REP && (message->kind != CM_REJ || message->answered != CM_ANSWERED_REP);
}

/* Accepted, and ended before the peer knew: it does not ask on until all its tries are spent. */
Test(late_messages, request_with_a_lost_reply_is_answered_after_the_close)
{
	struct meet *meet = meet_open(NULL);
	uint32_t b;

	RULE("C-11");
	meet_listen(meet, MEET_B, 7174, 8);
	meet->fate = lose_replies;
	meet_connect(meet, 7174, 17);
	meet_run(meet);
	b = meet_last(meet, MEET_B)->connection;
	meet_accept(meet, b, 18);
	cr_assert_eq(cm_disconnect(meet->end[MEET_B].cm, b, NULL, meet->now_ns), 0);
	meet_run(meet);
	meet_settle(meet, meet->now_ns + 3 * S);
	meet_expect(meet, "A REQ, B event REQUEST, B REP, B QP to ERR, B DREQ, B REJ 28, A REQ, B REJ 28, "
			  "A event REJECTED -111, B DREQ, A DREP, B event DISCONNECTED");
	meet_close(meet);
}
