/* churn.c - connections and regions that come and go by the thousand, or until there is no room: nothing stays */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "engine/engine.h"
#include "flows.h"
#include "rule.h"
#include "start.h"

#define ROUNDS 10u
#define PARALLEL 1000u
#define MANY 16384u /* numbers that rest are not given out: more than there will be QPs */

TestSuite(churn, .init = test_eal_start, .timeout = 60);

/* What QPs, CQs and regions hold of an engine with one lcore. */
struct held {
	uint32_t qps, timers, active, pd_users[2], device_users[2];
};

static uint32_t count_active(const struct engine_active *active)
{
	uint32_t count = 0;

	for (uint32_t at = active->head; at != active->tail; at++)
		count += active->qps[at & active->mask] != NULL;
	return count;
}

static struct held count_held(const struct network *network)
{
	const struct uroce_lcore *lcore = uroce_engine_lcore(network->engine, 0);
	struct held held = { .timers = lcore->wheel.armed };

	for (uint32_t i = 0; i < network->engine->index_count; i++)
		held.qps += atomic_load(&network->engine->qps[i].qp) != NULL;
	held.active = count_active(&lcore->active);
	for (unsigned i = 0; i < lcore->port_count; i++)
		held.active += count_active(&lcore->ports[i]->active);
	for (int i = 0; i < 2; i++) {
		held.pd_users[i] = atomic_load(&network->ends[i].pd->users);
		held.device_users[i] = atomic_load(&network->ends[i].device->users);
	}
	return held;
}

static void expect_same(const struct held *a, const struct held *b, const char *when)
{
	cr_assert_eq(a->qps, b->qps, "%s: %u QPs, not %u", when, b->qps, a->qps);
	cr_assert_eq(a->timers, b->timers, "%s: %u timers, not %u", when, b->timers, a->timers);
	cr_assert_eq(a->active, b->active, "%s: %u active QPs, not %u", when, b->active, a->active);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(a->pd_users[i], b->pd_users[i], "%s: PD %d", when, i);
		cr_assert_eq(a->device_users[i], b->device_users[i], "%s: device %d", when, i);
	}
}

/* TC-F-9: a thousand at a time; each third is destroyed with its work half done. */
Test(churn, ten_thousand_connections_leave_nothing_behind)
{
	static struct network network;
	static struct flow flows[PARALLEL];
	const struct flow_work work = { .opcode = UROCE_WR_RDMA_WRITE, .bytes = 9000, .depth = 2, .timeout = 10 };
	struct held before;

	RULE("X-4");
	RULE("P-7");
	network_max_qps = MANY;
	network_open(&network, 1);
	before = count_held(&network);
	cr_assert_eq(before.qps, 0);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct held after;

		for (uint32_t i = 0; i < PARALLEL; i++) {
			flow_open(&network, &flows[i], &work);
			flow_turn(&network, &flows[i]);
		}
		for (uint32_t i = 0; i < PARALLEL; i++) {
			if (i % 3 > 0)
				flow_drain(&network, &flows[i]);
			flow_close(&flows[i]);
		}
		after = count_held(&network);
		expect_same(&before, &after, "after a round");
	}
	cr_assert_eq(network_counter(&network, 0, "req_cqe_error"), 0);
	network_close(&network); /* counts mbufs */
}

/* TC-G-13: who takes all that there is gets told, harms nobody, and leaves as much when it goes. */
Test(churn, what_is_used_up_is_refused_and_comes_back)
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
	before = count_held(&network);
	init.send_cq = init.recv_cq = victim.cqs[0];
	for (int round = 0; round < 2; round++) {
		int error = 0;

		for (count = 0; error == 0; count += error == 0) {
			error = uroce_mr_reg(network.ends[0].pd, memory, sizeof(memory), 0, &mrs[count]);
			flow_turn(&network, &victim);
			network_turn(&network);
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
	flow_turn(&network, &victim);
	flow_drain(&network, &victim);
	cr_assert_gt(victim.completed, room[0]);
	while (count > 0)
		cr_assert_eq(uroce_qp_destroy(qps[--count]), 0);
	after = count_held(&network);
	before.timers = after.timers; /* the victim's come and go */
	before.active = after.active;
	expect_same(&before, &after, "at the end");
	flow_close(&victim);
	network_close(&network);
}
