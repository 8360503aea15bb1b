/* manager.c - connections from beginning to end, as both managers and their users see them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "meet.h"
#include "rule.h"

#define S 1000000000ull

/* All is as it was before. */
static void expect_nothing_left(struct meet *meet)
{
	meet_settle(meet, meet->now_ns + 200 * S);
	for (int i = 0; i < 2; i++) {
		struct cm_usage usage;

		cm_usage(meet->end[i].cm, &usage, meet->now_ns);
		cr_expect_eq(usage.connections, 0, "%c has %u connections", "AB"[i], usage.connections);
		cr_expect_eq(usage.half_open, 0);
		cr_expect_eq(usage.timers, 0);
	}
}

/* C-8, C-9: the QP is where it has to be before the message that says so leaves. */
Test(manager, connection_lifecycle)
{
	struct meet *meet = meet_open(NULL);
	struct cm_listener *listener = meet_listen(meet, MEET_B, 7174, 8);
	const struct meet_event *event;
	uint64_t began = meet->now_ns;
	uint32_t a = meet_connect(meet, 7174, 17), b;

	RULE("C-4");
	RULE("C-6");
	RULE("C-7");
	RULE("C-8");
	RULE("C-9");
	RULE("C-16");
	RULE("C-29");
	meet_run(meet);
	meet_expect(meet, "A REQ, B event REQUEST");
	event = meet_last(meet, MEET_B);
	b = event->connection;
	cr_assert_eq(event->context, 8174);
	cr_assert_eq(event->message.qpn, 17);
	cr_assert_eq(listener->pending, 1);
	cr_assert_eq(meet_accept(meet, b, 18), 0);
	cr_assert_eq(listener->pending, 0);
	meet_run(meet);
	meet_expect(meet, "B REP, A QP to RTS, A RTU, A event ESTABLISHED, B QP to RTS, B event ESTABLISHED");
	cr_assert(meet->now_ns == began && meet->sent == 3, "C-29: three messages and no time");
	cr_assert_eq(cm_peer(meet->end[MEET_A].cm, a)->qpn, 18);
	cr_assert_eq(cm_peer(meet->end[MEET_A].cm, a)->psn, 99);
	cr_assert_eq(cm_own(meet->end[MEET_A].cm, a)->initiator_depth, 8, "C-6");
	cr_assert_eq(cm_own(meet->end[MEET_B].cm, b)->responder_resources, 8, "C-6");
	cr_assert_eq(cm_own(meet->end[MEET_B].cm, b)->initiator_depth, 4, "C-6");
	cr_assert_eq(cm_disconnect(meet->end[MEET_A].cm, a, NULL, meet->now_ns), 0);
	meet_run(meet);
	meet_expect(meet, "A QP to ERR, A DREQ, B DREP, B QP to ERR, B event DISCONNECTED, A event DISCONNECTED");
	cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
	cm_forget(meet->end[MEET_B].cm, b, meet->now_ns);
	meet_run(meet);
	meet_expect(meet, "");
	expect_nothing_left(meet);
	meet_close(meet);
}

static int lose_kind(struct meet *meet, enum meet_name from, const struct cm_message *message)
{
	uint8_t *kind = meet->user;

	(void)from;
	if (message->kind != *kind)
		return 1;
	*kind = 0;
	return 0;
}

/* C-10, C-11: whichever is lost once, the same comes of it. */
Test(manager, each_message_may_be_lost)
{
	static const uint8_t kinds[] = { CM_REQ, CM_REP, CM_RTU, CM_DREQ, CM_DREP };

	RULE("C-10");
	RULE("C-11");
	for (size_t i = 0; i < sizeof(kinds); i++) {
		struct meet *meet = meet_open(NULL);
		uint8_t kind = kinds[i];
		uint32_t a, b;

		meet_listen(meet, MEET_B, 7174, 8);
		meet->user = &kind;
		meet->fate = lose_kind;
		a = meet_connect(meet, 7174, 17);
		meet_run(meet);
		if (kinds[i] == CM_REQ)
			meet_wait(meet, meet->now_ns + 2 * S);
		b = meet_last(meet, MEET_B)->connection;
		meet_accept(meet, b, 18);
		meet_run(meet);
		meet_settle(meet, meet->now_ns + 4 * S);
		cr_assert_eq(meet_last(meet, MEET_A)->event, CM_EVENT_ESTABLISHED, "%u is lost", kinds[i]);
		cr_assert_eq(meet_last(meet, MEET_B)->event, CM_EVENT_ESTABLISHED, "%u is lost", kinds[i]);
		cm_disconnect(meet->end[MEET_B].cm, b, NULL, meet->now_ns);
		meet_run(meet);
		meet_settle(meet, meet->now_ns + 4 * S);
		cr_assert_eq(meet_last(meet, MEET_A)->event, CM_EVENT_DISCONNECTED, "%u is lost", kinds[i]);
		cr_assert_eq(meet_last(meet, MEET_B)->event, CM_EVENT_DISCONNECTED, "%u is lost", kinds[i]);
		cr_assert_eq(meet->end[MEET_B].event_count, 3, "one REQUEST, one ESTABLISHED, one DISCONNECTED");
		cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
		cm_forget(meet->end[MEET_B].cm, b, meet->now_ns);
		expect_nothing_left(meet);
		meet_close(meet);
	}
}

/* C-14 */
Test(manager, request_without_a_listener_is_rejected)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a = meet_connect(meet, 7175, 17);

	RULE("C-14");
	meet_run(meet);
	meet_expect(meet, "A REQ, B REJ 8, A event REJECTED -111");
	cr_assert_eq(meet_last(meet, MEET_A)->message.reason, CM_REJ_INVALID_SERVICE_ID);
	cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
	expect_nothing_left(meet);
	meet_close(meet);
}

/* C-14: with the user's words; and again when they were lost. */
Test(manager, user_reject_arrives_even_if_the_first_is_lost)
{
	static const char words[] = "not today";
	struct meet *meet = meet_open(NULL);
	struct cm_private user = { words, sizeof(words) };
	uint8_t kind = CM_REJ;
	uint32_t a, b;

	RULE("C-11");
	RULE("C-14");
	meet_listen(meet, MEET_B, 7174, 8);
	meet->user = &kind;
	meet->fate = lose_kind;
	a = meet_connect(meet, 7174, 17);
	meet_run(meet);
	b = meet_last(meet, MEET_B)->connection;
	cr_assert_eq(cm_reject(meet->end[MEET_B].cm, b, CM_REJ_CONSUMER, &user, meet->now_ns), 0);
	cm_forget(meet->end[MEET_B].cm, b, meet->now_ns);
	meet_run(meet);
	cr_assert(meet_wait(meet, meet->now_ns + 2 * S));
	meet_expect(meet, "A REQ, B event REQUEST, B REJ 28, A REQ, B REJ 28, A event REJECTED -111");
	cr_assert_arr_eq(meet_last(meet, MEET_A)->message.private_data, words, sizeof(words));
	cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
	expect_nothing_left(meet);
	meet_close(meet);
}

/* C-10: 15 tries, each with 1.07 s and the time on the network for its answer, then a REJ 4 and the user's event. */
Test(manager, connect_times_out_without_an_answer)
{
	struct meet *meet = meet_open(NULL);
	uint64_t began = meet->now_ns;
	uint32_t a;

	RULE("C-10");
	meet->fate = meet_lose_all;
	a = meet_connect(meet, 7174, 17);
	meet_forget_notes(meet);
	while (meet_last(meet, MEET_A) == NULL)
		cr_assert(meet_wait(meet, began + 60 * S));
	cr_assert_eq(meet->sent, 17, "%lu", meet->sent);
	cr_assert_eq(meet_last(meet, MEET_A)->event, CM_EVENT_UNREACHABLE);
	cr_assert_eq(meet_last(meet, MEET_A)->status, -ETIMEDOUT);
	cr_assert_lt(meet->now_ns - began, 20 * S);
	cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
	expect_nothing_left(meet);
	meet_close(meet);
}

/* C-12: the peer is told in time, and waits. */
Test(manager, slow_user_extends_the_wait_by_an_mra)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a, b;

	RULE("C-12");
	meet_listen(meet, MEET_B, 7174, 8);
	a = meet_connect(meet, 7174, 17);
	meet_run(meet);
	b = meet_last(meet, MEET_B)->connection;
	meet_settle(meet, meet->now_ns + 50 * S);
	meet_expect(meet, "A REQ, B event REQUEST, B MRA");
	meet_accept(meet, b, 18);
	meet_run(meet);
	meet_expect(meet, "B REP, A QP to RTS, A RTU, A event ESTABLISHED, B QP to RTS, B event ESTABLISHED");
	cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
	meet_run(meet);
	meet_expect(meet, "A QP to ERR, A DREQ, B DREP, B QP to ERR, B event DISCONNECTED");
	cm_forget(meet->end[MEET_B].cm, b, meet->now_ns);
	expect_nothing_left(meet);
	meet_close(meet);
}

/* A user that never answers loses its request. */
Test(manager, silent_user_loses_the_request)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a, b;

	meet_listen(meet, MEET_B, 7174, 8);
	a = meet_connect(meet, 7174, 17);
	meet_run(meet);
	b = meet_last(meet, MEET_B)->connection;
	meet_settle(meet, meet->now_ns + 61 * S);
	meet_expect(meet, "A REQ, B event REQUEST, B MRA, B REJ 4, B event UNREACHABLE -110, A event REJECTED -111");
	cr_assert_eq(meet_accept(meet, b, 18), -ENOTCONN);
	cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
	cm_forget(meet->end[MEET_B].cm, b, meet->now_ns);
	expect_nothing_left(meet);
	meet_close(meet);
}

/* C-9: a packet on the QP before the RTU counts as the RTU. */
Test(manager, packet_replaces_a_lost_rtu)
{
	struct meet *meet = meet_open(NULL);
	uint8_t kind = CM_RTU;
	uint32_t a, b;

	RULE("C-9");
	meet_listen(meet, MEET_B, 7174, 8);
	meet->user = &kind;
	meet->fate = lose_kind;
	meet_establish(meet, &a, &b);
	meet_forget_notes(meet);
	cm_packet_came(meet->end[MEET_B].cm, b, meet->now_ns);
	meet_run(meet);
	meet_expect(meet, "B QP to RTS, B event ESTABLISHED");
	cm_packet_came(meet->end[MEET_B].cm, b, meet->now_ns);
	meet_run(meet);
	meet_expect(meet, "");
	meet_close(meet);
}

/* C-13 */
Test(manager, restarted_peer_replaces_its_stale_connection)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a, b;

	RULE("C-13");
	meet_listen(meet, MEET_B, 7174, 8);
	a = meet_connect(meet, 7174, 17);
	meet_run(meet);
	b = meet_last(meet, MEET_B)->connection;
	meet_accept(meet, b, 18);
	meet_run(meet);
	meet_restart(meet, MEET_A, NULL);
	meet_forget_notes(meet);
	a = meet_connect(meet, 7174, 17);
	meet_run(meet);
	meet_expect(meet,
		    "A REQ, B QP to ERR, B DREQ, B event DISCONNECTED -104, B REJ 10, A DREP, A event REJECTED -111");
	cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
	a = meet_connect(meet, 7174, 17);
	meet_run(meet);
	meet_expect(meet, "A REQ, B event REQUEST");
	meet_close(meet);
}

/* C-6: the MTU is not lowered silently; the next REQ requests the MTU supported by the peer. */
Test(manager, too_large_path_mtu_is_retried_smaller)
{
	struct meet *meet = meet_open(&(struct cm_config){ .max_path_mtu = 3 });
	uint32_t a, b;

	RULE("C-6");
	meet_listen(meet, MEET_B, 7174, 8);
	a = meet_connect(meet, 7174, 17);
	meet_run(meet);
	meet_expect(meet, "A REQ, B REJ 26, A REQ, B event REQUEST");
	b = meet_last(meet, MEET_B)->connection;
	meet_accept(meet, b, 18);
	meet_run(meet);
	cr_assert_eq(cm_own(meet->end[MEET_A].cm, a)->path_mtu, 3);
	cr_assert_eq(cm_peer(meet->end[MEET_B].cm, b)->path_mtu, 3);
	meet_close(meet);
}

/* C-20 */
Test(manager, alternate_path_is_loaded_on_both_sides)
{
	struct meet *meet = meet_open(NULL);
	struct cm_path way = { .local_gid = { 1 }, .remote_gid = { 2 }, .ack_timeout = 14, .hop_limit = 64 };
	uint8_t kind = CM_APR;
	uint32_t a, b;

	RULE("C-20");
	meet_listen(meet, MEET_B, 7174, 8);
	meet_establish(meet, &a, &b);
	meet_forget_notes(meet);
	cr_assert_eq(cm_load_alternate(meet->end[MEET_A].cm, a, &way, meet->now_ns), 0);
	cr_assert_eq(cm_load_alternate(meet->end[MEET_A].cm, a, &way, meet->now_ns), -EALREADY);
	meet_run(meet);
	meet_expect(meet, "A LAP, B QP to ALTERNATE, B APR, B event ALTERNATE, A QP to ALTERNATE, A event ALTERNATE");
	/* the answer is lost: it is not loaded twice */
	meet->user = &kind;
	meet->fate = lose_kind;
	cm_load_alternate(meet->end[MEET_B].cm, b, &way, meet->now_ns);
	kind = CM_APR;
	meet_settle(meet, meet->now_ns + 3 * S);
	meet_expect(meet, "B LAP, A QP to ALTERNATE, A APR, A event ALTERNATE, B LAP, A APR, B QP to ALTERNATE, "
			  "B event ALTERNATE");
	meet_close(meet);
}

/* C-22 */
Test(manager, half_open_connections_are_bounded)
{
	struct meet *meet = meet_open(NULL);

	RULE("C-22");
	meet_listen(meet, MEET_B, 7174, 100);
	for (uint32_t i = 0; i < 20; i++) {
		meet_connect(meet, 7174, 100 + i);
		meet_run(meet);
	}
	cr_assert_eq(meet->end[MEET_B].event_count, 16);
	cr_assert_eq(cm_count(meet->end[MEET_B].cm, CM_CNT_DROP_OF_ONE_PEER), 4);
	meet_close(meet);
}

/* C-27: more than the backlog wait outside. */
Test(manager, backlog_bounds_waiting_requests)
{
	struct meet *meet = meet_open(NULL);
	uint32_t b;

	RULE("C-27");
	meet_listen(meet, MEET_B, 7174, 2);
	for (uint32_t i = 0; i < 3; i++)
		meet_connect(meet, 7174, 100 + i);
	meet_run(meet);
	cr_assert_eq(meet->end[MEET_B].event_count, 2);
	b = meet_last(meet, MEET_B)->connection;
	meet_accept(meet, b, 18);
	meet_settle(meet, meet->now_ns + 2 * S);
	cr_assert_eq(cm_count(meet->end[MEET_B].cm, CM_CNT_DROP_BACKLOG), 1);
	cr_assert_eq(cm_count_received(meet->end[MEET_B].cm, CM_REQ) > 3, 1);
	meet_close(meet);
}
