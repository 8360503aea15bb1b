/* passive.c - the side that is connected to: REQs that come again, its user's time, what is counted */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "cm/ip.h"
#include "meet.h"
#include "rule.h"

#define S 1000000000ull
#define CODE_NS(code) (4096ull << (code))

/* A REQ of A, taken off the wire; B listens. */
static struct cm_message request(struct meet *meet, struct cm_route *to_b)
{
	meet_listen(meet, MEET_B, 7174, 8);
	meet_connect(meet, 7174, 17);
	meet_forget_notes(meet);
	return meet_take(meet, MEET_A, to_b);
}

/* C-11, C-12: a repeated REQ while the user decides draws an MRA at once, and no second one before its time ends. */
Test(passive, repeated_request_draws_an_mra_while_the_user_decides)
{
	struct meet *meet = meet_open(NULL);
	uint64_t began = meet->now_ns;
	struct cm_message req, mra;
	struct cm_route to_b, to_a;

	RULE("C-11");
	RULE("C-12");
	req = request(meet, &to_b);
	meet_give(meet, MEET_B, &req, &to_b);
	meet->now_ns += S / 10;
	meet_give(meet, MEET_B, &req, &to_b);
	meet_expect(meet, "B event REQUEST, B MRA");
	cr_expect_eq(cm_deadline(meet->end[MEET_B].cm), began + 60 * S);
	mra = meet_take(meet, MEET_B, &to_a);
	cr_expect_eq(mra.answered, CM_ANSWERED_REQ);
	cr_expect_eq(mra.transaction_id, req.transaction_id);
	cr_expect_eq(mra.remote_id, req.local_id);
	meet_close(meet);
}

/* C-12: the smallest code that is at least as long. */
Test(passive, user_time_is_encoded_in_the_smallest_sufficient_code)
{
	static const struct {
		uint64_t patience_ns;
		uint8_t code;
	} rows[] = { { CODE_NS(20), 20 }, { CODE_NS(20) + 1, 21 }, { CODE_NS(21) - 1, 21 }, { 1, 0 } };

	RULE("C-12");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct meet *meet = meet_open(&(struct cm_config){ .patience_ns = rows[i].patience_ns });
		struct cm_route to_b, to_a;
		struct cm_message req = request(meet, &to_b);

		meet_give(meet, MEET_B, &req, &to_b);
		meet_give(meet, MEET_B, &req, &to_b);
		cr_expect_eq(meet_take(meet, MEET_B, &to_a).service_timeout, rows[i].code, "row %zu", i);
		meet_close(meet);
	}
}

/* The same id of another QP or of another network is another REQ. */
Test(passive, request_is_identified_by_id_qp_and_network)
{
	RULE("C-11");
	for (int row = 0; row < 3; row++) {
		struct meet *meet = meet_open(NULL);
		struct cm_route to_b;
		struct cm_message req = request(meet, &to_b);

		meet_give(meet, MEET_B, &req, &to_b);
		meet_forget_notes(meet);
		if (row)
			req.qpn++;
		if (row == 2)
			to_b.vlan_id++;
		meet_give(meet, MEET_B, &req, &to_b);
		meet_expect(meet, row ? "B event REQUEST" : "B MRA");
		meet_close(meet);
	}
}

/* C-22: one at a time may be half open, and each of those that are established is that no more. */
Test(passive, established_connection_is_not_half_open)
{
	struct meet *meet = meet_open(&(struct cm_config){ .half_open = 1 });
	struct cm_usage usage;

	RULE("C-22");
	meet_listen(meet, MEET_B, 7174, 8);
	for (uint32_t i = 0; i < 3; i++) {
		meet_connect(meet, 7174, 100 + i);
		meet_run(meet);
		meet_expect(meet, "A REQ, B event REQUEST");
		meet_accept(meet, meet_last(meet, MEET_B)->connection, 200 + i);
		meet_run(meet);
		meet_forget_notes(meet);
		cm_usage(meet->end[MEET_B].cm, &usage, meet->now_ns);
		cr_expect_eq(usage.half_open, 0);
	}
	cr_expect_eq(cm_count(meet->end[MEET_B].cm, CM_CNT_DROP_OF_ONE_PEER), 0);
	meet_close(meet);
}

/* The class that its REQ tells, not the one that the REQ itself had. */
Test(passive, answers_use_the_traffic_class_of_the_request)
{
	struct meet *meet = meet_open(NULL);
	struct cm_route to_b;
	struct cm_message req = request(meet, &to_b);
	uint32_t b;

	RULE("C-3");
	req.primary.traffic_class = 6;
	to_b.traffic_class = 3;
	meet_give(meet, MEET_B, &req, &to_b);
	b = meet_last(meet, MEET_B)->connection;
	cr_expect_eq(cm_route_of(meet->end[MEET_B].cm, b)->traffic_class, 6);
	meet_close(meet);
}

/* C-9: the peer has its RTU sent and thinks that all is well. */
Test(passive, immovable_qp_is_disconnected)
{
	struct meet *meet = meet_open(NULL);
	uint32_t b;

	RULE("C-9");
	meet_listen(meet, MEET_B, 7174, 8);
	meet_connect(meet, 7174, 17);
	meet_run(meet);
	b = meet_last(meet, MEET_B)->connection;
	meet_accept(meet, b, 18);
	meet->end[MEET_B].move_error = -EIO;
	meet_forget_notes(meet);
	meet_run(meet);
	meet_expect(meet,
		    "A QP to RTS, A RTU, A event ESTABLISHED, B QP to RTS -5, B event UNREACHABLE -5, B QP to ERR -5, "
		    "B DREQ, A DREP, A QP to ERR, A event DISCONNECTED");
	meet_close(meet);
}

/* C-27: pending requests of a closed listener are not counted; their answers do not touch it. */
Test(passive, listener_may_close_with_pending_requests)
{
	struct meet *meet = meet_open(NULL);
	struct cm_listener *listener = meet_listen(meet, MEET_B, 7174, 8);
	struct cm_listener *other = meet_listen(meet, MEET_B, 7175, 8);
	uint32_t b;

	RULE("C-27");
	meet_connect(meet, 7175, 16);
	meet_connect(meet, 7174, 17);
	meet_run(meet);
	b = meet_last(meet, MEET_B)->connection;
	cr_expect_eq(listener->pending, 1);
	cm_forget_listener(meet->end[MEET_B].cm, listener);
	cr_expect_eq(listener->pending, 0);
	cr_expect_eq(other->pending, 1);
	cm_forget_listener(meet->end[MEET_B].cm, listener);
	cr_expect_eq(meet_accept(meet, b, 18), 0);
	cr_expect_eq(listener->pending, 0);
	meet_close(meet);
}

/* C-5: only services of IP begin their private data with addresses. */
Test(passive, service_outside_of_ip_needs_no_addresses)
{
	struct meet *meet = meet_open(NULL);
	struct cm_route to_b;
	struct cm_message req = request(meet, &to_b);
	struct cm_listener *listener = meet_listen(meet, MEET_B, 1, 8);

	RULE("C-5");
	listener->service_id = req.service_id = 7;
	memset(req.private_data, 0, CM_IP_BYTES);
	meet_give(meet, MEET_B, &req, &to_b);
	meet_expect(meet, "B event REQUEST");
	meet_close(meet);
}

/* C-2: an RTU with the right ids, but of another REQ. */
Test(passive, rtu_must_match_the_answered_request)
{
	struct meet *meet = meet_open(NULL);
	struct cm_message rtu;
	struct cm_route to_b;

	RULE("C-2");
	RULE("C-23");
	meet_listen(meet, MEET_B, 7174, 8);
	meet_connect(meet, 7174, 17);
	meet_run(meet);
	meet_accept(meet, meet_last(meet, MEET_B)->connection, 18);
	cr_assert(meet_carry(meet, MEET_B));
	rtu = meet_take(meet, MEET_A, &to_b);
	meet_forget_notes(meet);
	rtu.transaction_id++;
	meet_give(meet, MEET_B, &rtu, &to_b);
	meet_expect(meet, "");
	cr_expect_eq(cm_count(meet->end[MEET_B].cm, CM_CNT_DROP_STRANGER), 1);
	rtu.transaction_id--;
	meet_give(meet, MEET_B, &rtu, &to_b);
	meet_expect(meet, "B QP to RTS, B event ESTABLISHED");
	meet_close(meet);
}

/* C-14: no room for one more connection of any kind. */
Test(passive, request_without_room_is_refused)
{
	struct meet *meet = meet_open(&(struct cm_config){ .connections = 1, .timewait_ids = 8 });
	struct cm_route to_b;
	struct cm_message req = request(meet, &to_b), rej;

	RULE("C-14");
	meet_give(meet, MEET_B, &req, &to_b);
	meet_forget_notes(meet);
	req.local_id++;
	req.qpn++;
	meet_give(meet, MEET_B, &req, &to_b);
	meet_expect(meet, "B REJ 3");
	rej = meet_take(meet, MEET_B, &to_b);
	cr_expect_eq(rej.remote_id, req.local_id);
	cr_expect_eq(cm_count(meet->end[MEET_B].cm, CM_CNT_DROP_FULL), 1);
	meet_close(meet);
}

/* C-22: an address has half of the free half-open connections; the last one is for whoever has none. */
Test(passive, each_address_gets_half_of_the_free_half_open_connections)
{
	static const uint32_t rows[] = { 8, 4, 2, 1, 1 };
	struct meet *meet = meet_open(&(struct cm_config){ .half_open = 16 });
	const struct cm *cm = meet->end[MEET_B].cm;
	struct cm_route to_b;
	struct cm_message req = request(meet, &to_b);

	RULE("C-22");
	atomic_load(&meet->end[MEET_B].listeners.slots[0])->backlog = 64;
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (uint32_t k = 0; k <= rows[i]; k++) {
			meet_forget_notes(meet);
			meet_give(meet, MEET_B, &req, &to_b);
			meet_expect(meet, k < rows[i] ? "B event REQUEST" : "");
			req.local_id++;
			req.qpn++;
		}
		to_b.dest[15]++;
		req.primary.local_gid[15]++;
		req.private_data[19]++; /* the address of IP that it tells */
	}
	cr_expect_eq(cm_count(cm, CM_CNT_DROP_OF_ONE_PEER), 4);
	cr_expect_eq(cm_count(cm, CM_CNT_DROP_HALF_OPEN), 1);
	meet_close(meet);
}
