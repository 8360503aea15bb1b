/* isolation.c - what others do on the same lcore, or on another one, leaves a connection its share */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A share is counted in polls of the lcores, not in seconds: how fast the machine is, and what else it does, decides
 * nothing. A loop port takes and gives RX_FRAMES a poll and queue, however many there are to come.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "flows.h"
#include "rule.h"
#include "start.h"

#define POLLS 500u
#define ATTACKERS 8u
#define RX_FRAMES 128u /* that an lcore receives a poll, at most */
#define MTU 4096u
#define QUEUED (1024u + 64u) /* frames that wait in a loop's ring, and those that wait for a place in it */
#define QUEUE_POLLS (QUEUED / RX_FRAMES + 5)

TestSuite(isolation, .init = test_eal_start, .timeout = 60);

/* Who works beside the victim. */
struct attack {
	struct flow_work work;
	uint32_t idle;    /* QPs that do nothing, besides */
	uint32_t regions; /* registered and deregistered each poll */
	bool saturates;   /* the port, so that who sends rarely waits behind what is queued there */
};

static const struct flow_work victims[] = {
	{ .opcode = UROCE_WR_RDMA_WRITE, .bytes = 64, .depth = 1 },
	{ .opcode = UROCE_WR_RDMA_READ, .bytes = 64, .depth = 1 },
	{ .opcode = UROCE_WR_RDMA_WRITE, .bytes = 16 * MTU, .depth = 16 },
	{ .opcode = UROCE_WR_RDMA_READ, .bytes = 16 * MTU, .depth = 16 },
};

static void churn_regions(struct network *network, uint32_t count)
{
	static uint8_t memory[64];
	struct uroce_mr *mr;

	for (uint32_t i = 0; i < count; i++) {
		cr_assert_eq(uroce_mr_reg(network->ends[1].pd, memory, sizeof(memory), UROCE_ACCESS_LOCAL_WRITE, &mr),
			     0);
		cr_assert_eq(uroce_mr_dereg(mr), 0);
	}
}

/* One poll of an attacker; one whose QP has failed begins anew with another. */
static void attack_poll(struct network *network, struct flow *flow)
{
	if (flow->failed && flow->completed == flow->posted) {
		struct flow_work work = flow->work;

		flow_close(flow);
		flow_open(network, flow, &work);
	}
	if (flow->failed)
		flow_reap(flow);
	else
		flow_poll(network, flow);
}

/* How many requests the victim gets done in POLLS, beside the first so many flows. */
static uint64_t work_beside(struct network *network, struct flow *victim, const struct attack *attack,
			    struct flow *attackers, uint32_t flows)
{
	uint64_t before;

	flow_poll(network, victim); /* the peer's address is found */
	flow_drain(network, victim);
	before = victim->completed;
	for (uint32_t poll = 0; poll < POLLS; poll++) {
		for (uint32_t i = 0; i < flows; i++)
			attack_poll(network, &attackers[i]);
		churn_regions(network, flows ? attack->regions : 0);
		flow_poll(network, victim);
		network_poll(network);
	}
	return victim->completed - before;
}

/* The attackers work on lcore 0, the victim on the last one. flows 0: alone. */
static uint64_t run(const struct flow_work *victim_work, const struct attack *attack, uint32_t flows, unsigned lcores)
{
	static struct network network;
	struct flow attackers[ATTACKERS], victim, *idle;
	struct flow_work work = *victim_work, nothing = { .depth = 1 };
	uint32_t idle_count = flows ? attack->idle : 0;
	uint64_t done;

	network_max_qps = 2 * attack->idle + 4096;
	network_open(&network, lcores);
	work.lcore = work.far_lcore = (int)lcores - 1;
	flow_open(&network, &victim, &work);
	for (uint32_t i = 0; i < flows; i++)
		flow_open(&network, &attackers[i], &attack->work);
	idle = calloc(idle_count + 1, sizeof(*idle));
	for (uint32_t i = 0; i < idle_count; i++)
		flow_open(&network, &idle[i], &nothing);
	/* Each QP is served when it is connected: then they are idle. */
	for (uint32_t i = 0; i < idle_count / 32; i++)
		network_poll(&network);
	done = work_beside(&network, &victim, attack, attackers, flows);
	flow_drain(&network, &victim);
	cr_assert_eq(flow_counter(&victim, 0, "local_ack_timeout_err"), 0);
	cr_assert_eq(flow_counter(&victim, 0, "req_cqe_error"), 0);
	flow_close(&victim);
	for (uint32_t i = 0; i < flows; i++)
		flow_close(&attackers[i]);
	for (uint32_t i = 0; i < idle_count; i++)
		flow_close(&idle[i]);
	free(idle);
	network_close(&network);
	return done;
}

/* What the victim may expect of its lcore: as much as alone, or its part of what the port takes. */
static double share(const struct flow_work *work, const struct attack *attack, uint64_t alone)
{
	double packets = (double)((work->bytes + MTU - 1) / MTU);
	double fair = (double)RX_FRAMES * POLLS / (ATTACKERS + 1) / packets;

	if (attack->saturates && work->depth == 1)
		return (double)POLLS / QUEUE_POLLS;
	return 0.8 * (attack->saturates && fair < (double)alone ? fair : (double)alone);
}

static void check(const struct attack *attack)
{
	/* Ten thousand QPs take their time to make: only the WRITEs meet them. */
	for (size_t v = 0; v < sizeof(victims) / sizeof(victims[0]); v += attack->idle ? 2 : 1) {
		uint64_t alone = run(&victims[v], attack, 0, 1), beside = run(&victims[v], attack, ATTACKERS, 1);
		double least = share(&victims[v], attack, alone);

		cr_expect((double)beside >= least, "victim %zu: %lu of %lu, should be %.0f", v, beside, alone, least);
		alone = run(&victims[v], attack, 0, 2);
		beside = run(&victims[v], attack, ATTACKERS, 2);
		cr_expect((double)beside >= 0.95 * (double)alone, "victim %zu, other lcore: %lu of %lu", v, beside,
			  alone);
	}
}

/* TC-H-1: peers that never post a receive. */
Test(isolation, rnr_storm_does_not_slow_a_victim)
{
	static const struct attack attack = {
		.work = { .opcode = UROCE_WR_SEND, .bytes = MTU, .depth = 16, .rnr_timer = 1 },
	};

	RULE("R-4");
	RULE("Y-1");
	check(&attack);
}

/* TC-H-2: QPs that fail at once, are destroyed and come again. */
Test(isolation, repeatedly_failing_qps_do_not_slow_a_victim)
{
	static const struct attack attack = {
		.work = { .opcode = UROCE_WR_RDMA_WRITE, .bytes = 64, .depth = 16, .wrong_key = true },
	};

	RULE("E-1");
	RULE("Y-1");
	check(&attack);
}

/* TC-H-3 */
Test(isolation, region_churn_does_not_slow_a_victim)
{
	static const struct attack attack = {
		.work = { .opcode = UROCE_WR_RDMA_WRITE, .depth = 1 },
		.regions = 50,
	};

	RULE("M-2");
	check(&attack);
}

/* TC-H-4 */
Test(isolation, ten_thousand_idle_qps_do_not_slow_a_victim)
{
	static const struct attack attack = {
		.work = { .opcode = UROCE_WR_RDMA_WRITE, .depth = 1 },
		.idle = 10000,
	};

	check(&attack);
}

/* TC-H-5 */
Test(isolation, a_flood_of_tiny_messages_leaves_a_victim_its_share)
{
	static const struct attack attack = {
		.work = { .opcode = UROCE_WR_RDMA_WRITE, .bytes = 1, .depth = FLOW_DEPTH },
		.saturates = true,
	};

	check(&attack);
}

/* TC-H-6, TC-G-12: 128 MiB asked for by as many packets as a victim needs for 8 MiB. */
Test(isolation, a_stream_of_large_reads_leaves_a_victim_its_share)
{
	static const struct attack attack = {
		.work = { .opcode = UROCE_WR_RDMA_READ, .bytes = NETWORK_BUFFER_BYTES, .depth = 16 },
		.saturates = true,
	};

	check(&attack);
}

/* L3: a port without room for all flows is shared, regardless of the order of arrival. */
Test(isolation, saturating_flows_share_a_port_equally)
{
	static struct network network;
	const struct flow_work work = { .opcode = UROCE_WR_RDMA_READ, .bytes = 16 * MTU, .depth = 16 };
	struct flow flows[ATTACKERS];
	uint64_t total = 0;

	RULE("Y-1");
	network_open(&network, 1);
	for (uint32_t i = 0; i < ATTACKERS; i++)
		flow_open(&network, &flows[i], &work);
	for (uint32_t poll = 0; poll < 2 * POLLS; poll++) {
		for (uint32_t i = 0; i < ATTACKERS; i++)
			flow_poll(&network, &flows[i]);
		network_poll(&network);
	}
	for (uint32_t i = 0; i < ATTACKERS; i++)
		total += flows[i].completed;
	for (uint32_t i = 0; i < ATTACKERS; i++)
		cr_expect_geq(flows[i].completed * ATTACKERS * 10, total * 8, "flow %u: %lu of %lu", i,
			      flows[i].completed, total);
	for (uint32_t i = 0; i < ATTACKERS; i++)
		flow_close(&flows[i]);
	network_close(&network);
}
