/* close.c - how connections end: what is said, what is repeated, what rests and for how long */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "meet.h"
#include "rule.h"

#define S 1000000000ull
#define CODE_NS(code) (4096ull << (code))

static struct cm_usage usage_of(const struct meet *meet, enum meet_name name)
{
	struct cm_usage usage;

	cm_usage(meet->end[name].cm, &usage, meet->now_ns);
	return usage;
}

/* A asks, B's user has got it. */
static uint32_t ask(struct meet *meet)
{
	meet_listen(meet, MEET_B, 7174, 8);
	meet_connect(meet, 7174, 17);
	meet_run(meet);
	meet_forget_notes(meet);
	return meet_last(meet, MEET_B)->connection;
}

/* C-16: twice the life of a packet and the peer's ACK delay, from the end on, whenever the user lets go of it. */
Test(close, time_wait_starts_at_the_end_and_lasts_its_time)
{
	static const uint64_t rest_ns = 2 * CODE_NS(14) + CODE_NS(14);

	RULE("C-16");
	for (uint64_t late_ns = 0; late_ns <= rest_ns; late_ns += rest_ns / 2) {
		struct meet *meet = meet_open(NULL);
		struct cm *cm = meet->end[MEET_A].cm;
		uint64_t ended;
		uint32_t a, b;

		meet_listen(meet, MEET_B, 7174, 8);
		meet_establish(meet, &a, &b);
		cm_disconnect(cm, a, NULL, meet->now_ns);
		meet_run(meet);
		ended = meet->now_ns;
		cm_forget(cm, a, ended + late_ns);
		cr_expect_eq(usage_of(meet, MEET_A).connections, 0);
		cr_expect_eq(usage_of(meet, MEET_A).timewait_ids, late_ns < rest_ns, "forgotten %lu ns late", late_ns);
		cm_timeout(cm, ended + rest_ns - 1);
		cr_expect_eq(usage_of(meet, MEET_A).timewait_ids, late_ns < rest_ns);
		cm_timeout(cm, ended + rest_ns);
		cr_expect_eq(usage_of(meet, MEET_A).timewait_ids, 0);
		meet_close(meet);
	}
}

/* The passive side, too: only those whom the user has refused linger. */
Test(close, ended_connection_is_freed_at_once)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a, b;

	RULE("C-17");
	meet_listen(meet, MEET_B, 7174, 8);
	meet_establish(meet, &a, &b);
	cm_disconnect(meet->end[MEET_B].cm, b, NULL, meet->now_ns);
	meet_run(meet);
	cm_forget(meet->end[MEET_B].cm, b, meet->now_ns);
	cr_expect_eq(usage_of(meet, MEET_B).connections, 0);
	cr_expect_eq(usage_of(meet, MEET_B).timers, 0);
	meet_close(meet);
}

/* C-2 */
Test(close, dreq_has_its_own_transaction_id)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message req, dreq;
	struct cm_route to_b;
	uint32_t a;

	RULE("C-2");
	meet_listen(meet, MEET_B, 7174, 8);
	a = meet_connect(meet, 7174, 17);
	req = meet_take(meet, MEET_A, &to_b);
	meet_give(meet, MEET_B, &req, &to_b);
	meet_accept(meet, meet_last(meet, MEET_B)->connection, 18);
	meet_run(meet);
	cm_disconnect(meet->end[MEET_A].cm, a, NULL, meet->now_ns);
	meet_drain(meet, MEET_A);
	dreq = meet_take(meet, MEET_A, &to_b);
	cr_expect_eq(dreq.kind, CM_DREQ);
	cr_expect_neq(dreq.transaction_id, req.transaction_id);
	meet_close(meet);
}

/* C-22: one that ends before the RTU has its place until it is heard and its user lets go of it. */
Test(close, half_open_connection_counts_until_it_is_freed)
{
	struct meet *meet = meet_open(NULL);
	uint32_t b = ask(meet);

	RULE("C-22");
	meet_accept(meet, b, 18);
	cr_expect_eq(usage_of(meet, MEET_B).half_open, 1);
	cm_disconnect(meet->end[MEET_B].cm, b, NULL, meet->now_ns);
	cr_expect_eq(usage_of(meet, MEET_B).half_open, 1);
	meet_settle(meet, meet->now_ns + 60 * S);
	cr_expect_eq(usage_of(meet, MEET_B).half_open, 1);
	cm_forget(meet->end[MEET_B].cm, b, meet->now_ns);
	cr_expect_eq(usage_of(meet, MEET_B).half_open, 0);
	meet_close(meet);
}

/*
 * C-17: a Linux peer that has not sent its RTU ignores a DREQ, one that has sent it accepts it; either is notified
 * once and at once. After a loss the DREQ is repeated.
 */
Test(close, close_before_the_rtu_reaches_the_peer_in_any_state)
{
	static const char *const rows[] = {
		"A QP to RTS, A RTU, A event ESTABLISHED, A QP to ERR, A DREQ, A event DISCONNECTED -104",
		"A QP to RTS, A RTU, A event ESTABLISHED, A DREP, A QP to ERR, A event DISCONNECTED",
	};

	RULE("C-17");
	for (size_t i = 0; i < 2; i++) {
		struct meet *meet = meet_open(NULL);
		struct cm_message rep, dreq, rej;
		struct cm_route to_a;
		uint32_t b = ask(meet);

		meet_accept(meet, b, 18);
		meet_forget_notes(meet);
		cm_forget(meet->end[MEET_B].cm, b, meet->now_ns);
		meet_drain(meet, MEET_B);
		meet_expect(meet, "B QP to ERR, B DREQ, B REJ 28");
		rep = meet_take(meet, MEET_B, &to_a);
		dreq = meet_take(meet, MEET_B, &to_a);
		rej = meet_take(meet, MEET_B, &to_a);
		cr_expect_eq(rej.answered, CM_ANSWERED_REP);
		cr_expect_eq(rej.transaction_id, rep.transaction_id);
		cr_expect_eq(rej.local_id, rep.local_id);
		meet_give(meet, MEET_A, &rep, &to_a);
		meet_give(meet, MEET_A, i ? &dreq : &rej, &to_a);
		meet_expect(meet, rows[i]);
		meet_give(meet, MEET_A, i ? &rej : &dreq, &to_a);
		meet_expect(meet, i ? "" : "A DREP");
		meet_settle(meet, meet->now_ns + 2 * S);
		cr_expect_eq(usage_of(meet, MEET_B).connections, 0);
		meet_close(meet);
	}
}

/* C-10: the QP was in RTR, and takes nothing any more; the active one was not, and is left alone. */
Test(close, timeout_moves_only_the_passive_qp_to_error)
{
	struct meet *meet = meet_open(&(struct cm_config){ .max_retries = 1 });
	struct cm_message rej;
	struct cm_route route;
	uint32_t b;

	RULE("C-10");
	RULE("C-14");
	b = ask(meet);
	meet->fate = meet_lose_all;
	meet_settle(meet, meet->now_ns + 10 * S);
	meet_expect(meet, "B MRA, A REQ, A REJ 4, A event UNREACHABLE -110");
	meet_accept(meet, b, 18);
	meet_settle(meet, meet->now_ns + 2 * S);
	meet_expect(meet, "B REP, B REP");
	meet->fate = NULL;
	meet->end[MEET_B].head = meet->end[MEET_B].tail;
	meet->now_ns = cm_deadline(meet->end[MEET_B].cm);
	cm_timeout(meet->end[MEET_B].cm, meet->now_ns);
	meet_drain(meet, MEET_B);
	meet_expect(meet, "B QP to ERR, B REJ 4, B event UNREACHABLE -110");
	rej = meet_take(meet, MEET_B, &route);
	cr_expect_eq(rej.answered, CM_ANSWERED_REP);
	cr_expect_eq(rej.info_bytes, 0, "the peer knows who we are");
	meet_close(meet);
}

/* C-14 */
Test(close, close_before_any_answer_rejects_with_the_guid)
{
	static const uint8_t guid[8] = { 0, 0, 0, 0, 0, 0, 1, 0 };
	struct meet *meet = meet_open(NULL);
	struct cm_message rej;
	struct cm_route to_b;
	uint32_t a;

	RULE("C-14");
	RULE("C-17");
	a = meet_connect(meet, 7174, 17);
	meet_take(meet, MEET_A, &to_b);
	cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
	meet_drain(meet, MEET_A);
	rej = meet_take(meet, MEET_A, &to_b);
	cr_expect_eq(rej.kind, CM_REJ);
	cr_expect_eq(rej.reason, CM_REJ_TIMEOUT);
	cr_expect_eq(rej.answered, CM_ANSWERED_NONE);
	cr_expect_eq(rej.info_bytes, 8);
	cr_expect_arr_eq(rej.info, guid, 8);
	meet_close(meet);
}

static int lose_first_dreq(struct meet *meet, enum meet_name from, const struct cm_message *message)
{
	(void)from;
	return message->kind != CM_DREQ || cm_count_sent(meet->end[MEET_A].cm, CM_DREQ) > 1;
}

/* C-17: the user has closed the connection, and the peer is notified all the same. */
Test(close, a_forgotten_connection_repeats_its_dreq)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a, b;

	RULE("C-16");
	RULE("C-17");
	meet_listen(meet, MEET_B, 7174, 8);
	meet_establish(meet, &a, &b);
	meet->fate = lose_first_dreq;
	meet_forget_notes(meet);
	cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
	meet_settle(meet, meet->now_ns + 2 * S);
	meet_expect(meet, "A QP to ERR, A DREQ, A DREQ, B DREP, B QP to ERR, B event DISCONNECTED");
	cr_expect_eq(usage_of(meet, MEET_A).connections, 0);
	meet_close(meet);
}

/* C-17: forgotten between the REP and the move of the QP. */
Test(close, connection_forgotten_before_its_qp_moved_rejects_the_reply)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message rep, rej;
	struct cm_route to_a, to_b;
	uint8_t mad[CM_MAD_BYTES];
	uint32_t a;

	RULE("C-17");
	meet_listen(meet, MEET_B, 7174, 8);
	a = meet_connect(meet, 7174, 17);
	meet_run(meet);
	meet_accept(meet, meet_last(meet, MEET_B)->connection, 18);
	rep = meet_take(meet, MEET_B, &to_a);
	meet_forget_notes(meet);
	cm_mad_build(&rep, mad);
	cm_receive(meet->end[MEET_A].cm, &to_a, mad, sizeof(mad), meet->now_ns);
	cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
	meet_drain(meet, MEET_A);
	meet_expect(meet, "A QP to RTS, A REJ 28");
	rej = meet_take(meet, MEET_A, &to_b);
	cr_expect_eq(rej.answered, CM_ANSWERED_REP);
	cr_expect_eq(usage_of(meet, MEET_A).connections, 0);
	meet_close(meet);
}

/* C-11, C-22: forgotten while the user thought. It is refused, again if need be, and nobody counts it any more. */
Test(close, forgotten_unanswered_request_is_rejected_and_not_counted)
{
	struct meet *meet = meet_open(NULL);
	struct cm_listener *listener = meet_listen(meet, MEET_B, 7174, 8);
	struct cm_message req;
	struct cm_route to_b;

	RULE("C-11");
	RULE("C-22");
	meet_connect(meet, 7174, 17);
	req = meet_take(meet, MEET_A, &to_b);
	meet_give(meet, MEET_B, &req, &to_b);
	cr_expect_eq(listener->pending, 1);
	meet_forget_notes(meet);
	cm_forget(meet->end[MEET_B].cm, meet_last(meet, MEET_B)->connection, meet->now_ns);
	meet_drain(meet, MEET_B);
	cr_expect_eq(listener->pending, 0);
	cr_expect_eq(usage_of(meet, MEET_B).half_open, 0);
	meet_give(meet, MEET_B, &req, &to_b);
	meet_expect(meet, "B REJ 28, B REJ 28");
	meet_close(meet);
}
