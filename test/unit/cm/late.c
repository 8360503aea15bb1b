/* late.c - messages that come late, again or in another order than they were sent */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "meet.h"
#include "rule.h"

#define S 1000000000ull

/*
 * Two copies of a REQ: nobody listens when the first one comes, somebody does when the second one comes. The refusal of
 * the first one is overtaken by all that follows, and is of no connection that there is.
 */
Test(late, a_refusal_that_was_overtaken_ends_no_connection)
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

/* The peer gives up while our user thinks: nothing was ever said to it that could be said again. */
Test(late, a_request_of_a_peer_that_gave_up_is_not_answered)
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
Test(late, a_first_alternate_way_may_have_any_transaction_id)
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

/* A peer says that it has the GUID and the QPN of another one: it is not that one, and cannot end what that has. */
Test(late, a_reply_with_the_guid_of_another_host_ends_nothing_of_that)
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
Test(late, a_request_whose_reply_was_lost_hears_that_all_is_over)
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
