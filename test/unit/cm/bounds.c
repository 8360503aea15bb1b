/* bounds.c - what strangers may hold, for how long, and what that leaves to others and to our own users */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "config/limits.h"
#include "meet.h"
#include "rule.h"

#define MS 1000000ull
#define S 1000000000ull
#define CODE_NS(code) (4096ull << (code))
#define STRANGERS 10000u

static struct cm_usage usage_of(const struct meet *meet)
{
	struct cm_usage usage;

	cm_usage(meet->end[MEET_B].cm, &usage, meet->now_ns);
	return usage;
}

/* What a stranger sends: as A would, but from elsewhere, with another id each time and the longest times there are. */
static struct cm_message request_of_stranger(struct meet *meet, uint32_t number, struct cm_route *to_b)
{
	struct cm_message req;
	uint32_t a = meet_connect(meet, 7174, 17);

	req = meet_take(meet, MEET_A, to_b);
	cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
	meet_drain(meet, MEET_A);
	meet->end[MEET_A].head = meet->end[MEET_A].tail;
	to_b->dest[14] = (uint8_t)(number >> 8);
	to_b->dest[15] = (uint8_t)(number | 0x80);
	memcpy(req.primary.local_gid, to_b->dest, 16);
	memcpy(req.private_data + 16, to_b->dest + 12, 4);
	req.local_id = 1000 + number;
	req.qpn = 1000 + number;
	req.ca_guid = 0x777;
	req.remote_response_timeout = req.local_response_timeout = 31;
	req.max_cm_retries = 15;
	req.primary.ack_timeout = 31;
	return req;
}

/* B's user refuses it at once, as a storage target does with a bad greeting. */
static void refuse(struct meet *meet, uint32_t b)
{
	cm_reject(meet->end[MEET_B].cm, b, CM_REJ_CONSUMER, NULL, meet->now_ns);
	cm_forget(meet->end[MEET_B].cm, b, meet->now_ns);
	meet_drain(meet, MEET_B);
	meet->end[MEET_B].head = meet->end[MEET_B].tail;
}

static int connect_from_b(struct meet *meet, uint32_t qpn, uint32_t *b)
{
	struct cm_connect connect = meet_request(7174, qpn);
	uint8_t addr[16];
	int error;

	memcpy(addr, connect.route.source, 16);
	memcpy(connect.route.source, connect.route.dest, 16);
	memcpy(connect.route.dest, addr, 16);
	error = cm_connect(meet->end[MEET_B].cm, &connect, meet->now_ns, b);
	meet_drain(meet, MEET_B);
	return error;
}

/* All that each of them can make us keep is less than a flood of them wants. */
Test(bounds, refused_requests_hold_no_places)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message req;
	struct cm_route to_b;
	uint32_t b;

	RULE("C-22");
	RULE("U-5");
	meet_listen(meet, MEET_B, 7174, 8);
	for (uint32_t i = 0; i < STRANGERS; i++) {
		req = request_of_stranger(meet, i, &to_b);
		meet->now_ns += 8 * MS;
		meet_give(meet, MEET_B, &req, &to_b);
		cr_assert_eq(meet_last(meet, MEET_B)->event, CM_EVENT_REQUEST);
		cr_assert_eq(meet_last(meet, MEET_B)->message.local_id, req.local_id, "after %u", i);
		refuse(meet, meet_last(meet, MEET_B)->connection);
		cr_assert_eq(usage_of(meet).connections, 0, "after %u", i);
	}
	cr_expect_eq(usage_of(meet).timers, 0);
	meet_forget_notes(meet);
	meet_connect(meet, 7174, 17);
	meet_run(meet);
	meet_expect(meet, "A REQ, B event REQUEST");
	for (uint32_t i = 0; i < 60; i++)
		cr_assert_eq(connect_from_b(meet, 100 + i, &b), 0, "our own %u", i);
	meet_close(meet);
}

/* Those of one id lie in one chain, which each further request would be compared with. A QP is one of its address. */
Test(bounds, duplicates_of_one_address_and_id_are_bounded)
{
	for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
		struct meet *meet = meet_open(&(struct cm_config){ .half_open = 64 });

		RULE("C-22");
		meet_listen(meet, MEET_B, 7174, 64);
		for (uint32_t i = 0; i < 30; i++) {
			struct cm_route to_b;
			struct cm_message req = request_of_stranger(meet, elsewhere ? i : 5, &to_b);

			req.local_id = 1000;
			req.qpn = elsewhere ? 1000 : 1000 + i;
			meet_give(meet, MEET_B, &req, &to_b);
			meet->end[MEET_B].head = meet->end[MEET_B].tail;
		}
		cr_expect_eq(usage_of(meet).connections, elsewhere ? 30 : CM_SAME_MOST);
		meet_close(meet);
	}
}

/* What is over holds its place until its user lets go of it, and he may be slow. */
Test(bounds, ended_request_holds_its_place_until_released)
{
	struct meet *meet = meet_open(&(struct cm_config){ .half_open = 6 });
	struct cm_message req, rej;
	struct cm_route to_b;
	uint32_t first = CM_NONE;

	RULE("C-22");
	meet_listen(meet, MEET_B, 7174, 64);
	for (uint32_t i = 0; i < 9; i++) {
		req = request_of_stranger(meet, i, &to_b);
		to_b.dest[15] = req.private_data[19] = req.primary.local_gid[15] = i < 5 ? 99 : (uint8_t)(100 + i);
		meet_give(meet, MEET_B, &req, &to_b);
		first = first == CM_NONE ? meet_last(meet, MEET_B)->connection : first;
		rej = (struct cm_message){ .kind = CM_REJ,
					   .local_id = req.local_id,
					   .reason = CM_REJ_TIMEOUT,
					   .answered = CM_ANSWERED_NONE,
					   .info_bytes = 8,
					   .info = { [6] = 0x07, [7] = 0x77 } };
		meet_give(meet, MEET_B, &rej, &to_b);
	}
	cr_expect_eq(usage_of(meet).connections, 6);
	cr_expect_eq(usage_of(meet).half_open, 6);
	cr_expect_eq(cm_count(meet->end[MEET_B].cm, CM_CNT_DROP_OF_ONE_PEER), 2);
	cr_expect_eq(cm_count(meet->end[MEET_B].cm, CM_CNT_DROP_HALF_OPEN), 1);
	cm_forget(meet->end[MEET_B].cm, first, meet->now_ns);
	cr_expect_eq(usage_of(meet).half_open, 5);
	req = request_of_stranger(meet, 20, &to_b);
	meet_forget_notes(meet);
	meet_give(meet, MEET_B, &req, &to_b);
	meet_expect(meet, "B event REQUEST");
	meet_close(meet);
}

/* The longest times there are, and MRAs besides: from the REP on it is a minute. */
Test(bounds, peer_cannot_prolong_the_wait_for_its_rtu)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message req, mra;
	struct cm_route to_b, to_a;
	uint64_t began;

	RULE("C-10");
	RULE("C-22");
	meet_listen(meet, MEET_B, 7174, 8);
	req = request_of_stranger(meet, 1, &to_b);
	meet_give(meet, MEET_B, &req, &to_b);
	meet_accept(meet, meet_last(meet, MEET_B)->connection, 18);
	mra = (struct cm_message){ .kind = CM_MRA,
				   .transaction_id = req.transaction_id,
				   .local_id = req.local_id,
				   .remote_id = meet_take(meet, MEET_B, &to_a).local_id,
				   .answered = CM_ANSWERED_REP,
				   .service_timeout = 31 };
	began = meet->now_ns;
	while (meet_last(meet, MEET_B)->event != CM_EVENT_UNREACHABLE) {
		meet_give(meet, MEET_B, &mra, &to_b);
		cr_assert(cm_deadline(meet->end[MEET_B].cm) <= began + 60 * S);
		meet->now_ns = cm_deadline(meet->end[MEET_B].cm);
		cm_timeout(meet->end[MEET_B].cm, meet->now_ns);
		meet_drain(meet, MEET_B);
	}
	cr_expect_eq(meet->now_ns, began + 60 * S);
	cr_expect_eq(cm_count(meet->end[MEET_B].cm, CM_CNT_TIMEOUTS), 1);
	meet_close(meet);
}

/* Established with a stranger that then says nothing any more. */
static void establish_with_stranger(struct meet *meet, uint32_t number, uint32_t *b)
{
	struct cm_accept accept = { .side = { .qpn = 2000 + number } };
	struct cm_route to_b, to_a;
	struct cm_message req = request_of_stranger(meet, number, &to_b), rep, rtu;

	meet_give(meet, MEET_B, &req, &to_b);
	*b = meet_last(meet, MEET_B)->connection;
	accept.side.ack_timeout = cm_peer(meet->end[MEET_B].cm, *b)->ack_timeout; /* as a host does */
	cr_assert_eq(cm_accept(meet->end[MEET_B].cm, *b, &accept, meet->now_ns), 0);
	meet_drain(meet, MEET_B);
	rep = meet_take(meet, MEET_B, &to_a);
	rtu = (struct cm_message){ .kind = CM_RTU,
				   .transaction_id = rep.transaction_id,
				   .local_id = rep.remote_id,
				   .remote_id = rep.local_id };
	meet_give(meet, MEET_B, &rtu, &to_b);
	cr_assert_eq(meet_last(meet, MEET_B)->event, CM_EVENT_ESTABLISHED);
}

/* Whom our user has let go of waits for a DREP, a minute at most, and for less when its place is wanted. */
Test(bounds, connections_waiting_for_a_drep_are_evicted)
{
	struct meet *meet = meet_open(&(struct cm_config){ .connections = 8, .half_open = 8 });
	struct cm *cm = meet->end[MEET_B].cm;
	struct cm_message req;
	struct cm_route to_b;
	uint32_t b[8], own;

	RULE("C-16");
	RULE("C-22");
	meet_listen(meet, MEET_B, 7174, 8);
	for (uint32_t i = 0; i < 8; i++)
		establish_with_stranger(meet, i, &b[i]);
	cr_expect_eq(connect_from_b(meet, 100, &own), -ENOBUFS, "all of them are our users'");
	for (uint32_t i = 0; i < 8; i++) {
		cm_forget(cm, b[i], meet->now_ns);
		meet_drain(meet, MEET_B);
	}
	cr_expect_eq(usage_of(meet).connections, 8);
	cr_expect_eq(connect_from_b(meet, 100, &own), 0);
	cr_expect_eq(usage_of(meet).connections, 8);
	req = request_of_stranger(meet, 20, &to_b);
	meet_forget_notes(meet);
	meet_give(meet, MEET_B, &req, &to_b);
	meet_expect(meet, "B event REQUEST");
	cm_forget(cm, own, meet->now_ns);
	refuse(meet, meet_last(meet, MEET_B)->connection);
	meet->now_ns += 60 * S;
	while (cm_deadline(cm) <= meet->now_ns) {
		cm_timeout(cm, meet->now_ns);
		meet_drain(meet, MEET_B);
	}
	cr_expect_eq(usage_of(meet).connections, 0);
	meet_close(meet);
}

/* Code 0 would be no timer at all, code 31 hours: a QP of ours would never notice that its peer has died. */
Test(bounds, requested_ack_timeout_is_bounded)
{
	static const uint8_t rows[][2] = { { 0, 22 }, { 1, 1 }, { 14, 14 }, { 22, 22 }, { 23, 22 }, { 31, 22 } };

	RULE("C-22");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct meet *meet = meet_open(NULL);
		const struct cm *cm = meet->end[MEET_B].cm;
		struct cm_message req, lap;
		struct cm_route to_b;
		uint32_t a, b;

		meet_listen(meet, MEET_B, 7174, 8);
		req = request_of_stranger(meet, 1, &to_b);
		req.primary.ack_timeout = req.alternate.ack_timeout = rows[i][0];
		meet_give(meet, MEET_B, &req, &to_b);
		b = meet_last(meet, MEET_B)->connection;
		cr_expect_eq(cm_peer(cm, b)->ack_timeout, rows[i][1], "row %zu: %u", i, cm_peer(cm, b)->ack_timeout);
		cr_expect_eq(cm_alternate(cm, b)->ack_timeout, rows[i][1], "row %zu", i);
		meet_establish(meet, &a, &b);
		cm_load_alternate(meet->end[MEET_A].cm, a, &(struct cm_path){ .ack_timeout = 14 }, meet->now_ns);
		meet_drain(meet, MEET_A);
		lap = meet_take(meet, MEET_A, &to_b);
		lap.alternate.ack_timeout = rows[i][0];
		meet_give(meet, MEET_B, &lap, &to_b);
		cr_expect_eq(cm_alternate(cm, b)->ack_timeout, rows[i][1], "row %zu: of a LAP", i);
		meet_close(meet);
	}
}

/* Ends what is established with a stranger: both sides know, and our user lets go of it. */
static void end_with_stranger(struct meet *meet, uint32_t number)
{
	struct cm_message dreq = { .kind = CM_DREQ, .local_id = 1000 + number, .qpn = 2000 + number };
	struct cm_route to_peer, to_b;
	uint32_t b;

	establish_with_stranger(meet, number, &b);
	cm_disconnect(meet->end[MEET_B].cm, b, NULL, meet->now_ns);
	meet_drain(meet, MEET_B);
	dreq.remote_id = meet_take(meet, MEET_B, &to_peer).local_id;
	to_b = meet_back(&to_peer);
	meet_give(meet, MEET_B, &dreq, &to_b);
	cr_assert_eq(meet_last(meet, MEET_B)->event, CM_EVENT_DISCONNECTED);
	cm_forget(meet->end[MEET_B].cm, b, meet->now_ns);
	meet_drain(meet, MEET_B);
	meet->end[MEET_B].head = meet->end[MEET_B].tail;
}

/* C-16: a peer that asks for hours gets seconds, and those that ended behind it wake when their own time is over. */
Test(bounds, long_time_wait_does_not_delay_others)
{
	struct meet *meet = meet_open(NULL);
	uint32_t a, b;

	RULE("C-16");
	meet_listen(meet, MEET_B, 7174, 8);
	end_with_stranger(meet, 1);
	meet_establish(meet, &a, &b);
	cm_forget(meet->end[MEET_A].cm, a, meet->now_ns);
	meet_run(meet);
	cm_forget(meet->end[MEET_B].cm, b, meet->now_ns);
	cr_expect_eq(usage_of(meet).timewait_ids, 2);
	meet->now_ns += 3 * CODE_NS(14) - 1;
	cr_expect_eq(usage_of(meet).timewait_ids, 2);
	meet->now_ns += 1;
	cr_expect_eq(usage_of(meet).timewait_ids, 1);
	meet->now_ns += 9 * S;
	cr_expect_eq(usage_of(meet).timewait_ids, 1);
	meet->now_ns += S;
	cr_expect_eq(usage_of(meet).timewait_ids, 0);
	meet_close(meet);
}

/* C-2, C-16: new requests are refused rather than ids released early. The last places are reserved for local users. */
Test(bounds, full_time_wait_releases_no_id_early)
{
	struct meet *meet = meet_open(&(struct cm_config){ .timewait_ids = 16 });
	struct cm *cm = meet->end[MEET_B].cm;
	struct cm_message req;
	struct cm_route to_b;
	uint32_t b, number = 0, own = 0;

	RULE("C-16");
	RULE("C-22");
	meet_listen(meet, MEET_B, 7174, 8);
	for (; number < 14; number++)
		end_with_stranger(meet, number);
	req = request_of_stranger(meet, number, &to_b);
	meet_forget_notes(meet);
	meet_give(meet, MEET_B, &req, &to_b);
	meet_expect(meet, "B REJ 3");
	cr_expect_eq(cm_count(cm, CM_CNT_DROP_RESTS), 1);
	cr_expect_eq(usage_of(meet).timewait_ids, 14);
	while (connect_from_b(meet, 100 + own, &b) == 0)
		cr_assert_lt(own++, 16u);
	cr_expect_eq(own, 2);
	meet->now_ns += 11 * S;
	meet->end[MEET_B].head = meet->end[MEET_B].tail;
	meet_forget_notes(meet);
	meet_give(meet, MEET_B, &req, &to_b);
	meet_expect(meet, "B event REQUEST");
	meet_close(meet);
}
