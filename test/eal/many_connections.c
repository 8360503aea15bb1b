/* many_connections.c - thousands of connections, in parallel and in sequence: all resources return */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "calls.h"
#include "engine/clock.h"
#include "engine/connect.h"
#include "engine/engine.h"
#include "held.h"
#include "rule.h"
#include "start.h"

TestSuite(many_connections, .init = test_eal_start, .timeout = 120);

/* A receive on each end, and a SEND of each to the other: 64 bytes of its buffer. */
static void use(struct network *network, struct uroce_cm_id *ids[2])
{
	struct uroce_wc wc;
	int completions = 0;

	for (int i = 0; i < 2; i++) {
		struct uroce_sge sge = { (uintptr_t)network->ends[i].buffer, 64, uroce_mr_lkey(network->ends[i].mr) };
		struct uroce_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

		cr_assert_eq(uroce_qp_post_recv(uroce_cm_qp(ids[i]), &wr, NULL), 0);
	}
	for (int i = 0; i < 2; i++) {
		struct uroce_sge sge = { (uintptr_t)network->ends[i].buffer + 64, 64,
					 uroce_mr_lkey(network->ends[i].mr) };
		struct uroce_send_wr wr = {
			.sg_list = &sge, .num_sge = 1, .opcode = UROCE_WR_SEND, .send_flags = UROCE_SEND_SIGNALED
		};

		cr_assert_eq(uroce_qp_post_send(uroce_cm_qp(ids[i]), &wr, NULL), 0);
	}
	while (completions < 4) {
		network_poll(network);
		for (int i = 0; i < 2; i++) {
			if (uroce_cq_poll(network->ends[i].cq, 1, &wc) == 1) {
				cr_assert_eq(wc.status, UROCE_WC_SUCCESS);
				completions++;
			}
		}
	}
}

/* So many at once: made, used and taken down. */
static void come_and_go(struct network *network, struct uroce_cm_channel *channel, uint32_t count)
{
	static struct uroce_cm_id *ids[2][1000]; /* clients; what the listener made of them, in the same order */
	struct uroce_cm_event event;
	uint32_t accepted = 0, established = 0, ended = 0;

	for (uint32_t i = 0; i < count; i++)
		ids[0][i] = calls_dial(network, channel, "10.0.0.2", NULL);
	while (established < 2 * count) {
		cr_assert_eq(uroce_cm_wait(channel, CALLS_PATIENCE_MS, &event), 0, "%u", established);
		if (event.type == UROCE_CM_CONNECT_REQUEST)
			ids[1][accepted++] = event.id;
		calls_take_event(network, &event, &established, &ended);
	}
	cr_assert_eq(accepted, count);
	for (uint32_t i = 0; i < count; i++)
		use(network, (struct uroce_cm_id *[2]){ ids[0][i], ids[1][i] });
	for (uint32_t i = 0; i < count; i++)
		cr_assert_eq(uroce_cm_disconnect(ids[0][i]), 0);
	while (ended < 2 * count) {
		cr_assert_eq(uroce_cm_wait(channel, CALLS_PATIENCE_MS, &event), 0, "%u", ended);
		calls_take_event(network, &event, &established, &ended);
	}
}

/* What there is once time-wait is over. */
static struct held settle(struct network *network, const struct uroce_cm_channel *channel)
{
	uint64_t began = engine_now_ns();
	struct uroce_cm_usage usage;

	while (uroce_cm_usage(network->engine, &usage) == 0 &&
	       (usage.connections || usage.timewait_ids || network->engine->timewait.count)) {
		network_poll(network);
		engine_timewait_wake(&network->engine->timewait, engine_now_ns());
		cr_assert_lt(engine_now_ns() - began, 60000000000ull, "%u ids rest", usage.timewait_ids);
	}
	cr_assert_eq(atomic_load(&channel->ids), 1, "%u ids beside the listener", atomic_load(&channel->ids) - 1);
	return held_count(network);
}

/* C-28: the second half finds what the first has left, memory to the byte. */
static void expect_all_as_before(uint32_t at_once, uint32_t times)
{
	static struct network network;
	struct uroce_cm_channel *channel;
	struct uroce_cm_id *listener;
	struct held before, between, after;

	calls_open(&network, 1, &channel);
	cr_assert_eq(uroce_cm_listen(channel, NULL, CALLS_PORT, 2 * at_once, 0, &listener), 0);
	before = held_count(&network);
	for (uint32_t i = 0; i < times / 2; i++)
		come_and_go(&network, channel, at_once);
	between = settle(&network, channel);
	held_expect_same(&before, &between, "after the first half");
	for (uint32_t i = times / 2; i < times; i++)
		come_and_go(&network, channel, at_once);
	after = settle(&network, channel);
	held_expect_same(&before, &after, "after the second half");
	held_expect_same_memory(&between, &after, "after the second half");
	calls_close(&network, channel, listener);
}

Test(many_connections, thousand_parallel_connections_leave_no_resources)
{
	RULE("C-22");
	RULE("C-28");
	expect_all_as_before(1000, 2);
}

Test(many_connections, ten_thousand_consecutive_connections_leave_no_resources)
{
	RULE("C-28");
	RULE("P-7");
	expect_all_as_before(1, 10000);
}
