/* edges.c - what is just too much, just not there, or of another kind than usual */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm/ip.h"
#include "meet.h"
#include "rule.h"

#define S 1000000000ull

/* A REQ as A makes it, taken off the wire; B listens. */
static struct cm_message request(struct meet *meet, const struct cm_connect *connect, struct cm_route *route)
{
	uint32_t a;

	meet_listen(meet, MEET_B, 7174, 8);
	cr_assert_eq(cm_connect(meet->end[MEET_A].cm, connect, meet->now_ns, &a), 0);
	meet_drain(meet, MEET_A);
	meet_forget_notes(meet);
	return meet_take(meet, MEET_A, route);
}

/* C-5: sixteen bytes of each address. */
Test(edges, ipv6_addresses_are_carried_and_compared)
{
	RULE("C-5");
	for (int row = 0; row < 3; row++) {
		struct meet *meet = meet_open(NULL);
		struct cm_connect connect = meet_request(7174, 17);
		struct cm_message req;
		struct cm_route route;
		struct cm_ip ip;

		connect.route.source[0] = connect.route.dest[0] = 0xFD;
		req = request(meet, &connect, &route);
		cm_ip_parse(req.private_data, &ip);
		cr_expect_eq(ip.ip_version, 6);
		cr_expect_arr_eq(ip.source, connect.route.source, 16);
		cr_expect_arr_eq(ip.dest, connect.route.dest, 16);
		if (row)
			req.private_data[row == 1 ? 4 : 20]++; /* the first byte of one of them */
		meet_give(meet, MEET_B, &req, &route);
		meet_expect(meet, row ? "B REJ 12" : "B event REQUEST");
		meet_close(meet);
	}
}

Test(edges, private_data_has_its_offset_and_bound)
{
	static const uint8_t bytes[CM_PRIVATE_MAX_BYTES + 1] = { 1, [CM_USER_PRIVATE_BYTES - 1] = 2 };
	struct meet *meet = meet_open(NULL);
	struct cm_connect connect = meet_request(7174, 17);
	struct cm_private words = { bytes, CM_USER_PRIVATE_BYTES };
	struct cm_accept accept = { .side = { .qpn = 18 } };
	struct cm_message req;
	struct cm_route route;
	uint32_t a, b;

	RULE("C-25");
	connect.user = words;
	connect.response_timeout = 15;
	connect.max_retries = 3;
	req = request(meet, &connect, &route);
	cr_expect_arr_eq(req.private_data + CM_IP_BYTES, bytes, CM_USER_PRIVATE_BYTES);
	cr_expect_eq(req.remote_response_timeout, 15);
	cr_expect_eq(req.local_response_timeout, 15);
	cr_expect_eq(req.max_cm_retries, 3);
	connect.user.bytes++;
	cr_expect_eq(cm_connect(meet->end[MEET_A].cm, &connect, meet->now_ns, &a), -EINVAL);
	meet_give(meet, MEET_B, &req, &route);
	b = meet_last(meet, MEET_B)->connection;
	accept.user = (struct cm_private){ bytes, 197 };
	cr_expect_eq(cm_accept(meet->end[MEET_B].cm, b, &accept, meet->now_ns), -EINVAL);
	words.bytes = 149;
	cr_expect_eq(cm_reject(meet->end[MEET_B].cm, b, CM_REJ_CONSUMER, &words, meet->now_ns), -EINVAL);
	accept.user.bytes = 196;
	cr_expect_eq(cm_accept(meet->end[MEET_B].cm, b, &accept, meet->now_ns), 0, "it still asked");
	words.bytes = 221;
	cr_expect_eq(cm_disconnect(meet->end[MEET_B].cm, b, &words, meet->now_ns), -EINVAL);
	words.bytes = 220;
	cr_expect_eq(cm_disconnect(meet->end[MEET_B].cm, b, &words, meet->now_ns), 0, "it was still there");
	meet_close(meet);
}

/* What cannot be a REP leaves the REQ waiting. */
Test(edges, a_reply_needs_an_id_and_a_qp)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message rep;
	struct cm_route route;

	RULE("C-23");
	meet_listen(meet, MEET_B, 7174, 8);
	meet_connect(meet, 7174, 17);
	meet_run(meet);
	meet_accept(meet, meet_last(meet, MEET_B)->connection, 18);
	rep = meet_take(meet, MEET_B, &route);
	meet_forget_notes(meet);
	rep.qpn = CM_QPN;
	meet_give(meet, MEET_A, &rep, &route);
	rep.qpn = 18;
	rep.local_id = 0;
	meet_give(meet, MEET_A, &rep, &route);
	meet_expect(meet, "");
	cr_expect_eq(cm_count(meet->end[MEET_A].cm, CM_CNT_DROP_STRANGER), 2);
	meet_close(meet);
}

/* C-6: only a smaller MTU is worth another try. */
Test(edges, mtu_reject_must_name_a_smaller_mtu)
{
	static const struct {
		uint8_t bytes, mtu;
		uint16_t reason;
		const char *line;
	} rows[] = {
		{ 1, 4, CM_REJ_INVALID_MTU, "A REQ" },
		{ 1, 1, CM_REJ_INVALID_MTU, "A REQ" },
		{ 1, 5, CM_REJ_INVALID_MTU, "A event REJECTED -111" },
		{ 1, 0, CM_REJ_INVALID_MTU, "A event REJECTED -111" },
		{ 0, 0, CM_REJ_INVALID_MTU, "A event REJECTED -111" },
		{ 1, 4, CM_REJ_NO_QP, "A event REJECTED -111" },
	};

	RULE("C-6");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct meet *meet = meet_open(NULL);
		struct cm_connect connect = meet_request(7174, 17);
		struct cm_route to_b, to_a;
		struct cm_message req = request(meet, &connect, &to_b), rej;

		to_a = meet_back(&to_b);
		rej = (struct cm_message){ .kind = CM_REJ,
					   .transaction_id = req.transaction_id + 1,
					   .remote_id = req.local_id,
					   .reason = rows[i].reason,
					   .info_bytes = rows[i].bytes,
					   .info = { rows[i].mtu } };
		meet_give(meet, MEET_A, &rej, &to_a);
		meet_expect(meet, "");
		cr_expect_eq(cm_count(meet->end[MEET_A].cm, CM_CNT_DROP_STRANGER), 1, "of another REQ");
		rej.transaction_id--;
		meet_give(meet, MEET_A, &rej, &to_a);
		meet_expect(meet, rows[i].line);
		if (rows[i].line[2] == 'R') {
			req = meet_take(meet, MEET_A, &to_b);
			cr_expect_eq(req.path_mtu, rows[i].mtu);
			cr_expect_neq(req.transaction_id, rej.transaction_id);
		}
		meet_close(meet);
	}
}

/* No number and no state is one that a call cannot bear. */
Test(edges, calls_on_unknown_ids_do_nothing)
{
	static const uint32_t numbers[] = { 3, 63, 64, 1000, CM_NONE };
	struct meet *meet = meet_open(NULL);
	struct cm *cm = meet->end[MEET_A].cm;
	struct cm_accept accept = { .side = { .qpn = 18 } };
	struct cm_path way = { .ack_timeout = 14 };
	uint32_t a;

	RULE("C-17");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		cr_expect_eq(cm_accept(cm, numbers[i], &accept, meet->now_ns), -ENOTCONN);
		cr_expect_eq(cm_reject(cm, numbers[i], CM_REJ_CONSUMER, NULL, meet->now_ns), -ENOTCONN);
		cr_expect_eq(cm_disconnect(cm, numbers[i], NULL, meet->now_ns), -ENOTCONN);
		cr_expect_eq(cm_load_alternate(cm, numbers[i], &way, meet->now_ns), -ENOTCONN);
		cr_expect_not(cm_is_asking(cm, numbers[i]));
		cm_propose(cm, numbers[i], &accept.side);
		cm_packet_came(cm, numbers[i], meet->now_ns);
		cm_qp_died(cm, numbers[i], meet->now_ns);
		cm_qp_moved(cm, numbers[i], CM_MOVE_RTS, 0, meet->now_ns);
		cm_forget(cm, numbers[i], meet->now_ns);
	}
	meet_listen(meet, MEET_B, 7174, 8);
	a = meet_connect(meet, 7174, 17);
	meet_forget_notes(meet);
	cr_expect_eq(cm_disconnect(cm, a, NULL, meet->now_ns), -ENOTCONN);
	cr_expect_eq(cm_load_alternate(cm, a, &way, meet->now_ns), -ENOTCONN);
	cm_qp_died(cm, a, meet->now_ns);
	cm_qp_moved(cm, a, CM_MOVE_RTS, 0, meet->now_ns);
	cm_qp_moved(cm, a, CM_MOVE_ALTERNATE, 0, meet->now_ns);
	meet_drain(meet, MEET_A);
	meet_expect(meet, "");
	meet_close(meet);
}

/* C-17: a forgotten connection sends one DREQ and gets no event. */
Test(edges, connection_forgotten_twice_sends_one_dreq)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a, b;

	RULE("C-17");
	meet_listen(meet, MEET_B, 7174, 8);
	meet_establish(meet, &a, &b);
	meet_forget_notes(meet);
	cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
	cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
	meet_drain(meet, MEET_A);
	meet_expect(meet, "A QP to ERR, A DREQ");
	meet_run(meet);
	meet_expect(meet, "B DREP, B QP to ERR, B event DISCONNECTED");
	meet_close(meet);
}

static uint32_t owner_of(const struct cm_message *message)
{
	static const uint8_t key[16] = { 1 }, source[16] = { 1 };
	uint8_t mad[CM_MAD_BYTES];

	cm_mad_build(message, mad);
	return cm_owner(key, 7, source, mad);
}

/* The lcore of a message: by the id of ours that it carries, by address and QPN of a REQ; nobody knows of some REJs. */
Test(edges, message_identifies_its_owner)
{
	struct cm_message message = { .kind = CM_DREQ, .remote_id = 0x1235, .qpn = 17 };
	uint32_t found = 0;

	cr_expect_eq(owner_of(&message), 5);
	message.kind = CM_REJ;
	cr_expect_eq(owner_of(&message), 5);
	message.remote_id = 0;
	cr_expect_eq(owner_of(&message), CM_NONE);
	message.kind = CM_SIDR_REP;
	message.local_id = 0x1236;
	cr_expect_eq(owner_of(&message), 6);
	message.remote_id = 0x1235;
	for (message.kind = CM_REQ, message.qpn = 0; message.qpn < 64; message.qpn++) {
		uint32_t owner = owner_of(&message);

		cr_expect_leq(owner, 7);
		found |= 1u << owner;
		message.local_id++; /* one that begins anew has another one */
		cr_expect_eq(owner_of(&message), owner);
	}
	cr_expect_eq(found, 0xFF);
	message.kind = CM_SIDR_REQ;
	cr_expect_leq(owner_of(&message), 7);
}

/* C-14: a peer without an answer is identified by its GUID and its id only. */
Test(edges, peer_that_timed_out_must_name_itself)
{
	struct meet *meet = meet_open(NULL);
	struct cm_connect connect = meet_request(7174, 17);
	struct cm_route route;
	struct cm_message req = request(meet, &connect, &route), rej;

	RULE("C-14");
	meet_give(meet, MEET_B, &req, &route);
	meet_forget_notes(meet);
	rej = (struct cm_message){ .kind = CM_REJ,
				   .local_id = req.local_id,
				   .reason = CM_REJ_TIMEOUT,
				   .answered = CM_ANSWERED_NONE,
				   .info_bytes = 8,
				   .info = { 0, 0, 0, 0, 0, 0, 1, 1 } };
	meet_give(meet, MEET_B, &rej, &route); /* another GUID */
	rej.info[7] = 0;
	rej.info_bytes = 7;
	meet_give(meet, MEET_B, &rej, &route);
	rej.info_bytes = 8;
	rej.reason = CM_REJ_STALE;
	meet_give(meet, MEET_B, &rej, &route);
	rej.reason = CM_REJ_TIMEOUT;
	rej.kind = CM_RTU;
	meet_give(meet, MEET_B, &rej, &route);
	meet_expect(meet, "");
	cr_expect_eq(cm_count(meet->end[MEET_B].cm, CM_CNT_DROP_UNKNOWN), 4);
	rej.kind = CM_REJ;
	meet_give(meet, MEET_B, &rej, &route);
	meet_expect(meet, "B QP to ERR, B event REJECTED -111");
	meet_close(meet);
}

/* U-2: only a REQ is worth an answer. */
Test(edges, another_class_version_is_refused)
{
	struct meet *meet = meet_open(NULL);
	struct cm_connect connect = meet_request(7174, 17);
	struct cm_route route, back;
	struct cm_message req = request(meet, &connect, &route), rej;
	uint8_t mad[CM_MAD_BYTES];

	RULE("U-2");
	cm_mad_build(&req, mad);
	mad[2] = 1;
	cm_receive(meet->end[MEET_B].cm, &route, mad, sizeof(mad), meet->now_ns);
	meet_drain(meet, MEET_B);
	meet_expect(meet, "B REJ 31");
	rej = meet_take(meet, MEET_B, &back);
	cr_expect_eq(rej.remote_id, req.local_id);
	cr_expect_eq(rej.transaction_id, req.transaction_id);
	mad[17] = CM_DREQ;
	cm_receive(meet->end[MEET_B].cm, &route, mad, sizeof(mad), meet->now_ns);
	cm_receive(meet->end[MEET_B].cm, &route, mad, sizeof(mad) - 1, meet->now_ns);
	meet_drain(meet, MEET_B);
	meet_expect(meet, "");
	cr_expect_eq(cm_count(meet->end[MEET_B].cm, CM_CNT_DROP_MALFORMED), 3);
	meet_give(meet, MEET_B, &(struct cm_message){ .kind = CM_SIDR_REP, .remote_id = 1 }, &route);
	cr_expect_eq(cm_count(meet->end[MEET_B].cm, CM_CNT_DROP_UNKNOWN), 1);
	meet_close(meet);
}

/* The same addresses on another device are another network. */
Test(edges, peer_on_another_device_is_distinct)
{
	struct meet *meet = meet_open(NULL);
	struct cm_route route;
	struct cm_message dreq;
	uint32_t a, b;

	RULE("C-23");
	meet_listen(meet, MEET_B, 7174, 8);
	meet_establish(meet, &a, &b);
	cm_disconnect(meet->end[MEET_A].cm, a, NULL, meet->now_ns);
	meet_drain(meet, MEET_A);
	dreq = meet_take(meet, MEET_A, &route);
	meet_forget_notes(meet);
	route.device = meet;
	meet_give(meet, MEET_B, &dreq, &route);
	meet_expect(meet, "");
	cr_expect_eq(cm_count(meet->end[MEET_B].cm, CM_CNT_DROP_STRANGER), 1);
	meet_close(meet);
}

/* C-27: the address itself before any; a listener may allow less than its manager. */
Test(edges, a_listener_has_an_address_and_an_mtu)
{
	struct meet *meet = meet_open(NULL);
	struct cm_connect connect = meet_request(7174, 17);
	struct cm_listener *any = meet_listen(meet, MEET_B, 7174, 8), *elsewhere = meet_listen(meet, MEET_B, 7174, 8);
	struct cm_listener *own = meet_listen(meet, MEET_B, 7174, 8), *other = meet_listen(meet, MEET_B, 7175, 8);
	const struct cm_listeners *listeners = &meet->end[MEET_B].listeners;
	const uint8_t ipv6[16] = { 0xFE, 0x80, [15] = 1 };
	uint32_t a;

	RULE("C-27");
	elsewhere->addr[15] = 99;
	memcpy(own->addr, connect.route.dest, 16);
	cr_expect_eq(cm_listener_find(listeners, any->service_id, own->addr), own);
	cr_expect_eq(cm_listener_find(listeners, any->service_id, connect.route.source), any);
	cr_expect_eq(cm_listener_find(listeners, other->service_id, own->addr), other);
	other->family = CM_IPV6;
	cr_expect_null(cm_listener_find(listeners, other->service_id, own->addr), "any of another family");
	cr_expect_eq(cm_listener_find(listeners, other->service_id, ipv6), other);
	other->family = CM_IPV4;
	cr_expect_eq(cm_listener_find(listeners, other->service_id, own->addr), other);
	cr_expect_null(cm_listener_find(listeners, other->service_id, ipv6));
	memcpy(other->addr, elsewhere->addr, 16);
	cr_expect_null(cm_listener_find(listeners, other->service_id, own->addr));
	own->path_mtu = 2;
	own->context = 4;
	cr_assert_eq(cm_connect(meet->end[MEET_A].cm, &connect, meet->now_ns, &a), 0);
	meet_run(meet);
	meet_expect(meet, "A REQ, B REJ 26, A REQ, B event REQUEST");
	cr_expect_eq(meet_last(meet, MEET_B)->message.path_mtu, 2);
	cr_expect_eq(meet_last(meet, MEET_B)->context, 4);
	meet_close(meet);
}

/* C-16: only an expired id makes room in time-wait. C-12: any user time can be encoded. */
Test(edges, smallest_time_wait_and_longest_patience_work)
{
	struct meet *meet = meet_open(&(struct cm_config){ .timewait_ids = 2, .patience_ns = UINT64_MAX / 4 });
	struct cm_connect connect = meet_request(7174, 20);
	struct cm_usage usage;
	struct cm_route route;
	struct cm_message mra;
	uint32_t a;

	RULE("C-12");
	RULE("C-16");
	for (uint32_t i = 0; i < 2; i++) {
		cm_forget(meet->end[MEET_A].cm, meet_connect(meet, 7174, 17 + i), meet->now_ns);
		meet_drain(meet, MEET_A);
		cm_usage(meet->end[MEET_A].cm, &usage, meet->now_ns);
		cr_expect_eq(usage.timewait_ids, i + 1);
		cr_expect_eq(usage.connections, 0);
	}
	cr_expect_eq(cm_connect(meet->end[MEET_A].cm, &connect, meet->now_ns, &a), -ENOBUFS);
	meet->now_ns += S;
	meet->end[MEET_A].head = meet->end[MEET_A].tail;
	meet_listen(meet, MEET_B, 7174, 8);
	meet_connect(meet, 7174, 30);
	meet_run(meet);
	cm_timeout(meet->end[MEET_B].cm, meet->now_ns);
	meet_drain(meet, MEET_B);
	cr_expect_eq(meet->end[MEET_B].head, meet->end[MEET_B].tail, "its time has not come");
	cm_timeout(meet->end[MEET_B].cm, cm_deadline(meet->end[MEET_B].cm));
	meet_drain(meet, MEET_B);
	mra = meet_take(meet, MEET_B, &route);
	cr_expect_eq(mra.kind, CM_MRA);
	cr_expect_eq(mra.service_timeout, 31);
	meet_close(meet);
}

/* C-10, C-12: a wait requested by the peer is bounded to less than hours, however often it is repeated. */
Test(edges, peer_cannot_request_an_unbounded_wait)
{
	struct meet *meet = meet_open(NULL);
	struct cm_route route, back;
	struct cm_connect connect = meet_request(7174, 17);
	struct cm_message req, mra;
	uint64_t began;
	uint32_t b, said = 0;

	RULE("C-10");
	RULE("C-12");
	req = request(meet, &connect, &route);
	req.local_response_timeout = 31;
	meet_give(meet, MEET_B, &req, &route);
	b = meet_last(meet, MEET_B)->connection;
	cr_assert_eq(meet_accept(meet, b, 18), 0);
	mra = meet_take(meet, MEET_B, &back);
	meet->fate = meet_lose_all;
	mra = (struct cm_message){ .kind = CM_MRA,
				   .transaction_id = req.transaction_id,
				   .local_id = req.local_id,
				   .remote_id = mra.local_id,
				   .answered = CM_ANSWERED_REP,
				   .service_timeout = 31 };
	cr_expect_lt(cm_deadline(meet->end[MEET_B].cm), meet->now_ns + 40 * S);
	began = meet->now_ns;
	while (meet_last(meet, MEET_B)->event != CM_EVENT_UNREACHABLE) {
		if (said++ < 100)
			meet_give(meet, MEET_B, &mra, &route);
		cr_assert(meet_wait(meet, began + 3600 * S), "it waits after %u MRAs", said);
	}
	cr_expect_lt(meet->now_ns - began, 1800 * S);
	meet_close(meet);
}
