/* strangers.c - messages that do not fit: from elsewhere, with other ids, of other vendors, too early or too late */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm/ip.h"
#include "meet.h"
#include "rule.h"

#define S 1000000000ull

/* A message of A, as it lies on the wire, is changed and given to B; what B makes of it is noted. */
typedef void change(struct cm_message *message, struct cm_route *route);

/* A REQ of A that nobody has got, B listens. */
static struct cm_message request(struct meet *meet, struct cm_route *route)
{
	meet_listen(meet, MEET_B, 7174, 64);
	meet_connect(meet, 7174, 17);
	meet_forget_notes(meet);
	return meet_take(meet, MEET_A, route);
}

Test(strangers, request_carries_all_connection_parameters)
{
	struct meet *meet = meet_open(NULL);
	struct cm_route route;
	struct cm_message req;
	struct cm_ip ip;

	RULE("C-3");
	RULE("C-5");
	req = request(meet, &route);
	cr_expect_eq(req.kind, CM_REQ);
	cr_expect_eq(req.service_id, 0x0000000001061C06ull);
	cr_expect_eq(req.ca_guid, 0x100);
	cr_expect_eq(req.qpn, 17);
	cr_expect_eq(req.psn, 77);
	cr_expect_eq(req.responder_resources, 4);
	cr_expect_eq(req.initiator_depth, 8);
	cr_expect_eq(req.remote_response_timeout, 18);
	cr_expect_eq(req.local_response_timeout, 18);
	cr_expect_eq(req.transport, 0);
	cr_expect_eq(req.retry_count, 7);
	cr_expect_eq(req.rnr_retry_count, 7);
	cr_expect_eq(req.pkey, 0xFFFF);
	cr_expect_eq(req.path_mtu, 5);
	cr_expect_eq(req.max_cm_retries, 15);
	cr_expect_eq(req.primary.local_lid, 0xFFFF);
	cr_expect_eq(req.primary.hop_limit, 64);
	cr_expect_eq(req.primary.ack_timeout, 14);
	cr_expect_eq(req.primary.flow_label, (4000u * 31 + 7174) & 0xFFFFF);
	cr_expect_arr_eq(req.primary.local_gid, route.dest, 16);
	cr_expect_arr_eq(req.primary.remote_gid, route.source, 16);
	cm_ip_parse(req.private_data, &ip);
	cr_expect_eq(ip.version, 0);
	cr_expect_eq(ip.ip_version, 4);
	cr_expect_eq(ip.source_port, 4000);
	cr_expect_arr_eq(ip.source + 12, route.dest + 12, 4);
	cr_expect_arr_eq(ip.dest + 12, route.source + 12, 4);
	meet_close(meet);
}

/* What is wrong with a REQ, and the reason that it is refused for; 0: it is taken. */
static const struct {
	const char *what;
	uint16_t reason;
} wrongs[] = {
	{ "nothing", 0 },
	{ "another GID of its own", 12 },
	{ "another GID of ours", 12 },
	{ "IP addresses", 12 },
	{ "IP version", 28 },
	{ "version of IP addressing", 28 },
	{ "transport", 9 },
	{ "QPN 1", 1 },
	{ "no id", 1 },
	{ "path MTU 0", 26 },
	{ "path MTU 7", 26 },
	{ "port", 8 },
	{ "another service", 8 },
	{ "P_Key of another partition", 5 },
	{ "limited member of the default partition", 0 },
};

static void spoil(struct cm_message *req, size_t row)
{
	switch (row) {
	case 1:
		req->primary.local_gid[15]++;
		break;
	case 2:
		req->primary.remote_gid[15]++;
		break;
	case 3:
		req->private_data[19]++;
		break;
	case 4:
		req->private_data[1] = 0x50;
		break;
	case 5:
		req->private_data[0] = 0x10;
		break;
	case 6:
		req->transport = 1;
		break;
	case 7:
		req->qpn = 1;
		break;
	case 8:
		req->local_id = 0;
		break;
	case 9:
		req->path_mtu = 0;
		break;
	case 10:
		req->path_mtu = 7;
		break;
	case 11:
		req->service_id++;
		break;
	case 12:
		req->service_id = 7;
		break;
	case 13:
		req->pkey = 0xFFFE;
		break;
	case 14:
		req->pkey = 0x7FFF;
		break;
	}
}

Test(strangers, invalid_request_is_refused_with_its_reason)
{
	RULE("U-3");
	RULE("C-14");
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		struct meet *meet = meet_open(NULL);
		struct cm_route route, back;
		struct cm_message req = request(meet, &route), answer;
		struct cm_usage usage;

		spoil(&req, i);
		meet_give(meet, MEET_B, &req, &route);
		cm_usage(meet->end[MEET_B].cm, &usage, meet->now_ns);
		cr_expect_eq(usage.connections, wrongs[i].reason == 0, "%s", wrongs[i].what);
		if (wrongs[i].reason == 0) {
			meet_expect(meet, "B event REQUEST");
		} else {
			answer = meet_take(meet, MEET_B, &back);
			cr_expect_eq(answer.kind, CM_REJ, "%s", wrongs[i].what);
			cr_expect_eq(answer.reason, wrongs[i].reason, "%s: %u", wrongs[i].what, answer.reason);
			cr_expect_eq(answer.transaction_id, req.transaction_id);
			cr_expect_eq(answer.remote_id, req.local_id);
			cr_expect_eq(cm_count_rejects(meet->end[MEET_B].cm, answer.reason), 1, "C-26");
		}
		meet_close(meet);
	}
}

/* A message of an established connection is given to B after it was changed: nothing changes. */
static void expect_no_change(const char *what, enum cm_kind kind, change *spoiler, enum cm_counter counter)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message message = { .kind = (uint8_t)kind };
	const struct meet_event *last;
	struct cm_route route;
	uint32_t a, b;
	uint64_t before;

	meet_listen(meet, MEET_B, 7174, 8);
	meet_establish(meet, &a, &b);
	cm_disconnect(meet->end[MEET_A].cm, a, NULL, meet->now_ns);
	meet_drain(meet, MEET_A);
	message = meet_take(meet, MEET_A, &route);
	meet_forget_notes(meet);
	message.kind = (uint8_t)kind;
	spoiler(&message, &route);
	before = cm_count(meet->end[MEET_B].cm, counter);
	meet_give(meet, MEET_B, &message, &route);
	last = meet_last(meet, MEET_B);
	cr_expect_eq(last->event, CM_EVENT_ESTABLISHED, "%s ended it", what);
	cr_expect_eq(cm_count(meet->end[MEET_B].cm, counter), before + 1, "%s is not counted", what);
	meet_close(meet);
}

static void from_elsewhere(struct cm_message *message, struct cm_route *route)
{
	(void)message;
	route->dest[15]++;
}

static void to_elsewhere(struct cm_message *message, struct cm_route *route)
{
	(void)message;
	route->source[15]++;
}

static void other_vlan(struct cm_message *message, struct cm_route *route)
{
	(void)message;
	route->vlan_id = 5;
}

static void other_local_id(struct cm_message *message, struct cm_route *route)
{
	(void)route;
	message->local_id++;
}

static void other_remote_id(struct cm_message *message, struct cm_route *route)
{
	(void)route;
	message->remote_id++;
}

static void other_qpn(struct cm_message *message, struct cm_route *route)
{
	(void)route;
	message->qpn++;
}

static void nothing(struct cm_message *message, struct cm_route *route)
{
	(void)message;
	(void)route;
}

Test(strangers, stranger_cannot_end_a_connection)
{
	RULE("C-23");
	expect_no_change("a DREQ from elsewhere", CM_DREQ, from_elsewhere, CM_CNT_DROP_STRANGER);
	expect_no_change("a DREQ to elsewhere", CM_DREQ, to_elsewhere, CM_CNT_DROP_STRANGER);
	expect_no_change("a DREQ of another VLAN", CM_DREQ, other_vlan, CM_CNT_DROP_STRANGER);
	expect_no_change("a DREQ of another id", CM_DREQ, other_local_id, CM_CNT_DROP_STRANGER);
	expect_no_change("a DREQ for another id", CM_DREQ, other_remote_id, CM_CNT_UNKNOWN_DREQ);
	expect_no_change("a DREQ for another QP", CM_DREQ, other_qpn, CM_CNT_DROP_STRANGER);
	expect_no_change("a DREP without DREQ", CM_DREP, nothing, CM_CNT_DROP_STATE);
	expect_no_change("an RTU again", CM_RTU, nothing, CM_CNT_DUPLICATE_OTHER);
	expect_no_change("a REP of the other side", CM_REP, nothing, CM_CNT_DROP_STATE);
	expect_no_change("an MRA of nothing", CM_MRA, nothing, CM_CNT_DROP_STATE);
	expect_no_change("an APR without LAP", CM_APR, nothing, CM_CNT_DROP_STATE);
	expect_no_change("a SIDR_REP without SIDR_REQ", CM_SIDR_REP, nothing, CM_CNT_DROP_UNKNOWN);
}

/* A REP with the right id of ours, but not of the REQ that waits. */
Test(strangers, reply_must_match_the_pending_request)
{
	struct meet *meet = meet_open(NULL);
	struct cm_route route;
	struct cm_message rep;

	RULE("C-2");
	meet_listen(meet, MEET_B, 7174, 8);
	meet_connect(meet, 7174, 17);
	meet_run(meet);
	meet_accept(meet, meet_last(meet, MEET_B)->connection, 18);
	rep = meet_take(meet, MEET_B, &route);
	meet_forget_notes(meet);
	rep.transaction_id++;
	meet_give(meet, MEET_A, &rep, &route);
	meet_expect(meet, "");
	cr_assert_eq(cm_count(meet->end[MEET_A].cm, CM_CNT_DROP_STRANGER), 1);
	rep.transaction_id--;
	meet_give(meet, MEET_A, &rep, &route);
	meet_expect(meet, "A QP to RTS, A RTU, A event ESTABLISHED");
	meet_close(meet);
}

/* Ids of a thousand connections: all different, and no two steps between them alike. */
Test(strangers, ids_cannot_be_foretold)
{
	enum { MANY = 1000 };
	struct meet *meet = meet_open(&(struct cm_config){ .connections = MANY });
	static uint32_t ids[MANY];
	uint32_t rising = 0;

	RULE("C-2");
	for (uint32_t i = 0; i < MANY; i++) {
		struct cm_route route;

		meet_connect(meet, 7174, 100 + i);
		ids[i] = meet_take(meet, MEET_A, &route).local_id;
		cr_assert_neq(ids[i], 0);
		rising += i && ids[i] > ids[i - 1];
		for (uint32_t k = 0; k < i; k++) {
			cr_assert_neq(ids[k], ids[i]);
			cr_assert(i < 2 || k == 0 || k == i || ids[k] - ids[k - 1] != ids[i] - ids[i - 1]);
		}
	}
	cr_assert(rising > MANY / 4 && rising < MANY * 3 / 4, "%u rise", rising);
	meet_close(meet);
}

/* C-32: Linux's librdmacm sends back whose vendor id it got, with no option of its own. */
Test(strangers, options_of_another_vendor_are_ignored)
{
	static const struct {
		uint32_t vendor_id, options, agreed;
	} rows[] = {
		{ 0, 0, 0 }, { CM_VENDOR_ID, 0, 0 }, { CM_VENDOR_ID, 7, 3 }, { CM_VENDOR_ID, 2, 2 }, { 0x15B3, 7, 0 },
	};

	RULE("C-32");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct meet *meet = meet_open(NULL);
		struct cm_connect connect = meet_request(7174, 17);
		struct cm_accept accept = { .side = { .qpn = 18, .ece = 3 } };
		struct cm_message message;
		struct cm_route route;
		uint32_t a, b;

		/* as the passive side */
		meet_listen(meet, MEET_B, 7174, 8);
		cr_assert_eq(cm_connect(meet->end[MEET_A].cm, &connect, meet->now_ns, &a), 0);
		meet_drain(meet, MEET_A);
		message = meet_take(meet, MEET_A, &route);
		cr_expect_eq(message.vendor_id, 0, "who offers nothing names nobody");
		message.vendor_id = rows[i].vendor_id;
		message.ece_options = rows[i].options;
		meet_give(meet, MEET_B, &message, &route);
		b = meet_last(meet, MEET_B)->connection;
		cr_assert_eq(cm_accept(meet->end[MEET_B].cm, b, &accept, meet->now_ns), 0);
		meet_drain(meet, MEET_B);
		message = meet_take(meet, MEET_B, &route);
		cr_expect_eq(message.ece_options, rows[i].agreed, "row %zu: %u", i, message.ece_options);
		cr_expect_eq(message.vendor_id, rows[i].agreed ? CM_VENDOR_ID : 0, "row %zu", i);
		/* as the active side */
		connect.side.ece = 3;
		connect.side.qpn = 19;
		cr_assert_eq(cm_connect(meet->end[MEET_A].cm, &connect, meet->now_ns, &a), 0);
		meet_drain(meet, MEET_A);
		meet_give(meet, MEET_B, &(struct cm_message){ 0 }, &route); /* junk between is nobody's */
		message = meet_take(meet, MEET_A, &route);
		cr_expect_eq(message.vendor_id, CM_VENDOR_ID);
		meet_give(meet, MEET_B, &message, &route);
		b = meet_last(meet, MEET_B)->connection;
		accept.side.qpn = 20;
		cm_accept(meet->end[MEET_B].cm, b, &accept, meet->now_ns);
		meet_drain(meet, MEET_B);
		message = meet_take(meet, MEET_B, &route);
		message.vendor_id = rows[i].vendor_id;
		message.ece_options = rows[i].options;
		meet_give(meet, MEET_A, &message, &route);
		cr_expect_eq(cm_peer(meet->end[MEET_A].cm, a)->ece, rows[i].agreed, "row %zu", i);
		meet_close(meet);
	}
}

/* C-16, C-11: ids of a connection that has ended are not taken for a new one, and not given out. */
Test(strangers, ids_of_an_ended_connection_are_in_time_wait)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message req, rtu, answer;
	struct cm_route route, back;
	struct cm_usage usage;
	uint32_t b;

	RULE("C-16");
	req = request(meet, &route);
	meet_give(meet, MEET_B, &req, &route);
	b = meet_last(meet, MEET_B)->connection;
	meet_accept(meet, b, 18);
	rtu = meet_take(meet, MEET_B, &back);
	rtu.kind = CM_RTU;
	rtu.remote_id = rtu.local_id;
	rtu.local_id = req.local_id;
	meet_give(meet, MEET_B, &rtu, &route);
	cm_forget(meet->end[MEET_B].cm, b, meet->now_ns);
	meet_drain(meet, MEET_B);
	meet->end[MEET_B].head = meet->end[MEET_B].tail;
	while (meet_wait(meet, meet->now_ns + 60 * S))
		; /* the DREQ is answered, for A has long given up */
	cm_usage(meet->end[MEET_B].cm, &usage, meet->now_ns);
	cr_assert_eq(usage.connections, 0);
	cr_assert_eq(usage.timewait_ids, 1, "%u", usage.timewait_ids);
	meet->end[MEET_B].head = meet->end[MEET_B].tail;
	meet_give(meet, MEET_B, &req, &route);
	answer = meet_take(meet, MEET_B, &back);
	cr_expect_eq(answer.kind, CM_REJ);
	cr_expect_eq(answer.reason, CM_REJ_STALE);
	cr_expect_eq(cm_count(meet->end[MEET_B].cm, CM_CNT_DROP_RESTING), 1);
	meet->now_ns += S;
	meet_forget_notes(meet);
	meet_give(meet, MEET_B, &req, &route);
	meet_expect(meet, "B event REQUEST");
	meet_close(meet);
}

/* C-21: as Linux does. */
Test(strangers, peer_without_an_apr_keeps_the_connection)
{
	struct meet *meet = meet_open(NULL);
	struct cm_path way = { .ack_timeout = 14 };
	uint32_t a, b;

	RULE("C-21");
	meet_listen(meet, MEET_B, 7174, 8);
	meet_establish(meet, &a, &b);
	meet->fate = meet_lose_laps;
	cr_assert_eq(cm_load_alternate(meet->end[MEET_A].cm, a, &way, meet->now_ns), 0);
	meet_settle(meet, meet->now_ns + 60 * S);
	cr_expect_eq(meet_last(meet, MEET_A)->event, CM_EVENT_ALTERNATE);
	cr_expect_eq(meet_last(meet, MEET_A)->status, -ETIMEDOUT);
	cr_expect_eq(cm_disconnect(meet->end[MEET_A].cm, a, NULL, meet->now_ns), 0, "it goes on");
	meet_close(meet);
}

/* C-19: a REQ may name an alternate way; a peer of ours sees it. */
Test(strangers, request_names_its_alternate_path)
{
	struct meet *meet = meet_open(NULL);
	struct cm_path way = { .local_gid = { 1 }, .remote_gid = { 2 }, .ack_timeout = 15 };
	struct cm_connect connect = meet_request(7174, 17);
	uint32_t a, b;

	RULE("C-19");
	meet_listen(meet, MEET_B, 7174, 8);
	connect.alternate = &way;
	cr_assert_eq(cm_connect(meet->end[MEET_A].cm, &connect, meet->now_ns, &a), 0);
	meet_run(meet);
	b = meet_last(meet, MEET_B)->connection;
	cr_expect_eq(cm_alternate(meet->end[MEET_B].cm, b)->local_gid[0], 2);
	cr_expect_eq(cm_alternate(meet->end[MEET_B].cm, b)->ack_timeout, 15);
	meet_close(meet);
}

/* C-26 */
Test(strangers, every_message_is_counted_by_kind)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a, b;

	RULE("C-26");
	meet_listen(meet, MEET_B, 7174, 8);
	meet_establish(meet, &a, &b);
	cm_disconnect(meet->end[MEET_A].cm, a, NULL, meet->now_ns);
	meet_run(meet);
	for (int i = 0; i < 2; i++) {
		static const enum cm_kind sent[2][3] = { { CM_REQ, CM_RTU, CM_DREQ }, { CM_REP, CM_DREP, CM_REP } };

		for (int k = 0; k < 3; k++) {
			cr_expect_eq(cm_count_sent(meet->end[i].cm, sent[i][k]), 1);
			cr_expect_eq(cm_count_received(meet->end[!i].cm, sent[i][k]), 1);
		}
	}
	for (int i = 0; i < CM_COUNTERS; i++)
		cr_expect_eq(cm_count(meet->end[0].cm, (enum cm_counter)i), 0, "%s", cm_counter_rows[i].name);
	meet_close(meet);
}

/* C-15: a peer has to listen; two ends that only connect to each other are both rejected. */
Test(strangers, two_mutual_callers_are_both_refused)
{
	struct meet *meet = meet_open(NULL);
	struct cm_connect back = meet_request(7174, 18);
	uint8_t addr[16];
	uint32_t a, b;

	RULE("C-15");
	a = meet_connect(meet, 7174, 17);
	memcpy(addr, back.route.source, 16);
	memcpy(back.route.source, back.route.dest, 16);
	memcpy(back.route.dest, addr, 16);
	cr_assert_eq(cm_connect(meet->end[MEET_B].cm, &back, meet->now_ns, &b), 0);
	meet_run(meet);
	for (int i = 0; i < 2; i++) {
		cr_expect_eq(meet_last(meet, (enum meet_name)i)->event, CM_EVENT_REJECTED);
		cr_expect_eq(meet_last(meet, (enum meet_name)i)->message.reason, CM_REJ_INVALID_SERVICE_ID);
	}
	cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
	cm_forget(meet->end[MEET_B].cm, b, meet->now_ns);
	meet_settle(meet, meet->now_ns + 60 * S);
	meet_close(meet);
}
