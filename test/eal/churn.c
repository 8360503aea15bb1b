/* churn.c - connections and regions that come and go by the thousand, or until there is no room: nothing stays */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "flows.h"
#include "held.h"
#include "rule.h"
#include "start.h"

#define ROUNDS 10u
#define PARALLEL 1000u
#define MANY 16384u /* numbers that rest are not given out: more than there will be QPs */

TestSuite(churn, .init = test_eal_start, .timeout = 60);

/* TC-F-9: a thousand at a time; each third is destroyed with its work half done. */
Test(churn, ten_thousand_connections_leave_no_resources)
{
	static struct network network;
	static struct flow flows[PARALLEL];
	const struct flow_work work = { .opcode = UROCE_WR_RDMA_WRITE, .bytes = 9000, .depth = 2, .timeout = 10 };
	struct held before;

	RULE("X-4");
	RULE("P-7");
	network_max_qps = MANY;
	network_open(&network, 1);
	before = held_count(&network);
	cr_assert_eq(before.qps, 0);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct held after;

		for (uint32_t i = 0; i < PARALLEL; i++) {
			flow_open(&network, &flows[i], &work);
			flow_poll(&network, &flows[i]);
		}
		for (uint32_t i = 0; i < PARALLEL; i++) {
			if (i % 3 > 0)
				flow_drain(&network, &flows[i]);
			flow_close(&flows[i]);
		}
		after = held_count(&network);
		held_expect_same(&before, &after, "after a round");
	}
	cr_assert_eq(network_counter(&network, 0, "req_cqe_error"), 0);
	network_close(&network); /* counts mbufs */
}

/* TC-G-13: an application that exhausts all resources gets an error, harms no other, and returns as much. */
Test(churn, exhausted_resources_are_refused_and_returned)
{
	static struct network network;
	static struct uroce_mr *mrs[5000];
	static uint8_t memory[64];
	const struct flow_work work = { .opcode = UROCE_WR_RDMA_WRITE, .bytes = 9000, .depth = 8 };
	struct uroce_qp_init_attr init = { .max_send_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 };
	struct uroce_qp *qps[128];
	struct flow victim;
	uint32_t room[2], count;
	struct held before, after;

	RULE("Y-1");
	RULE("M-1");
	network_max_qps = 32;
	network_open(&network, 1);
	flow_open(&network, &victim, &work);
	before = held_count(&network);
	init.send_cq = init.recv_cq = victim.cqs[0];
	for (int round = 0; round < 2; round++) {
		int error = 0;

		for (count = 0; error == 0; count += error == 0) {
			error = uroce_mr_reg(network.ends[0].pd, memory, sizeof(memory), 0, &mrs[count]);
			flow_poll(&network, &victim);
			network_poll(&network);
		}
		cr_assert_eq(error, -ENOMEM);
		room[round] = count;
		while (count > 0)
			cr_assert_eq(uroce_mr_dereg(mrs[--count]), 0);
	}
	cr_assert_eq(room[0], room[1], "room for %u regions, then for %u", room[0], room[1]);
	for (count = 0; uroce_qp_create(network.ends[0].pd, &init, &qps[count]) == 0; count++)
		cr_assert_lt(count, 127);
	cr_assert_eq(uroce_qp_create(network.ends[0].pd, &init, &qps[count]), -ENOSPC);
	cr_assert_geq(count + 2, 32);
	flow_drain(&network, &victim);
	flow_poll(&network, &victim);
	flow_drain(&network, &victim);
	cr_assert_gt(victim.completed, room[0]);
	while (count > 0)
		cr_assert_eq(uroce_qp_destroy(qps[--count]), 0);
	after = held_count(&network);
	before.timers = after.timers; /* the victim's come and go */
	before.active = after.active;
	held_expect_same(&before, &after, "at the end");
	flow_close(&victim);
	network_close(&network);
}
