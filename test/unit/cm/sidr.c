/* sidr.c - services of datagrams: asked for, answered, refused, and nobody answers */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "cm/ip.h"
#include "meet.h"
#include "rule.h"

#define S 1000000000ull
#define SPACE_UDP 0x0000000001110000ull
#define PORT 7175

static uint32_t resolve(struct meet *meet)
{
	struct cm_connect connect = meet_request(PORT, 0);
	uint32_t connection = CM_NONE;

	connect.service_id = SPACE_UDP | PORT;
	cr_assert_eq(cm_resolve_service(meet->end[MEET_A].cm, &connect, meet->now_ns, &connection), 0);
	meet_run(meet);
	return connection;
}

static void serve(struct meet *meet)
{
	struct cm_listener *listener = meet_listen(meet, MEET_B, PORT, 1);

	listener->service_id = SPACE_UDP | PORT;
	listener->datagram_qpn = 4711;
	listener->datagram_qkey = 0x01234567;
}

static void expect_nothing_left(struct meet *meet)
{
	struct cm_usage usage;

	for (int i = 0; i < 2; i++) {
		cm_usage(meet->end[i].cm, &usage, meet->now_ns);
		cr_expect_eq(usage.connections, 0);
		cr_expect_eq(usage.timers, 0);
	}
}

static int lose_first(struct meet *meet, enum meet_name from, const struct cm_message *message)
{
	(void)from;
	(void)message;
	return meet->sent > 1;
}

Test(sidr, service_is_resolved_even_if_the_first_request_is_lost)
{
	for (int lost = 0; lost < 2; lost++) {
		struct meet *meet = meet_open(NULL);
		const struct meet_event *event;
		uint32_t a;

		RULE("C-18");
		serve(meet);
		meet->fate = lost ? lose_first : NULL;
		a = resolve(meet);
		meet_settle(meet, meet->now_ns + 3 * S);
		meet_expect(meet, lost ? "A SIDR_REQ, A SIDR_REQ, B SIDR_REP, A event RESOLVED" :
					 "A SIDR_REQ, B SIDR_REP, A event RESOLVED");
		event = meet_last(meet, MEET_A);
		cr_expect_eq(event->status, 0);
		cr_expect_eq(event->message.qpn, 4711);
		cr_expect_eq(event->message.qkey, 0x01234567);
		cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
		meet_run(meet);
		meet_expect(meet, "");
		expect_nothing_left(meet);
		meet_close(meet);
	}
}

Test(sidr, unknown_service_is_reported)
{
	struct meet *meet = meet_open(NULL);

	RULE("C-18");
	resolve(meet);
	meet_expect(meet, "A SIDR_REQ, B SIDR_REP, A event RESOLVED -111");
	cr_expect_eq(meet_last(meet, MEET_A)->message.status, 1);
	meet_close(meet);
}

/* A service of connections is none of datagrams. */
Test(sidr, a_listener_for_connections_serves_no_datagrams)
{
	struct meet *meet = meet_open(NULL);
	struct cm_listener *listener = meet_listen(meet, MEET_B, PORT, 1);

	listener->service_id = SPACE_UDP | PORT;
	resolve(meet);
	cr_expect_eq(meet_last(meet, MEET_A)->message.status, 1);
	meet_close(meet);
}

Test(sidr, resolution_times_out_without_an_answer)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a;

	meet->fate = meet_lose_all;
	a = resolve(meet);
	meet_settle(meet, meet->now_ns + 60 * S);
	cr_assert_eq(meet->sent, 16);
	cr_assert_eq(meet_last(meet, MEET_A)->event, CM_EVENT_UNREACHABLE);
	cr_assert_eq(meet_last(meet, MEET_A)->status, -ETIMEDOUT);
	cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
	expect_nothing_left(meet);
	meet_close(meet);
}

/* A forgotten resolution sends no message. */
Test(sidr, forgotten_resolution_sends_nothing)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a;

	meet->fate = meet_lose_all;
	a = resolve(meet);
	meet_forget_notes(meet);
	cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
	meet_settle(meet, meet->now_ns + 60 * S);
	meet_expect(meet, "");
	expect_nothing_left(meet);
	meet_close(meet);
}

static struct cm_message asked; /* the last SIDR_REQ that was sent */

static int note_question(struct meet *meet, enum meet_name from, const struct cm_message *message)
{
	(void)meet;
	(void)from;
	asked = *message;
	return 0;
}

/* An answer to another question, or from elsewhere, is none. */
Test(sidr, answer_must_match_the_request)
{
	static const struct {
		uint32_t id, transaction, address, vlan;
		enum cm_counter counter;
	} rows[] = {
		{ 1, 0, 0, 0, CM_CNT_DROP_UNKNOWN },
		{ 0, 1, 0, 0, CM_CNT_DROP_STRANGER },
		{ 0, 0, 1, 0, CM_CNT_DROP_STRANGER },
		{ 0, 0, 0, 1, CM_CNT_DROP_STRANGER },
	};

	RULE("C-23");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct meet *meet = meet_open(NULL);
		struct cm_message answer = { .kind = CM_SIDR_REP, .qpn = 9 };
		struct cm_route route = meet_request(PORT, 0).route;
		uint8_t mad[CM_MAD_BYTES];

		meet->fate = note_question;
		resolve(meet);
		answer.local_id = asked.local_id + rows[i].id;
		answer.transaction_id = asked.transaction_id + rows[i].transaction;
		route.dest[15] += (uint8_t)rows[i].address;
		route.vlan_id = (uint16_t)rows[i].vlan;
		cm_mad_build(&answer, mad);
		cm_receive(meet->end[MEET_A].cm, &route, mad, sizeof(mad), meet->now_ns);
		meet_drain(meet, MEET_A);
		cr_expect_eq(cm_count(meet->end[MEET_A].cm, rows[i].counter), 1, "row %zu", i);
		cr_expect_null(meet_last(meet, MEET_A), "row %zu", i);
		meet_close(meet);
	}
}

/* A question of A for B's service, taken off the wire. */
static struct cm_message question(struct meet *meet, struct cm_route *to_b)
{
	struct cm_connect connect = meet_request(PORT, 0);
	uint32_t a;

	connect.service_id = SPACE_UDP | PORT;
	cr_assert_eq(cm_resolve_service(meet->end[MEET_A].cm, &connect, meet->now_ns, &a), 0);
	meet_drain(meet, MEET_A);
	return meet_take(meet, MEET_A, to_b);
}

Test(sidr, request_names_the_service_and_the_answer_repeats_it)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message asks, answer;
	struct cm_route to_b, to_a;
	struct cm_ip ip;

	RULE("C-5");
	RULE("C-18");
	serve(meet);
	asks = question(meet, &to_b);
	cr_expect_eq(asks.kind, CM_SIDR_REQ);
	cr_expect_neq(asks.local_id, 0);
	cr_expect_eq(asks.pkey, 0xFFFF);
	cr_expect_eq(asks.service_id, SPACE_UDP | PORT);
	cr_expect(cm_ip_find(&asks, &ip));
	cr_expect_eq(ip.source_port, 4000);
	meet_give(meet, MEET_B, &asks, &to_b);
	answer = meet_take(meet, MEET_B, &to_a);
	cr_expect_eq(answer.local_id, asks.local_id);
	cr_expect_eq(answer.transaction_id, asks.transaction_id);
	cr_expect_eq(answer.service_id, asks.service_id);
	meet_close(meet);
}

/* We are in the default partition only. */
Test(sidr, request_of_another_partition_is_rejected)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message asks;
	struct cm_route to_b, to_a;

	RULE("C-18");
	serve(meet);
	asks = question(meet, &to_b);
	asks.pkey = 0xFFFE;
	meet_give(meet, MEET_B, &asks, &to_b);
	cr_expect_eq(meet_take(meet, MEET_B, &to_a).status, 2);
	meet_close(meet);
}

/* U-3: the addresses in the message have to match those of the packet. */
Test(sidr, request_with_foreign_addresses_is_rejected)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message asks, answer;
	struct cm_route to_b, to_a;

	RULE("U-3");
	RULE("C-18");
	serve(meet);
	asks = question(meet, &to_b);
	asks.private_data[19]++;
	meet_give(meet, MEET_B, &asks, &to_b);
	answer = meet_take(meet, MEET_B, &to_a);
	cr_expect_eq(answer.status, 2);
	cr_expect_eq(answer.qpn, 0);
	meet_close(meet);
}

Test(sidr, requests_are_bounded_in_number_and_length)
{
	static const uint8_t words[CM_ASKER_PRIVATE_BYTES + 1];
	struct meet *meet = meet_open(&(struct cm_config){ .connections = 1 });
	struct cm_connect connect = meet_request(PORT, 0);
	struct cm *cm = meet->end[MEET_A].cm;
	uint32_t a;

	RULE("C-18");
	connect.user = (struct cm_private){ words, CM_ASKER_PRIVATE_BYTES + 1 };
	cr_expect_eq(cm_resolve_service(cm, &connect, meet->now_ns, &a), -EINVAL);
	connect.user.bytes--;
	cr_expect_eq(cm_resolve_service(cm, &connect, meet->now_ns, &a), 0);
	cr_expect_eq(cm_resolve_service(cm, &connect, meet->now_ns, &a), -ENOBUFS);
	meet_close(meet);
}

/* It has the ids of a REQ that waits, and answers none. */
Test(sidr, answer_to_a_connection_request_is_dropped)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message answer = { .kind = CM_SIDR_REP, .qpn = 9 }, req;
	struct cm_route route = meet_request(PORT, 0).route, to_b;

	RULE("C-23");
	meet_connect(meet, PORT, 17);
	req = meet_take(meet, MEET_A, &to_b);
	meet_forget_notes(meet);
	answer.local_id = req.local_id;
	answer.transaction_id = req.transaction_id;
	meet_give(meet, MEET_A, &answer, &route);
	meet_expect(meet, "");
	cr_expect_eq(cm_count(meet->end[MEET_A].cm, CM_CNT_DROP_STATE), 1);
	meet_close(meet);
}
