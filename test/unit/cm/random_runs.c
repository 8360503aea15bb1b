/* random_runs.c - runs of the connection simulator, and every value that REQ and REP carry */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "meet.h"
#include "rule.h"
#include "sim/connections.h"

#define SEEDS 400u

/* uroce-sim --connections --seed N repeats one that has failed. */
Test(random_runs, random_runs_establish_or_end_both_sides)
{
	RULE("C-31");
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct sim_connections run = { .seed = seed };

		sim_connections_run(&run);
		cr_assert_eq(run.failure[0], '\0', "seed %lu: %s", seed, run.failure);
	}
}

static void expect_end(const struct cm_side *is, const struct cm_side *told)
{
	cr_expect_eq(is->qpn, told->qpn);
	cr_expect_eq(is->psn, told->psn);
	cr_expect_eq(is->responder_resources, told->responder_resources);
	cr_expect_eq(is->initiator_depth, told->initiator_depth);
	cr_expect_eq(is->retry_count, told->retry_count);
	cr_expect_eq(is->rnr_retry_count, told->rnr_retry_count);
	cr_expect_eq(is->flow_control, told->flow_control);
	cr_expect_eq(is->srq, told->srq);
	cr_expect_eq(is->path_mtu, told->path_mtu);
	cr_expect_eq(is->ack_timeout, told->ack_timeout);
	cr_expect_eq(is->ece, told->ece);
}

Test(random_runs, each_side_receives_all_values_of_its_peer)
{
	static const char words[] = "words";
	struct meet *meet = meet_open(NULL);
	struct cm_connect connect = meet_request(7174, 17);
	struct cm_accept accept = {
		.context = 5,
		.side = { .qpn = 18,
			  .psn = 9,
			  .responder_resources = 3,
			  .initiator_depth = 2,
			  .rnr_retry_count = 4,
			  .flow_control = true,
			  .srq = true,
			  .ack_timeout = 11,
			  .ece = CM_ECE_UNDERSTOOD },
		.failover = 2,
		.user = { words, sizeof(words) },
	};
	const struct meet_event *event;
	struct cm_side peer;
	uint32_t a, b;

	RULE("C-3");
	RULE("C-4");
	RULE("C-6");
	meet_listen(meet, MEET_B, 7174, 8);
	connect.route.traffic_class = 6;
	connect.side = (struct cm_side){ .qpn = 17,
					 .psn = 8,
					 .responder_resources = 7,
					 .initiator_depth = 6,
					 .retry_count = 5,
					 .rnr_retry_count = 3,
					 .flow_control = true,
					 .srq = true,
					 .path_mtu = 1,
					 .ack_timeout = 12,
					 .ece = CM_ECE_UNDERSTOOD };
	cr_assert_eq(cm_connect(meet->end[MEET_A].cm, &connect, meet->now_ns, &a), 0);
	meet_run(meet);
	b = meet_last(meet, MEET_B)->connection;
	expect_end(cm_peer(meet->end[MEET_B].cm, b), &connect.side);
	cr_expect_eq(cm_route_of(meet->end[MEET_B].cm, b)->traffic_class, 6);
	cm_propose(meet->end[MEET_B].cm, b, &accept.side);
	cr_expect_eq(cm_own(meet->end[MEET_B].cm, b)->qpn, 18);
	cr_expect_eq(cm_own(meet->end[MEET_B].cm, b)->initiator_depth, 2);
	accept.side.responder_resources = 9;
	cm_propose(meet->end[MEET_B].cm, b, &accept.side);
	cr_expect_eq(cm_own(meet->end[MEET_B].cm, b)->responder_resources, 6);
	cr_assert_eq(cm_accept(meet->end[MEET_B].cm, b, &accept, meet->now_ns), 0);
	meet_run(meet);
	event = meet_last(meet, MEET_A);
	cr_assert(event->has_message);
	cr_expect_eq(event->context, 17);
	cr_expect_str_eq((const char *)event->message.private_data, words);
	cr_expect_eq(event->message.failover, 2);
	cr_expect_eq(event->message.ca_guid, 0x101);
	cr_expect(meet_last(meet, MEET_B)->has_message);
	cr_expect_eq(meet_last(meet, MEET_B)->context, 5);
	peer = accept.side;
	peer.responder_resources = 6;
	peer.retry_count = 5;
	peer.path_mtu = 1;
	peer.ack_timeout = 12; /* of the way, which the REQ tells */
	expect_end(cm_peer(meet->end[MEET_A].cm, a), &peer);
	cr_expect_eq(cm_own(meet->end[MEET_A].cm, a)->initiator_depth, 6);
	cr_expect_eq(cm_own(meet->end[MEET_A].cm, a)->responder_resources, 2);
	meet_close(meet);
}

Test(random_runs, private_data_of_a_disconnect_arrives)
{
	static const char words[] = "words";
	struct meet *meet = meet_open(NULL);
	struct cm_private user = { words, sizeof(words) };
	uint32_t a, b;

	RULE("C-16");
	meet_listen(meet, MEET_B, 7174, 8);
	meet_establish(meet, &a, &b);
	cr_assert_eq(cm_disconnect(meet->end[MEET_B].cm, b, &user, meet->now_ns), 0);
	meet_run(meet);
	cr_expect_str_eq((const char *)meet_last(meet, MEET_A)->message.private_data, words);
	meet_close(meet);
}

/* C-28: no more than there are, and as many again afterwards. */
Test(random_runs, connections_are_exhausted_and_refused)
{
	struct meet *meet = meet_open(&(struct cm_config){ .connections = 2, .half_open = 1 });
	struct cm_connect connect = meet_request(7174, 17);
	uint32_t a[2], third;

	RULE("C-22");
	meet_listen(meet, MEET_B, 7174, 8);
	for (int i = 0; i < 2; i++, connect.side.qpn++)
		cr_assert_eq(cm_connect(meet->end[MEET_A].cm, &connect, meet->now_ns, &a[i]), 0);
	cr_expect_eq(cm_connect(meet->end[MEET_A].cm, &connect, meet->now_ns, &third), -ENOBUFS);
	cm_forget(meet->end[MEET_A].cm, a[0], meet->now_ns);
	cr_expect_eq(cm_connect(meet->end[MEET_A].cm, &connect, meet->now_ns, &third), 0);
	meet_run(meet);
	cr_expect_eq(cm_count(meet->end[MEET_B].cm, CM_CNT_DROP_HALF_OPEN), 2,
		     "the first is over, and its user has it");
	meet_close(meet);
}
