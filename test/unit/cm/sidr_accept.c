/* sidr_accept.c - datagram services whose user answers each SIDR request, and the event at the end of time-wait */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "cm/ip.h"
#include "meet.h"
#include "rule.h"

#define S 1000000000ull
#define SPACE_UDP 0x0000000001110000ull
#define PORT 7175
#define QKEY 0x11111111u

static struct cm *cm_of(struct meet *meet, enum meet_name name)
{
	return meet->end[name].cm;
}

static struct cm_listener *serve(struct meet *meet, uint32_t backlog)
{
	struct cm_listener *listener = meet_listen(meet, MEET_B, PORT, backlog);

	listener->service_id = SPACE_UDP | PORT;
	listener->asks_user = true;
	return listener;
}

static int resolve(struct meet *meet, const char *words, uint32_t bytes, uint32_t *a)
{
	struct cm_connect connect = meet_request(PORT, 0);
	int error;

	connect.service_id = SPACE_UDP | PORT;
	connect.user = (struct cm_private){ words, bytes };
	error = cm_resolve_service(cm_of(meet, MEET_A), &connect, meet->now_ns, a);
	meet_run(meet);
	return error;
}

static int accept(struct meet *meet, uint32_t b, const char *words)
{
	struct cm_accept accept = {
		.context = 77,
		.side = { .qpn = 4711 },
		.qkey = QKEY,
		.user = { words, (uint32_t)strlen(words) + 1 },
	};
	int error = cm_accept(cm_of(meet, MEET_B), b, &accept, meet->now_ns);

	meet_drain(meet, MEET_B);
	meet_run(meet);
	return error;
}

static void forget(struct meet *meet, enum meet_name name, uint32_t connection)
{
	cm_forget(cm_of(meet, name), connection, meet->now_ns);
	meet_drain(meet, name);
	meet_run(meet);
}

static void expect_nothing_left(struct meet *meet)
{
	struct cm_usage usage;

	for (int i = 0; i < 2; i++) {
		cm_usage(meet->end[i].cm, &usage, meet->now_ns);
		cr_expect_eq(usage.connections, 0);
		cr_expect_eq(usage.half_open, 0);
		cr_expect_eq(usage.timers, 0);
	}
	meet_close(meet);
}

/* C-18: the values of each end reach the user of the other. */
Test(sidr_accept, a_user_answers_with_a_queue_pair_of_his_choice)
{
	static char question[CM_ASKER_PRIVATE_BYTES + 1];
	struct meet *meet = meet_open(NULL);
	struct cm_listener *listener = serve(meet, 1);
	const struct meet_event *event;
	struct cm_usage usage;
	uint32_t a, b;

	RULE("C-18");
	memset(question, 'q', sizeof(question) - 1);
	cr_expect_eq(resolve(meet, question, sizeof(question), &a), -EINVAL);
	cr_assert_eq(resolve(meet, question, sizeof(question) - 1, &a), 0);
	meet_expect(meet, "A SIDR_REQ, B event REQUEST");
	event = meet_last(meet, MEET_B);
	b = event->connection;
	cr_expect_arr_eq(event->message.private_data + CM_IP_BYTES, question, CM_ASKER_PRIVATE_BYTES);
	cr_expect(cm_is_asking(cm_of(meet, MEET_B), b));
	cr_expect_eq(atomic_load(&listener->pending), 1);
	cr_assert_eq(accept(meet, b, "here"), 0);
	meet_expect(meet, "B SIDR_REP, A event RESOLVED");
	event = meet_last(meet, MEET_A);
	cr_expect_eq(event->status, 0);
	cr_expect_eq(event->message.qpn, 4711);
	cr_expect_eq(event->message.qkey, QKEY);
	cr_expect_str_eq((const char *)event->message.private_data, "here");
	cr_expect_eq(atomic_load(&listener->pending), 0);
	cm_usage(cm_of(meet, MEET_B), &usage, meet->now_ns);
	cr_expect_eq(usage.half_open, 0, "who has an answer is as good as any, as long as its user keeps it");
	cr_expect_eq(accept(meet, b, "twice"), -ENOTCONN);
	forget(meet, MEET_A, a);
	forget(meet, MEET_B, b);
	meet_expect(meet, "");
	expect_nothing_left(meet);
}

/* C-11: an answer that is lost is given again, whether its user still knows of it or not. */
Test(sidr_accept, repeated_sidr_request_gets_the_same_answer)
{
	for (int forgotten = 0; forgotten < 2; forgotten++) {
		struct meet *meet = meet_open(NULL);
		struct cm_message question;
		struct cm_route route;
		uint32_t a, b;

		RULE("C-11");
		serve(meet, 2);
		cr_assert_eq(resolve(meet, "x", 2, &a), 0);
		b = meet_last(meet, MEET_B)->connection;
		question = meet_last(meet, MEET_B)->message;
		route = *cm_route_of(cm_of(meet, MEET_B), b);
		meet_forget_notes(meet);
		meet_give(meet, MEET_B, &question, &route);
		meet_drain(meet, MEET_B);
		meet_expect(meet, "");
		cr_assert_eq(accept(meet, b, "here"), 0);
		if (forgotten)
			forget(meet, MEET_B, b);
		meet_forget_notes(meet);
		meet_give(meet, MEET_B, &question, &route);
		meet_drain(meet, MEET_B);
		meet_expect(meet, "B SIDR_REP");
		cr_expect_eq(meet_take(meet, MEET_B, &route).qpn, 4711);
		cr_expect_eq(cm_count(cm_of(meet, MEET_B), CM_CNT_DUPLICATE_REQ), 2);
		if (!forgotten)
			forget(meet, MEET_B, b);
		forget(meet, MEET_A, a);
		expect_nothing_left(meet);
	}
}

/* Nobody waits for ever: rejected by the user, by his going, and by his silence. */
Test(sidr_accept, sidr_request_is_rejected_by_user_close_or_timeout)
{
	for (int way = 0; way < 3; way++) {
		struct meet *meet = meet_open(NULL);
		struct cm_private words = { "no", 3 }, long_words = { "no", 137 };
		uint32_t a, b;

		RULE("C-18");
		serve(meet, 1);
		cr_assert_eq(resolve(meet, "x", 2, &a), 0);
		b = meet_last(meet, MEET_B)->connection;
		meet_forget_notes(meet);
		if (way == 0) {
			cr_expect_eq(cm_reject(cm_of(meet, MEET_B), b, CM_REJ_CONSUMER, &long_words, meet->now_ns),
				     -EINVAL);
			cr_assert_eq(cm_reject(cm_of(meet, MEET_B), b, CM_REJ_CONSUMER, &words, meet->now_ns), 0);
			meet_drain(meet, MEET_B);
			meet_run(meet);
		} else if (way == 1) {
			forget(meet, MEET_B, b);
		} else {
			meet->end[MEET_B].head = meet->end[MEET_B].tail;
			cm_timeout(cm_of(meet, MEET_B), meet->now_ns + 61 * S);
			meet_drain(meet, MEET_B);
			meet_run(meet);
			cr_expect_eq(meet_last(meet, MEET_B)->status, -ETIMEDOUT);
		}
		meet_expect(meet, way == 2 ? "B SIDR_REP, B event UNREACHABLE -110, A event RESOLVED -111" :
					     "B SIDR_REP, A event RESOLVED -111");
		cr_expect_eq(meet_last(meet, MEET_A)->message.status, 2);
		cr_expect_str_eq((const char *)meet_last(meet, MEET_A)->message.private_data, way == 0 ? "no" : "");
		if (way != 1)
			forget(meet, MEET_B, b);
		forget(meet, MEET_A, a);
		expect_nothing_left(meet);
	}
}

/* C-22: as with connections, one more than the backlog is dropped and counted, and comes again. */
Test(sidr_accept, waiting_sidr_requests_are_limited_by_the_backlog)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a[2], b;

	RULE("C-22");
	serve(meet, 1);
	cr_assert_eq(resolve(meet, "x", 2, &a[0]), 0);
	b = meet_last(meet, MEET_B)->connection;
	cr_assert_eq(resolve(meet, "y", 2, &a[1]), 0);
	cr_expect_eq(cm_count(cm_of(meet, MEET_B), CM_CNT_DROP_BACKLOG), 1);
	cr_assert_eq(accept(meet, b, "here"), 0);
	meet_forget_notes(meet);
	meet_wait(meet, meet->now_ns + 3 * S);
	meet_expect(meet, "A SIDR_REQ, B event REQUEST");
	for (int i = 0; i < 2; i++)
		forget(meet, MEET_A, a[i]);
	forget(meet, MEET_B, b);
	forget(meet, MEET_B, meet_last(meet, MEET_B)->connection);
	expect_nothing_left(meet);
}

/* Each is answered correctly after any order of requests. */
Test(sidr_accept, sidr_requests_may_be_answered_in_any_order)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a[2], b[2], ids[2];

	RULE("C-18");
	serve(meet, 2);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(resolve(meet, "x", 2, &a[i]), 0);
		b[i] = meet_last(meet, MEET_B)->connection;
		ids[i] = meet_last(meet, MEET_B)->message.local_id;
	}
	for (int i = 1; i >= 0; i--) {
		cr_assert_eq(accept(meet, b[i], i ? "to the second" : "to the first"), 0);
		cr_expect_eq(meet_last(meet, MEET_A)->connection, a[i]);
		cr_expect_eq(meet_last(meet, MEET_A)->message.local_id, ids[i]);
		cr_expect_str_eq((const char *)meet_last(meet, MEET_A)->message.private_data,
				 i ? "to the second" : "to the first");
	}
	for (int i = 0; i < 2; i++) {
		forget(meet, MEET_A, a[i]);
		forget(meet, MEET_B, b[i]);
	}
	expect_nothing_left(meet);
}

/* C-22: seven take what room for time-wait one address gets, and leave the rest to others and to our own users. */
Test(sidr_accept, sidr_requests_have_their_share_of_time_wait)
{
	struct meet *meet = meet_open(&(struct cm_config){ .connections = 32, .half_open = 32, .timewait_ids = 16 });
	uint32_t a[8], b[8];

	RULE("C-22");
	serve(meet, 32);
	for (int i = 0; i < 8; i++) {
		cr_assert_eq(resolve(meet, "x", 2, &a[i]), 0);
		b[i] = meet_last(meet, MEET_B)->connection;
	}
	cr_expect_eq(cm_count(cm_of(meet, MEET_B), CM_CNT_DROP_RESTS), 1);
	for (int i = 0; i < 8; i++)
		forget(meet, MEET_A, a[i]);
	for (int i = 0; i < 7; i++)
		forget(meet, MEET_B, b[i]);
	expect_nothing_left(meet);
}

/* C-26: of one for whom there is no place. */
Test(sidr_accept, sidr_request_beyond_all_places_is_dropped_and_counted)
{
	struct meet *meet = meet_open(&(struct cm_config){ .connections = 2, .half_open = 8, .timewait_ids = 64 });
	struct cm_message question;
	struct cm_route route;
	uint32_t a, b[2];

	RULE("C-26");
	serve(meet, 8);
	cr_assert_eq(resolve(meet, "x", 2, &a), 0);
	b[0] = meet_last(meet, MEET_B)->connection;
	question = meet_last(meet, MEET_B)->message;
	route = *cm_route_of(cm_of(meet, MEET_B), b[0]);
	for (int i = 0; i < 2; i++) {
		question.local_id++;
		meet_give(meet, MEET_B, &question, &route);
		meet_drain(meet, MEET_B);
		cr_expect_eq(cm_count(cm_of(meet, MEET_B), CM_CNT_DROP_FULL), (uint64_t)i);
	}
	b[1] = meet_last(meet, MEET_B)->connection;
	forget(meet, MEET_A, a);
	for (int i = 0; i < 2; i++)
		forget(meet, MEET_B, b[i]);
	expect_nothing_left(meet);
}

/* Ids of connections and of questions are counted by each for itself, as far as we know. */
Test(sidr_accept, sidr_request_with_the_id_of_a_connection_is_distinct)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message question;
	uint32_t a[2], b[3];

	RULE("C-11");
	serve(meet, 2);
	meet_listen(meet, MEET_B, 7174, 1);
	a[0] = meet_connect(meet, 7174, 17);
	meet_run(meet);
	b[0] = meet_last(meet, MEET_B)->connection;
	cr_assert_eq(meet_accept(meet, b[0], 18), 0);
	meet_run(meet);
	cr_assert_eq(resolve(meet, "x", 2, &a[1]), 0);
	b[1] = meet_last(meet, MEET_B)->connection;
	question = meet_last(meet, MEET_B)->message;
	question.local_id = meet->end[MEET_A].events[0].message.remote_id;
	meet_forget_notes(meet);
	meet_give(meet, MEET_B, &question, cm_route_of(cm_of(meet, MEET_B), b[1]));
	meet_drain(meet, MEET_B);
	meet_expect(meet, "B event REQUEST");
	b[2] = meet_last(meet, MEET_B)->connection;
	for (int i = 0; i < 2; i++)
		forget(meet, MEET_A, a[i]);
	for (int i = 0; i < 3; i++)
		forget(meet, MEET_B, b[i]);
	meet_settle(meet, meet->now_ns + 60 * S);
	expect_nothing_left(meet);
}

/* Messages for connections do not affect a SIDR request (C-23). */
Test(sidr_accept, connection_messages_do_not_affect_a_sidr_request)
{
	static const enum cm_kind kinds[] = { CM_REP, CM_RTU, CM_REJ, CM_MRA, CM_DREQ, CM_DREP, CM_LAP, CM_APR };
	struct meet *meet = meet_open(NULL);
	uint32_t a, b;

	RULE("C-23");
	serve(meet, 1);
	cr_assert_eq(resolve(meet, "x", 2, &a), 0);
	b = meet_last(meet, MEET_B)->connection;
	meet_forget_notes(meet);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct cm_message message = {
			.kind = (uint8_t)kinds[i],
			.local_id = meet_last(meet, MEET_B)->message.local_id,
			.transaction_id = meet_last(meet, MEET_B)->message.transaction_id,
			.reason = CM_REJ_TIMEOUT,
			.info_bytes = 8,
		};

		meet_give(meet, MEET_B, &message, cm_route_of(cm_of(meet, MEET_B), b));
		meet_drain(meet, MEET_B);
		cr_expect(cm_is_asking(cm_of(meet, MEET_B), b), "%u", kinds[i]);
	}
	forget(meet, MEET_A, a);
	forget(meet, MEET_B, b);
	meet->end[MEET_B].head = meet->end[MEET_B].tail;
	expect_nothing_left(meet);
}

/* ---- rest ---- */

/* C-16: both are told when their ids may be used again, and not before. */
Test(sidr_accept, end_of_time_wait_is_reported_on_request)
{
	struct meet *meet = meet_open(NULL);
	struct cm_connect connect = meet_request(7174, 17);
	struct cm_accept accept = { .context = 18, .tell_timewait = true, .side = { .qpn = 18, .ack_timeout = 18 } };
	uint32_t a, b;
	uint64_t ended_ns;

	RULE("C-16");
	connect.tell_timewait = true;
	connect.side.ack_timeout = 18; /* 1.07 s */
	meet_listen(meet, MEET_B, 7174, 1);
	cr_assert_eq(cm_connect(cm_of(meet, MEET_A), &connect, meet->now_ns, &a), 0);
	meet_drain(meet, MEET_A);
	meet_run(meet);
	b = meet_last(meet, MEET_B)->connection;
	cr_assert_eq(cm_accept(cm_of(meet, MEET_B), b, &accept, meet->now_ns), 0);
	meet_drain(meet, MEET_B);
	meet_run(meet);
	cr_assert_eq(cm_disconnect(cm_of(meet, MEET_A), a, NULL, meet->now_ns), 0);
	meet_drain(meet, MEET_A);
	meet_run(meet);
	ended_ns = meet->now_ns;
	meet_forget_notes(meet);
	meet_settle(meet, ended_ns + S);
	meet_expect(meet, "");
	meet_settle(meet, ended_ns + 2 * S);
	meet_expect(meet, "A event RESTED, B event RESTED");
	meet_settle(meet, ended_ns + 60 * S);
	meet_expect(meet, "");
	forget(meet, MEET_A, a);
	forget(meet, MEET_B, b);
	meet_settle(meet, meet->now_ns + 60 * S);
	expect_nothing_left(meet);
}

/* A request that was never connected has no time-wait, and a closed id gets no event. */
Test(sidr_accept, end_of_time_wait_is_reported_only_for_open_connections)
{
	struct meet *meet = meet_open(NULL);
	struct cm_connect connect = meet_request(7174, 17);
	uint32_t a, b;

	RULE("C-16");
	connect.tell_timewait = true;
	cr_assert_eq(cm_connect(cm_of(meet, MEET_A), &connect, meet->now_ns, &a), 0);
	meet_drain(meet, MEET_A);
	meet_run(meet);
	meet_expect(meet, "A REQ, B REJ 8, A event REJECTED -111");
	meet_settle(meet, meet->now_ns + 10 * S);
	meet_expect(meet, "");
	forget(meet, MEET_A, a);
	meet_listen(meet, MEET_B, 7174, 1);
	connect.side.qpn = 18;
	cr_assert_eq(cm_connect(cm_of(meet, MEET_A), &connect, meet->now_ns, &a), 0);
	meet_drain(meet, MEET_A);
	meet_run(meet);
	b = meet_last(meet, MEET_B)->connection;
	cr_assert_eq(meet_accept(meet, b, 19), 0);
	meet_run(meet);
	cr_assert_eq(cm_disconnect(cm_of(meet, MEET_A), a, NULL, meet->now_ns), 0);
	meet_drain(meet, MEET_A);
	meet_run(meet);
	forget(meet, MEET_A, a);
	meet_forget_notes(meet);
	meet_settle(meet, meet->now_ns + 10 * S);
	meet_expect(meet, "");
	forget(meet, MEET_B, b);
	expect_nothing_left(meet);
}
