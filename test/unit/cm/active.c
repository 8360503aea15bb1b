/* active.c - the side that connects: what its REQ says, and what it makes of what comes back */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "cm/ip.h"
#include "meet.h"
#include "rule.h"

#define S 1000000000ull
#define CODE_NS(code) (4096ull << (code))

/* C-25: all the user's words, be they few or many. */
Test(active, private_data_of_any_length_arrives_whole)
{
	static uint8_t words[CM_USER_PRIVATE_BYTES];

	RULE("C-25");
	memset(words, 7, sizeof(words));
	for (uint32_t bytes = 0; bytes <= CM_USER_PRIVATE_BYTES; bytes++) {
		struct meet *meet = meet_open(NULL);
		struct cm_connect connect = meet_request(7174, 17);
		struct cm_message req;
		struct cm_route route;
		uint32_t a;

		connect.user = (struct cm_private){ words, bytes };
		cr_assert_eq(cm_connect(meet->end[MEET_A].cm, &connect, meet->now_ns, &a), 0);
		meet_drain(meet, MEET_A);
		req = meet_take(meet, MEET_A, &route);
		cr_assert_arr_eq(req.private_data + CM_IP_BYTES, words, bytes);
		cr_assert(bytes == CM_USER_PRIVATE_BYTES || req.private_data[CM_IP_BYTES + bytes] == 0);
		meet_close(meet);
	}
}

Test(active, connection_limit_is_reported_with_the_longest_private_data)
{
	static const uint8_t words[CM_USER_PRIVATE_BYTES];
	struct meet *meet = meet_open(&(struct cm_config){ .connections = 1 });
	struct cm_connect connect = meet_request(7174, 17);
	uint32_t a;

	RULE("C-25");
	connect.user = (struct cm_private){ words, sizeof(words) };
	cr_expect_eq(cm_connect(meet->end[MEET_A].cm, &connect, meet->now_ns, &a), 0);
	cr_expect_eq(cm_connect(meet->end[MEET_A].cm, &connect, meet->now_ns, &a), -ENOBUFS);
	meet_close(meet);
}

/* C-2: nobody can foretell it, so no two are alike. */
Test(active, each_request_has_its_own_transaction_id)
{
	struct meet *meet = meet_open(NULL);
	uint64_t ids[3];

	RULE("C-2");
	for (uint32_t i = 0; i < 3; i++) {
		struct cm_route route;

		meet_connect(meet, 7174, 17 + i);
		ids[i] = meet_take(meet, MEET_A, &route).transaction_id;
	}
	cr_expect(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
	meet_close(meet);
}

Test(active, alternate_path_of_a_request_is_kept)
{
	struct meet *meet = meet_open(NULL);
	struct cm_path way = { .local_gid = { 1 }, .remote_gid = { 2 }, .ack_timeout = 15 };
	struct cm_connect connect = meet_request(7174, 17);
	uint32_t a;

	RULE("C-19");
	connect.alternate = &way;
	cr_assert_eq(cm_connect(meet->end[MEET_A].cm, &connect, meet->now_ns, &a), 0);
	cr_expect_eq(cm_alternate(meet->end[MEET_A].cm, a)->remote_gid[0], 2);
	cr_expect_eq(cm_alternate(meet->end[MEET_A].cm, a)->ack_timeout, 15);
	meet_close(meet);
}

/* C-16: a new connection first releases expired ids. */
Test(active, expired_time_wait_ids_are_reused_by_the_next_connection)
{
	struct meet *meet = meet_open(NULL);
	struct cm *cm = meet->end[MEET_A].cm;
	uint64_t began = meet->now_ns;
	struct cm_usage usage;

	RULE("C-16");
	cm_forget(cm, meet_connect(meet, 7174, 17), began);
	cm_usage(cm, &usage, began);
	cr_expect_eq(usage.timewait_ids, 1);
	meet->now_ns += 10 * S;
	meet_connect(meet, 7174, 18);
	cm_usage(cm, &usage, began); /* as if no time had passed, so that it wakes nobody itself */
	cr_expect_eq(usage.timewait_ids, 0);
	meet_close(meet);
}

/* C-10: it is another question, so it has all its time and tries again. */
Test(active, retry_with_a_smaller_mtu_has_its_full_timeout)
{
	struct meet *meet = meet_open(&(struct cm_config){ .max_retries = 1 });
	struct cm_message req, rej = { .kind = CM_REJ, .reason = CM_REJ_INVALID_MTU, .info_bytes = 1, .info = { 3 } };
	const struct cm *cm = meet->end[MEET_A].cm;
	struct cm_route to_b, to_a;

	RULE("C-6");
	RULE("C-10");
	meet_connect(meet, 7174, 17);
	req = meet_take(meet, MEET_A, &to_b);
	meet->fate = meet_lose_all;
	cr_assert(meet_wait(meet, meet->now_ns + 2 * S));
	meet->now_ns += S / 10;
	to_a = meet_back(&to_b);
	rej.transaction_id = req.transaction_id;
	rej.remote_id = req.local_id;
	meet_give(meet, MEET_A, &rej, &to_a);
	cr_expect_eq(cm_deadline(cm), meet->now_ns + CODE_NS(18) + 2 * CODE_NS(14));
	meet_wait(meet, meet->now_ns + 2 * S);
	cr_expect_eq(cm_count_sent(cm, CM_REQ), 4);
	cr_expect_null(meet_last(meet, MEET_A));
	meet_close(meet);
}

/* C-13: the QP that answers is the one of before, whose process has gone. */
Test(active, reply_with_an_old_qpn_replaces_the_stale_connection)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a, b;

	RULE("C-13");
	meet_listen(meet, MEET_B, 7174, 8);
	meet_connect(meet, 7174, 17);
	meet_run(meet);
	meet_accept(meet, meet_last(meet, MEET_B)->connection, 50);
	meet_run(meet);
	meet_restart(meet, MEET_B, NULL);
	a = meet_connect(meet, 7174, 18);
	meet_run(meet);
	meet_forget_notes(meet);
	b = meet_last(meet, MEET_B)->connection;
	meet_accept(meet, b, 50);
	meet_run(meet);
	meet_expect(meet,
		    "B REP, A QP to ERR, A DREQ, A event DISCONNECTED -104, A QP to RTS, A RTU, A event ESTABLISHED, "
		    "B DREP, B QP to RTS, B event ESTABLISHED");
	cr_expect_eq(cm_count(meet->end[MEET_A].cm, CM_CNT_STALE), 1);
	cr_expect_eq(cm_disconnect(meet->end[MEET_A].cm, a, NULL, meet->now_ns), 0, "the new one goes on");
	meet_close(meet);
}

/* C-14: the peer learns that its REP was in vain. */
Test(active, immovable_qp_ends_the_connection_on_both_sides)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message rej;
	struct cm_route route;

	RULE("C-9");
	RULE("C-14");
	meet_listen(meet, MEET_B, 7174, 8);
	meet_connect(meet, 7174, 17);
	meet_run(meet);
	meet->end[MEET_A].move_error = -EIO;
	meet_accept(meet, meet_last(meet, MEET_B)->connection, 18);
	meet_forget_notes(meet);
	cr_assert(meet_carry(meet, MEET_B));
	meet_expect(meet, "A QP to RTS -5, A REJ 3, A event UNREACHABLE -5");
	rej = meet_take(meet, MEET_A, &route);
	cr_expect_eq(rej.answered, CM_ANSWERED_REP);
	meet_give(meet, MEET_B, &rej, &route);
	meet_expect(meet, "B QP to ERR, B event REJECTED -111");
	meet_close(meet);
}

/* Between a REP and the move of the QP a smaller MTU is not tried. */
Test(active, mtu_reject_after_the_reply_is_final)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message rep, rej = { .kind = CM_REJ, .reason = CM_REJ_INVALID_MTU, .info_bytes = 1, .info = { 3 } };
	uint8_t mad[CM_MAD_BYTES];
	struct cm_route to_a;

	RULE("C-8");
	meet_listen(meet, MEET_B, 7174, 8);
	meet_connect(meet, 7174, 17);
	meet_run(meet);
	meet_accept(meet, meet_last(meet, MEET_B)->connection, 18);
	rep = meet_take(meet, MEET_B, &to_a);
	meet_forget_notes(meet);
	cm_mad_build(&rep, mad);
	cm_receive(meet->end[MEET_A].cm, &to_a, mad, sizeof(mad), meet->now_ns);
	rej.transaction_id = rep.transaction_id;
	rej.local_id = rep.local_id;
	rej.remote_id = rep.remote_id;
	meet_give(meet, MEET_A, &rej, &to_a);
	meet_expect(meet, "A QP to RTS, A event REJECTED -111");
	meet_close(meet);
}
